//! Finds a race by running a thousand seeds, and replays it from one.
//!
//! A cache in front of a store, with a fault that hardly ever shows: whoever reads puts what the store
//! has said into the cache, and whoever writes takes the old entry out. If the answer to the reader is
//! older than the write, and comes to the cache after the writer has been there, the cache is wrong
//! from then on. In the order in which tasks run without a seed, that never happens.
//!
//! ```text
//! cargo run -p rt-examples --example seeds          # runs a thousand, then replays one that fails
//! cargo run -p rt-examples --example seeds -- 42    # replays that one
//! ```
//!
//! Time is virtual: a thousand runs of some milliseconds each take a fraction of a second.

use std::env;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rt::time::{Instant, sleep};

const SEEDS: u64 = 1000;

/// How long a message to the store is on its way.
const WAY: Duration = Duration::from_millis(1);

/// The store and its cache, and what happens to them.
struct World {
    store: Mutex<u32>,
    cache: Mutex<Option<u32>>,
    log: Mutex<Vec<String>>,
    start: Instant,
}

impl World {
    fn note(&self, what: &str) {
        let line = format!("{:>5.1?}  {what}", self.start.elapsed());
        self.log.lock().unwrap().push(line);
    }

    async fn read(&self) -> u32 {
        let cached = *self.cache.lock().unwrap();
        if let Some(value) = cached {
            return value;
        }
        sleep(WAY).await;
        let value = *self.store.lock().unwrap();
        self.note(&format!("the reader gets {value} from the store"));
        // The answer is unpacked, which lets others run.
        rt::yield_now().await;
        // The fault: by now the store may have another value.
        *self.cache.lock().unwrap() = Some(value);
        self.note(&format!("the reader puts {value} into the cache"));
        value
    }

    async fn write(&self, value: u32) {
        sleep(WAY).await;
        *self.store.lock().unwrap() = value;
        self.note(&format!("the writer puts {value} into the store"));
        // The store answers that it is done, and that is unpacked.
        for _ in 0..3 {
            rt::yield_now().await;
        }
        *self.cache.lock().unwrap() = None;
        self.note("the writer clears the cache");
    }
}

/// How a run ended.
struct Run {
    /// Whether the cache says what the store has.
    right: bool,
    log: Vec<String>,
}

/// One run. Whatever is left to chance in it comes from the seed; `None` leaves nothing to chance.
fn run(seed: Option<u64>) -> Run {
    let mut builder = rt::Runtime::builder().current_thread().start_paused(true);
    if let Some(seed) = seed {
        builder = builder.seed(seed);
    }
    let runtime = builder.build().expect("a runtime");
    runtime.block_on(async {
        let world = Arc::new(World {
            store: Mutex::new(1),
            cache: Mutex::new(None),
            log: Mutex::new(Vec::new()),
            start: Instant::now(),
        });
        let (reading, writing) = (Arc::clone(&world), Arc::clone(&world));
        let reader = rt::spawn(async move { reading.read().await });
        let writer = rt::spawn(async move { writing.write(2).await });
        reader.await.expect("the reader");
        writer.await.expect("the writer");
        let (said, is) = (world.read().await, *world.store.lock().unwrap());
        world.note(&format!("the cache says {said}, and the store has {is}"));
        let log = std::mem::take(&mut *world.log.lock().unwrap());
        Run {
            right: said == is,
            log,
        }
    })
}

fn replay(seed: u64) {
    let run = run(Some(seed));
    println!("seed {seed}:");
    for line in &run.log {
        println!("{line}");
    }
    println!("{}", if run.right { "right" } else { "wrong" });
}

fn main() {
    if let Some(seed) = env::args().nth(1) {
        return replay(seed.parse().expect("a seed is a whole number"));
    }
    assert!(run(None).right, "without a seed the fault does not show");
    let wrong: Vec<u64> = (0..SEEDS).filter(|&seed| !run(Some(seed)).right).collect();
    println!("{} of {SEEDS} seeds end with a wrong cache", wrong.len());
    if let Some(&first) = wrong.first() {
        replay(first);
    }
}
