//! The rewrite that changes the target and the PTX version.

use ptx_ir::Diagnostic;
use ptx_isa::{PtxVersion, Target};
use ptx_report::requirements::Cause;
use ptx_report::retarget::{Refused, Version, retarget};

use super::options::{RewriteOption, Values};
use super::{MAX_ERRORS, Outcome, Rewrite, in_one_line};
use crate::document::Document;

/// The choice of the version in the header, or of the first version that supports the target if that is later.
const KEPT: &str = "keep";
/// The choice of the first version in which the document is legal on the target.
const LOWEST: &str = "lowest";

pub(super) fn rewrite() -> Rewrite {
    let versions = PtxVersion::KNOWN.iter().rev().map(ToString::to_string);
    let special_versions = [KEPT, LOWEST].map(str::to_owned).into_iter();
    Rewrite {
        name: "retarget",
        title: "Change the target",
        description: "Changes the target and the PTX version in the header, or reports the reasons why that is impossible.",
        options: vec![
            RewriteOption::choice(
                "target",
                Target::ALL.iter().map(|t| t.text()),
                None,
                "the new target",
            ),
            RewriteOption::choice(
                "version",
                special_versions.chain(versions),
                Some(KEPT),
                "the new PTX version; `keep` raises it if the target requires that, `lowest` is the first version in which the module is legal",
            ),
        ],
        apply,
    }
}

fn apply(document: &Document, values: &Values<'_>) -> Result<Outcome, String> {
    let name = values.text("target");
    let target = name.parse().map_err(|_| format!("unknown target {name}"))?;
    let version = match values.text("version") {
        KEPT => Version::Kept,
        LOWEST => Version::Lowest,
        text => Version::Exactly(
            PtxVersion::from_text(text.as_bytes())
                .ok_or_else(|| format!("unknown PTX version {text}"))?,
        ),
    };
    let diagnostics = document.syntax_errors().cloned().collect();
    let (uri, module) = (document.uri.as_str(), document.module());
    match retarget(uri, module, diagnostics, target, version) {
        Ok(text) => Ok(Outcome::new(&text)),
        Err(refused) => Err(refusal_message(document, &refused)),
    }
}

/// The reasons of a refusal in one line.
fn refusal_message(document: &Document, refused: &Refused) -> String {
    let mut causes: Vec<String> = refused
        .blocked
        .iter()
        .take(MAX_ERRORS)
        .map(Cause::text)
        .collect();
    if refused.blocked.len() > MAX_ERRORS {
        causes.push(format!("and {} more", refused.blocked.len() - MAX_ERRORS));
    }
    let errors: Vec<&Diagnostic> = refused.errors.iter().collect();
    if !errors.is_empty() {
        causes.push(in_one_line(document, &errors));
    }
    if causes.is_empty() {
        refused.why.clone()
    } else {
        format!("{}: {}", refused.why, causes.join("; "))
    }
}
