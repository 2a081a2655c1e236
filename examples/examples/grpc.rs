//! gRPC by tonic, without a runtime of tokio: a greeter with all four kinds of calls, and one who calls it.
//!
//! ```text
//! cargo run -p rt-examples --example grpc                               # both sides
//! cargo run -p rt-examples --example grpc 127.0.0.1:50051               # the server, until Ctrl-C
//! cargo run -p rt-examples --example grpc call http://127.0.0.1:50051   # the client
//! ```
//!
//! Messages, client and server are generated from `examples/proto/greeter.proto`.

use std::error::Error;
use std::io;
use std::time::Duration;

use greeter::greeter_client::GreeterClient;
use greeter::greeter_server::{Greeter, GreeterServer};
use greeter::{Greeting, Name};
use rt::channel::{Receiver, bounded};
use rt::net::TcpListener;
use rt_tonic::{Channel, serve};
use tonic::service::Routes;
use tonic::{Code, Request, Response, Status, Streaming};

#[path = "../proto/greeter.rs"]
#[allow(
    clippy::pedantic,
    missing_debug_implementations,
    missing_docs,
    unreachable_pub,
    reason = "generated"
)]
mod greeter;

/// The server's side. It keeps nothing between calls.
struct Polite;

#[tonic::async_trait]
impl Greeter for Polite {
    type HelloAgainStream = Receiver<Result<Greeting, Status>>;
    type HelloEachStream = Receiver<Result<Greeting, Status>>;

    async fn hello(&self, request: Request<Name>) -> Result<Response<Greeting>, Status> {
        let name = request.into_inner().name;
        if name.is_empty() {
            return Err(Status::invalid_argument("there is nobody to greet"));
        }
        Ok(Response::new(greet(&name)))
    }

    async fn hello_again(
        &self,
        request: Request<Name>,
    ) -> Result<Response<Self::HelloAgainStream>, Status> {
        let name = request.into_inner();
        let (answers, stream) = bounded(1);
        rt::spawn(async move {
            for _ in 0..name.times {
                // It fails once the client has gone.
                if answers.send(Ok(greet(&name.name))).await.is_err() {
                    return;
                }
                rt::delay(Duration::from_millis(name.every_ms.into())).await;
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
        times: 3,
        every_ms: 10,
    }
}

/// Serves until `end` is ready; then calls that have begun may take ten seconds more.
async fn server(
    listener: TcpListener,
    end: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    println!("listening on {}", listener.local_addr()?);
    serve(listener, Routes::new(GreeterServer::new(Polite)))
        .with_graceful_shutdown(end)
        .drain_timeout(Duration::from_secs(10))
        .await
}

/// One call of each kind, and one that takes too long.
async fn client(target: &str) -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut client = GreeterClient::new(Channel::new(target)?);

    let answer = client.hello(name("Ada")).await?.into_inner();
    println!("one for one:   {}", answer.text);

    let mut answers = client.hello_again(name("Bob")).await?.into_inner();
    while let Some(answer) = answers.message().await? {
        println!("many for one:  {}", answer.text);
    }

    let (names, stream) = bounded(2);
    for who in ["Cleo", "Dan"] {
        names.send(name(who)).await?;
    }
    drop(names);
    let answer = client.hello_all(stream).await?.into_inner();
    println!("one for many:  {}", answer.text);

    let (names, stream) = bounded(1);
    let mut answers = client.hello_each(stream).await?.into_inner();
    for who in ["Eve", "Finn"] {
        names.send(name(who)).await?;
        if let Some(answer) = answers.message().await? {
            println!("many for many: {}", answer.text);
        }
    }

    // An answer that does not come as long as a name is expected.
    let (names, stream) = bounded::<Name>(1);
    let mut request = Request::new(stream);
    request.set_timeout(Duration::from_millis(50));
    match client.hello_all(request).await {
        Err(status) if status.code() == Code::DeadlineExceeded => {
            println!("too late:      {status}");
        }
        other => return Err(format!("not in time, and yet: {other:?}").into()),
    }
    drop(names);
    Ok(())
}

#[rt::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => {
            let listener = TcpListener::bind("127.0.0.1:0").await?;
            let target = format!("http://{}", listener.local_addr()?);
            let (done, end) = rt::channel::oneshot::<()>();
            let server = rt::spawn(server(listener, async move { _ = end.await }));
            client(&target).await?;
            drop(done);
            Ok(server.await??)
        }
        ["call", target] => client(target).await,
        [address] => {
            let listener = TcpListener::bind(address).await?;
            let end = async {
                if let Err(error) = rt::signal::ctrl_c().await {
                    eprintln!("no Ctrl-C: {error}");
                }
            };
            Ok(server(listener, end).await?)
        }
        _ => Err("usage: grpc [ADDRESS | call URI]".into()),
    }
}
