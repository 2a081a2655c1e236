//! A process that stands still for a while, or gets little of a CPU, under load.

use std::fs;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;

use rt::Runtime;
use rt::net::TcpStream;
use rt::task::JoinSet;
use rt_tests::{Watchdog, until};

use super::program::Program;

const CLIENTS: u64 = 16;

/// Clients that ask and check what comes back, until each has had `rounds` answers.
struct Load {
    runtime: Runtime,
    clients: JoinSet<()>,
    answers: Arc<AtomicUsize>,
}

impl Load {
    fn on(address: &str, rounds: u64) -> Load {
        let runtime = Runtime::builder().io_threads(1).build().unwrap();
        let answers = Arc::new(AtomicUsize::new(0));
        let mut clients = JoinSet::new();
        let entered = runtime.enter();
        for number in 0..CLIENTS {
            let (address, answers) = (address.to_owned(), Arc::clone(&answers));
            let client = async move {
                let stream = TcpStream::connect(address).await.unwrap();
                for round in 0..rounds {
                    let word = (number << 32 | round).to_le_bytes();
                    stream.write_all(&word).await.unwrap();
                    let mut answer = [0; 8];
                    stream.read_exact(&mut answer).await.unwrap();
                    assert_eq!(answer, word);
                    answers.fetch_add(1, SeqCst);
                }
            };
            clients.spawn(client);
        }
        drop(entered);
        Load {
            runtime,
            clients,
            answers,
        }
    }

    fn answers(&self) -> usize {
        self.answers.load(SeqCst)
    }

    /// Waits for the last answer.
    fn finish(mut self) {
        self.runtime.block_on(async {
            while let Some(ended) = self.clients.join_next().await {
                ended.unwrap();
            }
        });
    }
}

/// Whether a process is stopped, as the kernel tells it.
fn is_stopped(process: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let (_, behind_the_name) = stat.rsplit_once(") ").unwrap();
    behind_the_name.starts_with('T')
}

#[test]
fn a_process_that_is_stopped_and_goes_on_again_loses_nothing() {
    let _watchdog = Watchdog::new();
    let (server, address) = Program::server();
    let load = Load::on(&address, 200);
    for stop in 1..=10 {
        until(|| load.answers() >= 100 * stop);
        server.signal("STOP");
        until(|| is_stopped(server.id()));
        server.signal("CONT");
        until(|| !is_stopped(server.id()));
    }
    load.finish();
}

/// A control group whose processes get a tenth of a CPU, all together.
struct Throttle {
    group: PathBuf,
}

impl Throttle {
    fn new() -> Result<Throttle, String> {
        let name = format!("rt-faults-{}", process::id());
        let (group, settings) = if Path::new("/sys/fs/cgroup/cgroup.controllers").exists() {
            let group = Path::new("/sys/fs/cgroup").join(name);
            (group, vec![("cpu.max", "10000 100000")])
        } else {
            let group = Path::new("/sys/fs/cgroup/cpu").join(name);
            let period = ("cpu.cfs_period_us", "100000");
            (group, vec![period, ("cpu.cfs_quota_us", "10000")])
        };
        let tell = |error| format!("{}: {error}", group.display());
        fs::create_dir(&group).map_err(tell)?;
        let throttle = Throttle { group };
        for (file, value) in settings {
            let path = throttle.group.join(file);
            fs::write(&path, value).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        Ok(throttle)
    }

    fn add(&self, process: u32) -> Result<(), String> {
        let path = self.group.join("cgroup.procs");
        fs::write(&path, process.to_string()).map_err(|e| format!("{}: {e}", path.display()))
    }
}

impl Drop for Throttle {
    fn drop(&mut self) {
        // It can be removed when its last process has been.
        until(|| fs::remove_dir(&self.group).is_ok() || !self.group.exists());
    }
}

#[test]
fn a_process_that_is_throttled_loses_nothing() {
    let _watchdog = Watchdog::new();
    let throttle = match Throttle::new() {
        Ok(throttle) => throttle,
        Err(reason) => return println!("skipped: no control group can be made: {reason}"),
    };
    let (server, address) = Program::server();
    if let Err(reason) = throttle.add(server.id()) {
        return println!("skipped: the control group takes no process: {reason}");
    }
    let load = Load::on(&address, 20);
    load.finish();
    drop(server);
}
