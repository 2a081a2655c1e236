//! A service with a planted bug, to be found: `planted blocks|lock|leak|busy`.
//!
//! It runs until Ctrl-C. `kill -USR1 PID` makes it write what all of its tasks do to standard error; `rtop PATH` shows it
//! live, and `rtop --record FILE PATH` writes what its threads have done. The guide's chapter "Why is my service slow?" (`runtime/docs/slow-service.md`) finds each of the four.

use std::env;
use std::io;
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use rt::channel::{self, Receiver};
use rt::record::Recording;
use rt::signal::unix::SignalKind;
use rt::sync::Mutex;
use rt::task::Builder;

const HOUR: Duration = Duration::from_hours(1);

fn main() -> io::Result<()> {
    let bug = env::args().nth(1).unwrap_or_default();
    let planted: fn() = match bug.as_str() {
        "blocks" => blocks,
        "lock" => lock,
        "leak" => leak,
        "busy" => busy,
        _ => {
            eprintln!("usage: planted blocks|lock|leak|busy");
            process::exit(2);
        }
    };
    let path = env::temp_dir().join(format!("planted-{}.sock", process::id()));
    let runtime = rt::Runtime::builder()
        .io_threads(2)
        .dump_on_signal(SignalKind::user_defined1())
        .record(Recording::last(Duration::from_secs(10)))
        .inspect(&path)
        .build()?;
    runtime.block_on(async {
        Builder::new().name("heartbeat").spawn(heartbeat());
        planted();
        println!(
            "running as {}; SIGUSR1 for a dump, Ctrl-C to end\nrtop {}",
            process::id(),
            path.display()
        );
        rt::signal::ctrl_c().await
    })?;
    // A task that blocks would be waited for.
    runtime.shutdown_timeout(Duration::from_millis(100));
    Ok(())
}

/// What works all the time.
async fn heartbeat() {
    loop {
        rt::delay(Duration::from_millis(100)).await;
    }
}

/// A report is written with a call that blocks its worker.
fn blocks() {
    Builder::new().name("report").spawn(async {
        loop {
            rt::delay(Duration::from_millis(10)).await;
            thread::sleep(Duration::from_secs(5));
        }
    });
}

/// One request keeps a lock while it waits for something slow; all others wait for the lock.
fn lock() {
    let sessions = Arc::new(Mutex::new(0_u64));
    for number in 0..10 {
        let sessions = Arc::clone(&sessions);
        let request = async move {
            let mut sessions = sessions.lock().await;
            *sessions += 1;
            // The answer of a database that is out of order, say.
            rt::delay(HOUR).await;
        };
        Builder::new()
            .name(format!("request {number}"))
            .spawn(request);
    }
}

/// A watcher for each client, and nobody who ends it when the client has left.
fn leak() {
    Builder::new().name("accept").spawn(async {
        let (events, subscription) = channel::unbounded::<u64>();
        loop {
            rt::delay(Duration::from_millis(20)).await;
            Builder::new()
                .name("watcher")
                .spawn(watch(subscription.clone()));
            // The client is gone; its watcher is not.
            let _ = &events;
        }
    });
}

async fn watch(subscription: Receiver<u64>) {
    while subscription.recv().await.is_some() {}
}

/// A task asks again and again whether it may go on, in place of waiting until it may.
fn busy() {
    Builder::new().name("poller").spawn(async {
        // Nobody ever says so.
        static READY: AtomicBool = AtomicBool::new(false);
        while !READY.load(Relaxed) {
            rt::yield_now().await;
        }
    });
}
