//! Faults from outside: peers that are killed, disks that are full, limits, and a process that stands still.
//!
//! Nothing may be lost, nothing may hang, and errors must say what has happened.

mod faults {
    mod files;
    mod limits;
    mod peers;
    mod program;
    mod standstill;
}
