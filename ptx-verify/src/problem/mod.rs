//! The problems that the rules report, as data. Each area has an enum of its problems, with the code, the message and the help of each.

pub(crate) mod call;
pub(crate) mod feature;
pub(crate) mod instruction;
pub(crate) mod interface;
pub(crate) mod module;
pub(crate) mod operand;
pub(crate) mod redeclaration;
mod repair;
mod table;
pub(crate) mod variable;

use alloc::string::String;
use alloc::vec::Vec;
use ptx_ir::{Applicability, Code, Module, Severity};
use ptx_isa::{Form, Instruction};

use call::CallProblem;
use feature::Feature;
use instruction::InstProblem;
use interface::InterfaceProblem;
use module::{DebugProblem, HeaderProblem, ResourceProblem};
use redeclaration::RedeclarationProblem;
use table::problems;
use variable::{InitializerProblem, VariableProblem};

use crate::location::Part;

/// Defines the problems of all areas.
macro_rules! areas {
($($variant:ident($area:ident);)*) => {
/// A problem.
#[derive(Clone, Debug)]
        pub(crate) enum Problem {
            $($variant($area),)*
        }

        impl Problem {
            /// `found` is the source text at the location of the problem.
            pub(crate) fn text(self, wording: Wording<'_>, found: &str) -> Text {
                match self {
                    $(Self::$variant(problem) => problem.text(wording, found),)*
                }
            }
        }

        $(impl From<$area> for Problem {
            fn from(problem: $area) -> Self {
                Self::$variant(problem)
            }
        })*
    };
}

areas! {
    Unavailable(Feature);
    Header(HeaderProblem);
    Variable(VariableProblem);
    Initializer(InitializerProblem);
    Interface(InterfaceProblem);
    Redeclaration(RedeclarationProblem);
    Instruction(InstProblem);
    Call(CallProblem);
    Debug(DebugProblem);
    Resource(ResourceProblem);
}

/// The description of a problem: code, severity, message and help.
pub(crate) struct Text {
    pub(crate) code: Code,
    pub(crate) severity: Severity,
    pub(crate) message: String,
    pub(crate) help: Option<String>,
    pub(crate) fix: Vec<Fix>,
    /// The certainty of the fix.
    pub(crate) applicability: Applicability,
}

/// An edit of the statement of a finding.
pub(crate) struct Fix {
    pub(crate) part: Part,
    pub(crate) side: Side,
    pub(crate) text: String,
}

/// The position of an edit relative to its part.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    Before,
    /// Replaces the part.
    Whole,
    After,
    /// Replaces this text in the part.
    Inside(String),
    /// Replaces the part by the text of another one of its statement.
    CopyOf(Part),
}

impl Text {
    pub(crate) fn error(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            severity: Severity::Error,
            message: message.into(),
            help: None,
            fix: Vec::new(),
            applicability: Applicability::default(),
        }
    }

    pub(crate) fn warning(code: Code, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(code, message)
        }
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Marks the fix as the only one that can be meant.
    fn machine_applicable(mut self) -> Self {
        self.applicability = Applicability::MachineApplicable;
        self
    }

    /// Adds an edit that repairs the mistake together with the other ones.
    fn fix(mut self, part: Part, side: Side, text: impl Into<String>) -> Self {
        let text = text.into();
        self.fix.push(Fix { part, side, text });
        self
    }
}

/// The module whose names the texts of problems contain, and the version and target for which it is checked.
#[derive(Copy, Clone)]
pub(crate) struct Wording<'m> {
    pub(crate) module: &'m Module,
    pub(crate) environment: ptx_ir::raw::query::Environment,
}

impl Wording<'_> {
    /// Returns the version and the target for which the module is checked, as text.
    pub(crate) fn checked_for(&self) -> String {
        match self.environment.target() {
            Some(target) => format!("PTX {} and `{target}`", self.environment.version()),
            None => format!("PTX {}", self.environment.version()),
        }
    }
}

/// A form with the instruction that it belongs to.
#[derive(Copy, Clone, Debug)]
pub(crate) struct NamedForm {
    pub(crate) instruction: Option<&'static Instruction>,
    pub(crate) form: &'static Form,
}

impl NamedForm {
    /// Returns a help with the syntax of the form.
    fn syntax(self) -> String {
        let name = self
            .instruction
            .map_or("", |instruction| instruction.name());
        let syntax = self.form.syntax();
        let space = if syntax.is_empty() || syntax.starts_with(['.', '{']) {
            ""
        } else {
            " "
        };
        format!("the form is `{name}{space}{syntax}`")
    }
}

/// The mask of all threads of a warp.
pub(crate) const ALL_LANES: i64 = 0xffff_ffff;

/// Returns the first words, separated by commas, and the number of the remaining ones.
fn list(words: &[&str]) -> String {
    const MOST_WORDS: usize = 12;
    let quoted: Vec<String> = words
        .iter()
        .take(MOST_WORDS)
        .map(|word| format!("`{word}`"))
        .collect();
    let mut text = quoted.join(", ");
    if words.len() > MOST_WORDS {
        text.push_str(&format!(" and {} more", words.len() - MOST_WORDS));
    }
    text
}

/// Returns a count with its noun, which gets an `s` unless the count is 1.
fn counted(count: impl Into<u64>, noun: &str) -> String {
    match count.into() {
        1 => format!("1 {noun}"),
        count => format!("{count} {noun}s"),
    }
}
