//! Limits on the share of errors, for samples of any size.

/// Whether `wrong` of `total` results exceed a share of `percent` by more than three standard deviations, so that a small sample does not
/// fail by chance and the limit is strict for a large one.
pub(crate) fn exceeds(wrong: usize, total: usize, percent: f64) -> bool {
    exceeds_in_groups(wrong, total, total, percent)
}

/// [`exceeds`] for results that are similar within groups: the size of the sample is the number of groups.
pub(crate) fn exceeds_in_groups(wrong: usize, total: usize, groups: usize, percent: f64) -> bool {
    let groups = groups as f64;
    let wrong = wrong as f64 / total.max(1) as f64 * groups;
    let expected = groups * percent / 100.0;
    wrong > expected + 3.0 * expected.sqrt()
}

#[cfg(test)]
mod tests {
    use super::{exceeds, exceeds_in_groups};

    #[test]
    fn small_samples_may_differ_by_chance() {
        assert!(!exceeds(1, 7, 5.0));
        assert!(exceeds(3, 7, 5.0));
        assert!(!exceeds(1, 12, 1.0));
        assert!(exceeds(2, 12, 1.0));
    }

    #[test]
    fn results_of_one_group_count_as_one() {
        assert!(exceeds(6, 25, 5.0));
        assert!(!exceeds_in_groups(6, 25, 10, 5.0));
        assert!(exceeds_in_groups(7, 25, 10, 5.0));
    }

    #[test]
    fn large_samples_may_not() {
        assert!(!exceeds(500, 10_000, 5.0));
        assert!(exceeds(600, 10_000, 5.0));
        assert!(exceeds(1, 10_000, 0.0));
    }
}
