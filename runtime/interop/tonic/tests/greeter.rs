//! Calls of all four kinds between a generated client and a generated server, and what can go wrong.

use std::future::{Future, pending};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use greeter::greeter_client::GreeterClient;
use greeter::greeter_server::{Greeter, GreeterServer};
use greeter::{Greeting, Name};
use rt::channel::{Receiver, Sender, bounded, unbounded};
use rt::net::{TcpListener, TcpStream};
use rt::sync::{Notify, oneshot};
use rt::task::JoinHandle;
use rt::time::timeout;
use rt_tonic::{Channel, DeadlineLayer, serve};
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

/// What the handlers tell the tests.
#[derive(Clone)]
struct Service {
    /// A handler that waits for `go_on` has begun.
    begun: Arc<Notify>,
    go_on: Arc<Notify>,
    /// A handler, or a stream of answers, has been dropped before its end.
    cut: Sender<&'static str>,
}

struct Cut(Sender<&'static str>, &'static str);

impl Drop for Cut {
    fn drop(&mut self) {
        // The test may have ended.
        let _ = self.0.try_send(self.1);
    }
}

#[tonic::async_trait]
impl Greeter for Service {
    type HelloAgainStream = Receiver<Result<Greeting, Status>>;
    type HelloEachStream = Receiver<Result<Greeting, Status>>;

    async fn hello(&self, request: Request<Name>) -> Result<Response<Greeting>, Status> {
        let name = request.into_inner().name;
        match name.as_str() {
            "" => return Err(Status::invalid_argument("nobody to greet")),
            "panic" => panic!("a handler panics, as the test wants it"),
            "wait" => {
                let cut = Cut(self.cut.clone(), "hello");
                self.begun.notify_one();
                self.go_on.notified().await;
                std::mem::forget(cut);
            }
            _ => {}
        }
        Ok(Response::new(greet(&name)))
    }

    async fn hello_again(
        &self,
        request: Request<Name>,
    ) -> Result<Response<Self::HelloAgainStream>, Status> {
        let name = request.into_inner();
        let (answers, stream) = bounded(1);
        let cut = self.cut.clone();
        rt::spawn(async move {
            for _ in 0..name.times {
                if answers.send(Ok(greet(&name.name))).await.is_err() {
                    drop(Cut(cut, "hello_again"));
                    return;
                }
            }
        });
        Ok(Response::new(stream))
    }

    async fn hello_all(
        &self,
        request: Request<Streaming<Name>>,
    ) -> Result<Response<Greeting>, Status> {
        let mut stream = request.into_inner();
        let mut names = Vec::new();
        while let Some(name) = stream.message().await? {
            names.push(name.name);
        }
        Ok(Response::new(greet(&names.join(" and "))))
    }

    async fn hello_each(
        &self,
        request: Request<Streaming<Name>>,
    ) -> Result<Response<Self::HelloEachStream>, Status> {
        let mut names = request.into_inner();
        let (answers, stream) = bounded(1);
        rt::spawn(async move {
            while let Ok(Some(name)) = names.message().await {
                if answers.send(Ok(greet(&name.name))).await.is_err() {
                    return;
                }
            }
        });
        Ok(Response::new(stream))
    }
}

fn greet(name: &str) -> Greeting {
    Greeting {
        text: format!("Hello, {name}!"),
    }
}

fn name(name: &str) -> Name {
    Name {
        name: name.to_owned(),
        ..Name::default()
    }
}

/// A server of the greeter, and what its handlers tell.
struct Server {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    ended: JoinHandle<io::Result<()>>,
    service: Service,
    cuts: Receiver<&'static str>,
}

fn service() -> (Service, Receiver<&'static str>) {
    let (cut, cuts) = unbounded();
    let service = Service {
        begun: Arc::default(),
        go_on: Arc::default(),
        cut,
    };
    (service, cuts)
}

fn routes(service: &Service) -> Routes {
    Routes::new(GreeterServer::new(service.clone()))
}

async fn start(address: &str) -> Server {
    let listener = TcpListener::bind(address).await.unwrap();
    let address = listener.local_addr().unwrap();
    let (service, cuts) = service();
    let (stop, stopped) = oneshot::channel();
    let server = serve(listener, routes(&service))
        .with_graceful_shutdown(async move { drop(stopped.await) })
        .drain_timeout(PATIENCE);
    let ended = rt::spawn(server.into_future());
    Server {
        address,
        stop,
        ended,
        service,
        cuts,
    }
}

impl Server {
    fn client(&self) -> GreeterClient<Channel> {
        GreeterClient::new(Channel::new(format!("http://{}", self.address)).unwrap())
    }

    async fn stop(self) {
        // If it is not there any more, the next line tells why.
        let _ = self.stop.send(());
        soon(self.ended).await.unwrap().unwrap();
    }
}

/// A watchdog.
async fn soon<F: Future>(future: F) -> F::Output {
    timeout(PATIENCE, future).await.expect("it comes to an end")
}

#[rt::test]
async fn all_four_kinds_of_calls_are_answered() {
    let server = start("127.0.0.1:0").await;
    let mut client = server.client();

    let answer = client.hello(name("Ada")).await.unwrap().into_inner();
    assert_eq!(answer, greet("Ada"));

    let request = Name {
        times: 100,
        ..name("Bob")
    };
    let mut answers = client.hello_again(request).await.unwrap().into_inner();
    for _ in 0..100 {
        assert_eq!(answers.message().await.unwrap(), Some(greet("Bob")));
    }
    assert_eq!(answers.message().await.unwrap(), None);

    let (names, stream) = bounded(1);
    let all = rt::spawn({
        let mut client = client.clone();
        async move { client.hello_all(stream).await }
    });
    for who in ["Cleo", "Dan"] {
        names.send(name(who)).await.unwrap();
    }
    drop(names);
    let answer = all.await.unwrap().unwrap().into_inner();
    assert_eq!(answer, greet("Cleo and Dan"));

    let (names, stream) = bounded(1);
    let mut answers = client.hello_each(stream).await.unwrap().into_inner();
    for _ in 0..100 {
        names.send(name("Eve")).await.unwrap();
        assert_eq!(answers.message().await.unwrap(), Some(greet("Eve")));
    }
    drop(names);
    assert_eq!(answers.message().await.unwrap(), None);

    drop((client, answers));
    server.stop().await;
}

#[rt::test]
async fn a_thousand_calls_at_once_share_one_connection() {
    let server = start("127.0.0.1:0").await;
    let connected = Arc::new(AtomicUsize::new(0));
    let channel = {
        let (address, connected) = (server.address, Arc::clone(&connected));
        Channel::builder(format!("http://{address}"))
            .unwrap()
            .connector(move || {
                connected.fetch_add(1, Ordering::Relaxed);
                TcpStream::connect(address)
            })
            .build()
            .unwrap()
    };
    let client = GreeterClient::new(channel);
    let calls: Vec<_> = (0..1000)
        .map(|number| {
            let mut client = client.clone();
            rt::spawn(async move { client.hello(name(&number.to_string())).await })
        })
        .collect();
    for (number, call) in calls.into_iter().enumerate() {
        let answer = soon(call).await.unwrap().unwrap().into_inner();
        assert_eq!(answer, greet(&number.to_string()));
    }
    assert_eq!(connected.load(Ordering::Relaxed), 1);
    server.stop().await;
}

#[rt::test]
async fn errors_and_panics_of_handlers_are_of_one_call() {
    let server = start("127.0.0.1:0").await;
    let mut client = server.client();
    let error = client.hello(name("")).await.unwrap_err();
    assert_eq!(error.code(), Code::InvalidArgument);
    assert_eq!(error.message(), "nobody to greet");
    // HTTP/2 has no word for it but that the stream is over.
    soon(client.hello(name("panic"))).await.unwrap_err();
    client.hello(name("Ada")).await.unwrap();
    server.stop().await;
}

#[rt::test]
async fn a_timeout_is_kept_by_the_client_if_the_server_is_silent() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut client = GreeterClient::new(Channel::new(format!("http://{address}")).unwrap());
    let mut request = Request::new(name("Ada"));
    request.set_timeout(Duration::from_millis(20));
    let error = soon(client.hello(request)).await.unwrap_err();
    assert_eq!(error.code(), Code::DeadlineExceeded, "{error}");
}

#[rt::test]
async fn a_timeout_is_kept_by_the_server_too() {
    // No channel between them: nothing but the server's layer knows of the timeout.
    let (service, cuts) = service();
    let router = routes(&service).into_axum_router().layer(DeadlineLayer);
    let mut client = GreeterClient::new(router);
    let mut request = Request::new(name("wait"));
    request.set_timeout(Duration::from_millis(20));
    let error = soon(client.hello(request)).await.unwrap_err();
    assert_eq!(error.code(), Code::DeadlineExceeded, "{error}");
    assert_eq!(soon(cuts.recv()).await, Some("hello"));
    // Time that is not used up is no hindrance.
    let mut request = Request::new(name("Ada"));
    request.set_timeout(PATIENCE);
    soon(client.hello(request)).await.unwrap();
}

#[rt::test]
async fn a_server_that_comes_back_is_found_again() {
    let server = start("127.0.0.1:0").await;
    let address = server.address;
    let mut client = server.client();
    for _ in 0..3 {
        client.hello(name("Ada")).await.unwrap();
    }
    server.stop().await;
    for _ in 0..3 {
        let error = soon(client.hello(name("Ada"))).await.unwrap_err();
        assert_eq!(error.code(), Code::Unavailable, "{error}");
    }
    let server = start(&address.to_string()).await;
    for _ in 0..3 {
        client.hello(name("Ada")).await.unwrap();
    }
    server.stop().await;
}

#[rt::test]
async fn a_call_that_is_dropped_drops_its_handler() {
    let server = start("127.0.0.1:0").await;
    let mut client = server.client();
    let call = rt::spawn({
        let mut client = client.clone();
        async move { client.hello(name("wait")).await }
    });
    soon(server.service.begun.notified()).await;
    call.abort();
    assert_eq!(soon(server.cuts.recv()).await, Some("hello"));
    // And the connection goes on, as it does when a stream is dropped.
    let request = Name {
        times: u32::MAX,
        ..name("Bob")
    };
    let mut answers = client.hello_again(request).await.unwrap().into_inner();
    answers.message().await.unwrap().unwrap();
    drop(answers);
    assert_eq!(soon(server.cuts.recv()).await, Some("hello_again"));
    client.hello(name("Ada")).await.unwrap();
    server.stop().await;
}

#[rt::test]
async fn a_graceful_end_lets_calls_finish() {
    let server = start("127.0.0.1:0").await;
    let call = rt::spawn({
        let mut client = server.client();
        async move { client.hello(name("wait")).await }
    });
    soon(server.service.begun.notified()).await;
    server.stop.send(()).unwrap();
    // The listener closes: until then a connection may still be accepted.
    while TcpStream::connect(server.address).await.is_ok() {
        rt::yield_now().await;
    }
    assert!(!server.ended.is_finished());
    server.service.go_on.notify_one();
    assert_eq!(
        soon(call).await.unwrap().unwrap().into_inner(),
        greet("wait")
    );
    soon(server.ended).await.unwrap().unwrap();
}

#[rt::test]
async fn a_connection_that_does_not_come_about_is_an_error() {
    let channel = Channel::builder("http://silent.example")
        .unwrap()
        .connector(pending::<io::Result<TcpStream>>)
        .connect_timeout(Duration::from_millis(20))
        .build()
        .unwrap();
    let error = soon(GreeterClient::new(channel).hello(name("Ada"))).await;
    let error = error.unwrap_err();
    assert_eq!(error.code(), Code::Unavailable, "{error}");
    assert!(error.message().contains("too long"), "{error}");
}

#[test]
fn targets_that_make_no_sense_are_errors() {
    for target in [
        "",
        "/path",
        "localhost:1",
        "https://localhost:1",
        "ftp://x",
        "http://a b",
    ] {
        let error = Channel::new(target).unwrap_err();
        assert_eq!(
            error.kind(),
            io::ErrorKind::InvalidInput,
            "{target:?}: {error}"
        );
    }
    let text = Channel::new("https://localhost:1").unwrap_err().to_string();
    assert!(text.contains("connector"), "{text}");
}
