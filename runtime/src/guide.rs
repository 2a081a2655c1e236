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
//! | [Why is my service slow?](slow_service) | four bugs, and how a dump, `rtop` and a recording show each |
//! | [Embedding](embedding) | a runtime in a program that has its own threads and its own loop |
//! | [Coming from tokio](coming_from_tokio) | how a program moves over, path by path |
//!
//! These modules have no items. They exist in the documentation only.

/// A chapter. Where this crate has no `sync`, links to it lead to what it would be.
macro_rules! chapter {
    ($name:ident: $file:literal) => {
        #[doc = include_str!($file)]
        #[doc = ""]
        #[cfg_attr(feature = "sync", doc = "[sync]: crate::sync")]
        #[cfg_attr(
            not(feature = "sync"),
            doc = "[sync]: https://docs.rs/tokio/latest/tokio/sync/"
        )]
        pub mod $name {}
    };
}

chapter!(getting_started: "../docs/getting-started.md");
chapter!(dispatchers: "../docs/dispatchers.md");
chapter!(channels_and_select: "../docs/channels-and-select.md");
chapter!(time: "../docs/time.md");
chapter!(testing: "../docs/testing.md");
chapter!(slow_service: "../docs/slow-service.md");
chapter!(embedding: "../docs/embedding.md");
chapter!(coming_from_tokio: "../docs/coming-from-tokio.md");
