//! Problems of legal modules: what ptxas refuses when it generates code, and what is never used.

use alloc::format;
use ptx_ir::{Code, NameId};
use ptx_isa::{Modifier, ScalarType};

use super::{Text, Wording};

/// Bytes of constants that a module may have.
pub(crate) const MOST_CONSTANT_BYTES: i64 = 0x1_0000;
/// Bytes of shared variables that a kernel may declare.
pub(crate) const MOST_SHARED_BYTES: i64 = 0xc000;

#[derive(Copy, Clone, Debug)]
pub(crate) enum ResourceProblem {
    /// Functions of the same kernel with instructions of different modifiers: found, expected.
    MixedModifiers(NameId, Modifier, Modifier),
    UndefinedFunction(NameId),
    ExternFunction(NameId),
    ExternVariable(NameId),
    ConstantBytes(NameId, i64),
    SharedBytes(NameId, i64),
    /// It takes too long to sum up what this kernel and those after it use.
    SharedBytesUnknown(NameId),
    SmallParameter(NameId, ScalarType),
    SmallAddresses,
    UnusedRegister(NameId),
    UnusedLabel(NameId),
    UnusedFunction(NameId),
}

impl ResourceProblem {
    pub(super) fn text(self, wording: Wording<'_>) -> Text {
        let name = |id| wording.module.name(id);
        match self {
            Self::MixedModifiers(id, found, expected) => Text::warning(
                Code::MixedModifiers,
                format!(
                    "expected `{expected}` on all such instructions of `{}`, found `{found}`",
                    name(id)
                ),
            )
            .help(format!("write `{expected}` here, or `{found}` everywhere")),
            Self::UndefinedFunction(id) => Text::warning(
                Code::UndefinedFunction,
                format!("the function `{}` is declared but not defined", name(id)),
            )
            .help("add a body, or declare it `.extern` if another module defines it"),
            Self::ExternFunction(id) => Text::warning(
                Code::UnresolvedExtern,
                format!("the external function `{}` must be defined by another module", name(id)),
            ),
            Self::ExternVariable(id) => Text::warning(
                Code::UnresolvedExtern,
                format!("the external variable `{}` must be defined by another module", name(id)),
            ),
            Self::ConstantBytes(id, bytes) => Text::warning(
                Code::ConstantMemory,
                format!(
                    "expected at most {MOST_CONSTANT_BYTES} bytes of `.const` variables, found at least {bytes} with `{}`",
                    name(id)
                ),
            )
            .help("move large tables to `.global`"),
            Self::SharedBytes(id, bytes) => Text::warning(
                Code::SharedMemory,
                format!(
                    "expected at most {MOST_SHARED_BYTES} bytes of `.shared` variables, found at least {bytes} in `{}`",
                    name(id)
                ),
            )
            .help("declare one `.extern .shared` array without a size, and give the size at the launch"),
            Self::SharedBytesUnknown(id) => Text::warning(
                Code::SharedMemory,
                format!(
                    "the `.shared` variables of `{}` and of the kernels after it were not added up: the kernels reach too many functions",
                    name(id)
                ),
            ),
            Self::SmallParameter(id, ty) => {
                let wide = if ty == ScalarType::Pred { ".b32" } else { ".b16" };
                Text::warning(
                    Code::SmallParameter,
                    format!("`{}` has a parameter or result of type `{ty}`, which calls cannot pass", name(id)),
                )
                .help(format!("pass it as `{wide}`"))
            }
            Self::SmallAddresses => Text::warning(
                Code::SmallAddresses,
                "expected `.address_size 64` on `sm_90` and newer, found 32",
            )
            .help("write `64`"),
            Self::UnusedRegister(id) => unused(Code::UnusedRegister, "register", name(id)),
            Self::UnusedLabel(id) => unused(Code::UnusedLabel, "label", name(id)),
            Self::UnusedFunction(id) => unused(Code::UnusedFunction, "function", name(id)),
        }
    }
}

fn unused(code: Code, what: &str, name: &str) -> Text {
    Text::warning(code, format!("unused {what} `{name}`")).help(format!("remove the {what}"))
}
