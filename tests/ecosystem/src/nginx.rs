//! nginx.

use std::fs;
use std::path::PathBuf;

use crate::{Folder, Server, command, program};

/// A server of its own, of a folder of files.
#[derive(Debug)]
pub struct Nginx {
    server: Server,
    folder: Folder,
}

impl Nginx {
    /// Starts it; `None` if nginx is not installed.
    ///
    /// # Panics
    ///
    /// If it does not start.
    pub fn start() -> Option<Self> {
        let nginx = program("nginx")?;
        let folder = Folder::new();
        let path = folder.path().display();
        fs::create_dir(folder.path().join("www")).expect("a folder for files");
        let server = Server::start("QUIT", "event method", |port| {
            let settings = format!(
                "daemon off;
                master_process off;
                error_log stderr notice;
                pid {path}/pid;
                events {{ worker_connections 256; }}
                http {{
                    access_log off;
                    client_body_temp_path {path}/body;
                    proxy_temp_path {path}/proxy;
                    fastcgi_temp_path {path}/fastcgi;
                    uwsgi_temp_path {path}/uwsgi;
                    scgi_temp_path {path}/scgi;
                    client_max_body_size 0;
                    server {{
                        listen 127.0.0.1:{port};
                        root {path}/www;
                        location / {{ dav_methods PUT; }}
                    }}
                }}"
            );
            let file = folder.path().join("nginx.conf");
            fs::write(&file, settings).expect("a file for its settings");
            let mut command = command(&nginx, None);
            command.args(["-e", "stderr", "-p"]).arg(folder.path());
            command.arg("-c").arg(file);
            command
        });
        Some(Nginx { server, folder })
    }

    /// The folder that it serves, for reading and `PUT`.
    pub fn files(&self) -> PathBuf {
        self.folder.path().join("www")
    }

    /// Its address, as a URL that ends with a slash.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.server.port())
    }
}
