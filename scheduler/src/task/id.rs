//! Task ids: unique in the process, handed to threads in blocks.

use std::cell::Cell;
use std::fmt;
use std::num::NonZeroU64;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// How many ids a thread takes at a time, so that spawning threads rarely meet on the counter.
const BLOCK: u64 = 1 << 10;

static NEXT: AtomicU64 = AtomicU64::new(1);

thread_local! {
    /// The rest of this thread's block: next id, and the end.
    static LOCAL: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

/// The id of a task, unique among all tasks of the process.
///
/// Ids say nothing of the order in which tasks were spawned.
///
/// # Examples
///
/// ```
/// # #[rt::main]
/// # async fn main() {
/// let task = rt::spawn(async { rt::task::id() });
/// let id: rt::task::Id = task.id();
/// assert_eq!(task.await.unwrap(), id);
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Id(NonZeroU64);

impl Id {
    pub(crate) fn next() -> Self {
        let id = LOCAL.with(|local| {
            let (mut next, mut end) = local.get();
            if next == end {
                // ORDERING: Relaxed; only the numbers must differ.
                next = NEXT.fetch_add(BLOCK, Relaxed);
                end = next + BLOCK;
            }
            local.set((next + 1, end));
            next
        });
        Id(NonZeroU64::new(id).expect("ids start at 1"))
    }

    /// The number, for a place where only numbers fit.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main]
    /// # async fn main() {
    /// let id = rt::spawn(async {}).id();
    /// assert_eq!(id.number().to_string(), id.to_string());
    /// # }
    /// ```
    #[inline]
    pub fn number(self) -> u64 {
        self.0.get()
    }

    /// What [`number`](Id::number) gave; `None` for 0.
    pub(crate) fn from_number(number: u64) -> Option<Self> {
        NonZeroU64::new(number).map(Id)
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
