//! Many clients at once, who count what they hear.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rt::net::TcpStream;
use rt::time::{Instant, sleep, timeout};
use tokio::sync::{Barrier, Semaphore};

use super::Lines;

/// How many of them talk.
const TALKERS: usize = 4;
/// How often each of those does.
const PAUSE: Duration = Duration::from_secs(1);
/// How many connect at the same time, so that the listener's queue is not overrun.
const CONNECTING: usize = 128;
/// How long the end may take to reach everybody.
const PATIENCE: Duration = Duration::from_mins(1);

/// Connects `clients` clients and has some of them talk for `length`. An error if anybody misses a
/// line, hears one twice, or is cut off.
pub(super) async fn run(address: &str, clients: usize, length: Duration) -> io::Result<()> {
    let start = Instant::now();
    let plan = Arc::new(Plan {
        address: address.to_owned(),
        talkers: TALKERS.min(clients),
        rounds: usize::try_from(length.as_secs() / PAUSE.as_secs()).unwrap_or(usize::MAX),
        connecting: Semaphore::new(CONNECTING),
        everybody: Barrier::new(clients),
    });
    let tasks: Vec<_> = (0..clients)
        .map(|client| rt::spawn(take_part(client, Arc::clone(&plan))))
        .collect();
    let mut failed = 0;
    for (client, task) in tasks.into_iter().enumerate() {
        if let Err(error) = task.await? {
            failed += 1;
            eprintln!("client {client}: {error}");
        }
    }
    let lines = plan.talkers * plan.rounds;
    println!(
        "{clients} clients, {lines} lines to each, {:?}",
        start.elapsed()
    );
    if failed > 0 {
        return Err(io::Error::other(format!(
            "{failed} clients missed something"
        )));
    }
    println!("none lost");
    Ok(())
}

struct Plan {
    address: String,
    talkers: usize,
    rounds: usize,
    connecting: Semaphore,
    everybody: Barrier,
}

async fn take_part(client: usize, plan: Arc<Plan>) -> io::Result<()> {
    // A client that fails here must still let the others begin.
    let connected = connect(client, &plan).await;
    plan.everybody.wait().await;
    let (mut lines, writer) = connected?;
    let talking = rt::spawn({
        let plan = Arc::clone(&plan);
        async move {
            if client < plan.talkers {
                for round in 0..plan.rounds {
                    sleep(PAUSE).await;
                    writer.write_all(format!("{round}\n").as_bytes()).await?;
                }
            }
            // It is given back, since dropping it would end the connection.
            io::Result::Ok(writer)
        }
    });
    let limit = PAUSE * u32::try_from(plan.rounds).unwrap_or(u32::MAX) + PATIENCE;
    let heard = timeout(limit, hear(&mut lines, &plan)).await;
    heard.unwrap_or_else(|_| Err(io::Error::other("the last lines do not come")))?;
    talking.await?.map(drop)
}

async fn connect(client: usize, plan: &Plan) -> io::Result<(Lines, rt::net::tcp::OwnedWriteHalf)> {
    let _turn = plan.connecting.acquire().await.map_err(io::Error::other)?;
    let stream = TcpStream::connect(&plan.address).await?;
    let (reader, writer) = stream.into_split();
    writer
        .write_all(format!("client-{client}\n").as_bytes())
        .await?;
    let mut lines = Lines::new(reader);
    match lines.next().await? {
        Some(line) if line.starts_with("* welcome") => Ok((lines, writer)),
        other => Err(io::Error::other(format!("not welcome: {other:?}"))),
    }
}

/// Hears every line of every talker, in order.
async fn hear(lines: &mut Lines, plan: &Plan) -> io::Result<()> {
    let mut next = vec![0; plan.talkers];
    for _ in 0..plan.talkers * plan.rounds {
        let line = lines.next().await?;
        let line = line.ok_or_else(|| io::Error::other("cut off"))?;
        let said = line.strip_prefix("client-").and_then(|line| {
            let (talker, round) = line.split_once(": ")?;
            Some((talker.parse::<usize>().ok()?, round.parse::<usize>().ok()?))
        });
        match said {
            Some((talker, round)) if next.get(talker) == Some(&round) => next[talker] += 1,
            _ => return Err(io::Error::other(format!("after {next:?} came {line:?}"))),
        }
    }
    Ok(())
}
