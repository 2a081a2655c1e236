//! A small HTTP/1.1 server, without a library, for curl and wrk.
//!
//! ```text
//! cargo run --release -p rt-examples --example http [ADDRESS]
//! curl -i http://127.0.0.1:8080/
//! ```
//!
//! It answers `GET /` and `HEAD /`, keeps connections alive, and takes requests that come before the
//! last one is answered (pipelining): all that are there are answered with one write.

mod requests;

use std::env;
use std::io;
use std::time::Duration;

use rt::net::{TcpListener, TcpStream};
use rt::time::{sleep, timeout};

use self::requests::answer_all;

/// How long a connection may be silent.
const IDLE: Duration = Duration::from_mins(1);

#[rt::main]
async fn main() -> io::Result<()> {
    let address = env::args().nth(1);
    let address = address.as_deref().unwrap_or("127.0.0.1:8080");
    let listener = TcpListener::bind(address).await?;
    println!("listening on http://{}", listener.local_addr()?);
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                drop(rt::spawn(serve(stream)));
            }
            Err(error) => {
                eprintln!("cannot accept: {error}");
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// Answers the requests of one connection until either side ends it.
async fn serve(stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut received = Vec::new();
    let mut answers = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        let goes_on = answer_all(&mut received, &mut answers);
        stream.write_all(&answers).await?;
        answers.clear();
        if !goes_on {
            return close(&stream).await;
        }
        match timeout(IDLE, stream.read(&mut chunk)).await {
            Ok(Ok(0)) | Err(_) => return Ok(()),
            Ok(read) => received.extend_from_slice(&chunk[..read?]),
        }
    }
}

/// Ends the connection so that the last answer arrives: a socket that is closed with unread bytes
/// in it resets the connection, and the peer may lose what it has not read yet.
async fn close(stream: &TcpStream) -> io::Result<()> {
    stream.shutdown(std::net::Shutdown::Write)?;
    let mut rest = [0; 4096];
    let drained = async { while !matches!(stream.read(&mut rest).await, Ok(0) | Err(_)) {} };
    let _ = timeout(Duration::from_secs(1), drained).await;
    Ok(())
}
