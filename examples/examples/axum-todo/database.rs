//! The list in Postgres, through tokio-postgres over a stream of `rt`.
//!
//! That crate needs no runtime if it is given a connected stream: `connect_raw` gives a client, for
//! questions, and a connection, which is a future to spawn. One connection is enough here: it sends what
//! all tasks ask without waiting for the answers in between. When it is lost, the next question makes
//! a new one.

use std::fmt;
use std::io;
use std::sync::Arc;

use rt::net::{TcpStream, UnixStream};
use rt::sync::Mutex;
use tokio_postgres::config::Host;
use tokio_postgres::{Client, Config, NoTls, Row};

use crate::store::Todo;

const SCHEMA: &str = "CREATE TABLE IF NOT EXISTS todos (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    text TEXT NOT NULL,
    done BOOLEAN NOT NULL DEFAULT false
)";

const PORT: u16 = 5432;

pub(crate) struct Database {
    config: Config,
    client: Mutex<Option<Arc<Client>>>,
}

impl Database {
    /// Connects, and makes the table if it is not there.
    pub(crate) async fn open(url: &str) -> Result<Self, Error> {
        let database = Database {
            config: url.parse()?,
            client: Mutex::new(None),
        };
        database.client().await?.batch_execute(SCHEMA).await?;
        Ok(database)
    }

    pub(crate) async fn list(&self) -> Result<Vec<Todo>, Error> {
        let client = self.client().await?;
        let rows = client
            .query("SELECT id, text, done FROM todos ORDER BY id", &[])
            .await?;
        Ok(rows.iter().map(todo).collect())
    }

    pub(crate) async fn add(&self, text: &str) -> Result<Todo, Error> {
        let client = self.client().await?;
        let insert = "INSERT INTO todos (text) VALUES ($1) RETURNING id, text, done";
        Ok(todo(&client.query_one(insert, &[&text]).await?))
    }

    pub(crate) async fn toggle(&self, id: i64) -> Result<Option<Todo>, Error> {
        let client = self.client().await?;
        let update = "UPDATE todos SET done = NOT done WHERE id = $1 RETURNING id, text, done";
        Ok(client.query_opt(update, &[&id]).await?.as_ref().map(todo))
    }

    pub(crate) async fn remove(&self, id: i64) -> Result<bool, Error> {
        let client = self.client().await?;
        let delete = "DELETE FROM todos WHERE id = $1";
        Ok(client.execute(delete, &[&id]).await? > 0)
    }

    /// The client of a connection that lives, as far as one can know.
    async fn client(&self) -> Result<Arc<Client>, Error> {
        let mut known = self.client.lock().await;
        if let Some(client) = known.as_ref().filter(|client| !client.is_closed()) {
            return Ok(Arc::clone(client));
        }
        let client = Arc::new(connect(&self.config).await?);
        *known = Some(Arc::clone(&client));
        Ok(client)
    }
}

fn todo(row: &Row) -> Todo {
    Todo {
        id: row.get(0),
        text: row.get(1),
        done: row.get(2),
    }
}

/// Tries the hosts of `config` one after the other.
async fn connect(config: &Config) -> Result<Client, Error> {
    let mut failure = Error::Io(io::Error::other("the URL names no host"));
    for (index, host) in config.get_hosts().iter().enumerate() {
        let ports = config.get_ports();
        // One port may stand for all hosts.
        let port = ports.get(index).or(ports.first()).copied().unwrap_or(PORT);
        match connect_to(config, host, port).await {
            Ok(client) => return Ok(client),
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

async fn connect_to(config: &Config, host: &Host, port: u16) -> Result<Client, Error> {
    match host {
        Host::Tcp(name) => {
            let stream = TcpStream::connect((name.as_str(), port)).await?;
            stream.set_nodelay(true)?;
            let (client, connection) = config.connect_raw(stream, NoTls).await?;
            drop(rt::spawn(watch(connection)));
            Ok(client)
        }
        Host::Unix(folder) => {
            let stream = UnixStream::connect(folder.join(format!(".s.PGSQL.{port}"))).await?;
            let (client, connection) = config.connect_raw(stream, NoTls).await?;
            drop(rt::spawn(watch(connection)));
            Ok(client)
        }
    }
}

/// Drives a connection, until its client is gone or it breaks.
async fn watch(connection: impl Future<Output = Result<(), tokio_postgres::Error>>) {
    if let Err(error) = connection.await {
        eprintln!("lost the connection to the database: {error}");
    }
}

/// What can go wrong on the way to the database, and in it.
#[derive(Debug)]
pub(crate) enum Error {
    Io(io::Error),
    Postgres(tokio_postgres::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Io(error) => error.fmt(f),
            Error::Postgres(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io(error) => error.source(),
            Error::Postgres(error) => error.source(),
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Error::Io(error)
    }
}

impl From<tokio_postgres::Error> for Error {
    fn from(error: tokio_postgres::Error) -> Self {
        Error::Postgres(error)
    }
}
