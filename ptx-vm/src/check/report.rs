//! Reports of checkers.

use ptx_ir::{Code, Diagnostic, FuncId, InstId, Span};

use super::Checker;

/// A thread at an instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Occurrence {
    /// The function that the thread executed.
    pub function: FuncId,
    /// The name of the function.
    pub name: String,
    /// The instruction; `None` at the end of the function.
    pub inst: Option<InstId>,
    /// The span of the instruction in the source of the module.
    pub span: Option<Span>,
    /// The text of the instruction.
    pub instruction: String,
    /// `%ctaid` of the thread.
    pub block: [u32; 3],
    /// `%tid` of the thread.
    pub thread: [u32; 3],
}

impl Occurrence {
    /// The block and the thread.
    fn thread(&self) -> String {
        let ([bx, by, bz], [tx, ty, tz]) = (self.block, self.thread);
        format!("block ({bx}, {by}, {bz}), thread ({tx}, {ty}, {tz})")
    }
}

/// A report of a checker.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Report {
    /// The checker that found it.
    pub checker: Checker,
    /// The code of the error.
    pub code: Code,
    /// The kernel that was launched.
    pub kernel: String,
    /// The message.
    pub message: String,
    /// The first thread for which it was found.
    pub at: Occurrence,
    /// The other event with its label: for a race, the earlier access; for a use after free, the call of `free`.
    pub other: Option<(Occurrence, String)>,
    /// How to fix the error.
    pub help: String,
    /// The number of occurrences at this instruction.
    pub count: u64,
}

impl Report {
    /// The report as a diagnostic in the source of the module.
    #[must_use]
    pub fn diagnostic(&self) -> Diagnostic {
        let span = self.at.span.unwrap_or_default();
        let times = match self.count {
            1 => String::new(),
            n => format!("; found {n} times"),
        };
        let message = format!(
            "{}: {}, in kernel `{}`, {}{times}",
            self.checker,
            self.message,
            self.kernel,
            self.at.thread()
        );
        let diagnostic = Diagnostic::error(self.code, span, message).with_help(self.help.clone());
        match &self.other {
            Some((other, what)) => {
                let label = format!("{what}, in {}", other.thread());
                diagnostic.with_label(other.span.unwrap_or_default(), label)
            }
            None => diagnostic,
        }
    }
}

/// The checker that reports a code.
pub(super) const fn checker(code: Code) -> Checker {
    match code as u16 {
        1411..=1420 => Checker::Initcheck,
        1421..=1440 => Checker::Synccheck,
        1441.. => Checker::Racecheck,
        _ => Checker::Memcheck,
    }
}

/// Formats the report as one line.
impl core::fmt::Display for Report {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.diagnostic().fmt(f)
    }
}
