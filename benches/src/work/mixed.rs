//! What does computing on the same runtime do to the latency of its sockets?
//!
//! An echo server that also keeps four pieces of computing of 20 ms each in flight, as ordinary tasks or
//! wherever the peer wants such work to go. The figures are the latencies seen by the load, and how
//! many pieces were finished a second: latency must not be bought by computing less.

use std::env;
use std::hint::black_box;
use std::io;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use crate::control;
use crate::peers::{Net, Offload};
use crate::work::echo;

/// Pieces in flight.
pub(crate) const IN_FLIGHT: usize = 4;
/// How long a piece takes on an idle machine.
const PIECE: Duration = Duration::from_millis(20);
/// Tells a server how many steps a piece has: calibrated once, the same for all.
pub(crate) const STEPS_VARIABLE: &str = "VERSUS_PIECE_STEPS";

/// Serves and computes until the process is killed.
pub(crate) fn serve<N: Net, O: Offload>(listener: TcpListener) -> io::Result<()> {
    let steps = piece_steps();
    N::block_on(async move {
        for _ in 0..IN_FLIGHT {
            N::detach(async move {
                loop {
                    O::run(move || compute(steps)).await;
                    control::count_one();
                }
            });
        }
        N::spawn(echo::accept::<N>(listener)).await
    })
}

/// The size of a piece, from the environment.
pub(crate) fn piece_steps() -> u64 {
    env::var(STEPS_VARIABLE)
        .ok()
        .and_then(|steps| steps.parse().ok())
        .unwrap_or_else(calibrate)
}

/// A chain of dependent steps that no compiler can shorten and that touches no memory.
pub(crate) fn compute(steps: u64) {
    let mut state = black_box(0x9E37_79B9_7F4A_7C15_u64);
    for _ in 0..steps {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    black_box(state);
}

/// How many steps take [`PIECE`]: the best of several tries, as a disturbed one is only ever slower.
pub(crate) fn calibrate() -> u64 {
    const TRIAL: u64 = 2_000_000;
    let fastest = (0..20)
        .map(|_| {
            let started = Instant::now();
            compute(TRIAL);
            started.elapsed()
        })
        .min()
        .unwrap_or(PIECE);
    (TRIAL as f64 * PIECE.as_secs_f64() / fastest.as_secs_f64()) as u64
}
