//! What becomes of counters that have counted very far.

use super::Counter;

#[test]
fn a_counter_goes_on_behind_its_last_number() {
    let counter = Counter::default();
    counter.add(u64::MAX);
    assert_eq!(counter.get(), u64::MAX);
    counter.add(3);
    assert_eq!(counter.get(), 2);
}
