//! The problems that the rules report, as data. Each area has an enum of its problems, with the code, the message and the help of each.

pub(crate) mod call;
pub(crate) mod debug;
pub(crate) mod feature;
pub(crate) mod header;
pub(crate) mod initializer;
pub(crate) mod instruction;
pub(crate) mod interface;
pub(crate) mod operand;
pub(crate) mod redeclaration;
mod repair;
pub(crate) mod resource;
mod table;
pub(crate) mod variable;

use alloc::string::String;
use alloc::vec::Vec;
use ptx_ir::{Applicability, Code, Module, Severity};

use call::CallProblem;
use debug::DebugProblem;
use feature::Feature;
use header::HeaderProblem;
use initializer::InitializerProblem;
use instruction::InstProblem;
use interface::InterfaceProblem;
use redeclaration::RedeclarationProblem;
use resource::ResourceProblem;
use table::problems;
use variable::VariableProblem;

use crate::location::Part;

/// Defines what can be wrong, area by area.
macro_rules! areas {
    ($($variant:ident($area:ident);)*) => {
        /// Something that is wrong.
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

    /// Says that the fix is the only one that can be meant.
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

/// The module and the names with which the texts of problems are made.
#[derive(Copy, Clone)]
pub(crate) struct Wording<'m> {
    pub(crate) module: &'m Module,
    pub(crate) environment: ptx_ir::query::Environment,
}

impl Wording<'_> {
    /// The version and the target that the module is checked for.
    pub(crate) fn checked_for(&self) -> String {
        match self.environment.target() {
            Some(target) => format!("PTX {} and `{target}`", self.environment.version()),
            None => format!("PTX {}", self.environment.version()),
        }
    }
}

/// A count with its noun, which gets an `s` unless the count is 1.
fn counted(count: impl Into<u64>, noun: &str) -> String {
    match count.into() {
        1 => format!("1 {noun}"),
        count => format!("{count} {noun}s"),
    }
}
