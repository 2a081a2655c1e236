//! TLS by tokio-rustls, and websockets by tokio-tungstenite, over the runtime's streams: they need its traits
//! alone.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use futures_util::{SinkExt, StreamExt};
use rt::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use rt::net::{TcpListener, TcpStream, UnixStream};
use rt_tests::everywhere;
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector, client, server};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{accept_async, client_async};

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// A certificate for `localhost` that nobody else has signed, and a server's side with it.
fn certified() -> (CertificateDer<'static>, TlsAcceptor) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let certificate = made.cert.der().clone();
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let config = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key.into())
        .unwrap();
    (certificate, TlsAcceptor::from(Arc::new(config)))
}

/// A client's side that trusts one certificate.
fn trusting(certificate: CertificateDer<'static>) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    roots.add(certificate).unwrap();
    let config = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    TlsConnector::from(Arc::new(config))
}

fn localhost() -> ServerName<'static> {
    ServerName::try_from("localhost").unwrap()
}

async fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// Both ends of one TLS connection over `near` and `far`.
async fn secured<S>(near: S, far: S) -> (client::TlsStream<S>, server::TlsStream<S>)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (certificate, acceptor) = certified();
    let accepting = rt::spawn(async move { acceptor.accept(far).await });
    let near = trusting(certificate).connect(localhost(), near);
    (near.await.unwrap(), accepting.await.unwrap().unwrap())
}

async fn connected() -> (TcpStream, TcpStream) {
    let (listener, address) = listener().await;
    let near = TcpStream::connect(address).await.unwrap();
    (near, listener.accept().await.unwrap().0)
}

/// Sends a mebibyte, while it comes back, and then says that there is no more.
async fn echo_a_mebibyte<S>(near: client::TlsStream<S>, mut far: server::TlsStream<S>)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let data: Arc<[u8]> = (0..1 << 20).map(|at: u32| (at / 251) as u8).collect();
    let echoing = rt::spawn(async move {
        let mut buf = vec![0; 10_000];
        loop {
            let len = far.read(&mut buf).await.unwrap();
            if len == 0 {
                // The client has said that it is its end, and is told the same.
                far.shutdown().await.unwrap();
                return;
            }
            far.write_all(&buf[..len]).await.unwrap();
            far.flush().await.unwrap();
        }
    });
    let (mut reader, mut writer) = rt::io::split(near);
    let sent = Arc::clone(&data);
    let writing = rt::spawn(async move {
        writer.write_all(&sent).await.unwrap();
        writer.shutdown().await.unwrap();
    });
    let mut back = Vec::new();
    reader.read_to_end(&mut back).await.unwrap();
    assert!(back == *data);
    writing.await.unwrap();
    echoing.await.unwrap();
}

#[test]
fn a_mebibyte_is_echoed_over_tls_everywhere() {
    everywhere(|runtime| {
        runtime.block_on(async {
            let (near, far) = connected().await;
            let (near, far) = secured(near, far).await;
            echo_a_mebibyte(near, far).await;
        });
    });
}

#[test]
fn tls_runs_over_unix_sockets_too() {
    everywhere(|runtime| {
        runtime.block_on(async {
            let (near, far) = UnixStream::pair().unwrap();
            let (near, far) = secured(near, far).await;
            echo_a_mebibyte(near, far).await;
        });
    });
}

/// Whoever cuts the connection without a goodbye could be an attacker who hides the rest.
#[test]
fn an_end_without_close_notify_is_an_error() {
    everywhere(|runtime| {
        runtime.block_on(async {
            let (near, far) = connected().await;
            let (mut near, mut far) = secured(near, far).await;
            far.write_all(b"the first half").await.unwrap();
            far.flush().await.unwrap();
            let (far, _) = far.into_inner();
            drop(far);
            let mut back = Vec::new();
            let error = near.read_to_end(&mut back).await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "{error}");
            assert_eq!(back, b"the first half");
        });
    });
}

#[test]
fn a_certificate_that_nobody_trusts_is_a_clear_error_on_both_sides() {
    everywhere(|runtime| {
        runtime.block_on(async {
            let (near, far) = connected().await;
            let (_, acceptor) = certified();
            let (other, _) = certified();
            let accepting = rt::spawn(async move { acceptor.accept(far).await });
            let error = trusting(other).connect(localhost(), near).await;
            let error = error.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
            assert!(error.to_string().contains("certificate"), "{error}");
            let error = accepting.await.unwrap().unwrap_err();
            assert!(error.to_string().contains("alert"), "{error}");
        });
    });
}

/// As the client of a port that speaks something else meets it.
#[test]
fn an_answer_that_is_not_tls_is_a_clear_error() {
    everywhere(|runtime| {
        runtime.block_on(async {
            let (near, far) = connected().await;
            far.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                .await
                .unwrap();
            let connector = trusting(certified().0);
            let error = connector.connect(localhost(), near).await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{error}");
        });
    });
}

#[test]
fn websockets_run_over_plain_streams_and_over_tls() {
    everywhere(|runtime| {
        runtime.block_on(async {
            let (near, far) = connected().await;
            talk(near, far).await;
            let (near, far) = connected().await;
            let (near, far) = secured(near, far).await;
            talk(near, far).await;
        });
    });
}

/// A conversation by websocket, ended by both.
async fn talk<N, F>(near: N, far: F)
where
    N: AsyncRead + AsyncWrite + Unpin,
    F: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let echoing = rt::spawn(async move {
        let mut socket = accept_async(far).await.unwrap();
        while let Some(message) = socket.next().await {
            let message = message.unwrap();
            if message.is_text() || message.is_binary() {
                socket.send(message).await.unwrap();
            }
        }
        // TLS wants a goodbye of its own.
        socket.get_mut().shutdown().await.unwrap();
    });
    let (mut socket, _) = client_async("ws://localhost/", near).await.unwrap();
    for len in [0, 1, 125, 126, 65_535, 65_536, 1 << 20] {
        for message in [
            Message::from("x".repeat(len)),
            Message::from(vec![7_u8; len]),
        ] {
            socket.send(message.clone()).await.unwrap();
            assert!(socket.next().await.unwrap().unwrap() == message);
        }
    }
    socket.close(None).await.unwrap();
    assert!(socket.next().await.unwrap().unwrap().is_close());
    assert!(socket.next().await.is_none());
    echoing.await.unwrap();
}
