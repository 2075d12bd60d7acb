//! Problems of calls and of parameter accesses.

use ptx_ir::{Code, NameId};
use ptx_isa::{ScalarType, StateSpace};

use super::redeclaration::List;
use super::{Side, Text, Wording, counted};
use crate::location::Part;

/// The property in which an argument differs from its parameter.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum ArgumentMismatch {
    Type,
    Alignment,
    Kind,
}

/// The parameter for which an argument is passed.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Formal {
    /// Counted from 1.
    pub(crate) position: u32,
    pub(crate) space: StateSpace,
    pub(crate) ty: Option<ScalarType>,
    pub(crate) name: Option<NameId>,
}

#[derive(Copy, Clone, Debug)]
pub(crate) enum CallProblem {
    /// The numbers of written and expected values. If there are too many, the index of the operand with the list.
    Count(List, u32, u32, Option<u32>),
    Argument(ArgumentMismatch, Formal),
    /// A name in `.calltargets` that is not a function.
    Target,
    /// A name in `.branchtargets` that is not the label of a statement.
    BranchTarget,
    /// A guard that is not a predicate: its type, if it is a register.
    Guard(Option<ScalarType>),
    ParameterWritten(NameId),
    ResultRead(NameId),
    /// A parameter of a call, accessed under a guard.
    GuardedParameter(NameId),
}

impl CallProblem {
    /// `found` is the text at the location.
    pub(super) fn text(self, wording: Wording<'_>, found: &str) -> Text {
        let name = |id| wording.module.name(id);
        let access = |message| Text::error(Code::ParameterAccess, message);
        match self {
            Self::Count(list, found, expected, extra) => {
                let noun = match list {
                    List::Parameters => "argument",
                    List::Results => "result",
                };
                let message = format!(
                    "expected {} in the call, found {found}",
                    counted(expected, noun)
                );
                let text = Text::error(Code::CallCount, message)
                    .help("match the declaration or the prototype of the function");
                match (extra, expected.checked_sub(1)) {
                    (Some(nth), Some(last)) => {
                        text.fix(Part::AfterElement(nth, last), Side::Whole, "")
                    }
                    _ => text,
                }
            }
            Self::Argument(mismatch, formal) => argument(wording, found, mismatch, formal),
            Self::Target => {
                let message = format!("expected a function, found `{found}`");
                Text::error(Code::CallTarget, message).help("list functions only")
            }
            Self::BranchTarget => {
                let message = format!("expected the label of a statement, found `{found}`");
                Text::error(Code::OperandKind, message).help("list labels of this function only")
            }
            Self::Guard(ty) => {
                let found_type = ty.map_or(format!("`{found}`"), |ty| format!("type `{ty}`"));
                Text::error(
                    Code::GuardType,
                    format!("guard must be a `.pred` register, found {found_type}"),
                )
                .help("declare it with `.reg .pred`, or compute a predicate with `setp`")
            }
            Self::ParameterWritten(id) => access(format!(
                "`{}` is a parameter of this function and can only be read",
                name(id)
            ))
            .help("store to a local variable or a result"),
            Self::ResultRead(id) => access(format!(
                "`{}` is a result of this function and can only be written",
                name(id)
            ))
            .help("keep the value in a register"),
            Self::GuardedParameter(id) => access(format!(
                "`{}` is a parameter of a call and cannot be accessed by a guarded instruction",
                name(id)
            ))
            .help("remove the guard, or branch around the instruction"),
        }
    }
}

fn argument(wording: Wording<'_>, found: &str, mismatch: ArgumentMismatch, formal: Formal) -> Text {
    let name = formal.name.map_or("_", |n| wording.module.name(n));
    let ty = formal.ty.map_or("", ScalarType::text);
    let declared = format!("`{} {ty} {name}`", formal.space);
    let position = formal.position;
    let message = match mismatch {
        ArgumentMismatch::Type => format!(
            "expected an argument of the type of parameter {position} ({declared}), found `{found}` of another type"
        ),
        ArgumentMismatch::Alignment => format!(
            "expected an argument aligned like parameter {position} ({declared}), found `{found}` with another alignment"
        ),
        ArgumentMismatch::Kind => format!(
            "expected a register, a constant or a `.param` variable for parameter {position} ({declared}), found `{found}`"
        ),
    };
    Text::error(Code::CallArgument, message).help("match the declared parameter")
}
