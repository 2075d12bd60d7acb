//! Whether a module is legal on another target, and its text with the new header.

use std::collections::HashSet;

use ptx_ir::{Code, Diagnostic, Item, LineIndex, Module, Severity};
use ptx_isa::{Directive, PtxVersion, Target};
use ptx_verify::Options;

use crate::current_text::CurrentText;
use crate::requirements::{self, Cause};

/// The PTX version of the new header.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Version {
    /// The version of the old header, or the first one that supports the target.
    #[default]
    Kept,
    /// The first version in which the module is legal on the target.
    Lowest,
    /// This version.
    Exactly(PtxVersion),
}

impl Version {
    fn of(self, module: &Module, target: Target) -> PtxVersion {
        let floor = target.min_version();
        match self {
            Self::Exactly(version) => version,
            Self::Lowest => {
                let lowest = ptx_verify::requires(module).module().lowest(target);
                lowest.unwrap_or(PtxVersion::CURRENT)
            }
            Self::Kept => module.header().version.map_or(floor, |v| v.max(floor)),
        }
    }
}

/// The reason why a module cannot be retargeted.
#[derive(Debug)]
#[non_exhaustive]
pub struct Refused {
    /// One sentence without a full stop.
    pub why: String,
    /// The errors that the module has on the target.
    pub errors: Vec<Diagnostic>,
    /// The features that the target does not support.
    pub blocked: Vec<Cause>,
}

/// The text of a module for another target; `syntax` are the diagnostics of the parser. All bytes except the target and the
/// version stay unchanged. An edited or built module is printed: errors are in the text as it is now.
///
/// # Errors
///
/// The module is not legal there, or has no header.
///
/// ```
/// use ptx_isa::Target;
/// use ptx_report::retarget::{Version, retarget};
/// let module = ptx_parse::parse(b".version 7.0\n.target sm_70\n.entry k() { ret; }").module;
/// let text = retarget("a.ptx", &module, Vec::new(), Target::Sm90a, Version::Kept).unwrap();
/// assert!(text.starts_with(b".version 8.0\n.target sm_90a\n"));
/// ```
pub fn retarget(
    file: &str,
    module: &Module,
    syntax: Vec<Diagnostic>,
    target: Target,
    version: Version,
) -> Result<Vec<u8>, Refused> {
    let text = CurrentText::new(module);
    let module = text.module();
    let version = version.of(module, target);
    if let Some(why) = unknown_target(target, version) {
        return Err(Refused {
            why,
            errors: Vec::new(),
            blocked: Vec::new(),
        });
    }
    let (errors, blocked) = errors_on(file, module, syntax, (target, version));
    if !errors.is_empty() || !blocked.is_empty() {
        return Err(Refused {
            why: format!("not legal in PTX {version} on {target}"),
            errors,
            blocked,
        });
    }
    match ptx_transform::retarget(module, target, version) {
        Ok(retargeted) => Ok(retargeted.text().to_vec()),
        Err(error) => Err(Refused {
            why: error.to_string(),
            errors,
            blocked,
        }),
    }
}

/// The reason why a version does not support a target, if it does not.
fn unknown_target(target: Target, version: PtxVersion) -> Option<String> {
    let first = target.min_version();
    if version < first {
        return Some(format!(
            "{target} requires PTX {first} or newer, not {version}"
        ));
    }
    let until = target.until().filter(|until| *until <= version)?;
    Some(format!(
        "PTX {until} and newer do not support the target {target}"
    ))
}

/// The errors on a target, and the features that it does not support.
fn errors_on(
    file: &str,
    module: &Module,
    syntax: Vec<Diagnostic>,
    (target, version): (Target, PtxVersion),
) -> (Vec<Diagnostic>, Vec<Cause>) {
    let mut found = syntax;
    let options = Options::default().with_version(version).with_target(target);
    found.extend(ptx_verify::verify(module, &options));
    // The new header fixes errors of the old one.
    let header = header_end(module);
    found.retain(|d| d.span.start >= header);
    // What the target does not have is reported once, with the number of places, unless it has another error.
    let is_missing = |d: &Diagnostic| matches!(d.code, Code::Unavailable | Code::Withdrawn);
    let is_error = |d: &Diagnostic| d.severity == Severity::Error;
    let mut blocking = match found.iter().any(is_missing) {
        true => requirements::blocking(file, module, target),
        false => Vec::new(),
    };
    let lines = LineIndex::new(module.source());
    let others = found.iter().filter(|d| is_error(d) && !is_missing(d));
    let others: HashSet<u32> = others.map(|d| lines.position(d.span.start).line).collect();
    blocking.retain(|cause| !others.contains(&cause.line));
    found.retain(|d| is_error(d) && (blocking.is_empty() || !is_missing(d)));
    (found, blocking)
}

/// The end of the directives of the header.
fn header_end(module: &Module) -> u32 {
    let header = |item: Item| match item {
        Item::Directive(id) => module
            .directives()
            .get(id)
            .is_some_and(|d| matches!(d.directive, Directive::Version | Directive::Target)),
        _ => false,
    };
    let spans = module
        .items()
        .filter(|(_, i)| header(*i))
        .map(|(id, _)| module.span(id));
    spans.map(|s| s.end).max().unwrap_or(0)
}
