//! gRPC over TLS: a connector for the client, a listener for the server, and tokio-rustls in between.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use greeter::greeter_client::GreeterClient;
use greeter::greeter_server::{Greeter, GreeterServer};
use greeter::{Greeting, Name};
use rt::channel::{Receiver, Sender, bounded};
use rt::hyper::Io;
use rt::net::{TcpListener, TcpStream};
use rt::time::timeout;
use rt_axum::Listener;
use rt_tonic::{Channel, serve};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio_rustls::server::TlsStream;
use tokio_rustls::{TlsAcceptor, TlsConnector};
use tonic::service::Routes;
use tonic::{Code, Request, Response, Status, Streaming};

#[path = "../../../../examples/proto/greeter.rs"]
#[allow(
    clippy::pedantic,
    missing_debug_implementations,
    missing_docs,
    unreachable_pub,
    reason = "generated"
)]
mod greeter;

/// Longer than anything here takes on any machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Greets, once each time.
struct Curt;

type Nothing = Result<Response<Receiver<Result<Greeting, Status>>>, Status>;

#[tonic::async_trait]
impl Greeter for Curt {
    type HelloAgainStream = Receiver<Result<Greeting, Status>>;
    type HelloEachStream = Receiver<Result<Greeting, Status>>;

    async fn hello(&self, request: Request<Name>) -> Result<Response<Greeting>, Status> {
        let text = request.into_inner().name;
        Ok(Response::new(Greeting { text }))
    }

    async fn hello_again(&self, _: Request<Name>) -> Nothing {
        Err(Status::unimplemented("once"))
    }

    async fn hello_all(&self, _: Request<Streaming<Name>>) -> Result<Response<Greeting>, Status> {
        Err(Status::unimplemented("once"))
    }

    async fn hello_each(&self, _: Request<Streaming<Name>>) -> Nothing {
        Err(Status::unimplemented("once"))
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// A certificate for `localhost` that nobody else has signed, and a server's side with it.
fn certified() -> (CertificateDer<'static>, TlsAcceptor) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let certificate = made.cert.der().clone();
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let mut config = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key.into())
        .unwrap();
    config.alpn_protocols.push(b"h2".to_vec());
    (certificate, TlsAcceptor::from(Arc::new(config)))
}

/// A channel to `address` that trusts one certificate.
fn channel(address: SocketAddr, certificate: CertificateDer<'static>) -> Channel {
    let mut roots = RootCertStore::empty();
    roots.add(certificate).unwrap();
    let mut config = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols.push(b"h2".to_vec());
    let connector = TlsConnector::from(Arc::new(config));
    let connect = move || {
        let connector = connector.clone();
        async move {
            let name = ServerName::try_from("localhost").expect("it is a name");
            let stream = TcpStream::connect(address).await?;
            Ok(Io::new(connector.connect(name, stream).await?))
        }
    };
    Channel::builder("https://localhost")
        .unwrap()
        .connector(connect)
        .build()
        .unwrap()
}

/// Gives out what has shaken hands. Those that shake hands keep nobody waiting.
struct TlsListener {
    secured: Receiver<(Io<TlsStream<TcpStream>>, SocketAddr)>,
    address: SocketAddr,
}

impl TlsListener {
    async fn bind(acceptor: TlsAcceptor) -> TlsListener {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, secured) = bounded(16);
        rt::spawn(async move {
            while !sender.is_closed() {
                let (stream, peer) = listener.accept().await.unwrap();
                rt::spawn(shake_hands(acceptor.clone(), stream, peer, sender.clone()));
            }
        });
        TlsListener { secured, address }
    }
}

async fn shake_hands(
    acceptor: TlsAcceptor,
    stream: TcpStream,
    peer: SocketAddr,
    secured: Sender<(Io<TlsStream<TcpStream>>, SocketAddr)>,
) {
    // Who fails at it, or comes when the server has ended, is gone.
    if let Ok(stream) = acceptor.accept(stream).await {
        let _ = secured.send((Io::new(stream), peer)).await;
    }
}

impl Listener for TlsListener {
    type Io = Io<TlsStream<TcpStream>>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, SocketAddr) {
        match self.secured.recv().await {
            Some(accepted) => accepted,
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.address)
    }
}

#[rt::test]
async fn calls_go_over_tls_to_a_server_that_is_trusted() {
    let (certificate, acceptor) = certified();
    let listener = TlsListener::bind(acceptor).await;
    let address = listener.address;
    let server = serve(listener, Routes::new(GreeterServer::new(Curt)));
    let server = rt::spawn(server.into_future());

    let mut client = GreeterClient::new(channel(address, certificate));
    for len in [0, 1, 100_000] {
        let request = Name {
            name: "x".repeat(len),
            ..Name::default()
        };
        let answer = timeout(PATIENCE, client.hello(request)).await.unwrap();
        assert_eq!(answer.unwrap().into_inner().text.len(), len);
    }

    let (other, _) = certified();
    let mut client = GreeterClient::new(channel(address, other));
    let error = timeout(PATIENCE, client.hello(Name::default()))
        .await
        .unwrap();
    let error = error.unwrap_err();
    assert_eq!(error.code(), Code::Unavailable);
    assert!(error.message().contains("certificate"), "{error}");
    server.abort();
}
