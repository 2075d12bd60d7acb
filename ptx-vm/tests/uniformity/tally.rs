//! Sums over kernels.

use std::collections::HashMap;

use ptx_analysis::uniformity::Uniformity;

use super::observed::Seen;

/// What is expected to be called uniform of what is uniform in every run, in percent, by group, the largest first; in functions that only their module calls.
///
/// Missed are above all values of the thread's index that happen to be the same for the data of the runs, results of functions that are called with different
/// arguments, ordered loads, results of matrix products, and weak loads after a fence. [`Tally::causes`] shows them.
const PRECISE_PERCENT: [u64; 4] = [85, 85, 85, 87];

/// How many causes are shown for each group.
const CAUSES: usize = 40;

/// What was found in some kernels.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    observations: u64,
    /// The launches with a data race.
    excluded: u64,
    /// By group, the largest first: what was the same in every run, and how much of it was called so.
    uniform: [u64; 4],
    called: [u64; 4],
    /// By group and cause, how many values were not called uniform that were.
    missed: HashMap<(usize, String), u64>,
    /// What was called uniform and differed.
    wrong: Vec<String>,
}

impl Tally {
    /// Counts what was seen of something. Values count for the precision: `cause` tells why one is not called uniform in a group.
    pub(crate) fn count(
        &mut self,
        seen: &Seen,
        cause: Option<&dyn Fn(Uniformity) -> String>,
        text: impl Fn() -> String,
    ) {
        self.observations += seen.observations;
        for at in 0..4 {
            let called = seen.claimed as usize <= at;
            if seen.differed[at] && called {
                let group = Uniformity::ALL[at];
                self.wrong.push(format!(
                    "called {}, differs in the {group}: {}",
                    seen.claimed,
                    text()
                ));
                break;
            }
            if let Some(cause) = cause
                && seen.compared[at]
                && !seen.differed[at]
            {
                self.uniform[at] += 1;
                self.called[at] += u64::from(called);
                if !called {
                    let cause = cause(Uniformity::ALL[at]);
                    if super::sample::lists_cases() {
                        let (claimed, group) = (seen.claimed, Uniformity::ALL[at]);
                        println!("{claimed} but {group} by {cause}: {}", text());
                    }
                    *self.missed.entry((at, cause)).or_default() += 1;
                }
            }
        }
    }

    /// Notes blocks that not all threads executed of a group of which all should.
    pub(crate) fn blocks(&mut self, name: &str, wrong: &[String]) {
        self.wrong
            .extend(wrong.iter().map(|w| format!("{name}: {w}")));
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.observations += other.observations;
        self.excluded += other.excluded;
        for at in 0..4 {
            self.uniform[at] += other.uniform[at];
            self.called[at] += other.called[at];
        }
        for (cause, count) in other.missed {
            *self.missed.entry(cause).or_default() += count;
        }
        self.wrong.extend(other.wrong);
    }

    pub(crate) const fn observations(&self) -> u64 {
        self.observations
    }

    /// Notes launches of a kernel of which nothing is claimed, since they have a data race.
    pub(crate) fn exclude(&mut self, name: &str, launches: u64) {
        if launches > 0 {
            println!("{launches} launches left out because of data races: {name}");
        }
        self.excluded += launches;
    }

    /// How much of what was uniform in every run is called so.
    pub(crate) fn precision(&self) -> String {
        let of = |at: usize| {
            let (called, uniform) = (self.called[at], self.uniform[at]);
            let percent = called as f64 * 100.0 / uniform.max(1) as f64;
            format!(
                "{} {called} of {uniform} ({percent:.1} %)",
                Uniformity::ALL[at]
            )
        };
        let groups = (0..4).map(of).collect::<Vec<_>>().join(", ");
        format!("{groups}; {} launches left out", self.excluded)
    }

    /// The most frequent causes for which values are not called uniform that were.
    pub(crate) fn causes(&self) -> String {
        let mut lines = String::new();
        for at in 0..4 {
            let of_group = self.missed.iter().filter(|((group, _), _)| *group == at);
            let mut counted: Vec<(u64, &str)> = of_group.map(|((_, c), n)| (*n, &**c)).collect();
            counted.sort_unstable_by(|a, b| b.cmp(a));
            for (count, cause) in counted.iter().take(CAUSES) {
                lines += &format!("{}: {count} by {cause}\n", Uniformity::ALL[at]);
            }
        }
        lines
    }

    /// Fails if something that was called uniform differed, or if little was compared.
    pub(crate) fn assert_sound(&self, least: u64) {
        let shown = self.wrong.iter().take(20).map(String::as_str);
        let shown: Vec<&str> = shown.collect();
        assert!(
            self.wrong.is_empty(),
            "{} wrong:\n{}",
            self.wrong.len(),
            shown.join("\n")
        );
        assert!(
            self.observations >= least,
            "{} observations",
            self.observations
        );
    }

    pub(crate) fn assert_precise(&self) {
        let measured = self.called.iter().zip(self.uniform);
        let mut expected = measured.zip(PRECISE_PERCENT);
        assert!(
            expected.all(|((called, uniform), percent)| called * 100 >= uniform * percent),
            "{}",
            self.precision()
        );
    }
}
