//! Histograms of durations: where a worker counts them, and what is read from there.
//!
//! The buckets are the same everywhere: one for all that is shorter than 128 ns, then four for each doubling, so that
//! a bucket is a quarter wider than the one before at most, and one for all from 34 s on. So a
//! histogram takes less than a kilobyte, whatever it counts, and any two can be added.
//!
//! # Orderings
//!
//! Relaxed: one thread counts, as in `stats.rs`. Who reads meanwhile may miss the last few.

use std::fmt;
use std::time::Duration;

use crate::stats::Counter;

#[cfg(test)]
mod tests;

/// Everything shorter than two to this power of nanoseconds is in the first bucket.
const FIRST: u32 = 7;

/// Everything from two to this power of nanoseconds on is in the last one.
const LAST: u32 = 35;

/// Two to this power of buckets for each doubling in between.
const STEPS: u32 = 2;

const BUCKETS: usize = ((LAST - FIRST) << STEPS) as usize + 2;

/// The bucket that so many nanoseconds belong to.
fn index_of(nanos: u64) -> usize {
    if nanos < 1 << FIRST {
        return 0;
    }
    let power = nanos.ilog2();
    if power >= LAST {
        return BUCKETS - 1;
    }
    let step = (nanos >> (power - STEPS)) as usize & ((1 << STEPS) - 1);
    1 + (((power - FIRST) << STEPS) as usize) + step
}

/// The least number of nanoseconds that belongs to a bucket.
fn least_of(index: usize) -> u64 {
    let Some(above) = index.checked_sub(1) else {
        return 0;
    };
    let step = (above & ((1 << STEPS) - 1)) as u64;
    ((1 << STEPS) + step) << (FIRST - STEPS + (above >> STEPS) as u32)
}

/// The counts of one worker: written by that worker alone, read by anybody.
pub(crate) struct Counts {
    buckets: [Counter; BUCKETS],
    /// Nanoseconds, all together.
    sum: Counter,
}

impl Default for Counts {
    fn default() -> Self {
        Counts {
            buckets: std::array::from_fn(|_| Counter::default()),
            sum: Counter::default(),
        }
    }
}

impl Counts {
    #[inline]
    pub(crate) fn record(&self, nanos: u64) {
        self.buckets[index_of(nanos)].add(1);
        self.sum.add(nanos);
    }

    /// Adds what has been counted to `histogram`.
    pub(crate) fn add_to(&self, histogram: &mut Histogram) {
        for (sum, bucket) in histogram.counts.iter_mut().zip(&self.buckets) {
            *sum = sum.wrapping_add(bucket.get());
        }
        histogram.sum_ns = histogram.sum_ns.wrapping_add(self.sum.get());
    }
}

/// How many durations of which lengths there were.
///
/// The buckets are fixed: one for what is shorter than 128 nanoseconds, four for each doubling, and one for what takes
/// longer than 34 seconds. So a length is known up to a quarter of itself.
///
/// # Examples
///
/// ```
/// let runtime = rt::Runtime::builder()
///     .current_thread()
///     .enable_metrics_poll_time_histogram()
///     .build()?;
/// runtime.block_on(runtime.spawn(async {})).unwrap();
///
/// let times = runtime.metrics().io_poll_times.unwrap();
/// assert_eq!(times.count(), 1);
/// println!("99 of 100 polls took at most {:?}", times.quantile(0.99));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Histogram {
    counts: Box<[u64]>,
    sum_ns: u64,
}

/// One bucket of a [`Histogram`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct HistogramBucket {
    /// The shortest duration in it.
    pub from: Duration,
    /// All in it are shorter than this; [`Duration::MAX`] in the last one.
    pub below: Duration,
    /// How many there were.
    pub count: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram {
            counts: Box::new([0; BUCKETS]),
            sum_ns: 0,
        }
    }
}

impl Histogram {
    /// How many durations there were.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// All of them together.
    pub fn sum(&self) -> Duration {
        Duration::from_nanos(self.sum_ns)
    }

    /// Their mean; zero if there were none.
    pub fn mean(&self) -> Duration {
        Duration::from_nanos(self.sum_ns.checked_div(self.count()).unwrap_or(0))
    }

    /// What the share `q` of them, from 0 to 1, did not exceed, rounded up to the end of a bucket; of the last
    /// bucket, which has no end, its beginning. Zero if there were none.
    pub fn quantile(&self, q: f64) -> Duration {
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_sign_loss,
            reason = "a rank need not be exact, and is not negative"
        )]
        let rank = ((self.count() as f64 * q.clamp(0.0, 1.0)).ceil() as u64).max(1);
        let mut seen = 0;
        for bucket in self.buckets() {
            seen += bucket.count;
            if seen >= rank {
                return if bucket.below == Duration::MAX {
                    bucket.from
                } else {
                    bucket.below
                };
            }
        }
        Duration::ZERO
    }

    /// What has come since `earlier`, an older reading of the same histogram.
    #[must_use = "neither of the two is changed"]
    pub fn since(&self, earlier: &Histogram) -> Histogram {
        let pairs = self.counts.iter().zip(&earlier.counts);
        Histogram {
            counts: pairs.map(|(now, then)| now.saturating_sub(*then)).collect(),
            sum_ns: self.sum_ns.saturating_sub(earlier.sum_ns),
        }
    }

    /// All buckets, the shortest durations first, the empty ones too.
    pub fn buckets(&self) -> impl Iterator<Item = HistogramBucket> {
        self.counts
            .iter()
            .enumerate()
            .map(|(index, &count)| HistogramBucket {
                from: Duration::from_nanos(least_of(index)),
                below: if index + 1 < BUCKETS {
                    Duration::from_nanos(least_of(index + 1))
                } else {
                    Duration::MAX
                },
                count,
            })
    }

    fn filled(&self) -> Vec<HistogramBucket> {
        self.buckets().filter(|bucket| bucket.count > 0).collect()
    }
}

impl fmt::Debug for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Histogram")
            .field("count", &self.count())
            .field("sum", &self.sum())
            .field("buckets", &self.filled())
            .finish()
    }
}

/// Count, sum, and the buckets that are not empty.
#[cfg(feature = "serde")]
impl serde::Serialize for Histogram {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;

        let mut histogram = serializer.serialize_struct("Histogram", 3)?;
        histogram.serialize_field("count", &self.count())?;
        histogram.serialize_field("sum", &self.sum())?;
        histogram.serialize_field("buckets", &self.filled())?;
        histogram.end()
    }
}
