//! The verdicts of the verifier and of ptxas on a text.

use anyhow::Result;
use ptx_ir::Severity;
use ptx_isa::PtxVersion;

use crate::assembler::{Assemblers, Job};

/// The two verdicts on one text.
pub(crate) struct Outcome {
    pub(crate) accepted_by_verifier: bool,
    pub(crate) accepted_by_ptxas: bool,
    /// Whether ptxas could parse the text.
    pub(crate) grammatical: bool,
    /// Whether ptxas ended without a verdict, or requires an option that it was run without.
    pub(crate) crashed: bool,
    /// The first error of the verifier, else the message of ptxas.
    pub(crate) reason: String,
}

/// Counts of verdicts.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) accepted: usize,
    pub(crate) refused: usize,
    pub(crate) false_accepts: usize,
    pub(crate) false_rejects: usize,
    pub(crate) grammatical: usize,
}

impl Tally {
    pub(crate) fn add(&mut self, outcome: &Outcome) {
        if outcome.accepted_by_ptxas {
            self.accepted += 1;
            self.false_rejects += usize::from(!outcome.accepted_by_verifier);
        } else {
            self.refused += 1;
            self.false_accepts += usize::from(outcome.accepted_by_verifier);
        }
        self.grammatical += usize::from(outcome.grammatical);
    }

    /// The number of texts on which the verdicts differ.
    pub(crate) fn wrong(&self) -> usize {
        self.false_accepts + self.false_rejects
    }

    pub(crate) fn all(&self) -> usize {
        self.accepted + self.refused
    }
}

/// The verdicts of both on a text.
pub(crate) fn judge(assemblers: &Assemblers, text: &[u8]) -> Result<Outcome> {
    let parsed = ptx_parse::parse(text);
    let mut diagnostics = parsed.diagnostics;
    diagnostics.extend(ptx_verify::verify(&parsed.module, &Default::default()));
    // Texts of newer PTX versions are not checked completely.
    let has_known_version = parsed
        .module
        .header()
        .version
        .is_none_or(PtxVersion::is_known);
    let error = diagnostics.iter().find(|d| d.severity == Severity::Error);
    let verdict = assemblers.run(text, Job::Check)?;
    Ok(Outcome {
        accepted_by_verifier: error.is_none() && has_known_version,
        accepted_by_ptxas: verdict.accepted,
        grammatical: !verdict.output.contains("syntax error"),
        crashed: !verdict.accepted
            && (!verdict.output.contains("aborted due to errors")
                || verdict.output.contains("requires command line option")),
        reason: match error {
            Some(d) => format!("{}: {}", d.code, d.message),
            None => verdict.reason().to_owned(),
        },
    })
}
