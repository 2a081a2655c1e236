//! The count of what a scope waits for, and who waits.
//!
//! Plain data, kept under its node's lock. `W` is whoever is to be told when the count reaches zero.
//!
//! # Invariants
//!
//! * **S1** Nothing joins once the tally is over, and nothing but a hold joins once it is closed.
//! * **S2** A waiter is taken by the last member that leaves, or is told at once that there is none:
//!   both happen under the lock, so it is told exactly once.

#[cfg(all(test, loom))]
mod model;

/// See the module.
#[derive(Debug)]
pub(crate) struct Tally<W> {
    members: usize,
    /// No new children.
    closed: bool,
    /// The scope has returned, or was left behind without members.
    over: bool,
    waiter: Option<W>,
}

impl<W> Tally<W> {
    pub(crate) fn new() -> Self {
        Tally {
            members: 0,
            closed: false,
            over: false,
            waiter: None,
        }
    }

    /// One more child. `false`: refused.
    #[must_use = "what was refused must not leave"]
    pub(crate) fn join(&mut self) -> bool {
        let open = !self.closed && !self.over;
        self.members += usize::from(open);
        open
    }

    /// One more member that is not new: a scope that was left behind below this one. `false`: too
    /// late, nobody waits here.
    #[must_use = "what was refused must not leave"]
    pub(crate) fn hold(&mut self) -> bool {
        self.members += usize::from(!self.over);
        !self.over
    }

    /// One member less. The last one gets the waiter.
    #[must_use = "the waiter must be told"]
    pub(crate) fn leave(&mut self) -> Option<W> {
        self.members -= 1;
        if self.members == 0 {
            self.waiter.take()
        } else {
            None
        }
    }

    /// Refuses new children.
    pub(crate) fn close(&mut self) {
        self.closed = true;
    }

    /// Leaves `waiter` to be told by the last member, and gives the previous one back. `Err`: there
    /// is no member; the tally is over, and all waiters are the caller's.
    pub(crate) fn wait(&mut self, waiter: W) -> Result<Option<W>, (W, Option<W>)> {
        if self.members > 0 {
            return Ok(self.waiter.replace(waiter));
        }
        self.over = true;
        Err((waiter, self.waiter.take()))
    }

    /// Ends the tally if there is no member. The waiter that it had is the caller's. `Err`: there are
    /// members.
    pub(crate) fn end_if_empty(&mut self) -> Result<Option<W>, ()> {
        if self.members > 0 {
            return Err(());
        }
        self.over = true;
        Ok(self.waiter.take())
    }

    /// Who waits, to be told something else in between.
    pub(crate) fn waiter(&mut self) -> &mut Option<W> {
        &mut self.waiter
    }

    pub(crate) fn is_over(&self) -> bool {
        self.over
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.members == 0
    }
}
