//! The generator: its range, and what a seed fixes.

use super::{Rng, random_below};

fn numbers(rng: &Rng) -> Vec<usize> {
    (0..100).map(|_| rng.below(1000)).collect()
}

#[test]
fn a_seed_fixes_all_sequences_and_they_differ() {
    for seed in [0, 1, 7, u64::MAX] {
        let set = Rng::set(seed).map(|rng| numbers(&rng));
        assert_eq!(set, Rng::set(seed).map(|rng| numbers(&rng)));
        assert!(set[0] != set[1] && set[1] != set[2] && set[2] != set[0]);
    }
    assert_ne!(numbers(&Rng::new(1)), numbers(&Rng::new(2)));
}

#[test]
fn every_number_below_the_limit_comes_and_no_other() {
    let mut seen = [0_u32; 5];
    for _ in 0..10_000 {
        seen[random_below(5) as usize] += 1;
    }
    assert!(seen.iter().all(|&times| times > 1_500), "{seen:?}");
    assert_eq!(random_below(1), 0);
}

#[test]
#[should_panic = "no number below 0"]
fn nothing_is_below_zero() {
    random_below(0);
}
