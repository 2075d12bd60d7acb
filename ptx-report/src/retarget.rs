//! The text of a module with another target in its header, if the module is legal there.

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
    /// The given version.
    Exactly(PtxVersion),
}

impl Version {
    /// The version of the new header of a module.
    fn resolve(self, module: &Module, target: Target) -> PtxVersion {
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

/// The text of a module for another target. `syntax_errors` are the diagnostics of the parser. All bytes except the target and the
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
    syntax_errors: Vec<Diagnostic>,
    target: Target,
    version: Version,
) -> Result<Vec<u8>, Refused> {
    let text = CurrentText::new(module);
    let module = text.module();
    let version = version.resolve(module, target);
    if let Some(why) = unknown_target(target, version) {
        return Err(Refused {
            why,
            errors: Vec::new(),
            blocked: Vec::new(),
        });
    }
    let (errors, blocked) = errors_on(file, module, syntax_errors, target, version);
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

/// The errors on a target, and the features that the target does not support.
fn errors_on(
    file: &str,
    module: &Module,
    syntax_errors: Vec<Diagnostic>,
    target: Target,
    version: PtxVersion,
) -> (Vec<Diagnostic>, Vec<Cause>) {
    let mut errors = syntax_errors;
    let options = Options::default().with_version(version).with_target(target);
    errors.extend(ptx_verify::verify(module, &options));
    // The new header fixes errors of the old one.
    let header_end = header_end(module);
    errors.retain(|d| d.severity == Severity::Error && d.span.start >= header_end);
    // A feature that the target does not have is reported once, with the number of its uses, unless its line has another error.
    let is_missing = |d: &Diagnostic| matches!(d.code, Code::Unavailable | Code::Withdrawn);
    let mut blocking = Vec::new();
    if errors.iter().any(is_missing) {
        blocking = requirements::blocking(file, module, target);
    }
    let lines = LineIndex::new(module.source());
    let lines_with_other_errors: HashSet<u32> = errors
        .iter()
        .filter(|d| !is_missing(d))
        .map(|d| lines.position(d.span.start).line)
        .collect();
    blocking.retain(|cause| !lines_with_other_errors.contains(&cause.line));
    errors.retain(|d| blocking.is_empty() || !is_missing(d));
    (errors, blocking)
}

/// The end of the directives of the header.
fn header_end(module: &Module) -> u32 {
    module
        .items()
        .filter(|(_, item)| match item {
            Item::Directive(id) => module
                .directives()
                .get(*id)
                .is_some_and(|d| matches!(d.directive, Directive::Version | Directive::Target)),
            _ => false,
        })
        .map(|(id, _)| module.span(id).end)
        .max()
        .unwrap_or(0)
}
