//! Postgres, through tokio-postgres over our streams and no tokio, and through sqlx, which insists on it.
//!
//! One server for all that is asked of tokio-postgres: making one takes seconds.

use std::net::Ipv4Addr;
use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{SinkExt, TryStreamExt};
use rt::net::{TcpStream, UnixStream};
use rt::task::{JoinHandle, JoinSet};
use rt::time::{sleep, timeout};
use rt_ecosystem::postgres::{DATABASE, PASSWORD, Postgres, USER};
use rt_tests::Watchdog;
use sqlx::Row;
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use tokio_postgres::error::SqlState;
use tokio_postgres::{AsyncMessage, Client, Config, Error, NoTls};

/// Longer than anything here takes on any machine.
const PATIENCE: Duration = Duration::from_mins(1);

type Connection = JoinHandle<Result<(), Error>>;

#[test]
fn tokio_postgres_needs_no_tokio() {
    let _watchdog = Watchdog::with_limit(Duration::from_mins(5));
    let Some(server) = Postgres::start() else {
        return;
    };
    let runtime = rt::Runtime::new().unwrap();
    runtime.block_on(async {
        queries_are_prepared_and_pipelined(&server).await;
        transactions_hold_or_leave_no_trace(&server).await;
        rows_are_copied_in_and_out(&server).await;
        notifications_arrive(&server).await;
        a_query_is_cancelled(&server).await;
        a_lost_connection_fails_its_queries(&server).await;
        a_unix_socket_will_do(&server).await;
    });
}

fn config() -> Config {
    let mut config = Config::new();
    config.user(USER).password(PASSWORD).dbname(DATABASE);
    config
}

async fn stream(server: &Postgres) -> TcpStream {
    let address = (Ipv4Addr::LOCALHOST, server.port());
    TcpStream::connect(address).await.unwrap()
}

async fn connect(server: &Postgres) -> (Client, Connection) {
    let (client, connection) = config()
        .connect_raw(stream(server).await, NoTls)
        .await
        .unwrap();
    (client, rt::spawn(connection))
}

async fn queries_are_prepared_and_pipelined(server: &Postgres) {
    let (client, connection) = connect(server).await;
    let square = client.prepare("SELECT $1::INT8 * $1").await.unwrap();
    rt::scope(|scope| async move {
        let client = std::sync::Arc::new(client);
        let queries: Vec<_> = (0..1000i64)
            .map(|number| {
                let (client, square) = (client.clone(), square.clone());
                scope.spawn(async move {
                    let row = client.query_one(&square, &[&number]).await.unwrap();
                    assert_eq!(row.get::<_, i64>(0), number * number);
                })
            })
            .collect();
        for query in queries {
            query.await.unwrap();
        }
        let failure = client.query("SELECT nothing FROM nowhere", &[]).await;
        assert_eq!(
            failure.unwrap_err().code(),
            Some(&SqlState::UNDEFINED_TABLE)
        );
    })
    .await;
    // The last client is gone: the connection says goodbye and ends.
    connection.await.unwrap().unwrap();
}

async fn transactions_hold_or_leave_no_trace(server: &Postgres) {
    let (mut client, _connection) = connect(server).await;
    client
        .batch_execute("CREATE TABLE kept (number INT8)")
        .await
        .unwrap();
    for (number, holds) in [(1i64, true), (2, false), (3, true)] {
        let transaction = client.transaction().await.unwrap();
        let insert = "INSERT INTO kept VALUES ($1)";
        transaction.execute(insert, &[&number]).await.unwrap();
        if holds {
            transaction.commit().await.unwrap();
        }
    }
    let rows = client
        .query("SELECT number FROM kept ORDER BY number", &[])
        .await
        .unwrap();
    let kept: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
    assert_eq!(kept, [1, 3]);
}

async fn rows_are_copied_in_and_out(server: &Postgres) {
    const ROWS: usize = 20_000;
    let (client, _connection) = connect(server).await;
    client
        .batch_execute("CREATE TABLE copied (number INT8, text TEXT)")
        .await
        .unwrap();
    let lines: Vec<_> = (0..ROWS)
        .map(|number| format!("{number}\trow {number}\n"))
        .collect();

    let sink = client.copy_in("COPY copied FROM STDIN").await.unwrap();
    let mut sink = pin!(sink);
    for lines in lines.chunks(500) {
        sink.send(Bytes::from(lines.concat())).await.unwrap();
    }
    assert_eq!(sink.finish().await.unwrap(), ROWS as u64);

    // One that is given up leaves nothing behind.
    let sink = client.copy_in::<_, Bytes>("COPY copied FROM STDIN").await;
    let mut sink = Box::pin(sink.unwrap());
    sink.send(Bytes::from_static(b"-1\tgiven up\n"))
        .await
        .unwrap();
    drop(sink);

    let copy = "COPY (SELECT * FROM copied ORDER BY number) TO STDOUT";
    let stream = client.copy_out(copy).await.unwrap();
    let pieces: Vec<Bytes> = stream.try_collect().await.unwrap();
    assert!(pieces.concat() == lines.concat().as_bytes());
}

async fn notifications_arrive(server: &Postgres) {
    let stream = stream(server).await;
    let (listener, mut connection) = config().connect_raw(stream, NoTls).await.unwrap();
    let (sender, notices) = rt::channel::unbounded();
    let listening = rt::spawn(async move {
        while let Some(message) = std::future::poll_fn(|cx| connection.poll_message(cx)).await {
            if let AsyncMessage::Notification(notice) = message.unwrap() {
                sender.send(notice.payload().to_owned()).await.unwrap();
            }
        }
    });
    listener.batch_execute("LISTEN news").await.unwrap();
    let (speaker, _connection) = connect(server).await;
    for number in 0..100 {
        let notify = format!("NOTIFY news, 'number {number}'");
        speaker.batch_execute(&notify).await.unwrap();
    }
    for number in 0..100 {
        let notice = timeout(PATIENCE, notices.recv()).await.unwrap();
        assert_eq!(notice, Some(format!("number {number}")));
    }
    drop(listener);
    listening.await.unwrap();
}

async fn a_query_is_cancelled(server: &Postgres) {
    let (client, _connection) = connect(server).await;
    let (observer, _connection) = connect(server).await;
    let token = client.cancel_token();
    let sleeper = rt::spawn(async move {
        let slept = client.batch_execute("SELECT pg_sleep(600)").await;
        (client, slept.unwrap_err())
    });
    let running = "SELECT FROM pg_stat_activity
        WHERE state = 'active' AND query = 'SELECT pg_sleep(600)'";
    while observer.query(running, &[]).await.unwrap().is_empty() {
        sleep(Duration::from_millis(5)).await;
    }
    let stream = stream(server).await;
    token.cancel_query_raw(stream, NoTls).await.unwrap();
    let (client, error) = timeout(PATIENCE, sleeper).await.unwrap().unwrap();
    assert_eq!(error.code(), Some(&SqlState::QUERY_CANCELED));
    // The connection is none the worse for it.
    client.batch_execute("SELECT 1").await.unwrap();
}

async fn a_lost_connection_fails_its_queries(server: &Postgres) {
    let (client, connection) = connect(server).await;
    let sleeper = rt::spawn(async move {
        let slept = client.batch_execute("SELECT pg_sleep(600)").await;
        (client, slept.unwrap_err())
    });
    connection.abort();
    let (client, error) = timeout(PATIENCE, sleeper).await.unwrap().unwrap();
    assert!(error.is_closed() && client.is_closed());
}

async fn a_unix_socket_will_do(server: &Postgres) {
    let stream = UnixStream::connect(server.socket()).await.unwrap();
    let (client, connection) = config().connect_raw(stream, NoTls).await.unwrap();
    let connection = rt::spawn(connection);
    let row = client.query_one("SELECT 'over a socket'", &[]).await;
    assert_eq!(row.unwrap().get::<_, &str>(0), "over a socket");
    drop(client);
    connection.await.unwrap().unwrap();
}

#[test]
fn sqlx_runs_in_the_context_of_tokio() {
    let _watchdog = Watchdog::with_limit(Duration::from_mins(5));
    let Some(server) = Postgres::start() else {
        return;
    };
    let runtime = rt::Runtime::builder().tokio_context(true).build().unwrap();
    runtime.block_on(async {
        let options = PgConnectOptions::new()
            .host("127.0.0.1")
            .port(server.port())
            .username(USER)
            .password(PASSWORD)
            .database(DATABASE);
        let pool = connections(5, &options).await;
        let mut queries = JoinSet::new();
        for number in 0..200i64 {
            let pool = pool.clone();
            queries.spawn(async move {
                let row = sqlx::query("SELECT $1 * 2").bind(number).fetch_one(&pool);
                assert_eq!(row.await.unwrap().get::<i64, _>(0), number * 2);
            });
        }
        while let Some(query) = queries.join_next().await {
            query.unwrap();
        }
        aborted_queries_give_their_connections_back(&pool, &options).await;
        let mut transaction = pool.begin().await.unwrap();
        sqlx::query("CREATE TABLE undone (number INT8)")
            .execute(&mut *transaction)
            .await
            .unwrap();
        transaction.rollback().await.unwrap();
        let table = sqlx::query("SELECT to_regclass('undone') IS NULL");
        assert!(table.fetch_one(&pool).await.unwrap().get::<bool, _>(0));
        timeout(PATIENCE, pool.close()).await.unwrap();
    });
}

async fn connections(number: u32, options: &PgConnectOptions) -> PgPool {
    PgPoolOptions::new()
        .max_connections(number)
        .connect_with(options.clone())
        .await
        .unwrap()
}

/// Half of them before they send anything, for the most part, and half when the server is at work for them.
async fn aborted_queries_give_their_connections_back(pool: &PgPool, options: &PgConnectOptions) {
    let observer = connections(1, options).await;
    for round in 0..20 {
        let sleeper = rt::spawn({
            let pool = pool.clone();
            async move { sqlx::query("SELECT pg_sleep(600)").execute(&pool).await }
        });
        rt::yield_now().await;
        while round % 2 == 1 && sleeping(&observer, "count(*)").await == 0 {
            sleep(Duration::from_millis(1)).await;
        }
        sleeper.abort();
        assert!(sleeper.await.unwrap_err().is_cancelled());

        // Before sqlx takes a connection back it pings it, however long the server is busy: so end what
        // sleeps there.
        let back = async {
            while pool.num_idle() < pool.size() as usize {
                sleeping(&observer, "count(pg_cancel_backend(pid))").await;
                sleep(Duration::from_millis(1)).await;
            }
        };
        timeout(PATIENCE, back).await.unwrap();
    }
    observer.close().await;
}

/// What `counted` gives over the server processes that are asleep in a query.
async fn sleeping(observer: &PgPool, counted: &'static str) -> i64 {
    let query = format!(
        "SELECT {counted} FROM pg_stat_activity
            WHERE state = 'active' AND query = 'SELECT pg_sleep(600)'"
    );
    let row = sqlx::query(sqlx::AssertSqlSafe(query)).fetch_one(observer);
    row.await.unwrap().get(0)
}
