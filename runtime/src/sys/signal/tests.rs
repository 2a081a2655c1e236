//! Unit tests of the handler, beside handlers of other code. Each has a signal of its own.

use std::mem;
use std::ptr;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;

use libc::{c_int, c_void, siginfo_t};

use super::{Listening, disposition, our_handler};

/// Calls of the foreign handlers.
static BELOW: AtomicUsize = AtomicUsize::new(0);
static ABOVE: AtomicUsize = AtomicUsize::new(0);
/// What the handler above passes the signal on to.
static PASS_ON: AtomicUsize = AtomicUsize::new(0);

extern "C" fn below(_: c_int) {
    BELOW.fetch_add(1, SeqCst);
}

extern "C" fn above(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    ABOVE.fetch_add(1, SeqCst);
    // SAFETY: the test has put the address of such a function there.
    let next: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) =
        unsafe { mem::transmute(PASS_ON.load(SeqCst)) };
    next(signal, info, context);
}

fn set(signal: c_int, handler: libc::sighandler_t, flags: c_int) {
    // SAFETY: a `sigaction` is integers, and a function pointer that may be null.
    let mut action: libc::sigaction = unsafe { mem::zeroed() };
    action.sa_sigaction = handler;
    action.sa_flags = flags;
    // SAFETY: the handlers of these tests touch atomics alone.
    let code = unsafe { libc::sigaction(signal, &raw const action, ptr::null_mut()) };
    assert_eq!(code, 0);
}

fn raise(signal: c_int) {
    // SAFETY: the call takes no pointer. The handler has run when it returns.
    assert_eq!(unsafe { libc::raise(signal) }, 0);
}

fn handler_of(signal: c_int) -> libc::sighandler_t {
    disposition(signal).unwrap().sa_sigaction
}

#[test]
fn a_handler_that_was_there_before_is_called_and_comes_back() {
    let signal = libc::SIGRTMIN() + 7;
    let handler: extern "C" fn(c_int) = below;
    set(signal, handler as libc::sighandler_t, 0);
    let (mut listening, _edges) = Listening::new(signal).unwrap();
    raise(signal);
    assert_eq!(BELOW.load(SeqCst), 1);
    assert!(listening.take() && !listening.take());
    drop(listening);
    assert_eq!(handler_of(signal), handler as libc::sighandler_t);
    raise(signal);
    assert_eq!(BELOW.load(SeqCst), 2);
}

#[test]
fn a_handler_that_came_later_is_not_taken_away() {
    let signal = libc::SIGRTMIN() + 8;
    let (first, _edges) = Listening::new(signal).unwrap();
    PASS_ON.store(handler_of(signal), SeqCst);
    let handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) = above;
    set(signal, handler as libc::sighandler_t, libc::SA_SIGINFO);

    // Ours stays below theirs, and does nothing.
    drop(first);
    assert_eq!(handler_of(signal), handler as libc::sighandler_t);
    raise(signal);
    assert_eq!(ABOVE.load(SeqCst), 1);

    // It is found there again: put above theirs it would call itself for ever.
    let (mut second, _edges) = Listening::new(signal).unwrap();
    assert_eq!(handler_of(signal), handler as libc::sighandler_t);
    raise(signal);
    assert_eq!(ABOVE.load(SeqCst), 2);
    assert!(second.take() && !second.take());

    // They leave, and so do we.
    set(signal, our_handler(), libc::SA_SIGINFO);
    drop(second);
    assert_eq!(handler_of(signal), libc::SIG_DFL);
}

#[test]
fn the_interrupted_codes_error_number_is_kept() {
    let signal = libc::SIGRTMIN() + 9;
    let (_listening, edges) = Listening::new(signal).unwrap();
    // A counter that is full makes the handler's write fail.
    let full = u64::MAX - 1;
    // SAFETY: eight bytes are read from `full`; the descriptor is open.
    let written = unsafe {
        let fd = std::os::fd::AsRawFd::as_raw_fd(&edges);
        libc::write(fd, (&raw const full).cast(), 8)
    };
    assert_eq!(written, 8);
    // SAFETY: the C library gives each thread a place for its error number.
    unsafe { *libc::__errno_location() = libc::ENOENT };
    raise(signal);
    // SAFETY: as above.
    assert_eq!(unsafe { *libc::__errno_location() }, libc::ENOENT);
}

/// The kernel stacks the frames of signals that come together, and a frame may take 10 KiB.
#[test]
fn signals_that_come_together_are_handled_one_after_the_other() {
    let signals: Vec<_> = (libc::SIGRTMIN() + 10..=libc::SIGRTMAX()).collect();
    let mut listening: Vec<_> = signals
        .iter()
        .map(|&signal| Listening::new(signal).unwrap())
        .collect();
    // SAFETY: a set of signals is integers.
    let mut set: libc::sigset_t = unsafe { mem::zeroed() };
    // SAFETY: `set` is valid for the calls, which change this thread's mask alone.
    unsafe {
        libc::sigfillset(&raw mut set);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, ptr::null_mut());
    }
    for &signal in &signals {
        raise(signal);
    }
    // SAFETY: as above.
    unsafe { libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, ptr::null_mut()) };
    for (listening, _edges) in &mut listening {
        assert!(listening.take(), "{}", listening.signal());
    }
}
