//! `serve` under real clients of HTTP/1, HTTP/2 and websockets, and its ends.

use std::future::pending;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use axum::response::Response;
use axum::routing::{MethodRouter, any, get};
use http_body_util::BodyExt;
use hyper::client::conn::{http1, http2};
use rt::net::{TcpListener, TcpStream};
use rt::task::JoinHandle;
use rt_axum::ws::{Message, WebSocket, WebSocketUpgrade};
use rt_axum::{ConnectInfo, TimeoutLayer, serve};
use std::sync::Arc;
use tokio::sync::{Notify, oneshot};
use tokio_tungstenite::client_async;
use tower::Layer;

/// Longer than anything here takes on any machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// Serves `app` until the sender is used; then drains for `drain`.
async fn start(app: Router, drain: Duration) -> (SocketAddr, oneshot::Sender<()>, Server) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel();
    let server = serve(listener, app)
        .with_graceful_shutdown(async move { drop(stopped.await) })
        .drain_timeout(drain)
        .with_connect_info();
    (address, stop, rt::spawn(server.into_future()))
}

type Server = JoinHandle<io::Result<()>>;

async fn get_from(address: SocketAddr, path: &str) -> hyper::Result<(StatusCode, String)> {
    let stream = TcpStream::connect(address).await.unwrap();
    let (mut sender, connection) = http1::handshake(stream).await?;
    drop(rt::spawn(connection));
    let request = Request::get(path).header("host", "localhost");
    let response = sender
        .send_request(request.body(Body::empty()).unwrap())
        .await?;
    let status = response.status();
    let body = response.into_body().collect().await?.to_bytes();
    Ok((status, String::from_utf8_lossy(&body).into_owned()))
}

async fn ended(server: Server) {
    rt::time::timeout(PATIENCE, server)
        .await
        .expect("the server ends")
        .expect("it does not panic")
        .expect("it meets no error");
}

#[rt::test]
async fn both_versions_of_http_are_served_on_one_port() {
    let app = Router::new().route("/", get(|| async { "hello" }));
    let (address, stop, server) = start(app, PATIENCE).await;

    assert_eq!(
        get_from(address, "/").await.unwrap(),
        (StatusCode::OK, "hello".to_owned())
    );
    assert_eq!(
        get_from(address, "/nothing").await.unwrap().0,
        StatusCode::NOT_FOUND
    );

    let stream = TcpStream::connect(address).await.unwrap();
    let (mut sender, connection) = http2::handshake(rt::hyper::Executor, stream).await.unwrap();
    let connection = rt::spawn(connection);
    let uri = format!("http://{address}/");
    for _ in 0..100 {
        let request = Request::get(&uri).body(Body::empty()).unwrap();
        let response = sender.send_request(request).await.unwrap();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(body, "hello");
    }
    drop(sender);
    connection.await.unwrap().unwrap();

    stop.send(()).unwrap();
    ended(server).await;
}

#[rt::test]
async fn a_graceful_end_lets_requests_finish_and_takes_no_more() {
    let (begun, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let handler = {
        let (begun, go_on) = (Arc::clone(&begun), Arc::clone(&go_on));
        get(async move || {
            begun.notify_one();
            go_on.notified().await;
            "finished"
        })
    };
    let (address, stop, server) = start(Router::new().route("/", handler), PATIENCE).await;
    let idle = TcpStream::connect(address).await.unwrap();
    let request = rt::spawn(get_from(address, "/"));
    begun.notified().await;

    stop.send(()).unwrap();
    // The listener closes: until then a connection may still be accepted.
    while TcpStream::connect(address).await.is_ok() {
        rt::yield_now().await;
    }
    // One that asks for nothing is not waited for.
    assert_eq!(idle.read(&mut [0; 1]).await.unwrap(), 0);
    assert!(!server.is_finished());
    go_on.notify_one();
    assert_eq!(request.await.unwrap().unwrap().1, "finished");
    ended(server).await;
}

#[rt::test]
async fn after_the_drain_time_connections_are_cut() {
    let begun = Arc::new(Notify::new());
    let handler = {
        let begun = Arc::clone(&begun);
        get(async move || {
            begun.notify_one();
            pending::<&str>().await
        })
    };
    let app = Router::new().route("/", handler);
    let (address, stop, server) = start(app, Duration::from_millis(20)).await;
    let request = rt::spawn(get_from(address, "/"));
    begun.notified().await;
    stop.send(()).unwrap();
    ended(server).await;
    request.await.unwrap().unwrap_err();
}

/// Tells when it is dropped.
struct Tell(Arc<Notify>);

impl Drop for Tell {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

/// A handler that never answers, and tells when it begins and when it is dropped.
fn hanging(begun: &Arc<Notify>, dropped: &Arc<Notify>) -> MethodRouter {
    let (begun, dropped) = (Arc::clone(begun), Arc::clone(dropped));
    get(async move || {
        let _tell = Tell(Arc::clone(&dropped));
        begun.notify_one();
        pending::<&str>().await
    })
}

#[rt::test]
async fn an_aborted_server_leaves_no_connection_behind() {
    let (begun, dropped) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let app = Router::new().route("/", hanging(&begun, &dropped));
    let (address, _stop, server) = start(app, PATIENCE).await;
    let request = rt::spawn(get_from(address, "/"));
    begun.notified().await;
    server.abort();
    assert!(server.await.unwrap_err().is_cancelled());
    // The handle resolves after the last connection is gone, so this has happened already.
    rt::time::timeout(Duration::ZERO, dropped.notified())
        .await
        .expect("the handler's future was dropped before");
    request.await.unwrap().unwrap_err();
}

#[rt::test]
async fn a_panic_in_a_handler_ends_its_connection_alone() {
    async fn panicking() -> &'static str {
        panic!("as the test wants")
    }
    let app = Router::new()
        .route("/", get(|| async { "fine" }))
        .route("/panic", get(panicking));
    let (address, stop, server) = start(app, PATIENCE).await;
    get_from(address, "/panic").await.unwrap_err();
    assert_eq!(get_from(address, "/").await.unwrap().1, "fine");
    stop.send(()).unwrap();
    ended(server).await;
}

#[rt::test]
async fn a_handler_can_learn_who_asks() {
    let app = Router::new().route(
        "/",
        get(|ConnectInfo(peer): ConnectInfo<SocketAddr>| async move { peer.ip().to_string() }),
    );
    let (address, stop, server) = start(app, PATIENCE).await;
    assert_eq!(get_from(address, "/").await.unwrap().1, "127.0.0.1");
    stop.send(()).unwrap();
    ended(server).await;
}

#[rt::test]
async fn a_request_beyond_its_time_is_answered_with_a_status() {
    let app = Router::new()
        .route("/slow", get(pending::<&str>))
        .route("/fast", get(|| async { "fast" }))
        .layer(TimeoutLayer::new(Duration::from_millis(20)));
    let fast = Router::new()
        .route("/", get(|| async { "fast" }))
        .layer(TimeoutLayer::new(PATIENCE).status_code(StatusCode::GATEWAY_TIMEOUT));
    let (address, stop, server) = start(app.merge(fast), PATIENCE).await;
    assert_eq!(
        get_from(address, "/slow").await.unwrap(),
        (StatusCode::REQUEST_TIMEOUT, String::new())
    );
    assert_eq!(get_from(address, "/").await.unwrap().1, "fast");
    stop.send(()).unwrap();
    ended(server).await;
}

async fn echo(upgrade: WebSocketUpgrade) -> Response {
    upgrade
        .protocols(["echo"])
        .on_upgrade(async |mut socket: WebSocket| {
            assert_eq!(socket.protocol().unwrap(), "echo");
            while let Some(Ok(message)) = socket.recv().await {
                if message.is_close() || socket.send(message).await.is_err() {
                    break;
                }
            }
        })
}

#[rt::test]
async fn a_websocket_echoes() {
    let app = Router::new().route("/", any(echo));
    let (address, stop, server) = start(app, PATIENCE).await;

    let (status, reason) = get_from(address, "/").await.unwrap();
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert!(reason.contains("websocket"), "{reason}");

    let request = tokio_tungstenite::tungstenite::ClientRequestBuilder::new(
        format!("ws://{address}/").parse().unwrap(),
    )
    .with_sub_protocol("echo");
    let stream = TcpStream::connect(address).await.unwrap();
    let (mut socket, response) = client_async(request, stream).await.unwrap();
    assert_eq!(response.headers()["sec-websocket-protocol"], "echo");
    for size in [0, 1, 1000, 100_000] {
        let message = Message::binary(vec![7; size]);
        send(&mut socket, message.clone()).await;
        assert_eq!(receive(&mut socket).await, Some(message));
    }
    socket.close(None).await.unwrap();
    while receive(&mut socket).await.is_some() {}
    stop.send(()).unwrap();
    ended(server).await;
}

#[rt::test]
async fn a_websocket_hears_of_the_end_and_is_waited_for() {
    async fn last_words(upgrade: WebSocketUpgrade) -> Response {
        upgrade.on_upgrade(async |mut socket: WebSocket| {
            socket.send(Message::text("begun")).await.unwrap();
            rt::cancelled().await;
            socket.send(Message::text("goodbye")).await.unwrap();
        })
    }
    let app = Router::new().route("/", any(last_words));
    let (address, stop, server) = start(app, PATIENCE).await;
    let stream = TcpStream::connect(address).await.unwrap();
    let (mut socket, _) = client_async(format!("ws://{address}/"), stream)
        .await
        .unwrap();
    assert_eq!(receive(&mut socket).await, Some(Message::text("begun")));
    stop.send(()).unwrap();
    assert_eq!(receive(&mut socket).await, Some(Message::text("goodbye")));
    ended(server).await;
}

#[rt::test]
async fn streams_of_http_2_are_cut_with_their_connection() {
    let (begun, dropped) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let app = Router::new().route("/", hanging(&begun, &dropped));
    let (address, stop, server) = start(app, Duration::from_millis(20)).await;
    let stream = TcpStream::connect(address).await.unwrap();
    let (mut sender, connection) = http2::handshake(rt::hyper::Executor, stream).await.unwrap();
    drop(rt::spawn(connection));
    let request = Request::get(format!("http://{address}/"));
    let response = rt::spawn(sender.send_request(request.body(Body::empty()).unwrap()));
    begun.notified().await;
    stop.send(()).unwrap();
    ended(server).await;
    rt::time::timeout(Duration::ZERO, dropped.notified())
        .await
        .expect("the handler's future was dropped before the server ended");
    response.await.unwrap().unwrap_err();
}

type Client = tokio_tungstenite::WebSocketStream<TcpStream>;

async fn send(socket: &mut Client, message: Message) {
    use futures_util::SinkExt;
    socket.send(message).await.unwrap();
}

async fn receive(socket: &mut Client) -> Option<Message> {
    use futures_util::StreamExt;
    Some(socket.next().await?.unwrap()).filter(|message| !message.is_close())
}

/// A layer that does nothing but count how often it is applied.
#[derive(Clone)]
struct Counting(Arc<AtomicUsize>);

impl<S> Layer<S> for Counting {
    type Service = S;

    fn layer(&self, service: S) -> S {
        self.0.fetch_add(1, Relaxed);
        service
    }
}

#[rt::test]
async fn a_router_is_put_together_before_it_is_served_and_not_at_each_request() {
    let applied = Arc::new(AtomicUsize::new(0));
    let app = Router::new()
        .route("/", get(|| async { "hello" }))
        .layer(Counting(Arc::clone(&applied)));
    let (address, stop, server) = start(app, PATIENCE).await;
    get_from(address, "/").await.unwrap();
    let before = applied.load(Relaxed);
    for _ in 0..10 {
        get_from(address, "/").await.unwrap();
    }
    assert_eq!(applied.load(Relaxed), before);
    stop.send(()).unwrap();
    ended(server).await;
}
