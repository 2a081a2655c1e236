//! Waiting for room in a queue that belongs to somebody else.
//!
//! The queue of a listener, and that of a datagram socket which one is not connected to, give no
//! event when there is room again. So one looks again, at growing intervals: soon, since it is
//! mostly short, and seldom, if it is not.

use std::io;
use std::time::Duration;

use crate::time::sleep;

const FIRST: Duration = Duration::from_micros(100);
const LAST: Duration = Duration::from_millis(20);

/// Repeats `attempt` while it says that it would block.
pub(super) async fn while_full<T>(mut attempt: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let mut pause = FIRST;
    loop {
        match attempt() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                sleep(pause).await;
                pause = (pause * 2).min(LAST);
            }
            result => return result,
        }
    }
}
