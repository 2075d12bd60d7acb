//! Findings that a file records, so that only new ones are reported.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use ptx_ir::Diagnostic;
use serde::{Deserialize, Serialize};

use crate::input::read_limited;
use crate::replace::replace_file;

/// A diagnostic without its position, which changes with every edit before it in the file.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
struct Finding {
    file: String,
    function: Option<String>,
    code: String,
    message: String,
}

impl Finding {
    fn new(file: &str, function: Option<&str>, diagnostic: &Diagnostic) -> Self {
        Self {
            file: file.to_owned(),
            function: function.map(str::to_owned),
            code: diagnostic.code.to_string(),
            message: diagnostic.message.clone(),
        }
    }
}

/// A line of the file.
#[derive(Serialize, Deserialize)]
struct Record {
    #[serde(flatten)]
    finding: Finding,
    count: usize,
}

/// The recorded findings with the number of occurrences of each.
#[derive(Default)]
pub(super) struct Baseline {
    counts: BTreeMap<Finding, usize>,
}

impl Baseline {
    /// Reads a file that [`write`](Self::write) wrote.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let text = read_limited(path).with_context(|| path.display().to_string())?;
        let mut counts = BTreeMap::new();
        for (number, line) in text.lines().enumerate() {
            let record: Record = serde_json::from_str(line).with_context(|| {
                format!(
                    "{}:{}: not a record of a finding",
                    path.display(),
                    number + 1
                )
            })?;
            *counts.entry(record.finding).or_default() += record.count;
        }
        Ok(Self { counts })
    }

    /// Writes one JSON object per line, in the order of the findings.
    pub(super) fn write(self, path: &Path) -> Result<()> {
        let mut text = Vec::new();
        for (finding, count) in self.counts {
            serde_json::to_writer(&mut text, &Record { finding, count })?;
            writeln!(text)?;
        }
        replace_file(path, &text).with_context(|| path.display().to_string())
    }

    /// The number of findings.
    pub(super) fn len(&self) -> usize {
        self.counts.values().sum()
    }

    pub(super) fn add(&mut self, file: &str, function: Option<&str>, diagnostic: &Diagnostic) {
        *self
            .counts
            .entry(Finding::new(file, function, diagnostic))
            .or_default() += 1;
    }

    /// Whether a finding is recorded. Each record accounts for one finding.
    pub(super) fn take(
        &mut self,
        file: &str,
        function: Option<&str>,
        diagnostic: &Diagnostic,
    ) -> bool {
        let finding = Finding::new(file, function, diagnostic);
        match self.counts.get_mut(&finding) {
            Some(count) if *count > 0 => {
                *count -= 1;
                true
            }
            _ => false,
        }
    }
}
