//! Problems of the header and of pragmas.

use alloc::format;
use ptx_ir::{Code, NameId};
use ptx_isa::{PtxVersion, Target, TargetOption};

use super::feature::Pragma;
use super::{Text, Wording};

#[derive(Copy, Clone, Debug)]
pub(crate) enum HeaderProblem {
    /// `.target` begins with an option.
    OptionFirst(TargetOption),
    /// Two options exclude each other.
    OptionConflict(TargetOption, TargetOption),
    /// `debug` without debug information.
    NoDebugInfo,
    /// The version does not have the target yet.
    TargetVersion(Target, PtxVersion),
    /// A pragma of function bodies outside of them.
    PragmaPlace(Pragma),
    /// A frequency that is not a positive integer.
    PragmaFrequency,
    UnknownPragma(NameId),
}

impl HeaderProblem {
    pub(super) fn text(self, wording: Wording<'_>) -> Text {
        match self {
            Self::OptionFirst(option) => Text::error(
                Code::TargetOption,
                format!("expected an architecture before the option, found `{option}`"),
            )
            .help(format!("write `.target sm_90, {option}`")),
            Self::OptionConflict(option, other) => Text::error(
                Code::TargetOption,
                format!("`{option}` conflicts with `{other}`"),
            )
            .help("keep one of the two"),
            Self::NoDebugInfo => Text::error(
                Code::TargetOption,
                "`debug` requires debug information, but the module has no `.section`",
            )
            .help("remove `debug`"),
            Self::TargetVersion(target, version) => {
                let first = target.min_version();
                Text::error(
                    Code::TargetVersion,
                    format!("`{target}` requires PTX {first}; this is PTX {version}"),
                )
                .help(format!(
                    "write `.version {first}` or newer, or a target that PTX {version} has"
                ))
            }
            Self::PragmaFrequency => Text::error(
                Code::DirectiveValue,
                "expected a positive integer after `frequency` in the pragma",
            )
            .help("write how often the block is executed: `.pragma \"frequency 10\";`"),
            Self::PragmaPlace(pragma) => Text::error(
                Code::PragmaPlace,
                format!(
                    "the pragma `{}` is only allowed in a function body",
                    pragma.name()
                ),
            )
            .help("move it into the body"),
            Self::UnknownPragma(text) => Text::warning(
                Code::UnknownPragma,
                format!(
                    "unknown pragma {}: ptxas ignores it",
                    wording.module.name(text)
                ),
            ),
        }
    }
}
