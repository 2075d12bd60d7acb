//! Problems of the header and of pragmas.

use ptx_ir::NameId;
use ptx_isa::{PtxVersion, Target, TargetOption};

use super::feature::Pragma;
use super::problems;

problems! { HeaderProblem {
    /// `.target` begins with an option.
    OptionFirst(option: TargetOption): error TargetOption
        "expected an architecture before the option, found `{option}`",
        "write `.target sm_90, {option}`";
    OptionConflict(option: TargetOption, other: TargetOption): error TargetOption
        "`{option}` conflicts with `{other}`",
        "keep one of the two";
    NoDebugInfo: error TargetOption
        "`debug` requires debug information, but the module has no `.section`",
        "remove `debug`";
    TargetVersion(target: Target, first: PtxVersion, version: PtxVersion): error TargetVersion
        "`{target}` requires PTX {first}; this is PTX {version}",
        "write `.version {first}` or newer, or a target that PTX {version} has";
    PragmaFrequency: error DirectiveValue
        "expected a positive integer after `frequency` in the pragma",
        "write how often the block is executed: `.pragma \"frequency 10\";`";
    PragmaPlace(pragma: Pragma): error PragmaPlace
        "the pragma `{pragma}` is only allowed in a function body",
        "move it into the body";
    UnknownPragma(text: NameId): warning UnknownPragma
        "unknown pragma {text}: ptxas ignores it";
}}
