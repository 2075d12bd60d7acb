//! The warnings that options and comments suppress or turn into errors.

use ptx_ir::{Diagnostic, Module, Severity, Span};

use ptx_report::warnings::Allowed;
use ptx_report::warnings::kinds::Kind;

/// Decides which warnings of a module are reported, and which of them as errors.
pub(crate) struct Filter<'a> {
    comments: Allowed,
    kinds: Kinds<'a>,
}

/// The kinds of warnings that options name.
#[derive(Copy, Clone, Default)]
pub(crate) struct Kinds<'a> {
    /// The kinds that are not reported.
    pub(crate) allow: &'a [Kind],
    /// The kinds that are reported although `allow` contains them.
    pub(crate) warn: &'a [Kind],
    /// The kinds that are reported as errors.
    pub(crate) deny: &'a [Kind],
}

impl<'a> Filter<'a> {
    /// Reads the comments of the module, if there are warnings.
    pub(crate) fn new(module: &Module, has_warnings: bool, kinds: Kinds<'a>) -> Self {
        Self {
            comments: if has_warnings {
                Allowed::new(module)
            } else {
                Allowed::default()
            },
            kinds,
        }
    }

    /// Whether a diagnostic is reported. A denied warning becomes an error.
    pub(crate) fn keeps(&self, diagnostic: &mut Diagnostic) -> bool {
        if !self.comments.keeps(diagnostic) {
            return false;
        }
        if diagnostic.severity != Severity::Warning {
            return true;
        }
        let code = diagnostic.code;
        let is_in = |kinds: &[Kind]| kinds.iter().any(|kind| kind.contains(code));
        if is_in(self.kinds.allow) && !is_in(self.kinds.warn) {
            return false;
        }
        if is_in(self.kinds.deny) {
            diagnostic.severity = Severity::Error;
        }
        true
    }

    /// Errors in comments that suppress warnings, with their spans.
    pub(crate) fn into_mistakes(self) -> Vec<(Span, String)> {
        self.comments.mistakes
    }
}
