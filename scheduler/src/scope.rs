//! Scopes: who is whose parent, how cancellation travels down, and how an end travels up.
//!
//! A [`Node`] is one scope, or one cancellation token. Nodes form a tree. A task that is spawned in a
//! scope is linked to its node, beside the owner list that every task is in; a plain task has
//! nothing to do with any of this.
//!
//! # Going down
//!
//! [`Node::cancel`] walks the tree with a list of what is still to visit, never by recursion. At each
//! node, under that node's lock alone, it sets the flag and takes the children and the waiters; then,
//! with no lock held, it wakes these and aborts those. Whoever is linked later finds the flag.
//!
//! # Going up
//!
//! A node's *members* are its children and whatever else must be gone before it is. The last one that
//! leaves finds who waits: the scope's future, which is woken, or, when that was dropped half-way,
//! a *holder*: the task or the `block_on` in which it was dropped. That task stays *completing*
//! (`task/state.rs`, T6) until its holds are gone; then it completes, which makes it leave its own
//! scope, and so on upwards, in a loop.
//!
//! | file | what |
//! |---|---|
//! | `tally.rs` | the count of a node's members, and who waits for it to reach zero |
//! | `node.rs` | the tree, and cancellation |
//! | `node/failure.rs` | failures: which one the scope fails with, and where the others go |
//! | `children.rs` | the list of a scope's tasks |
//! | `member.rs` | what a task knows of its scope |
//! | `current.rs` | which task and which scope the current thread is in |
//! | `rooted.rs` | a `block_on` that waits for what was left behind in it |

#[cfg(not(loom))]
mod children;
#[cfg(not(loom))]
mod current;
#[cfg(not(loom))]
mod member;
#[cfg(not(loom))]
mod node;
#[cfg(not(loom))]
mod rooted;
mod tally;

#[cfg(not(loom))]
pub(crate) use {
    children::Place,
    current::{enter_ended, enter_poll, enter_task, is_polled_here, take_over, with_task},
    member::Link,
    node::{Holder, Own, admit, release},
};
#[cfg(not(loom))]
pub use {
    current::{current, enter, is_cancelled},
    member::{Child, Free, Member, TryChild},
    node::{Blow, Kind, Node, OnLost, Reason},
    rooted::{Rooted, rooted},
};
