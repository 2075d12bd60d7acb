//! The agreement of the verifier with ptxas, by opcode, and a list of all differences.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::Result;
use ptx_isa::{PtxVersion, Target};

use super::verdicts::{Set, Verdict};
use crate::limit::exceeds;

/// The answer of the verifier on a case.
#[derive(Clone, Default)]
pub(crate) struct Ours {
    pub(crate) targets: Vec<Target>,
    /// The lowest version on the first target of the verdict.
    pub(crate) lowest: Option<PtxVersion>,
}

/// Counts of cases.
#[derive(Clone, Copy, Default)]
pub(crate) struct Tally {
    cases: usize,
    /// The verifier accepts the case on some target, ptxas on none.
    false_accepts: usize,
    /// ptxas accepts the case on some target, the verifier on none.
    false_rejects: usize,
    /// Both accept the case, but on different targets.
    targets: usize,
    /// Both accept the case, but from different versions on.
    versions: usize,
}

impl Tally {
    /// The percentage of cases that both accept or both refuse.
    pub(crate) fn agreement(&self) -> f64 {
        100.0 - 100.0 * self.differences() as f64 / self.cases.max(1) as f64
    }

    fn differences(&self) -> usize {
        self.false_accepts + self.false_rejects
    }

    fn add(&mut self, verdict: &Verdict, ours: &Ours) -> Option<&'static str> {
        self.cases += 1;
        let (count, kind) = match (ours.targets.is_empty(), verdict.targets.is_empty()) {
            (false, true) => (&mut self.false_accepts, "false accept"),
            (true, false) => (&mut self.false_rejects, "false reject"),
            _ if ours.targets != verdict.targets => (&mut self.targets, "targets"),
            (false, false) if ours.lowest != verdict.lowest => (&mut self.versions, "version"),
            _ => return None,
        };
        *count += 1;
        Some(kind)
    }
}

/// The counts of all cases and of the cases of each opcode.
pub(crate) struct Agreement<'a> {
    pub(crate) all: Tally,
    pub(crate) by_opcode: BTreeMap<&'a str, Tally>,
    differences: Vec<(&'static str, &'a Verdict, &'a Ours)>,
}

impl<'a> Agreement<'a> {
    pub(crate) fn new(verdicts: &'a [Verdict], ours: &'a [Ours]) -> Self {
        let mut out = Self {
            all: Tally::default(),
            by_opcode: BTreeMap::new(),
            differences: Vec::new(),
        };
        for (verdict, ours) in verdicts.iter().zip(ours) {
            out.by_opcode
                .entry(&verdict.opcode)
                .or_default()
                .add(verdict, ours);
            if let Some(kind) = out.all.add(verdict, ours) {
                out.differences.push((kind, verdict, ours));
            }
        }
        out
    }

    /// The opcodes with more differences than their bar allows in a sample of their size, and the counts of all cases that are below their bar.
    pub(crate) fn below(&self, set: &Set) -> Vec<&'a str> {
        let low_opcodes = self
            .by_opcode
            .iter()
            .filter(|(_, t)| exceeds(t.differences(), t.cases, 100.0 - set.bar_of_an_opcode));
        let all = &self.all;
        let shares = [
            ("all", all.differences()),
            ("targets", all.targets),
            ("versions", all.versions),
        ];
        let low_counts = shares
            .into_iter()
            .filter(|(_, n)| *n as f64 * 100.0 > (100.0 - set.bar) * all.cases as f64);
        low_opcodes
            .map(|(opcode, _)| *opcode)
            .chain(low_counts.map(|(name, _)| name))
            .collect()
    }

    pub(crate) fn print(&self) {
        println!(
            "{:<24}{:>8}{:>11}{:>15}{:>15}{:>9}{:>10}",
            "opcode", "cases", "agreement", "false accepts", "false rejects", "targets", "versions"
        );
        let all = ("all", &self.all);
        for (opcode, t) in self.by_opcode.iter().map(|(o, t)| (*o, t)).chain([all]) {
            println!(
                "{opcode:<24}{:>8}{:>9.2} %{:>15}{:>15}{:>9}{:>10}",
                t.cases,
                t.agreement(),
                t.false_accepts,
                t.false_rejects,
                t.targets,
                t.versions
            );
        }
    }

    /// Writes every difference: its kind, opcode, kind of case, line, our targets, theirs, our version, theirs, message.
    pub(crate) fn report(&self, path: &Path) -> Result<()> {
        let mut rows: Vec<String> = Vec::new();
        for (kind, v, ours) in &self.differences {
            // The targets in one list that are not in the other.
            let only_in = |list: &[Target], other: &[Target]| {
                let targets = list.iter().filter(|t| !other.contains(t));
                targets.map(|t| t.text()).collect::<Vec<_>>().join(",")
            };
            let version = |v: Option<PtxVersion>| v.map_or("-".into(), |v| v.to_string());
            rows.push(format!(
                "{kind}\t{}\t{}\t{}\t+{}\t-{}\t{}\t{}\t{}\n",
                v.opcode,
                v.kind,
                v.line,
                only_in(&ours.targets, &v.targets),
                only_in(&v.targets, &ours.targets),
                version(ours.lowest),
                version(v.lowest),
                v.message
            ));
        }
        Ok(fs::write(path, rows.concat())?)
    }
}
