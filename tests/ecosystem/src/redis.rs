//! Redis.

use crate::{Folder, Server, command, program};

/// A server of its own, which saves nothing.
#[derive(Debug)]
pub struct Redis {
    server: Server,
    _folder: Folder,
}

impl Redis {
    /// Starts it; `None` if Redis is not installed.
    ///
    /// # Panics
    ///
    /// If it does not start.
    pub fn start() -> Option<Self> {
        let redis = program("redis-server")?;
        let folder = Folder::new();
        let server = Server::start("TERM", "Ready to accept connections", |port| {
            let mut command = command(&redis, None);
            command.args(["--bind", "127.0.0.1", "--port", &port.to_string()]);
            command.args(["--save", "", "--appendonly", "no", "--dir"]);
            command.arg(folder.path());
            command
        });
        Some(Redis {
            server,
            _folder: folder,
        })
    }

    /// Its port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.server.port()
    }
}
