//! Stalls as events of `tracing`: a warning for the first one from each place in the source.
//!
//! Later ones from the same place only count in the metrics, so that a loop which blocks a worker
//! again and again does not fill the log.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};

use parking_lot::Mutex;
use rt_scheduler::{OnStall, Stall};

/// The places that were told of.
#[derive(Default)]
struct Reporter(Mutex<HashSet<&'static Location<'static>>>);

impl Reporter {
    fn report(&self, stall: &Stall) {
        // The subscriber is foreign code: it comes after the lock.
        let first = self.0.lock().insert(stall.location);
        if first {
            tracing::warn!(
                target: "rt::stall",
                {
                    task.id = %stall.id,
                    task.name = stall.name.as_deref(),
                    task.location = %stall.location,
                    elapsed = ?stall.elapsed,
                    worker = stall.worker,
                    pool = stall.pool
                },
                "a task holds on to its worker; it should yield, or block with `spawn_blocking`"
            );
        }
    }
}

/// What to call on a stall: the report, then the user's hook.
pub(crate) fn reported(then: Option<OnStall>) -> OnStall {
    let reporter = Reporter::default();
    OnStall::new(move |stall| {
        let report = catch_unwind(AssertUnwindSafe(|| reporter.report(stall)));
        if let Some(then) = &then {
            then.call(stall);
        }
        if let Err(panic) = report {
            resume_unwind(panic);
        }
    })
}
