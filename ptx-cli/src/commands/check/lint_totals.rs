//! The number of findings of each lint, over all files.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::{self, Write};

use ptx_lint::{Certainty, Lint};

use super::diagnose::FileDiagnostics;
use crate::output;

/// The number of findings of each lint.
#[derive(Debug, Default)]
pub(crate) struct LintTotals {
    totals: BTreeMap<&'static str, Total>,
}

#[derive(Copy, Clone, Debug, Default)]
struct Total {
    definite: usize,
    possible: usize,
    /// The number of files with findings.
    files: usize,
}

impl LintTotals {
    /// Adds the findings of a file.
    pub(super) fn add(&mut self, results: &FileDiagnostics) {
        let mut file_totals: BTreeMap<&'static str, Total> = BTreeMap::new();
        for linted in results.details.iter().filter_map(|d| d.linted.as_ref()) {
            let lint: Lint = *linted.lint;
            let total = file_totals.entry(lint.name()).or_default();
            match *linted.certainty {
                Certainty::Definite => total.definite += 1,
                _ => total.possible += 1,
            }
        }
        for (name, file_total) in file_totals {
            let total = self.totals.entry(name).or_default();
            total.definite += file_total.definite;
            total.possible += file_total.possible;
            total.files += 1;
        }
    }

    /// The lints with findings, the most frequent one first.
    fn sorted(&self) -> Vec<(&'static str, Total)> {
        let mut totals: Vec<_> = self.totals.iter().map(|(n, total)| (*n, *total)).collect();
        totals.sort_by_key(|(name, total)| (Reverse(total.definite + total.possible), *name));
        totals
    }

    /// Writes a table with a row for each lint that has findings.
    pub(crate) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        if self.totals.is_empty() {
            return Ok(());
        }
        let mut table = output::table();
        table.set_header(["Lint", "Definite", "Possible", "Files"]);
        for (name, total) in self.sorted() {
            table.add_row([
                name.to_owned(),
                total.definite.to_string(),
                total.possible.to_string(),
                total.files.to_string(),
            ]);
        }
        output::align_right(&mut table, &[1, 2, 3]);
        output::write_table(out, &table)
    }
}
