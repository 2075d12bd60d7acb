//! The size of tests, and the seed of what is random in them. `CONTRIBUTING.md` lists the environment variables.

/// The seed without `PTXKIT_SEED`, also that of `.ci/run`. The same commit always tests the same cases.
const FIXED_SEED: &str = include_str!("../seed");

/// A fraction of the cases of a test: one in `parts`.
#[derive(Copy, Clone)]
pub struct Sample {
    pub parts: usize,
    /// The index of the fraction.
    part: usize,
}

/// One in `quick` of the cases, or one in `ci` of them in `.ci/run`, which sets `PTXKIT_SAMPLE=ci`. With `PTXKIT_SAMPLE=all` all of them.
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
    let given = std::env::var("PTXKIT_SEED").ok();
    given
        .as_deref()
        .unwrap_or(FIXED_SEED)
        .trim()
        .parse()
        .expect("a seed is a number")
}

/// The number of cases: `usual`, or the number in `PTXKIT_CASES`.
pub fn cases(usual: usize) -> usize {
    let given = std::env::var("PTXKIT_CASES").ok();
    given.map_or(usual, |n| n.parse().expect("PTXKIT_CASES is a number"))
}

/// Whether `PTXKIT_LIST` asks for every case that counts, not only for the sums.
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
        let numbered = cases.into_iter().enumerate();
        numbered.filter_map(move |(index, case)| self.has(index).then_some(case))
    }
}
