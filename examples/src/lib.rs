//! Runnable programs, one a file in `examples/`:
//!
//! * `million`: a million coroutines that pass a token on, and thousands of live connections.
//! * `tour`: three coroutines on one thread, then on several, with their timeline and what it cost.
//! * `trace-svg`: a small recording, as `tour --record FILE` makes one, as a picture.
//! * `echo`: a TCP echo server that ends gracefully on Ctrl-C.
//! * `http`: a small HTTP/1.1 server for curl and wrk.
//! * `quic-echo` and `wss-echo`: QUIC by quinn, and websockets over TLS.
//! * `grpc`: a greeter by tonic with all four kinds of calls, and its client.
//! * `axum-todo`: a JSON API of axum's with a small page, in memory or in a database.
//! * `serving`: requests become batches for one worker, and its tokens a stream of events.
//! * `reqwest-many`: a hundred requests of a client that insists on tokio.
