//! Websockets over TLS, by tokio-tungstenite and tokio-rustls over this runtime's own streams, without a runtime of
//! tokio: a server that echoes messages, and clients that send it some.
//!
//! ```text
//! cargo run -p rt-examples --example wss-echo [CLIENTS]
//! ```
//!
//! Both sides are in this program, so that the certificate, which nobody has signed, need not be carried over. In
//! the end one more client, which does not trust the server, is told why it may not talk to it.

use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use rt::io::AsyncWriteExt;
use rt::net::{TcpListener, TcpStream};
use rt::time::timeout;
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{WebSocketStream, accept_async, client_async};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// How long a client may take for TLS and the websocket's handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// What each client sends.
const MESSAGES: usize = 100;

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// A certificate for `localhost` that nobody else has signed, and what accepts connections with it.
fn certified() -> Result<(CertificateDer<'static>, TlsAcceptor)> {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    let certificate = made.cert.der().clone();
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let config = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key.into())?;
    Ok((certificate, TlsAcceptor::from(Arc::new(config))))
}

/// What connects to servers that have one of `certificates`.
fn trusting(certificates: &[CertificateDer<'static>]) -> Result<TlsConnector> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates {
        roots.add(certificate.clone())?;
    }
    let config = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

async fn serve(listener: TcpListener, acceptor: TlsAcceptor) {
    loop {
        let (stream, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                // Out of descriptors, most likely. They come back when connections end.
                eprintln!("cannot accept: {error}");
                rt::delay(Duration::from_millis(100)).await;
                continue;
            }
        };
        let acceptor = acceptor.clone();
        // The handshake is the new task's affair: a slow client keeps nobody else waiting.
        rt::spawn(async move {
            if let Err(error) = echo(stream, acceptor).await {
                println!("{} is gone: {error}", peer.ip());
            }
        });
    }
}

async fn echo(stream: TcpStream, acceptor: TlsAcceptor) -> Result<()> {
    stream.set_nodelay(true)?;
    let handshakes = async {
        Ok::<_, Box<dyn Error + Send + Sync>>(accept_async(acceptor.accept(stream).await?).await?)
    };
    let mut socket = timeout(HANDSHAKE, handshakes).await??;
    while let Some(message) = socket.next().await {
        let message = message?;
        // Pings and the closing handshake are answered by the library.
        if message.is_text() || message.is_binary() {
            socket.send(message).await?;
        }
    }
    // TLS has a goodbye of its own: without it the client could not know that nothing was cut off.
    Ok(socket.get_mut().shutdown().await?)
}

type Socket = WebSocketStream<tokio_rustls::client::TlsStream<TcpStream>>;

async fn connect(address: SocketAddr, connector: &TlsConnector) -> Result<Socket> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let stream = connector
        .connect(ServerName::try_from("localhost")?, stream)
        .await?;
    let (socket, _response) = client_async("wss://localhost/", stream).await?;
    Ok(socket)
}

async fn client(address: SocketAddr, connector: TlsConnector, number: usize) -> Result<()> {
    let mut socket = connect(address, &connector).await?;
    for round in 0..MESSAGES {
        let message = Message::from(format!("client {number}, message {round}"));
        socket.send(message.clone()).await?;
        match socket.next().await {
            Some(answer) if answer.as_ref().is_ok_and(|answer| *answer == message) => {}
            answer => return Err(format!("instead of the echo: {answer:?}").into()),
        }
    }
    socket.close(None).await?;
    // The server's side of the closing handshake, and of TLS.
    while let Some(message) = socket.next().await {
        message?;
    }
    Ok(())
}

#[rt::main]
async fn main() -> Result<()> {
    let clients: usize = match std::env::args().nth(1) {
        Some(number) => number.parse()?,
        None => 10,
    };
    let (certificate, acceptor) = certified()?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    println!("listening on {address}");
    let serving = rt::spawn(serve(listener, acceptor));

    let connector = trusting(&[certificate])?;
    let talking: Vec<_> = (0..clients)
        .map(|number| rt::spawn(client(address, connector.clone(), number)))
        .collect();
    for talk in talking {
        talk.await??;
    }
    println!("{clients} clients had {MESSAGES} messages echoed each");

    match connect(address, &trusting(&[])?).await {
        Ok(_) => return Err("a server that nobody trusts was trusted".into()),
        Err(error) => println!("without trust: {error}"),
    }
    serving.abort();
    Ok(())
}
