//! Errors and warnings about modules.

use std::mem::MaybeUninit;

use ptxkit::ir::{Applicability, Diagnostic, Severity, fix_all, sort_by_position};
use ptxkit::isa::{PtxVersion, Target};
use ptxkit::verify::{self, Options};

use crate::memory::{create, free, given, ptxkit_string};
use crate::module::{ptxkit_module, ptxkit_span};
use crate::rewrite::ptxkit_text;
use crate::status::{Failure, get, ptxkit_status, run};

/// Warn about registers, variables and labels that nothing uses.
pub const PTXKIT_WARN_UNUSED: u32 = 1;
/// Warn about likely mistakes: registers that nothing writes, accesses that are never aligned.
pub const PTXKIT_WARN_LIKELY_MISTAKES: u32 = 2;

/// A list of diagnostics. It does not change: any number of threads may use it at the same time.
pub struct ptxkit_diagnostics {
    found: Vec<Entry>,
    /// What the module was checked for.
    options: Options,
}

struct Entry {
    diagnostic: Diagnostic,
    code: String,
    position: (u32, u32),
}

/// How serious a diagnostic is.
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
    /// How serious it is.
    pub severity: ptxkit_severity,
    /// Its code, such as `PTX0501`, which is stable.
    pub code: ptxkit_string,
    /// The name of the code, such as `unknown-instruction`.
    pub name: ptxkit_string,
    /// What was expected, and what was found.
    pub message: ptxkit_string,
    /// How to repair it; empty if that is not known.
    pub help: ptxkit_string,
    /// Its place in the source.
    pub span: ptxkit_span,
    /// The line where it begins, counted from 1.
    pub line: u32,
    /// The column in the line, in bytes, counted from 1.
    pub column: u32,
    /// The number of its other places, which `ptxkit_diagnostic_label` returns.
    pub label_count: usize,
    /// The number of edits that repair it, which `ptxkit_diagnostic_edit` returns; 0 if no repair is known.
    pub edit_count: usize,
    /// How sure the edits are; without edits it means nothing.
    pub applicability: ptxkit_applicability,
}

/// How sure the repair of a diagnostic is.
#[repr(C)]
#[derive(Copy, Clone, Default)]
pub enum ptxkit_applicability {
    /// The text after the repair is the only one that can be meant.
    MachineApplicable = 0,
    /// A suggestion: something else may be meant. The help says what it assumes.
    #[default]
    MaybeIncorrect = 1,
    /// The repair writes something instead of a value that only the author knows.
    HasPlaceholders = 2,
}

/// A place in a source, and a text: what is there, or what to write instead.
#[repr(C)]
#[derive(Default)]
pub struct ptxkit_note {
    /// The place.
    pub span: ptxkit_span,
    /// The text.
    pub text: ptxkit_string,
}

impl ptxkit_diagnostics {
    fn new(module: &ptxkit_module, mut found: Vec<Diagnostic>, options: Options) -> Self {
        sort_by_position(&mut found);
        let entry = |diagnostic: Diagnostic| Entry {
            code: diagnostic.code.to_string(),
            position: module.position(diagnostic.span),
            diagnostic,
        };
        Self {
            found: found.into_iter().map(entry).collect(),
            options,
        }
    }
}

/// The word that a string is; `None` for an empty one.
pub(crate) fn word<T: std::str::FromStr>(
    text: &ptxkit_string,
    what: &str,
) -> Result<Option<T>, Failure> {
    let text = text.text()?;
    let unknown = || Failure::argument(format_args!("no {what} `{text}`"));
    match text {
        "" => Ok(None),
        text => text.parse().map(Some).map_err(|_| unknown()),
    }
}

/// Finds the errors of syntax of a module. Free the list with `ptxkit_diagnostics_free`.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_syntax_errors(
    module: Option<&ptxkit_module>,
    diagnostics: Option<&mut MaybeUninit<Option<Box<ptxkit_diagnostics>>>>,
) -> ptxkit_status {
    run(|| {
        create(diagnostics, || {
            let module = given(module)?;
            Ok(ptxkit_diagnostics::new(
                module,
                module.found.clone(),
                Options::default(),
            ))
        })
    })
}

/// Finds the errors of a module, those of syntax included, and the warnings of `PTXKIT_WARN_…`.
///
/// `target` and `version`, such as `sm_90a` and `8.0`, replace those of the header; empty ones do not. Free the list with
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
            let module = given(module)?;
            let target: Option<Target> = word(&target, "target")?;
            let version: Option<PtxVersion> = word(&version, "PTX version")?;
            let mut found = module.found.clone();
            let options = Options::new(version, target);
            found.extend(verify::verify(&module.ir, &options));
            if warnings & PTXKIT_WARN_UNUSED != 0 {
                found.extend(verify::unused(&module.ir));
            }
            if warnings & PTXKIT_WARN_LIKELY_MISTAKES != 0 {
                found.extend(verify::likely_mistakes(&module.ir));
            }
            Ok(ptxkit_diagnostics::new(module, found, options))
        })
    })
}

/// Returns the number of diagnostics of a list.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_diagnostics_count(diagnostics: Option<&ptxkit_diagnostics>) -> usize {
    get(|| Some(diagnostics?.found.len()))
}

/// Returns a diagnostic, in the order of the source; with an empty code if there is none at `index`.
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
        } = diagnostics?.found.get(index)?;
        Some(ptxkit_diagnostic {
            severity: match diagnostic.severity {
                Severity::Error => ptxkit_severity::Error,
                _ => ptxkit_severity::Warning,
            },
            code: ptxkit_string::of(code),
            name: ptxkit_string::of(diagnostic.code.name()),
            message: ptxkit_string::of(&diagnostic.message),
            help: ptxkit_string::of(diagnostic.help.as_deref().unwrap_or_default()),
            span: diagnostic.span.into(),
            line: position.0,
            column: position.1,
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

/// Returns another place of a diagnostic, and what is there.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_diagnostic_label(
    diagnostics: Option<&ptxkit_diagnostics>,
    index: usize,
    label: usize,
) -> ptxkit_note {
    get(|| {
        let label = diagnostics?
            .found
            .get(index)?
            .diagnostic
            .labels
            .get(label)?;
        let (span, text) = (label.span.into(), ptxkit_string::of(&label.message));
        Some(ptxkit_note { span, text })
    })
}

/// Returns one of the edits that repair a diagnostic together: `text` replaces what is at `span`.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_diagnostic_edit(
    diagnostics: Option<&ptxkit_diagnostics>,
    index: usize,
    edit: usize,
) -> ptxkit_note {
    get(|| {
        let edit = diagnostics?.found.get(index)?.diagnostic.fix.get(edit)?;
        let (span, text) = (edit.span.into(), ptxkit_string::of(&edit.text));
        Some(ptxkit_note { span, text })
    })
}

/// Makes the repairs of the diagnostics of a module that are `MachineApplicable`, as far as errors disappear and no other
/// error appears. Make a suggestion with the edits of its diagnostic. Free the text with `ptxkit_text_free`.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_fix(
    module: Option<&ptxkit_module>,
    diagnostics: Option<&ptxkit_diagnostics>,
    text: Option<&mut MaybeUninit<Option<Box<ptxkit_text>>>>,
) -> ptxkit_status {
    run(|| {
        create(text, || {
            let source = given(module)?.ir.source();
            let found = given(diagnostics)?.found.iter();
            let found: Vec<Diagnostic> = found.map(|e| e.diagnostic.clone()).collect();
            let options = given(diagnostics)?.options;
            let fixed = fix_all(source, found, |text| {
                let parsed = ptxkit::parse::parse(text);
                let mut found = parsed.diagnostics;
                found.extend(verify::verify(&parsed.module, &options));
                found
            });
            Ok(ptxkit_text(
                fixed.map_or_else(|| source.to_vec(), |f| f.text),
            ))
        })
    })
}

/// Frees a list of diagnostics.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_diagnostics_free(diagnostics: Option<Box<ptxkit_diagnostics>>) {
    free(diagnostics);
}
