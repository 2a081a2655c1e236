//! A fence between two threads that only one of them pays for.
//!
//! Two threads that each write one word and then look at the other's need a full fence between the two steps,
//! or both may miss what the other wrote. Where one of them comes by with each message, and the other
//! once in a blue moon, `membarrier(2)` lets the second pay for both: the kernel has every core that runs a
//! thread of this process execute a fence, and the first only keeps the compiler from changing the order. Where the
//! kernel refuses that, both execute real fences.

use std::sync::Once;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, compiler_fence, fence};

use rustix::thread::{MembarrierCommand, membarrier};

/// Whether the kernel does it. Set once, before any thread is there to be fenced.
static ASYMMETRIC: AtomicBool = AtomicBool::new(false);

/// Asks the kernel. Until then, both sides execute real fences.
pub(crate) fn prepare() {
    static ASKED: Once = Once::new();
    ASKED.call_once(|| {
        let granted = membarrier(MembarrierCommand::RegisterPrivateExpedited).is_ok();
        ASYMMETRIC.store(granted, Relaxed);
    });
}

/// The side that comes often.
#[inline]
pub(crate) fn light() {
    if ASYMMETRIC.load(Relaxed) {
        compiler_fence(SeqCst);
    } else {
        fence(SeqCst);
    }
}

/// The side that comes rarely. `false`: there was no fence.
#[must_use = "without the fence nothing is known of the other side"]
pub(crate) fn heavy() -> bool {
    fence(SeqCst);
    !ASYMMETRIC.load(Relaxed) || membarrier(MembarrierCommand::PrivateExpedited).is_ok()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_rare_side_gets_its_fence() {
        assert!(super::heavy(), "without the kernel's help");
        super::prepare();
        super::light();
        assert!(super::heavy(), "with it, or refused it");
    }
}
