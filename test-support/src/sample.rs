//! Which part of a large test runs. CI sets `PTXKIT_SEED` to a number that depends on the commit, so that successive commits test different parts;
//! with `PTXKIT_ALL`, everything runs.

/// One in `parts` of the cases of a test.
#[derive(Copy, Clone)]
pub struct Sample {
    pub parts: usize,
    /// Which of them.
    part: usize,
}

/// One in `quick` of the cases, or with `PTXKIT_SEED` one in `ci`.
pub fn sample(quick: usize, ci: usize) -> Sample {
    if std::env::var_os("PTXKIT_ALL").is_some() {
        return Sample { parts: 1, part: 0 };
    }
    match seed() {
        Some(seed) => Sample {
            parts: ci,
            part: (seed % ci as u64) as usize,
        },
        None => Sample {
            parts: quick,
            part: 0,
        },
    }
}

/// The number in `PTXKIT_SEED`.
pub fn seed() -> Option<u64> {
    std::env::var("PTXKIT_SEED").ok()?.parse().ok()
}

impl Sample {
    /// Whether the case with this index belongs to the sample.
    pub fn has(self, index: usize) -> bool {
        index % self.parts == self.part
    }

    /// The cases that belong to the sample.
    pub fn of<T>(self, cases: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
        let numbered = cases.into_iter().enumerate();
        numbered.filter_map(move |(index, case)| self.has(index).then_some(case))
    }
}
