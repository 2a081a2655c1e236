//! Faults that runtimes have had, one test a kind, so that none of them comes (back).
//!
//! `README.md` beside this folder has the whole list: which test stands for which kind, also
//! outside this module, and what is still to come.

mod traps {
    mod fairness;
    mod fork;
    mod io;
    mod resources;
    mod wakeups;
}
#[path = "traps/scopes.rs"]
mod scopes;
