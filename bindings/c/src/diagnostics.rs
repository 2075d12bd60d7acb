//! The errors and warnings of modules, and fixes.

use std::mem::MaybeUninit;

use ptxkit::ir::{Applicability, Diagnostic, LineColumn, Severity, fix_all, sort_by_position};
use ptxkit::isa::{PtxVersion, Target};
use ptxkit::verify::{self, Options};

use crate::memory::{create, free, non_null, ptxkit_string};
use crate::module::{ptxkit_module, ptxkit_span};
use crate::rewrite::ptxkit_text;
use crate::status::{Failure, get, ptxkit_status, run};

/// Warns about registers, variables and labels that nothing uses.
pub const PTXKIT_WARN_UNUSED: u32 = 1;
/// Warns about likely mistakes: registers that nothing writes, accesses that are never aligned.
pub const PTXKIT_WARN_LIKELY_MISTAKES: u32 = 2;

/// A list of diagnostics. It never changes, so any number of threads may use it at the same time.
pub struct ptxkit_diagnostics {
    entries: Vec<Entry>,
    /// The options with which the module was checked.
    options: Options,
}

/// A diagnostic, with the text of its code and the position of its beginning.
struct Entry {
    diagnostic: Diagnostic,
    code: String,
    position: LineColumn,
}

/// The severity of a diagnostic.
#[repr(C)]
#[derive(Copy, Clone, Default)]
pub enum ptxkit_severity {
    /// The module is legal.
    #[default]
    Warning = 0,
    /// The module is not legal.
    Error = 1,
}

/// An error or a warning.
#[repr(C)]
#[derive(Default)]
pub struct ptxkit_diagnostic {
    /// The severity.
    pub severity: ptxkit_severity,
    /// The code, such as `PTX0501`. Codes are stable.
    pub code: ptxkit_string,
    /// The name of the code, such as `unknown-instruction`.
    pub name: ptxkit_string,
    /// The message, which names the expected and the actual input.
    pub message: ptxkit_string,
    /// A description of a fix; empty if no fix is known.
    pub help: ptxkit_string,
    /// The location in the source.
    pub span: ptxkit_span,
    /// The line of the beginning, counted from 1.
    pub line: u32,
    /// The column of the beginning, in bytes, counted from 1.
    pub column: u32,
    /// The number of other locations, which `ptxkit_diagnostic_label` returns.
    pub label_count: usize,
    /// The number of edits of the fix, which `ptxkit_diagnostic_edit` returns; 0 if no fix is known.
    pub edit_count: usize,
    /// The certainty of the fix; meaningless without edits.
    pub applicability: ptxkit_applicability,
}

/// The certainty of the fix of a diagnostic.
#[repr(C)]
#[derive(Copy, Clone, Default)]
pub enum ptxkit_applicability {
    /// The fix is certain: only the text after the fix can be meant.
    MachineApplicable = 0,
    /// The fix is a suggestion: something else may be meant. The help states its assumption.
    #[default]
    MaybeIncorrect = 1,
    /// The fix contains a placeholder for a value that only the author knows.
    HasPlaceholders = 2,
}

/// A location in a source with a text: a label, or the replacement of an edit.
#[repr(C)]
#[derive(Default)]
pub struct ptxkit_note {
    /// The location.
    pub span: ptxkit_span,
    /// The text.
    pub text: ptxkit_string,
}

impl ptxkit_diagnostics {
    fn new(module: &ptxkit_module, mut diagnostics: Vec<Diagnostic>, options: Options) -> Self {
        sort_by_position(&mut diagnostics);
        let entries = diagnostics
            .into_iter()
            .map(|diagnostic| Entry {
                code: diagnostic.code.to_string(),
                position: module.lines.position(diagnostic.span.start),
                diagnostic,
            })
            .collect();
        Self { entries, options }
    }
}

/// Parses a string; `None` if it is empty. `kind` names the kind of values in the message of a failure.
pub(crate) fn parse_optional<T: std::str::FromStr>(
    string: &ptxkit_string,
    kind: &str,
) -> Result<Option<T>, Failure> {
    let text = string.text()?;
    if text.is_empty() {
        return Ok(None);
    }
    match text.parse() {
        Ok(value) => Ok(Some(value)),
        Err(_) => Err(Failure::argument(format_args!("no {kind} `{text}`"))),
    }
}

/// Returns the syntax errors of a module. Free the list with `ptxkit_diagnostics_free`.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_syntax_errors(
    module: Option<&ptxkit_module>,
    diagnostics: Option<&mut MaybeUninit<Option<Box<ptxkit_diagnostics>>>>,
) -> ptxkit_status {
    run(|| {
        create(diagnostics, || {
            let module = non_null(module)?;
            Ok(ptxkit_diagnostics::new(
                module,
                module.diagnostics.clone(),
                Options::default(),
            ))
        })
    })
}

/// Checks a module. Returns its errors, including syntax errors, and the warnings that `warnings` selects, a combination of `PTXKIT_WARN_…`.
///
/// `target` and `version`, such as `sm_90a` and `8.0`, replace the target and version of the header unless they are empty. Free the list with
/// `ptxkit_diagnostics_free`.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_check(
    module: Option<&ptxkit_module>,
    target: ptxkit_string,
    version: ptxkit_string,
    warnings: u32,
    diagnostics: Option<&mut MaybeUninit<Option<Box<ptxkit_diagnostics>>>>,
) -> ptxkit_status {
    run(|| {
        create(diagnostics, || {
            let module = non_null(module)?;
            let target: Option<Target> = parse_optional(&target, "target")?;
            let version: Option<PtxVersion> = parse_optional(&version, "PTX version")?;
            let options = Options::default().with_version(version).with_target(target);
            let mut diagnostics = module.diagnostics.clone();
            diagnostics.extend(verify::verify(&module.ir, &options));
            if warnings & PTXKIT_WARN_UNUSED != 0 {
                diagnostics.extend(verify::unused(&module.ir));
            }
            if warnings & PTXKIT_WARN_LIKELY_MISTAKES != 0 {
                diagnostics.extend(verify::likely_mistakes(&module.ir));
            }
            Ok(ptxkit_diagnostics::new(module, diagnostics, options))
        })
    })
}

/// Returns the number of diagnostics of a list.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_diagnostics_count(diagnostics: Option<&ptxkit_diagnostics>) -> usize {
    get(|| Some(diagnostics?.entries.len()))
}

/// Returns a diagnostic; one with an empty code if there is no diagnostic at `index`. Diagnostics are in the order of the source.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_diagnostics_get(
    diagnostics: Option<&ptxkit_diagnostics>,
    index: usize,
) -> ptxkit_diagnostic {
    get(|| {
        let Entry {
            diagnostic,
            code,
            position,
        } = diagnostics?.entries.get(index)?;
        Some(ptxkit_diagnostic {
            severity: match diagnostic.severity {
                Severity::Error => ptxkit_severity::Error,
                _ => ptxkit_severity::Warning,
            },
            code: ptxkit_string::new(code),
            name: ptxkit_string::new(diagnostic.code.name()),
            message: ptxkit_string::new(&diagnostic.message),
            help: ptxkit_string::new(diagnostic.help.as_deref().unwrap_or_default()),
            span: diagnostic.span.into(),
            line: position.line,
            column: position.column,
            label_count: diagnostic.labels.len(),
            edit_count: diagnostic.fix.len(),
            applicability: match diagnostic.applicability {
                Applicability::MachineApplicable => ptxkit_applicability::MachineApplicable,
                Applicability::MaybeIncorrect => ptxkit_applicability::MaybeIncorrect,
                Applicability::HasPlaceholders => ptxkit_applicability::HasPlaceholders,
            },
        })
    })
}

/// Returns another location of a diagnostic with its description.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_diagnostic_label(
    diagnostics: Option<&ptxkit_diagnostics>,
    index: usize,
    label: usize,
) -> ptxkit_note {
    get(|| {
        let label = diagnostics?
            .entries
            .get(index)?
            .diagnostic
            .labels
            .get(label)?;
        let (span, text) = (label.span.into(), ptxkit_string::new(&label.message));
        Some(ptxkit_note { span, text })
    })
}

/// Returns an edit of the fix of a diagnostic: `text` replaces the source at `span`. A fix consists of all of its edits.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_diagnostic_edit(
    diagnostics: Option<&ptxkit_diagnostics>,
    index: usize,
    edit: usize,
) -> ptxkit_note {
    get(|| {
        let edit = diagnostics?.entries.get(index)?.diagnostic.fix.get(edit)?;
        let (span, text) = (edit.span.into(), ptxkit_string::new(&edit.text));
        Some(ptxkit_note { span, text })
    })
}

/// Applies the fixes of the diagnostics of a module that are `MachineApplicable`, if errors disappear by them and no other errors appear. To apply other
/// fixes, use their edits. Free the text with `ptxkit_text_free`.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_fix(
    module: Option<&ptxkit_module>,
    diagnostics: Option<&ptxkit_diagnostics>,
    text: Option<&mut MaybeUninit<Option<Box<ptxkit_text>>>>,
) -> ptxkit_status {
    run(|| {
        create(text, || {
            let source = non_null(module)?.ir.source();
            let list = non_null(diagnostics)?;
            let diagnostics: Vec<Diagnostic> = list
                .entries
                .iter()
                .map(|entry| entry.diagnostic.clone())
                .collect();
            let fixed = fix_all(source, diagnostics, |text| {
                let parsed = ptxkit::parse::parse(text);
                let mut diagnostics = parsed.diagnostics;
                diagnostics.extend(verify::verify(&parsed.module, &list.options));
                diagnostics
            });
            Ok(ptxkit_text(match fixed {
                Some(fixed) => fixed.text,
                None => source.to_vec(),
            }))
        })
    })
}

/// Frees a list of diagnostics.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_diagnostics_free(diagnostics: Option<Box<ptxkit_diagnostics>>) {
    free(diagnostics);
}
