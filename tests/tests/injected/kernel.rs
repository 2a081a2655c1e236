//! A layer between this program and the kernel, which makes up faults.
//!
//! The functions here have the names of the C library's, so that the linker takes them in place of those:
//! whatever this program calls, in `std` and in libraries too, comes by here. Each passes its call on, unless
//! a test has asked for a refusal ([`Call::refuse`]). What the C library calls within itself does not come by.
//!
//! Two of the kernel's clocks can be moved ([`suspend`], [`step_wall_clock`]), for the readers of the clock and
//! for timerfds alike. The monotonic clock cannot: the kernel's own limits on waits are on it.

#![expect(unsafe_code, reason = "these functions stand in for the C library's")]

use std::ffi::{c_char, c_int, c_long, c_uint, c_void};
use std::mem;
use std::ptr;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicPtr, AtomicU32};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use libc::{clockid_t, itimerspec, mode_t, off_t, size_t, sockaddr, socklen_t, timespec};

/// A call that can be refused.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) name: &'static str,
    /// The error number to refuse it with; zero passes it on.
    error: AtomicI32,
    /// So many go well before.
    before: AtomicI64,
    /// All that come after, or one.
    once: AtomicBool,
    refused: AtomicU32,
}

impl Call {
    const fn new(name: &'static str) -> Call {
        Call {
            name,
            error: AtomicI32::new(0),
            before: AtomicI64::new(0),
            once: AtomicBool::new(false),
            refused: AtomicU32::new(0),
        }
    }

    /// Refuses it with an error number, until the guard is dropped.
    pub(super) fn refuse(&'static self, error: c_int) -> Refusal {
        self.plan(error, 0, false)
    }

    /// Lets `before` calls go well, and refuses the one after them.
    pub(super) fn refuse_one(&'static self, error: c_int, before: u32) -> Refusal {
        self.plan(error, before, true)
    }

    fn plan(&'static self, error: c_int, before: u32, once: bool) -> Refusal {
        self.refused.store(0, SeqCst);
        self.once.store(once, SeqCst);
        self.before.store(before.into(), SeqCst);
        let old = self.error.swap(error, SeqCst);
        assert_eq!(old, 0, "{} is refused already", self.name);
        Refusal(self)
    }

    /// Asked at each call: the error number, if it is refused.
    fn verdict(&self) -> Option<c_int> {
        let error = self.error.load(SeqCst);
        if error == 0 {
            return None;
        }
        let before = self.before.fetch_sub(1, SeqCst);
        let is_refused = before == 0 || (before < 0 && !self.once.load(SeqCst));
        is_refused.then(|| {
            self.refused.fetch_add(1, SeqCst);
            error
        })
    }
}

/// Ends the refusal when it is dropped.
#[must_use = "the call is refused only while this lives"]
#[derive(Debug)]
pub(super) struct Refusal(&'static Call);

impl Refusal {
    /// How many calls were refused.
    pub(super) fn count(&self) -> u32 {
        self.0.refused.load(SeqCst)
    }
}

impl Drop for Refusal {
    fn drop(&mut self) {
        self.0.error.store(0, SeqCst);
    }
}

/// What the C library has under that name, looked up once.
fn real(place: &AtomicPtr<c_void>, name: &'static str) -> *mut c_void {
    let known = place.load(SeqCst);
    if !known.is_null() {
        return known;
    }
    assert!(name.ends_with('\0'), "a name as C has them");
    // SAFETY: the name ends with a NUL byte.
    let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr().cast()) };
    assert!(!found.is_null(), "{name} is in the C library");
    place.store(found, SeqCst);
    found
}

fn set_errno(error: c_int) {
    // SAFETY: the place is this thread's own.
    unsafe { *libc::__errno_location() = error };
}

/// Fails as most calls do.
fn minus_one(error: c_int) -> c_int {
    set_errno(error);
    -1
}

/// Passes a call on to the C library.
macro_rules! pass_on {
    ($name:ident($($argument:ident: $type:ty),*) -> $result:ty) => {{
        static REAL: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
        let real = real(&REAL, concat!(stringify!($name), "\0"));
        // SAFETY: that is the C library's function of this name, whose type this is, and the arguments are
        // the caller's, who keeps to its contract.
        unsafe {
            mem::transmute::<*mut c_void, unsafe extern "C" fn($($type),*) -> $result>(real)($($argument),*)
        }
    }};
}

macro_rules! calls {
    ($($call:ident: $name:ident($($argument:ident: $type:ty),*) -> $result:ty, or $refused:expr;)*) => {$(
        pub(super) static $call: Call = Call::new(stringify!($name));

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $type),*) -> $result {
            match $call.verdict() {
                Some(error) => ($refused)(error),
                None => pass_on!($name($($argument: $type),*) -> $result),
            }
        }
    )*};
}

calls! {
    EPOLL_CREATE: epoll_create1(flags: c_int) -> c_int, or minus_one;
    EPOLL_CTL: epoll_ctl(set: c_int, op: c_int, fd: c_int, event: *mut c_void) -> c_int, or minus_one;
    EVENTFD: eventfd(start: c_uint, flags: c_int) -> c_int, or minus_one;
    SOCKET: socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int, or minus_one;
    SOCKETPAIR: socketpair(domain: c_int, kind: c_int, protocol: c_int, ends: *mut c_int) -> c_int, or minus_one;
    PIPE: pipe2(ends: *mut c_int, flags: c_int) -> c_int, or minus_one;
    ACCEPT: accept4(fd: c_int, address: *mut sockaddr, length: *mut socklen_t, flags: c_int) -> c_int, or minus_one;
    // Not variadic, as the C library's is: the arguments are in the same places on Linux's platforms.
    OPEN: open64(path: *const c_char, flags: c_int, mode: mode_t) -> c_int, or minus_one;
    MMAP: mmap(at: *mut c_void, length: size_t, protection: c_int, flags: c_int, fd: c_int, offset: off_t) -> *mut c_void,
        or |error| { set_errno(error); libc::MAP_FAILED };
    // Its result is the error itself.
    THREAD: pthread_create(thread: *mut c_void, attributes: *const c_void, start: *const c_void, argument: *mut c_void) -> c_int,
        or |error| error;
}

pub(super) static TIMERFD: Call = Call::new("timerfd_create");
pub(super) static PIDFD_OPEN: Call = Call::new("pidfd_open");
pub(super) static URING_SETUP: Call = Call::new("io_uring_setup");
pub(super) static URING_ENTER: Call = Call::new("io_uring_enter");

/// What has no function of its own in the C library. Not variadic either.
#[unsafe(no_mangle)]
unsafe extern "C" fn syscall(
    number: c_long,
    first: c_long,
    second: c_long,
    third: c_long,
    fourth: c_long,
    fifth: c_long,
    sixth: c_long,
) -> c_long {
    let call = match number {
        libc::SYS_pidfd_open => Some(&PIDFD_OPEN),
        libc::SYS_io_uring_setup => Some(&URING_SETUP),
        libc::SYS_io_uring_enter => Some(&URING_ENTER),
        _ => None,
    };
    if let Some(error) = call.and_then(Call::verdict) {
        return minus_one(error).into();
    }
    pass_on!(syscall(
        number: c_long, first: c_long, second: c_long, third: c_long, fourth: c_long, fifth: c_long, sixth: c_long
    ) -> c_long)
}

/// How far the clock that counts suspensions is ahead of the kernel's, in nanoseconds.
static SUSPENDED: AtomicI64 = AtomicI64::new(0);
/// How far the wall clock is off, in nanoseconds.
static STEPPED: AtomicI64 = AtomicI64::new(0);
/// How often the wall clock was read.
static WALL_READS: AtomicU32 = AtomicU32::new(0);
/// The timerfds on the clock that counts suspensions, and what they are set to on the moved clock.
static TIMERS: Mutex<Vec<(c_int, i64)>> = Mutex::new(Vec::new());

fn timers() -> MutexGuard<'static, Vec<(c_int, i64)>> {
    TIMERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The machine seems to have slept for so long: the clock that counts suspensions jumps, and its timers with it.
pub(super) fn suspend(length: Duration) {
    let mut timers = timers();
    let length = i64::try_from(length.as_nanos()).expect("not for centuries");
    SUSPENDED.fetch_add(length, SeqCst);
    // What cannot be set has been closed.
    timers.retain(|&(fd, at)| arm(fd, at) == 0);
}

/// Moves the wall clock by so many seconds.
pub(super) fn step_wall_clock(seconds: i64) {
    STEPPED.fetch_add(seconds * 1_000_000_000, SeqCst);
}

/// How often the wall clock has been read.
pub(super) fn wall_clock_reads() -> u32 {
    WALL_READS.load(SeqCst)
}

fn in_ns(time: &timespec) -> i64 {
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

fn from_ns(ns: i64) -> timespec {
    timespec {
        tv_sec: ns.div_euclid(1_000_000_000),
        tv_nsec: ns.rem_euclid(1_000_000_000),
    }
}

/// Sets a timer to a time of the moved clock: at once, if the kernel's was never so early.
fn arm(fd: c_int, at: i64) -> c_int {
    let time = itimerspec {
        it_interval: from_ns(0),
        it_value: from_ns((at - SUSPENDED.load(SeqCst)).max(1)),
    };
    // SAFETY: `time` is valid, and the old value is not asked for.
    unsafe {
        set_timer(
            fd,
            libc::TFD_TIMER_ABSTIME,
            &raw const time,
            ptr::null_mut(),
        )
    }
}

/// # Safety
///
/// As for `timerfd_settime`.
unsafe fn set_timer(
    fd: c_int,
    flags: c_int,
    new: *const itimerspec,
    old: *mut itimerspec,
) -> c_int {
    pass_on!(timerfd_settime(fd: c_int, flags: c_int, new: *const itimerspec, old: *mut itimerspec) -> c_int)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(clock: clockid_t, time: *mut timespec) -> c_int {
    let code = pass_on!(clock_gettime(clock: clockid_t, time: *mut timespec) -> c_int);
    let ahead = match clock {
        libc::CLOCK_BOOTTIME => SUSPENDED.load(SeqCst),
        libc::CLOCK_REALTIME => {
            WALL_READS.fetch_add(1, SeqCst);
            STEPPED.load(SeqCst)
        }
        _ => 0,
    };
    if code == 0 && ahead != 0 {
        // SAFETY: the call has succeeded, so it has written there.
        let time = unsafe { &mut *time };
        *time = from_ns(in_ns(time) + ahead);
    }
    code
}

#[unsafe(no_mangle)]
unsafe extern "C" fn timerfd_create(clock: clockid_t, flags: c_int) -> c_int {
    if let Some(error) = TIMERFD.verdict() {
        return minus_one(error);
    }
    let fd = pass_on!(timerfd_create(clock: clockid_t, flags: c_int) -> c_int);
    let mut timers = timers();
    // One that had this number before is closed.
    timers.retain(|(known, _)| *known != fd);
    if clock == libc::CLOCK_BOOTTIME {
        timers.push((fd, i64::MAX));
    }
    fd
}

#[unsafe(no_mangle)]
unsafe extern "C" fn timerfd_settime(
    fd: c_int,
    flags: c_int,
    new: *const itimerspec,
    old: *mut itimerspec,
) -> c_int {
    let mut timers = timers();
    let Some((_, at)) = timers.iter_mut().find(|(known, _)| *known == fd) else {
        // SAFETY: the contract is the same.
        return unsafe { set_timer(fd, flags, new, old) };
    };
    assert!(
        flags == libc::TFD_TIMER_ABSTIME && old.is_null(),
        "all that the runtime asks for"
    );
    // SAFETY: the caller's is valid.
    *at = in_ns(unsafe { &(*new).it_value });
    arm(fd, *at)
}
