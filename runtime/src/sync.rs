//! Locks, and channels of other kinds: `tokio::sync` (feature `sync`).
//!
//! These need no runtime, work on any, and are what many crates of the ecosystem are made of. For queues between tasks,
//! [`channel`](crate::channel) is faster, and has many receivers.
//!
//! # Examples
//!
//! ```
//! use std::sync::Arc;
//! use rt::sync::Mutex;
//!
//! # #[rt::main(flavor = "current_thread")]
//! # async fn main() {
//! let count = Arc::new(Mutex::new(0));
//! let tasks: Vec<_> = (0..10)
//!     .map(|_| {
//!         let count = Arc::clone(&count);
//!         rt::spawn(async move { *count.lock().await += 1 })
//!     })
//!     .collect();
//! for task in tasks {
//!     task.await.unwrap();
//! }
//! assert_eq!(*count.lock().await, 10);
//! # }
//! ```

pub use tokio::sync::*;
