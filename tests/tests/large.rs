//! Large futures on small stacks: a future is moved to the heap before anything else is done with
//! it, in debug builds too.

#![expect(
    clippy::large_stack_arrays,
    reason = "arrays that are too large are the point"
)]

use std::array;
use std::hint::black_box;
use std::thread;

use rt::Dispatcher;
use rt::task::{JoinSet, LocalSet};
use rt_tests::{FLAVOURS, Watchdog};

const LARGE: usize = 192 << 10;
const STACK: usize = 256 << 10;
/// For a thread that makes large futures. Without optimization each function that passes one on
/// has a copy of its own, so there must be few.
const SPAWNER: usize = 1 << 20;

/// A future that is larger than half a stack: it keeps its bytes across an await.
async fn large() -> u64 {
    let mut bytes = [0_u8; LARGE];
    black_box(&mut bytes)[LARGE - 1] = 1;
    rt::yield_now().await;
    bytes.iter().map(|byte| u64::from(*byte)).sum()
}

/// Runs on a thread with room for a few copies.
fn spawner(body: impl FnOnce() + Send + 'static) {
    let thread = thread::Builder::new()
        .stack_size(SPAWNER)
        .spawn(body)
        .unwrap();
    thread.join().unwrap();
}

#[test]
fn a_large_future_is_large() {
    assert!(size_of_val(&large()) >= LARGE);
}

#[test]
fn a_large_future_is_spawned_onto_small_stacks() {
    for flavour in FLAVOURS {
        let _watchdog = Watchdog::new();
        spawner(move || {
            let runtime = flavour.builder().thread_stack_size(STACK).build().unwrap();
            let task = runtime.spawn(large());
            assert_eq!(runtime.block_on(task).unwrap(), 1);
        });
    }
}

#[test]
fn a_large_future_is_spawned_by_a_task() {
    for flavour in FLAVOURS {
        let _watchdog = Watchdog::new();
        let runtime = flavour.build();
        for dispatcher in [Dispatcher::Io, Dispatcher::Cpu] {
            let task = runtime.spawn_on(dispatcher, async { rt::spawn(large()).await.unwrap() });
            assert_eq!(runtime.block_on(task).unwrap(), 1);
        }
    }
}

#[test]
fn a_large_future_is_spawned_onto_the_cpu_pool() {
    for flavour in FLAVOURS {
        let _watchdog = Watchdog::new();
        spawner(move || {
            let runtime = flavour.builder().thread_stack_size(STACK).build().unwrap();
            let task = runtime.spawn_on(Dispatcher::Cpu, large());
            assert_eq!(runtime.block_on(task).unwrap(), 1);
        });
    }
}

#[test]
fn a_large_future_is_moved_to_another_pool_and_within_one() {
    for flavour in FLAVOURS {
        let _watchdog = Watchdog::new();
        spawner(move || {
            let runtime = flavour.builder().thread_stack_size(STACK).build().unwrap();
            for to in [Dispatcher::Io, Dispatcher::Cpu, Dispatcher::Cpu.limited(1)] {
                let task = runtime.spawn(rt::run_on(to.clone(), large()));
                assert_eq!(runtime.block_on(task).unwrap(), 1);
                assert_eq!(runtime.block_on(rt::run_on(to, large())), 1);
            }
        });
    }
}

#[test]
fn a_large_future_is_blocked_on() {
    for flavour in FLAVOURS {
        let _watchdog = Watchdog::new();
        spawner(move || {
            let runtime = flavour.builder().thread_stack_size(STACK).build().unwrap();
            assert_eq!(runtime.block_on(large()), 1);
        });
    }
}

#[test]
fn a_large_future_is_put_into_a_set() {
    for flavour in FLAVOURS {
        let _watchdog = Watchdog::new();
        spawner(move || {
            let runtime = flavour.builder().thread_stack_size(STACK).build().unwrap();
            let _current = runtime.enter();
            let mut set = JoinSet::new();
            set.spawn(large());
            set.spawn_on(Dispatcher::Cpu, large());
            assert_eq!(runtime.block_on(set.join_all()), [1, 1]);
        });
    }
}

#[test]
fn a_large_future_stays_on_its_thread() {
    for flavour in FLAVOURS {
        let _watchdog = Watchdog::new();
        spawner(move || {
            let runtime = flavour.builder().thread_stack_size(STACK).build().unwrap();
            let set = LocalSet::new();
            let task = set.spawn_local(large());
            assert_eq!(set.block_on(&runtime, task).unwrap(), 1);
            assert_eq!(set.block_on(&runtime, large()), 1);
        });
    }
}

#[test]
fn a_job_may_capture_much() {
    for flavour in FLAVOURS {
        let _watchdog = Watchdog::new();
        let runtime = flavour.builder().thread_stack_size(STACK).build().unwrap();
        let bytes: [u8; LARGE / 4] = array::from_fn(|index| u8::from(index == 0));
        let job =
            runtime.spawn_blocking(move || bytes.iter().map(|byte| u64::from(*byte)).sum::<u64>());
        assert_eq!(runtime.block_on(job).unwrap(), 1);
    }
}

#[test]
fn a_large_output_comes_back() {
    for flavour in FLAVOURS {
        let _watchdog = Watchdog::new();
        let runtime = flavour.build();
        let task = runtime.spawn(async { [7_u8; LARGE / 4] });
        assert_eq!(runtime.block_on(task).unwrap()[LARGE / 4 - 1], 7);
    }
}

#[test]
fn making_a_runtime_takes_little_stack() {
    let _watchdog = Watchdog::new();
    for flavour in FLAVOURS {
        let build = move || {
            let builder = flavour.builder().thread_stack_size(64 << 10);
            drop(builder.build().unwrap());
        };
        thread::Builder::new()
            .stack_size(64 << 10)
            .spawn(build)
            .unwrap()
            .join()
            .unwrap();
    }
}
