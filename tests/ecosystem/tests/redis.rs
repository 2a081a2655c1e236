//! Redis, through the crate of that name over our streams.

use std::net::Ipv4Addr;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncCommands, AsyncConnectionConfig, RedisConnectionInfo};
use rt::net::TcpStream;
use rt::task::{JoinHandle, JoinSet};
use rt::time::{sleep, timeout};
use rt_ecosystem::redis::Redis;
use rt_tests::Watchdog;

/// Longer than anything here takes on any machine.
const PATIENCE: Duration = Duration::from_mins(1);

async fn connect(server: &Redis) -> (MultiplexedConnection, JoinHandle<()>) {
    let address = (Ipv4Addr::LOCALHOST, server.port());
    let stream = TcpStream::connect(address).await.unwrap();
    // Its timeouts would start a runtime of their own.
    let config = AsyncConnectionConfig::new().set_response_timeout(None);
    let info = RedisConnectionInfo::default();
    let (connection, driver) = MultiplexedConnection::new_with_config(&info, stream, config)
        .await
        .unwrap();
    (connection, rt::spawn(driver))
}

#[test]
fn one_connection_serves_many_tasks() {
    let _watchdog = Watchdog::with_limit(Duration::from_mins(2));
    let Some(server) = Redis::start() else {
        return;
    };
    let runtime = rt::Runtime::new().unwrap();
    runtime.block_on(async {
        let (mut connection, driver) = connect(&server).await;
        let mut tasks = JoinSet::new();
        for task in 0..100 {
            let mut connection = connection.clone();
            tasks.spawn(async move {
                let key = format!("key {task}");
                for number in 0..20 {
                    let () = connection.set(&key, number).await.unwrap();
                    assert_eq!(connection.get::<_, i64>(&key).await.unwrap(), number);
                    let () = connection.incr("sum", 1).await.unwrap();
                }
            });
        }
        while let Some(task) = tasks.join_next().await {
            task.unwrap();
        }
        let sum: i64 = connection.get("sum").await.unwrap();
        assert_eq!(sum, 2000);

        let large = vec![7u8; 5_000_000];
        let (old, new): (i64, Vec<u8>) = redis::pipe()
            .atomic()
            .get("sum")
            .set("large", &large)
            .ignore()
            .get("large")
            .query_async(&mut connection)
            .await
            .unwrap();
        assert!(old == 2000 && new == large);

        drop(connection);
        timeout(PATIENCE, driver).await.unwrap().unwrap();
    });
}

#[test]
fn a_task_that_is_blocked_on_a_list_is_served_and_one_that_is_aborted_takes_nothing() {
    let _watchdog = Watchdog::with_limit(Duration::from_mins(2));
    let Some(server) = Redis::start() else {
        return;
    };
    let runtime = rt::Runtime::new().unwrap();
    runtime.block_on(async {
        let (mut speaker, _driver) = connect(&server).await;
        for given_up in [false, true, false] {
            let (mut waiter, driver) = connect(&server).await;
            let waiting = rt::spawn(async move { waiter.blpop("list", 0.0).await });
            blocked_clients(&mut speaker, 1).await;
            if given_up {
                waiting.abort();
                driver.abort();
                assert!(waiting.await.unwrap_err().is_cancelled());
                blocked_clients(&mut speaker, 0).await;
                continue;
            }
            let () = speaker.rpush("list", "a value").await.unwrap();
            let got: (String, String) = timeout(PATIENCE, waiting).await.unwrap().unwrap().unwrap();
            assert_eq!(got, ("list".to_owned(), "a value".to_owned()));
        }
    });
}

/// Waits until the server counts so many clients that wait for a list.
async fn blocked_clients(connection: &mut MultiplexedConnection, count: usize) {
    let count = format!("blocked_clients:{count}\r\n");
    loop {
        let info: String = redis::cmd("INFO")
            .arg("clients")
            .query_async(connection)
            .await
            .unwrap();
        if info.contains(&count) {
            return;
        }
        sleep(Duration::from_millis(5)).await;
    }
}
