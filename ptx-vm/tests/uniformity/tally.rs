//! Sums over kernels.

use ptx_analysis::uniformity::Uniformity;

use super::observed::Seen;

/// What is expected to be called uniform of what is uniform in every run, in percent, by group, the largest first; in functions that only their module calls.
///
/// Missed in the grid, the clusters and the CTAs are above all weak loads from global memory at the same address: another CTA may store there meanwhile, and no
/// rule of the PTX ISA manual forbids it. In all groups, results of calls through addresses, ordered loads, and comparisons and bits of varying values that happen to be
/// the same for the data of the runs.
const PRECISE_PERCENT: [u64; 4] = [73, 73, 74, 87];

/// What was found in some kernels.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    observations: u64,
    /// By group, the largest first: what was the same in every run, and how much of it was called so.
    uniform: [u64; 4],
    called: [u64; 4],
    /// What was called uniform and differed.
    wrong: Vec<String>,
}

impl Tally {
    /// Counts what was seen of something. `is_value`: it counts for the precision, which is that of values.
    pub(crate) fn count(&mut self, seen: &Seen, is_value: bool, text: impl Fn() -> String) {
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
            if is_value && seen.compared[at] && !seen.differed[at] {
                self.uniform[at] += 1;
                self.called[at] += u64::from(called);
                if !called && std::env::var_os("PTX_MISSED").is_some() {
                    println!("{} but {}: {}", seen.claimed, Uniformity::ALL[at], text());
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
        for at in 0..4 {
            self.uniform[at] += other.uniform[at];
            self.called[at] += other.called[at];
        }
        self.wrong.extend(other.wrong);
    }

    pub(crate) const fn observations(&self) -> u64 {
        self.observations
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
        (0..4).map(of).collect::<Vec<_>>().join(", ")
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
