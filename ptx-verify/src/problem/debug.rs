//! Problems of debug information.

use alloc::format;
use ptx_ir::{Code, NameId};
use ptx_isa::{Directive, ScalarType};

use super::{Text, Wording};

#[derive(Copy, Clone, Debug)]
pub(crate) enum DebugProblem {
    DuplicateFile(i64),
    UndefinedFile(i64),
    DuplicateLabel(NameId),
    /// A number that a datum of the type cannot hold.
    Number(i64, ScalarType),
    /// An address that a datum of the type cannot hold.
    Address(NameId, ScalarType),
    /// A number of a `.file` or `.loc` of more than 32 bits.
    Bits(Directive, i64),
    /// `inlined_at` with a file, line and column that no `.loc` before has.
    InlinedAt(i64, i64, i64),
}

impl DebugProblem {
    pub(super) fn text(self, wording: Wording<'_>) -> Text {
        let name = |id| wording.module.name(id);
        let error = |message| Text::error(Code::DebugInfo, message);
        match self {
            Self::DuplicateFile(index) => {
                error(format!("duplicate file index {index}")).help("use another index")
            }
            Self::UndefinedFile(index) => error(format!(
                "expected the index of a `.file` before this directive, found {index}"
            ))
            .help("declare the file before the section"),
            Self::DuplicateLabel(id) => Text::error(
                Code::DuplicateName,
                format!("duplicate label `{}` in the section", name(id)),
            )
            .help("rename one of the two"),
            Self::Number(value, ty) => {
                error(format!("expected a value that fits `{ty}`, found {value}"))
                    .help("use a wider type")
            }
            Self::Address(id, ty) => error(format!(
                "expected `.b32` or `.b64` for the address of `{}`, found `{ty}`",
                name(id)
            ))
            .help("use the type of the address size"),
            Self::Bits(directive, value) => error(format!(
                "expected a number of 32 bits in `{directive}`, found {value}"
            ))
            .help("use a value from 0 to 4294967295"),
            Self::InlinedAt(file, line, column) => error(format!(
                "expected a preceding `.loc {file} {line} {column}` for `inlined_at`, found none"
            ))
            .help("add that `.loc` before this one"),
        }
    }
}
