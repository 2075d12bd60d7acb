//! Another target and PTX version.

use ptx_ir::Diagnostic;
use ptx_isa::{PtxVersion, Target};
use ptx_report::requirements::Cause;
use ptx_report::retarget::{Refused, Version, retarget};

use super::options::{OptionOf, Values};
use super::{MOST_ERRORS, Outcome, Rewrite, listed};
use crate::document::Document;

/// The version of the header, or the first that supports the target.
const KEPT: &str = "keep";
/// The first in which the document is legal on the target.
const LOWEST: &str = "lowest";

pub(super) fn rewrite() -> Rewrite {
    let versions = PtxVersion::KNOWN.iter().rev().map(ToString::to_string);
    let choices = [KEPT, LOWEST].map(str::to_owned).into_iter();
    Rewrite {
        name: "retarget",
        title: "Change the target",
        description: "Changes the target and the PTX version in the header, or reports the reasons why that is impossible.",
        options: vec![
            OptionOf::choice(
                "target",
                Target::ALL.iter().map(|t| t.text()),
                None,
                "the new target",
            ),
            OptionOf::choice(
                "version",
                choices.chain(versions),
                Some(KEPT),
                "the new PTX version; `keep` raises it if the target requires that, `lowest` is the first version in which the module is legal",
            ),
        ],
        apply,
    }
}

fn apply(document: &Document, values: &Values<'_>) -> Result<Outcome, String> {
    let target = values.text("target");
    let unknown = || format!("unknown target {target}");
    let target = Target::from_name(target.as_bytes()).ok_or_else(unknown)?;
    let version = match values.text("version") {
        KEPT => Version::Kept,
        LOWEST => Version::Lowest,
        text => {
            let unknown = || format!("unknown PTX version {text}");
            Version::Exactly(PtxVersion::from_text(text.as_bytes()).ok_or_else(unknown)?)
        }
    };
    let syntax = document.syntax_errors().cloned().collect();
    let module = document.module();
    let text = retarget(document.uri.as_str(), module, syntax, target, version);
    match text {
        Ok(text) => Ok(Outcome::new(&text)),
        Err(refused) => Err(message(document, &refused)),
    }
}

/// Why there is no new text, in one line.
fn message(document: &Document, refused: &Refused) -> String {
    let errors: Vec<&Diagnostic> = refused.errors.iter().collect();
    let blocked = refused.blocked.iter().take(MOST_ERRORS).map(Cause::text);
    let mut causes: Vec<String> = blocked.collect();
    if refused.blocked.len() > MOST_ERRORS {
        causes.push(format!("and {} more", refused.blocked.len() - MOST_ERRORS));
    }
    if !errors.is_empty() {
        causes.push(listed(document, &errors));
    }
    match causes.is_empty() {
        true => refused.why.clone(),
        false => format!("{}: {}", refused.why, causes.join("; ")),
    }
}
