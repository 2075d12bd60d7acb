//! Sums over findings.

use std::collections::BTreeMap;

use ptx_lint::Lint;

use super::claims::Claim;
use super::observer::Seen;

/// The definite findings of a lint.
#[derive(Clone, Debug, Default)]
struct OfLint {
    /// Those that all lanes of a warp confirmed, and how often.
    whole: u64,
    times: u64,
    /// Those that only some lanes executed: as stated each time, and with less at some time.
    partly: u64,
    less: u64,
    /// Those that no run came to, by the reason.
    unknown: BTreeMap<&'static str, u64>,
}

/// What was compared.
#[derive(Clone, Debug, Default)]
pub(crate) struct Measured {
    lints: BTreeMap<Lint, OfLint>,
    wrong: Vec<String>,
}

impl Measured {
    /// Notes a finding and what happened at its place.
    pub(crate) fn note(&mut self, name: &str, claim: &Claim, seen: &Seen) {
        let of = self.lints.entry(claim.lint).or_default();
        if let Some(wrong) = &seen.wrong {
            self.wrong.push(format!("{}: {wrong}", claim.lint.name()));
        } else if seen.whole > 0 {
            of.whole += 1;
            of.times += seen.whole;
        } else if seen.less > 0 {
            of.less += 1;
        } else if seen.partly > 0 {
            of.partly += 1;
        } else {
            let reason = seen.ended.unwrap_or("no kernel calls the function");
            *of.unknown.entry(reason).or_default() += 1;
            if crate::sample::lists_cases() {
                let lint = claim.lint.name();
                println!("{reason}: {name}:{}: {lint}: {}", claim.line, claim.message);
            }
        }
    }

    pub(crate) fn add(&mut self, other: Self) {
        for (lint, new) in other.lints {
            let of = self.lints.entry(lint).or_default();
            of.whole += new.whole;
            of.times += new.times;
            of.partly += new.partly;
            of.less += new.less;
            for (reason, count) in new.unknown {
                *of.unknown.entry(reason).or_default() += count;
            }
        }
        self.wrong.extend(other.wrong);
    }

    /// The findings that whole warps confirmed.
    pub(crate) fn confirmed(&self, lint: Lint) -> u64 {
        self.lints.get(&lint).map_or(0, |of| of.whole)
    }

    /// Prints the sums, and fails if anything is contradicted.
    pub(crate) fn assert_agrees(&self) {
        for (lint, of) in &self.lints {
            let name = lint.name();
            println!(
                "{name}: {} definite findings confirmed, {} times",
                of.whole, of.times
            );
            let some = "executed by some lanes of warps only:";
            println!(
                "{name}: {some} {} as stated, {} with less",
                of.partly, of.less
            );
            for (reason, count) in &of.unknown {
                println!("{name}: {count} not executed: {reason}");
            }
        }
        let shown: Vec<&str> = self.wrong.iter().take(60).map(String::as_str).collect();
        assert!(
            self.wrong.is_empty(),
            "{} contradicted:\n{}",
            self.wrong.len(),
            shown.join("\n")
        );
    }
}
