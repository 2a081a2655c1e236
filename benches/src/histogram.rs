//! Latency histogram with a fixed relative error.
//!
//! Each power of two is cut into [`STEPS`] equal steps, so a value is known to about 1.6 % whatever its
//! size, recording is an array increment, and a run of any length takes the same memory. Quantiles
//! give the upper edge of a step: a latency is never reported as smaller than it was.

#[cfg(test)]
mod tests;

/// Steps in a power of two.
const STEPS: u64 = 64;
/// `log2` of [`STEPS`].
const STEP_BITS: u32 = STEPS.trailing_zeros();
/// Enough buckets for any `u64`.
const BUCKETS: usize = (65 - STEP_BITS as usize) * STEPS as usize;

/// Counts of values, in nanoseconds by habit.
#[derive(Clone, Debug)]
pub(crate) struct Histogram {
    counts: Vec<u64>,
    total: u64,
    max: u64,
}

impl Histogram {
    /// An empty histogram.
    pub(crate) fn new() -> Histogram {
        Histogram {
            counts: vec![0; BUCKETS],
            total: 0,
            max: 0,
        }
    }

    /// Counts one value.
    pub(crate) fn record(&mut self, value: u64) {
        self.counts[bucket(value)] += 1;
        self.total += 1;
        self.max = self.max.max(value);
    }

    /// How many values were counted.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// The largest value counted, exactly.
    pub(crate) fn max(&self) -> u64 {
        self.max
    }

    /// A value that `share` (0 to 1) of the counted values do not exceed.
    pub(crate) fn quantile(&self, share: f64) -> u64 {
        let wanted = (self.total as f64 * share).ceil().max(1.0);
        let mut seen = 0;
        for (index, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen as f64 >= wanted {
                return upper_edge(index).min(self.max);
            }
        }
        self.max
    }
}

/// The bucket of a value. Values below [`STEPS`] have a bucket each.
fn bucket(value: u64) -> usize {
    let top = value.checked_ilog2().unwrap_or(0);
    let shift = top.saturating_sub(STEP_BITS);
    // Past the first powers of two the leading one bit is implied by the shift, so that the step is
    // in STEPS..2*STEPS and consecutive shifts meet without a gap.
    (u64::from(shift) * STEPS + (value >> shift)) as usize
}

/// The largest value that falls into a bucket.
fn upper_edge(index: usize) -> u64 {
    let index = index as u64;
    if index < 2 * STEPS {
        return index;
    }
    let shift = index / STEPS - 1;
    let step = index % STEPS + STEPS;
    // The topmost step ends at `u64::MAX`, which `(step + 1) << shift` would overflow.
    (step << shift) | ((1 << shift) - 1)
}
