//! Faults that only the kernel can have: calls that it refuses, threads that it does not start, and clocks that jump.
//!
//! They cannot be asked for from outside, so a layer in front of the kernel makes them up
//! (`injected/kernel.rs`). It is the whole process's, so each test has a process of its own.

mod injected {
    mod building;
    mod clocks;
    mod kernel;
    mod running;
    mod threads;
}
