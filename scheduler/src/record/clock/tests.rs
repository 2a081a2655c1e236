//! That ticks become nanoseconds.

use std::time::Instant;

use super::Stopwatch;

/// Two clocks that are read one after the other, on a machine that may do something else in between: the
/// stopwatch is between what was read before and after.
#[test]
fn a_stopwatch_goes_as_the_kernels_clock_does() {
    let watch = Stopwatch::new();
    for millis in [1, 1, 2, 5] {
        let outer = Instant::now();
        let began = watch.now();
        let inner = Instant::now();
        while inner.elapsed().as_millis() < millis {
            std::hint::spin_loop();
        }
        let least = inner.elapsed().as_nanos() as u64;
        let ended = watch.now();
        let most = outer.elapsed().as_nanos() as u64;
        let nanos = watch.nanos(ended - began, ended);
        // A hundredth for an error in the rate.
        assert!(nanos >= least - least / 100, "{nanos} of {least}");
        assert!(nanos <= most + most / 100, "{nanos} of {most}");
    }
}
