//! The size of tests, and the seed of their random numbers. `CONTRIBUTING.md` lists the environment variables.

/// The seed without `PTXKIT_SEED`, also in `.ci/run`: the tests of a commit always have the same cases.
const FIXED_SEED: &str = include_str!("../seed");

/// A fraction of the cases of a test: one in `parts`.
#[derive(Copy, Clone)]
pub struct Sample {
    pub parts: usize,
    /// The index of the fraction.
    part: usize,
}

/// One in `quick` of the cases; one in `ci` of them in `.ci/run`, which sets `PTXKIT_SAMPLE=ci`; all of them with
/// `PTXKIT_SAMPLE=all`.
pub fn sample(quick: usize, ci: usize) -> Sample {
    let parts = match std::env::var("PTXKIT_SAMPLE").as_deref() {
        Ok("all") => 1,
        Ok("ci") => ci,
        _ => quick,
    };
    Sample {
        parts,
        part: (seed() % parts as u64) as usize,
    }
}

/// The seed of samples and random inputs: the number in `PTXKIT_SEED`, else the fixed one.
pub fn seed() -> u64 {
    let seed = std::env::var("PTXKIT_SEED").unwrap_or(FIXED_SEED.into());
    seed.trim().parse().expect("a seed is a number")
}

/// The number of cases: the number in `PTXKIT_CASES`, or `default` without it.
pub fn cases(default: usize) -> usize {
    std::env::var("PTXKIT_CASES").map_or(default, |n| n.parse().expect("PTXKIT_CASES is a number"))
}

/// Whether the tests list every counted case, not only the sums: `PTXKIT_LIST` is set.
pub fn lists_cases() -> bool {
    std::env::var_os("PTXKIT_LIST").is_some()
}

/// Whether a file is tested: with `PTXKIT_FILES=TEXT`, only those whose names contain the text.
pub fn has_file(name: &str) -> bool {
    std::env::var("PTXKIT_FILES").map_or(true, |text| name.contains(&text))
}

impl Sample {
    /// Whether the case with this index belongs to the sample.
    pub fn has(self, index: usize) -> bool {
        index % self.parts == self.part
    }

    /// The cases that belong to the sample.
    pub fn of<T>(self, cases: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
        cases
            .into_iter()
            .enumerate()
            .filter_map(move |(index, case)| self.has(index).then_some(case))
    }
}
