//! Limits on the share of errors, for samples of any size.

/// Whether `wrong` of `total` results are more than a share of `percent` explains: more than three standard deviations above it, so that a
/// small sample does not fail by chance and a large one is judged strictly.
pub(crate) fn exceeds(wrong: usize, total: usize, percent: f64) -> bool {
    let expected = total as f64 * percent / 100.0;
    wrong as f64 > expected + 3.0 * expected.sqrt()
}

#[cfg(test)]
mod tests {
    use super::exceeds;

    #[test]
    fn small_samples_may_differ_by_chance() {
        assert!(!exceeds(1, 7, 5.0));
        assert!(exceeds(3, 7, 5.0));
        assert!(!exceeds(1, 12, 1.0));
        assert!(exceeds(2, 12, 1.0));
    }

    #[test]
    fn large_samples_may_not() {
        assert!(!exceeds(500, 10_000, 5.0));
        assert!(exceeds(600, 10_000, 5.0));
        assert!(exceeds(1, 10_000, 0.0));
    }
}
