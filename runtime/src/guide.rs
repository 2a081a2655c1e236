//! The guide: from a first program to a runtime inside another program.
//!
//! | chapter | about |
//! |---|---|
//! | [Getting started](getting_started) | a program, its tasks, and how it ends |
//! | [Dispatchers](dispatchers) | which pool a piece of work belongs to |
//! | [Scopes](mod@crate::scope) | tasks that end together |
//! | [Channels and select](channels_and_select) | values between tasks, and waiting for several things |
//! | [Time](time) | sleeping, ticking, and limits |
//! | [Testing](testing) | tests that take no time and can be repeated |
//! | [Why is my service slow?](slow_service) | four bugs, and how a dump shows each |
//! | [Embedding](embedding) | a runtime in a program that has its own threads and its own loop |
//! | [Coming from tokio](coming_from_tokio) | how a program moves over, path by path |
//!
//! These modules have no items. They exist in the documentation only.

#[doc = include_str!("../docs/getting-started.md")]
pub mod getting_started {}

#[doc = include_str!("../docs/dispatchers.md")]
pub mod dispatchers {}

#[doc = include_str!("../docs/channels-and-select.md")]
pub mod channels_and_select {}

#[doc = include_str!("../docs/time.md")]
pub mod time {}

#[doc = include_str!("../docs/testing.md")]
pub mod testing {}

#[doc = include_str!("../docs/slow-service.md")]
pub mod slow_service {}

#[doc = include_str!("../docs/embedding.md")]
pub mod embedding {}

#[doc = include_str!("../docs/coming-from-tokio.md")]
pub mod coming_from_tokio {}
