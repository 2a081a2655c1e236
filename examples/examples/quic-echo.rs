//! QUIC by quinn, without a runtime of tokio: a server that echoes every stream, and a client that sends it
//! sixteen mebibytes on each of four streams at once.
//!
//! ```text
//! cargo run --release -p rt-examples --example quic-echo [STREAMS]
//! ```
//!
//! Both sides are in this program, so that the certificate, which nobody has signed, need not be carried over. In
//! the end it says how many datagrams went out with one system call: the kernel cuts a large buffer into
//! datagrams (segmentation offload), which is what makes QUIC as fast as it is.

use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use quinn::rustls::RootCertStore;
use quinn::rustls::pki_types::PrivatePkcs8KeyDer;
use quinn::{ClientConfig, Connection, Endpoint, RecvStream, SendStream, ServerConfig};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// What is sent on each stream.
const BYTES: usize = 16 << 20;

/// A server and a client that trusts it.
fn endpoints() -> Result<(Endpoint, Endpoint)> {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    let certificate = made.cert.der().clone();
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let any_port = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));

    let config = ServerConfig::with_single_cert(vec![certificate.clone()], key.into())?;
    let server = rt_quinn::server(config, any_port)?;
    let mut roots = RootCertStore::empty();
    roots.add(certificate)?;
    let mut client = rt_quinn::client(any_port)?;
    client.set_default_client_config(ClientConfig::with_root_certificates(Arc::new(roots))?);
    Ok((server, client))
}

/// Echoes the streams of all connections until the endpoint is closed.
async fn serve(endpoint: Endpoint) {
    while let Some(incoming) = endpoint.accept().await {
        rt::spawn(async move {
            match incoming.await {
                Ok(connection) => echo_all(connection).await,
                Err(error) => eprintln!("no connection: {error}"),
            }
        });
    }
}

async fn echo_all(connection: Connection) {
    // It fails when the connection is closed, which is how it ends.
    while let Ok((answer, question)) = connection.accept_bi().await {
        rt::spawn(async move {
            if let Err(error) = echo(question, answer).await {
                eprintln!("a stream broke: {error}");
            }
        });
    }
}

async fn echo(mut question: RecvStream, mut answer: SendStream) -> Result<()> {
    while let Some(chunk) = question.read_chunk(usize::MAX, true).await? {
        answer.write_chunk(chunk.bytes).await?;
    }
    Ok(answer.finish()?)
}

/// Sends on one stream, and checks what comes back meanwhile.
async fn ask(connection: Connection, number: usize) -> Result<()> {
    let (mut question, mut answer) = connection.open_bi().await?;
    let data: Arc<[u8]> = (0..BYTES).map(|at| (at / 251 + number) as u8).collect();
    let asking = rt::spawn({
        let data = Arc::clone(&data);
        async move {
            question.write_all(&data).await?;
            question.finish()?;
            Ok::<_, Box<dyn Error + Send + Sync>>(())
        }
    });
    let mut matched = 0;
    while let Some(chunk) = answer.read_chunk(usize::MAX, true).await? {
        let end = matched + chunk.bytes.len();
        if data.get(matched..end) != Some(&chunk.bytes[..]) {
            return Err(format!("stream {number} differs after {matched} bytes").into());
        }
        matched = end;
    }
    asking.await??;
    if matched < BYTES {
        return Err(format!("stream {number} ended after {matched} bytes").into());
    }
    Ok(())
}

#[rt::main]
async fn main() -> Result<()> {
    let streams: usize = match std::env::args().nth(1) {
        Some(number) => number.parse()?,
        None => 4,
    };
    let (server, client) = endpoints()?;
    let address = server.local_addr()?;
    println!("listening on {address}");
    let serving = rt::spawn(serve(server.clone()));

    let started = Instant::now();
    let connection = client.connect(address, "localhost")?.await?;
    let asking: Vec<_> = (0..streams)
        .map(|number| rt::spawn(ask(connection.clone(), number)))
        .collect();
    for stream in asking {
        stream.await??;
    }
    let sent = connection.stats().udp_tx;
    println!(
        "streams: {streams}, of {} MiB each, there and back in {:.0?}",
        BYTES >> 20,
        started.elapsed()
    );
    println!(
        "{} datagrams with {} system calls",
        sent.datagrams, sent.ios
    );

    connection.close(0_u32.into(), b"done");
    client.wait_idle().await;
    server.close(0_u32.into(), b"done");
    server.wait_idle().await;
    Ok(serving.await?)
}
