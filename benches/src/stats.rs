//! Medians and ranges of a few rounds.
//!
//! Rounds are few and noise has one side only (other work on the machine makes a round slower, hardly
//! ever faster), so the middle one is taken and the range is shown beside it; a mean would carry every
//! disturbed round into the result.

#[cfg(test)]
mod tests;

/// The middle value and the ends of a set of rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Spread {
    /// The spread of `values`, or `None` when there are none.
    pub(crate) fn of(values: &[f64]) -> Option<Spread> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (&low, &high) = (sorted.first()?, sorted.last()?);
        let middle = sorted.len() / 2;
        let median = if sorted.len() % 2 == 1 {
            sorted[middle]
        } else {
            f64::midpoint(sorted[middle - 1], sorted[middle])
        };
        Some(Spread { median, low, high })
    }
}

/// The median of `values`; zero when there are none.
pub(crate) fn median(values: &[f64]) -> f64 {
    Spread::of(values).map_or(0.0, |spread| spread.median)
}
