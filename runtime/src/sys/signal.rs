//! The process's signal handlers: counting arrivals, and giving the old disposition back.
//!
//! A handler may do next to nothing, so this one does three things: it counts the arrival, makes an
//! edge on the signal's eventfd, which is in the epoll set of every listener, and passes the signal on
//! to the handler that was there before. The count is what happened; the edge only says that it is
//! worth looking, and may be one too many (a forked child shares the eventfd, but not the count).
//!
//! # States of a signal
//!
//! **untouched** → (first listener) → **handled** → (last listener gone) → **untouched**, with the
//! disposition that was there before. If other code has put a handler of its own above ours
//! meanwhile, taking ours away would take away theirs: then it stays, **buried**, without listeners,
//! as a link in their chain. That is why no library is used here: those that there are either never
//! give the disposition back, or take it from others too.
//!
//! # Orderings
//!
//! A handler's count (Release) comes before its edge; a listener that has seen the edge reads the
//! count (Acquire). `descriptor` and the old handler are stored before `sigaction` installs the
//! handler that reads them, and are never taken back.

use std::io;
use std::mem::{self, MaybeUninit};
use std::os::fd::{BorrowedFd, IntoRawFd, OwnedFd};
use std::ptr;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize};

use libc::{c_int, c_void, siginfo_t};
use parking_lot::Mutex;

use super::{check, eventfd};

#[cfg(test)]
mod tests;

/// Linux numbers its signals from 1 to 64.
const SIGNALS: usize = 65;

/// What the handler of a signal reads and writes. It lives as long as the process.
struct Slot {
    /// How often the signal has come, as far as the kernel has told.
    arrivals: AtomicU64,
    /// An eventfd; -1 before the first listener.
    descriptor: AtomicI32,
    /// The handler that was there before, or `SIG_DFL` or `SIG_IGN`.
    chained: AtomicUsize,
    /// Whether `chained` takes three arguments.
    chained_with_info: AtomicBool,
}

static SLOTS: [Slot; SIGNALS] = [const { Slot::new() }; SIGNALS];

/// Who listens. Locked by those who begin and end to listen, never by a handler.
static BOOK: Mutex<[Entry; SIGNALS]> = Mutex::new([const { Entry::new() }; SIGNALS]);

struct Entry {
    listeners: usize,
    /// What to give back; `Some` while our handler is installed or buried.
    before: Option<libc::sigaction>,
}

impl Slot {
    const fn new() -> Slot {
        Slot {
            arrivals: AtomicU64::new(0),
            descriptor: AtomicI32::new(-1),
            chained: AtomicUsize::new(libc::SIG_DFL),
            chained_with_info: AtomicBool::new(false),
        }
    }

    /// The signal's eventfd, made by the first listener of the process and never closed, since a
    /// handler may be about to write to it.
    fn descriptor(&self) -> io::Result<BorrowedFd<'static>> {
        let mut fd = self.descriptor.load(Relaxed);
        if fd == -1 {
            fd = eventfd()?.into_raw_fd();
            self.descriptor.store(fd, Relaxed);
        }
        // SAFETY: a descriptor that is in the slot is never closed.
        Ok(unsafe { BorrowedFd::borrow_raw(fd) })
    }
}

impl Entry {
    const fn new() -> Entry {
        Entry {
            listeners: 0,
            before: None,
        }
    }
}

/// One listener's share in the handling of a signal. The last one's drop gives the disposition back.
#[derive(Debug)]
pub(crate) struct Listening {
    signal: c_int,
    /// The arrivals that the listener has been told of, or that came before it.
    seen: u64,
}

impl Listening {
    /// Begins to listen. The descriptor has an edge for each arrival; nothing is ever read from it.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if there is no such signal or none may handle it; else the kernel's.
    pub(crate) fn new(signal: c_int) -> io::Result<(Listening, OwnedFd)> {
        let index = check_signal(signal)?;
        let slot = &SLOTS[index];
        let mut book = BOOK.lock();
        // A descriptor of its own for each listener: an epoll set takes each number once.
        let descriptor = slot.descriptor()?.try_clone_to_owned()?;
        let entry = &mut book[index];
        if entry.listeners == 0 {
            install(signal, slot, entry)?;
        }
        entry.listeners += 1;
        let seen = slot.arrivals.load(Acquire);
        Ok((Listening { signal, seen }, descriptor))
    }

    /// Whether the signal has come since this was last asked.
    pub(crate) fn take(&mut self) -> bool {
        let arrivals = SLOTS[self.index()].arrivals.load(Acquire);
        mem::replace(&mut self.seen, arrivals) != arrivals
    }

    /// The signal's number.
    pub(crate) fn signal(&self) -> c_int {
        self.signal
    }

    fn index(&self) -> usize {
        self.signal.cast_unsigned() as usize
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let entry = &mut BOOK.lock()[self.index()];
        entry.listeners -= 1;
        if entry.listeners == 0 {
            give_back(self.signal, entry);
        }
    }
}

/// The signal as an index, if there is such a signal and a handler can do anything about it.
fn check_signal(signal: c_int) -> io::Result<usize> {
    let refused = match signal {
        libc::SIGKILL | libc::SIGSTOP => "the kernel lets nobody handle this signal",
        libc::SIGSEGV | libc::SIGBUS | libc::SIGFPE | libc::SIGILL => {
            "a fault of the program itself cannot be waited for: its handler must not return"
        }
        // The C library keeps the two signals below its first real-time signal to itself.
        32.. if signal < libc::SIGRTMIN() => "the C library keeps this signal to itself",
        1..=64 => return Ok(signal.cast_unsigned() as usize),
        _ => "there is no such signal",
    };
    let message = format!("signal {signal}: {refused}");
    Err(io::Error::new(io::ErrorKind::InvalidInput, message))
}

/// Puts our handler in place, unless it is buried below somebody else's and thus still called.
fn install(signal: c_int, slot: &Slot, entry: &mut Entry) -> io::Result<()> {
    let current = disposition(signal)?;
    let free = [libc::SIG_DFL, libc::SIG_IGN].contains(&current.sa_sigaction);
    if entry.before.is_some() && !free {
        return Ok(());
    }
    slot.chained.store(current.sa_sigaction, Relaxed);
    let with_info = current.sa_flags & libc::SA_SIGINFO != 0;
    slot.chained_with_info.store(with_info, Relaxed);

    // SAFETY: a `sigaction` is integers, and a function pointer that may be null.
    let mut ours: libc::sigaction = unsafe { mem::zeroed() };
    ours.sa_sigaction = our_handler();
    // On the thread's own stack: the other one, which the standard library sets up for stack
    // overflows, may have room for one frame only.
    ours.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
    // No other signal meanwhile, so that those that come together do not pile their frames up.
    // SAFETY: the mask is valid for the call.
    unsafe { libc::sigfillset(&raw mut ours.sa_mask) };
    // SAFETY: `ours` is whole, its handler keeps to what a handler may do, and what it reads is set.
    check(unsafe { libc::sigaction(signal, &raw const ours, ptr::null_mut()) })?;
    entry.before = Some(current);
    Ok(())
}

/// Puts back what was there before us, unless others have built upon our handler.
fn give_back(signal: c_int, entry: &mut Entry) {
    let top = disposition(signal).is_ok_and(|current| current.sa_sigaction == our_handler());
    let Some(before) = entry.before.take_if(|_| top) else {
        return;
    };
    // SAFETY: the kernel itself gave us `before`.
    let result = check(unsafe { libc::sigaction(signal, &raw const before, ptr::null_mut()) });
    debug_assert!(
        result.is_ok(),
        "a disposition that was in force: {result:?}"
    );
}

fn disposition(signal: c_int) -> io::Result<libc::sigaction> {
    let mut current = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: `current` is valid for the one `sigaction` that the call writes.
    check(unsafe { libc::sigaction(signal, ptr::null(), current.as_mut_ptr()) })?;
    // SAFETY: the call succeeded, so it has filled `current`.
    Ok(unsafe { current.assume_init() })
}

fn our_handler() -> libc::sighandler_t {
    let handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) = handle;
    handler as libc::sighandler_t
}

/// The handler. It may have interrupted anything, a lock's holder or the allocator included.
extern "C" fn handle(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let Some(slot) = SLOTS.get(signal.cast_unsigned() as usize) else {
        return;
    };
    // SAFETY: the C library gives each thread a place for its error number.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above. The interrupted code may be about to read it.
    let interrupted = unsafe { *errno };
    slot.arrivals.fetch_add(1, Release);
    let one = 1_u64.to_ne_bytes();
    let fd = slot.descriptor.load(Relaxed);
    // SAFETY: `one` is valid for the eight bytes that the call reads; a handler may call `write`. It
    // fails only when the counter is full, which is an edge too.
    unsafe { libc::write(fd, one.as_ptr().cast(), one.len()) };
    chain(slot, signal, info, context);
    // SAFETY: as above.
    unsafe { *errno = interrupted };
}

/// Calls the handler that was there before.
fn chain(slot: &Slot, signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let chained = slot.chained.load(Relaxed);
    if [libc::SIG_DFL, libc::SIG_IGN].contains(&chained) {
        return;
    }
    if slot.chained_with_info.load(Relaxed) {
        // SAFETY: the kernel would have called it so: it was installed with `SA_SIGINFO`.
        let handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) =
            unsafe { mem::transmute(chained) };
        handler(signal, info, context);
    } else {
        // SAFETY: the kernel would have called it so: it was installed without `SA_SIGINFO`.
        let handler: extern "C" fn(c_int) = unsafe { mem::transmute(chained) };
        handler(signal);
    }
}
