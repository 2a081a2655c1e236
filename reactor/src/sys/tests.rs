//! What the rest relies on the kernel for, asked of the kernel itself.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::thread::JoinHandleExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::{Buffer, EDGE, Epoll, EventFd, IN, TimerFd, monotonic_coarse_ns, monotonic_ns};
use crate::clock::Basis;
use crate::drive::watchdog;

fn tokens(epoll: &Epoll, timeout: i32) -> Vec<u64> {
    let mut buffer = Buffer::with_capacity(8);
    epoll.wait(&mut buffer, timeout).unwrap();
    buffer.iter().map(|(token, _)| token).collect()
}

#[test]
fn no_descriptor_is_inherited_by_a_program() {
    let check = |fd: BorrowedFd<'_>| {
        // SAFETY: the call takes no pointer.
        let flags = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GETFD) };
        assert_eq!(flags & libc::FD_CLOEXEC, libc::FD_CLOEXEC);
    };
    check(Epoll::new().unwrap().fd.as_fd());
    check(EventFd::new().unwrap().as_fd());
    check(TimerFd::new(Basis::Monotonic).unwrap().as_fd());
}

#[test]
fn each_ring_is_an_edge_though_nobody_reads() {
    let _watchdog = watchdog();
    let (epoll, bell) = (Epoll::new().unwrap(), EventFd::new().unwrap());
    epoll.add(bell.as_fd(), 7, IN | EDGE).unwrap();
    assert!(tokens(&epoll, 0).is_empty());
    for _ in 0..100 {
        bell.ring().unwrap();
        assert_eq!(tokens(&epoll, -1), [7]);
        assert!(tokens(&epoll, 0).is_empty());
    }
    bell.ring().unwrap();
    bell.ring().unwrap();
    assert_eq!(tokens(&epoll, -1), [7]);
    assert!(tokens(&epoll, 0).is_empty());
}

#[test]
fn each_expiry_is_an_edge_though_nobody_reads() {
    let _watchdog = watchdog();
    let (epoll, timer) = (
        Epoll::new().unwrap(),
        TimerFd::new(Basis::Monotonic).unwrap(),
    );
    epoll.add(timer.as_fd(), 7, IN | EDGE).unwrap();
    for wait_ns in [0, 1_000, 100_000, 1_000_000] {
        let at_ns = monotonic_ns() + wait_ns;
        timer.set(at_ns).unwrap();
        assert_eq!(tokens(&epoll, -1), [7]);
        assert!(monotonic_ns() >= at_ns);
        assert!(tokens(&epoll, 0).is_empty());
    }
}

#[test]
fn a_time_of_zero_expires_at_once_and_does_not_disarm() {
    let _watchdog = watchdog();
    let (epoll, timer) = (
        Epoll::new().unwrap(),
        TimerFd::new(Basis::Monotonic).unwrap(),
    );
    epoll.add(timer.as_fd(), 7, IN | EDGE).unwrap();
    timer.set(0).unwrap();
    assert_eq!(tokens(&epoll, -1), [7]);
}

#[test]
fn the_farthest_time_is_accepted() {
    let timer = TimerFd::new(Basis::Monotonic).unwrap();
    timer.set(u64::MAX).unwrap();
}

#[test]
fn a_wait_with_a_limit_ends() {
    let _watchdog = watchdog();
    let epoll = Epoll::new().unwrap();
    let start = Instant::now();
    assert!(tokens(&epoll, 20).is_empty());
    assert!(start.elapsed() >= Duration::from_millis(20));
}

#[test]
fn the_coarse_clock_is_never_ahead() {
    let coarse = monotonic_coarse_ns();
    assert!(coarse <= monotonic_ns());
}

static SIGNALS: AtomicUsize = AtomicUsize::new(0);

extern "C" fn on_signal(number: libc::c_int) {
    if number == libc::SIGUSR1 {
        SIGNALS.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_signal_does_not_end_the_wait() {
    let _watchdog = watchdog();
    let handler: extern "C" fn(libc::c_int) = on_signal;
    // SAFETY: the handler only adds to an atomic.
    let old = unsafe { libc::signal(libc::SIGUSR1, handler as libc::sighandler_t) };
    assert_ne!(old, libc::SIG_ERR);

    let shared = Arc::new((Epoll::new().unwrap(), EventFd::new().unwrap()));
    shared.0.add(shared.1.as_fd(), 7, IN | EDGE).unwrap();
    let returned = Arc::new(AtomicBool::new(false));
    let waiter = {
        let (shared, returned) = (Arc::clone(&shared), Arc::clone(&returned));
        thread::spawn(move || {
            let tokens = tokens(&shared.0, -1);
            returned.store(true, Ordering::Relaxed);
            tokens
        })
    };
    for count in 1..=20 {
        // SAFETY: the thread has not been joined.
        let code = unsafe { libc::pthread_kill(waiter.as_pthread_t(), libc::SIGUSR1) };
        assert_eq!(code, 0);
        while SIGNALS.load(Ordering::Relaxed) < count {
            thread::yield_now();
        }
        assert!(!returned.load(Ordering::Relaxed));
    }
    shared.1.ring().unwrap();
    assert_eq!(waiter.join().unwrap(), [7]);
}

#[test]
fn signals_do_not_prolong_a_wait_with_a_limit() {
    let _watchdog = watchdog();
    let handler: extern "C" fn(libc::c_int) = on_signal;
    // SAFETY: the handler only adds to an atomic.
    let old = unsafe { libc::signal(libc::SIGUSR2, handler as libc::sighandler_t) };
    assert_ne!(old, libc::SIG_ERR);

    let returned = Arc::new(AtomicBool::new(false));
    let waiter = {
        let returned = Arc::clone(&returned);
        thread::spawn(move || {
            let tokens = tokens(&Epoll::new().unwrap(), 300);
            returned.store(true, Ordering::Relaxed);
            tokens
        })
    };
    // A wait that began anew at each signal would go on for as long as they come.
    while !returned.load(Ordering::Relaxed) {
        // SAFETY: the thread has not been joined.
        let code = unsafe { libc::pthread_kill(waiter.as_pthread_t(), libc::SIGUSR2) };
        assert!(code == 0 || code == libc::ESRCH);
        thread::yield_now();
    }
    assert!(waiter.join().unwrap().is_empty());
}
