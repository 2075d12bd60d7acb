//! Warnings that options and comments turn off or make errors.

use ptx_ir::{Diagnostic, Module, Severity, Span};

use ptx_report::warnings::Allowed;
use ptx_report::warnings::kinds::Kind;

/// Which warnings of a module are reported, and which of them as errors.
pub(crate) struct Filter<'a> {
    comments: Allowed,
    kinds: Kinds<'a>,
}

/// The kinds that options name.
#[derive(Copy, Clone, Default)]
pub(crate) struct Kinds<'a> {
    /// Not reported,
    pub(crate) allow: &'a [Kind],
    /// unless they are here.
    pub(crate) warn: &'a [Kind],
    /// Reported as errors.
    pub(crate) deny: &'a [Kind],
}

impl<'a> Filter<'a> {
    /// Reads the comments of the module, if there are warnings.
    pub(crate) fn new(module: &Module, has_warnings: bool, kinds: Kinds<'a>) -> Self {
        Self {
            comments: match has_warnings {
                true => Allowed::new(module),
                false => Allowed::default(),
            },
            kinds,
        }
    }

    /// Whether a diagnostic is reported. What is denied becomes an error.
    pub(crate) fn keeps(&self, d: &mut Diagnostic) -> bool {
        if !self.comments.keeps(d) {
            return false;
        }
        if d.severity != Severity::Warning {
            return true;
        }
        let among = |kinds: &[Kind]| kinds.iter().any(|kind| kind.holds(d.code));
        if among(self.kinds.allow) && !among(self.kinds.warn) {
            return false;
        }
        if among(self.kinds.deny) {
            d.severity = Severity::Error;
        }
        true
    }

    /// Errors in comments that turn warnings off, and where they are.
    pub(crate) fn into_mistakes(self) -> Vec<(Span, String)> {
        self.comments.mistakes
    }
}
