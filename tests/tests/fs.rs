//! Files: the same outcome whichever way a call goes, and nothing lost by giving up.
//!
//! Tests that force `io_uring` say `skipped` where the kernel refuses it.

mod fs {
    mod content;
    mod faulty;
    mod given_up;
    mod names;
    mod support;
    mod ways;
}
