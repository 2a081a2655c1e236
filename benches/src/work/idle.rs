//! Is a runtime with nothing to do really idle, and what does a silent connection weigh?
//!
//! An echo server with thousands of connections on which nothing happens, and a timer that is an hour
//! away. The figures are system calls and CPU time while it waits, and memory a connection.

use std::io;
use std::net::TcpListener;
use std::time::Duration;

use crate::peers::Net;
use crate::work::echo;

const FAR_AWAY: Duration = Duration::from_hours(1);

/// Serves until the process is killed.
pub(crate) fn serve<N: Net>(listener: TcpListener) -> io::Result<()> {
    N::block_on(async move {
        N::detach(N::sleep(FAR_AWAY));
        N::spawn(echo::accept::<N>(listener)).await
    })
}
