//! Runtimes that cannot be made: each call that making one needs is refused once, the first and the last one too.

use std::io;

use rt::runtime::{Builder, FileIo};
use rt::signal::unix::SignalKind;
use rt::time::Clock;
use rt_tests::{FLAVOURS, alone, fds, threads, until};

use super::kernel::{Call, EPOLL_CREATE, EPOLL_CTL, EVENTFD, MMAP, THREAD, TIMERFD, URING_SETUP};

/// The process before there was a runtime.
#[derive(Clone, Copy)]
struct Before {
    fds: usize,
    threads: usize,
}

impl Before {
    /// What is made at first use, and stays for the next one, is there already.
    fn of_all() -> Before {
        let threads = threads();
        let builder = rt::Runtime::builder().dump_on_signal(SignalKind::user_defined1());
        drop(builder.build().unwrap());
        until(|| self::threads() == threads);
        Before {
            fds: fds(),
            threads,
        }
    }

    /// Threads that had started end by themselves.
    fn comes_back(self) {
        until(|| threads() == self.threads && fds() == self.fds);
    }
}

/// Refuses the first, second, third... of these calls, until there are no more of them.
fn refuse_each(call: &'static Call, error: i32, before: Before, builder: impl Fn() -> Builder) {
    for number in 0.. {
        let refusal = call.refuse_one(error, number);
        let built = builder().build();
        let refused = refusal.count();
        drop(refusal);
        match built {
            Err(told) => {
                assert_eq!(refused, 1, "{} {number}: {told}", call.name);
                let expected = io::Error::from_raw_os_error(error);
                assert_eq!(
                    told.kind(),
                    expected.kind(),
                    "{} {number}: {told}",
                    call.name
                );
            }
            Ok(runtime) => {
                let task = runtime.spawn(async { 1 });
                assert_eq!(runtime.block_on(task).unwrap(), 1);
                drop(runtime);
                before.comes_back();
                assert_eq!(refused, 0, "{} {number} was ignored", call.name);
                assert!(number > 0, "{} is not called", call.name);
                return;
            }
        }
        before.comes_back();
    }
}

#[test]
fn every_call_that_fails_while_a_runtime_is_made_is_an_error_and_leaves_nothing() {
    alone(|| {
        let before = Before::of_all();
        for flavour in FLAVOURS {
            for error in [libc::ENOMEM, libc::EMFILE] {
                for call in [&EPOLL_CREATE, &EPOLL_CTL, &EVENTFD, &TIMERFD] {
                    refuse_each(call, error, before, || {
                        flavour.builder().clock(Clock::Boottime)
                    });
                }
            }
        }
    });
}

#[test]
fn every_thread_that_cannot_be_started_while_a_runtime_is_made_is_an_error_and_leaves_nothing() {
    alone(|| {
        let before = Before::of_all();
        for flavour in FLAVOURS {
            if flavour.runs_by_itself() {
                // Of a slow machine's spares and ticks one may be refused as well, and nobody is told.
                refuse_each(&THREAD, libc::EAGAIN, before, || {
                    flavour
                        .builder()
                        .stall_threshold(None)
                        .preempt_interval(None)
                });
            }
        }
    });
}

#[test]
fn a_runtime_that_cannot_listen_to_its_signal_is_an_error_and_leaves_nothing() {
    alone(|| {
        let before = Before::of_all();
        for flavour in FLAVOURS {
            let with_dump = || {
                flavour
                    .builder()
                    .dump_on_signal(SignalKind::user_defined1())
            };
            for call in [&EPOLL_CREATE, &EPOLL_CTL, &EVENTFD] {
                refuse_each(call, libc::EMFILE, before, with_dump);
            }
            refuse_each(&THREAD, libc::EAGAIN, before, with_dump);
        }
    });
}

#[test]
fn a_ring_that_was_asked_for_and_is_refused_is_an_error_and_leaves_nothing() {
    alone(|| {
        let before = Before::of_all();
        let ring = || {
            rt::Runtime::builder()
                .current_thread()
                .file_io(FileIo::Uring)
        };
        if let Err(error) = ring().build() {
            return println!("skipped: no io_uring: {error}");
        }
        for call in [&URING_SETUP, &MMAP, &EVENTFD, &EPOLL_CTL] {
            refuse_each(call, libc::ENOMEM, before, ring);
        }
    });
}
