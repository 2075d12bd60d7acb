//! Sums over runs.

use std::collections::{BTreeMap, BTreeSet};

use ptx_lint::Lint;

/// What was compared.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    /// Kernels, and those of them of which anything was found or reported.
    pub(crate) kernels: u64,
    pub(crate) runs: u64,
    /// What is definite and was reported, by lint: the findings, and in how many runs.
    confirmed: BTreeMap<Lint, (BTreeSet<(u32, String)>, u64)>,
    /// What was not reported because the run ended before.
    stopped: BTreeMap<Lint, u64>,
    /// Reports that lints find, too.
    found: BTreeMap<Lint, u64>,
    /// What only one of them says, with the reason.
    listed: BTreeMap<(Lint, &'static str), u64>,
    /// What is definite and did not happen, and what happened and is not possible.
    wrong: Vec<String>,
}

impl Tally {
    pub(crate) fn confirmed(&mut self, lint: Lint, (at, name): (u32, &str)) {
        let of = self.confirmed.entry(lint).or_default();
        of.0.insert((
            at,
            name.split(" with ").next().unwrap_or_default().to_owned(),
        ));
        of.1 += 1;
    }

    pub(crate) fn stopped(&mut self, lint: Lint) {
        *self.stopped.entry(lint).or_default() += 1;
    }

    pub(crate) fn found(&mut self, lint: Lint) {
        *self.found.entry(lint).or_default() += 1;
    }

    pub(crate) fn listed(&mut self, lint: Lint, family: &'static str, shown: &dyn Fn() -> String) {
        *self.listed.entry((lint, family)).or_default() += 1;
        if crate::sample::lists_cases() {
            println!("{family}: {}", shown());
        }
    }

    /// Something is definite and did not happen.
    pub(crate) fn wrong(&mut self, lint: Lint, shown: &dyn Fn() -> String) {
        self.wrong
            .push(format!("{} did not happen: {}", lint.name(), shown()));
    }

    /// A report that no lint finds.
    pub(crate) fn missed(&mut self, lint: Lint, shown: &dyn Fn() -> String) {
        self.wrong
            .push(format!("{} is not possible: {}", lint.name(), shown()));
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.kernels += other.kernels;
        self.runs += other.runs;
        for (lint, (findings, runs)) in other.confirmed {
            let of = self.confirmed.entry(lint).or_default();
            of.0.extend(findings);
            of.1 += runs;
        }
        for (lint, count) in other.stopped {
            *self.stopped.entry(lint).or_default() += count;
        }
        for (lint, count) in other.found {
            *self.found.entry(lint).or_default() += count;
        }
        for (family, count) in other.listed {
            *self.listed.entry(family).or_default() += count;
        }
        self.wrong.extend(other.wrong);
    }

    /// The definite findings of a lint that were reported.
    pub(crate) fn definite(&self, lint: Lint) -> usize {
        self.confirmed
            .get(&lint)
            .map_or(0, |(findings, _)| findings.len())
    }

    /// Prints the sums, and fails if anything is wrong.
    pub(crate) fn assert_agrees(&self) {
        println!("{} kernels, {} runs", self.kernels, self.runs);
        for (lint, (findings, runs)) in &self.confirmed {
            let stopped = self.stopped.get(lint).unwrap_or(&0);
            println!(
                "{}: {} definite findings happened in {runs} runs; {stopped} runs ended before",
                lint.name(),
                findings.len()
            );
        }
        for (lint, count) in &self.found {
            println!("{}: {count} reports found", lint.name());
        }
        for ((lint, family), count) in &self.listed {
            println!("{}: {count}: {family}", lint.name());
        }
        let shown: Vec<&str> = self.wrong.iter().take(60).map(String::as_str).collect();
        assert!(
            self.wrong.is_empty(),
            "{} wrong:\n{}",
            self.wrong.len(),
            shown.join("\n")
        );
    }
}
