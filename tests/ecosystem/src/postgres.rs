//! Postgres.

use std::fs;
use std::path::Path;

use crate::{Folder, Server, User, command, program, run, setting};

/// Whom to log in as, in the database of the same name as Debian's default one.
pub const USER: &str = "rt";
/// The user's password.
pub const PASSWORD: &str = "a secret";
/// The database.
pub const DATABASE: &str = "postgres";

/// A cluster of its own, empty.
#[derive(Debug)]
pub struct Postgres {
    // The server ends before its files do.
    server: Server,
    folder: Folder,
}

impl Postgres {
    /// Makes and starts it; `None` if Postgres is not installed.
    ///
    /// # Panics
    ///
    /// If it does not start.
    pub fn start() -> Option<Self> {
        let (initdb, postgres) = (program("initdb")?, program("postgres")?);
        let user = User::in_place_of_root(&["postgres", "nobody"]);
        let folder = Folder::new();
        let (data, secret) = (folder.path().join("data"), folder.path().join("secret"));
        fs::write(&secret, PASSWORD).expect("a file for the password");
        if let Some(user) = user {
            user.own(folder.path());
            user.own(&secret);
        }
        run(command(&initdb, user)
            .args(["--auth=scram-sha-256", "--encoding=UTF8", "--locale=C"])
            .args(["--no-sync", "--no-instructions", "--username", USER])
            .arg(setting("--pwfile", &secret))
            .arg(setting("--pgdata", &data)));

        // SIGQUIT: it has nothing to save.
        let server = Server::start("QUIT", "ready to accept connections", |port| {
            let mut command = command(&postgres, user);
            command.arg("-D").arg(&data).args(["-p", &port.to_string()]);
            command
                .args(["-F", "-h", "127.0.0.1", "-k"])
                .arg(folder.path());
            command
        });
        Some(Postgres { server, folder })
    }

    /// Its port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.server.port()
    }

    /// Where its Unix socket is.
    pub fn socket(&self) -> std::path::PathBuf {
        let name = format!(".s.PGSQL.{}", self.port());
        Path::join(self.folder.path(), name)
    }
}
