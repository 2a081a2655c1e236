//! The task whose code runs just now, as that code sees it.

use std::sync::Arc;

use super::Id;
use crate::scope;

/// The id of the task that runs on this thread, if one does. See [`id`].
///
/// # Examples
///
/// ```
/// assert!(rt_scheduler::try_id().is_none());
/// ```
pub fn try_id() -> Option<Id> {
    scope::with_task(|task| task.map(|task| task.header().id))
}

/// The id of the task that runs on this thread: the one whose future is polled, or whose future or
/// output is dropped. A blocking job is a task too.
///
/// # Panics
///
/// Outside a task, a future that `block_on` runs included; [`try_id`] does not.
///
/// # Examples
///
/// ```
/// # #[rt::main]
/// # async fn main() {
/// let task = rt::spawn(async { rt::task::id() });
/// let id = task.id();
/// assert_eq!(task.await.unwrap(), id);
/// # }
/// ```
#[track_caller]
pub fn id() -> Id {
    match try_id() {
        Some(id) => id,
        None => panic!("no task runs on this thread, so there is no id; `try_id` asks"),
    }
}

/// The name of the task that runs on this thread, if one does and it was given a name.
///
/// # Examples
///
/// ```
/// # #[rt::main]
/// # async fn main() {
/// let task = rt::task::Builder::new().name("worker").spawn(async { rt::task::try_name() });
/// assert_eq!(task.await.unwrap().as_deref(), Some("worker"));
/// assert_eq!(rt::task::try_name(), None);
/// # }
/// ```
pub fn try_name() -> Option<Arc<str>> {
    scope::with_task(|task| task.and_then(|task| task.name().cloned()))
}
