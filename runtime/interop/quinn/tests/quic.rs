//! Endpoints of quinn that talk to one another, and what can go wrong between them.

#![cfg(feature = "rustls-ring")]

use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use quinn::rustls::RootCertStore;
use quinn::rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use quinn::{
    AsyncUdpSocket, ClientConfig, Connection, ConnectionError, Endpoint, IdleTimeout, ServerConfig,
    TransportConfig,
};
use rt::task::JoinHandle;
use rt::time::timeout;
use rt_quinn::{Socket, client, server};

/// Longer than anything here takes on any machine.
const PATIENCE: Duration = Duration::from_secs(60);

const ANY_PORT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// A watchdog.
async fn soon<F: Future>(future: F) -> F::Output {
    timeout(PATIENCE, future).await.expect("it comes to an end")
}

/// A certificate for `localhost` that nobody else has signed, and a server that has it.
fn certified() -> (CertificateDer<'static>, ServerConfig) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let certificate = made.cert.der().clone();
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let config = ServerConfig::with_single_cert(vec![certificate.clone()], key.into());
    (certificate, config.unwrap())
}

/// A client that trusts one certificate.
fn trusting(certificate: CertificateDer<'static>) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    roots.add(certificate).unwrap();
    ClientConfig::with_root_certificates(Arc::new(roots)).unwrap()
}

/// Echoes every stream of every connection, until the endpoint closes.
fn echo(endpoint: Endpoint) -> JoinHandle<()> {
    rt::spawn(async move {
        while let Some(incoming) = endpoint.accept().await {
            let Ok(connection) = incoming.await else {
                continue;
            };
            rt::spawn(async move {
                while let Ok((mut answer, mut question)) = connection.accept_bi().await {
                    rt::spawn(async move {
                        rt::io::copy(&mut question, &mut answer).await.unwrap();
                        answer.finish().unwrap();
                    });
                }
            });
        }
    })
}

struct Pair {
    server: Endpoint,
    echoing: JoinHandle<()>,
    client: Endpoint,
}

impl Pair {
    fn new() -> Pair {
        let (certificate, config) = certified();
        let server = server(config, ANY_PORT).unwrap();
        let echoing = echo(server.clone());
        let mut client = client(ANY_PORT).unwrap();
        client.set_default_client_config(trusting(certificate));
        Pair {
            server,
            echoing,
            client,
        }
    }

    async fn connect(&self) -> Connection {
        let address = self.server.local_addr().unwrap();
        soon(self.client.connect(address, "localhost").unwrap())
            .await
            .unwrap()
    }

    async fn end(self) {
        self.client.close(0_u32.into(), b"done");
        soon(self.client.wait_idle()).await;
        self.server.close(0_u32.into(), b"done");
        soon(self.server.wait_idle()).await;
        soon(self.echoing).await.unwrap();
    }
}

async fn echoed(connection: &Connection, data: &Arc<Vec<u8>>) -> Vec<u8> {
    let (mut question, mut answer) = connection.open_bi().await.unwrap();
    let sent = Arc::clone(data);
    let asking = rt::spawn(async move {
        question.write_all(&sent).await.unwrap();
        question.finish().unwrap();
    });
    let back = soon(answer.read_to_end(data.len() + 1)).await.unwrap();
    asking.await.unwrap();
    back
}

#[rt::test]
async fn sixteen_mebibytes_go_out_in_batches_and_come_back() {
    let pair = Pair::new();
    let connection = pair.connect().await;
    let data: Vec<u8> = (0..16 << 20_u32)
        .map(|at: u32| (at >> 8 ^ at) as u8)
        .collect();
    let data = Arc::new(data);
    assert!(echoed(&connection, &data).await == *data);

    // Where this kernel can, several datagrams go out in one call.
    let socket = Socket::new(std::net::UdpSocket::bind(ANY_PORT).unwrap()).unwrap();
    let sent = connection.stats().udp_tx;
    println!(
        "{sent:?}, at most {} in one",
        socket.max_transmit_segments()
    );
    assert!(sent.datagrams > 10_000, "{sent:?}");
    if socket.max_transmit_segments() > 1 {
        assert!(sent.datagrams > 2 * sent.ios, "{sent:?}");
    }
    pair.end().await;
}

#[rt::test]
async fn a_thousand_streams_and_ten_connections_keep_apart() {
    let pair = Pair::new();
    let mut tasks = Vec::new();
    for number in 0..10_u8 {
        let connection = pair.connect().await;
        for stream in 0..100_u8 {
            let connection = connection.clone();
            tasks.push(rt::spawn(async move {
                let data = Arc::new(vec![number ^ stream; 1000 + usize::from(stream)]);
                assert!(echoed(&connection, &data).await == *data);
            }));
        }
    }
    for task in tasks {
        soon(task).await.unwrap();
    }
    pair.end().await;
}

#[rt::test]
async fn a_certificate_that_nobody_trusts_is_a_clear_error() {
    let mut pair = Pair::new();
    let (other, _) = certified();
    pair.client.set_default_client_config(trusting(other));
    let address = pair.server.local_addr().unwrap();
    let connecting = pair.client.connect(address, "localhost").unwrap();
    let error = soon(connecting).await.unwrap_err().to_string();
    assert!(error.contains("certificate"), "{error}");
    pair.end().await;
}

#[rt::test]
async fn a_server_that_is_silent_is_noticed() {
    // It is there and says nothing: only the timer ends this.
    let silent = std::net::UdpSocket::bind(ANY_PORT).unwrap();
    let mut transport = TransportConfig::default();
    let limit = IdleTimeout::try_from(Duration::from_millis(200)).unwrap();
    transport.max_idle_timeout(Some(limit));
    let mut config = trusting(certified().0);
    config.transport_config(Arc::new(transport));
    let client = client(ANY_PORT).unwrap();
    let address = silent.local_addr().unwrap();
    let connecting = client.connect_with(config, address, "localhost").unwrap();
    assert_eq!(
        soon(connecting).await.unwrap_err(),
        ConnectionError::TimedOut
    );
    soon(client.wait_idle()).await;
}

#[rt::test]
async fn the_other_side_learns_why_a_connection_closes() {
    let pair = Pair::new();
    let connection = pair.connect().await;
    let data = Arc::new(b"hello".to_vec());
    assert!(echoed(&connection, &data).await == *data);
    pair.server.close(42_u32.into(), b"enough");
    let ConnectionError::ApplicationClosed(closed) = soon(connection.closed()).await else {
        panic!("not closed by the other side");
    };
    assert_eq!(closed.error_code, 42_u32.into());
    assert_eq!(&closed.reason[..], b"enough");
    pair.end().await;
}

#[rt::test]
async fn any_number_wait_for_the_socket_to_be_writable() {
    let socket = Arc::new(Socket::new(std::net::UdpSocket::bind(ANY_PORT).unwrap()).unwrap());
    let mut pollers: Vec<_> = (0..100)
        .map(|_| Arc::clone(&socket).create_io_poller())
        .collect();
    for _ in 0..2 {
        for poller in &mut pollers {
            let ready = std::future::poll_fn(|cx| poller.as_mut().poll_writable(cx));
            soon(ready).await.unwrap();
        }
    }
}

#[test]
fn a_runtime_that_ends_ends_its_endpoints() {
    let runtime = rt::Runtime::new().unwrap();
    let (pair, connection) = runtime.block_on(async {
        let pair = Pair::new();
        let connection = pair.connect().await;
        (pair, connection)
    });
    drop(runtime);
    // Whoever still holds them meets errors, and hangs nowhere.
    let mut cx = Context::from_waker(Waker::noop());
    let opening = std::pin::pin!(connection.open_bi()).poll(&mut cx);
    assert!(!matches!(opening, Poll::Ready(Ok(_))));
    drop((connection, pair));
}
