//! Unix sockets and pipes.
