//! Problems of the module: the header, pragmas, debug information, and legal modules that ptxas refuses when it generates code, that contain unused
//! declarations, or whose results are not defined.

use ptx_ir::NameId;
use ptx_isa::{Directive, Modifier, PtxVersion, ScalarType, Target, TargetOption};

use super::feature::Pragma;
use super::problems;
pub(crate) use super::table::LibraryName;

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

problems! { DebugProblem {
    DuplicateFile(index: i64): error DebugInfo
        "duplicate file index {index}",
        "use another index";
    UndefinedFile(index: i64): error DebugInfo
        "expected the index of a `.file` before this directive, found {index}",
        "declare the file before the section";
    DuplicateLabel(name: NameId): error DuplicateName
        "duplicate label `{name}` in a section",
        "rename one of the two";
    Number(value: i64, ty: ScalarType): error DebugInfo
        "expected a value that fits `{ty}`, found {value}",
        "use a wider type";
    NegativeZero(ty: ScalarType): error DebugInfo
        "expected a value that fits `{ty}`, found -0",
        "write `0`";
    Address(name: NameId, ty: ScalarType): error DebugInfo
        "expected `.b32` or `.b64` for the address of `{name}`, found `{ty}`",
        "use the type of the address size";
    Bits(directive: Directive, value: i64): error DebugInfo
        "expected a number of 32 bits in `{directive}`, found {value}",
        "use a value from 0 to 4294967295";
    InlinedAt(file: i64, line: i64, column: i64): error DebugInfo
        "expected a preceding `.loc {file} {line} {column}` for `inlined_at`, found none",
        "add that `.loc` before this one";
}}

/// Bytes of constants that a module may have.
pub(crate) const MOST_CONSTANT_BYTES: i64 = 0x1_0000;

problems! { ResourceProblem {
    /// Functions of the same kernel with instructions of different modifiers.
    MixedModifiers(name: NameId, found: Modifier, expected: Modifier): warning MixedModifiers
        "expected `{expected}` on all such instructions of `{name}`, found `{found}`",
        "write `{expected}` here, or `{found}` everywhere";
    UndefinedFunction(name: NameId): warning UndefinedFunction
        "the function `{name}` is declared but not defined",
        "add a body, or declare it `.extern` if another module defines it";
    ExternFunction(name: NameId): warning UnresolvedExtern
        "the external function `{name}` must be defined by another module";
    ExternLibraryFunction(name: NameId, library: LibraryName): warning UnresolvedExtern
        "the external function `{name}` must be defined by another module",
        "libdevice has it as `{library}`: call that, and link libdevice before PTX is generated";
    UndefinedLibraryFunction(name: NameId, library: LibraryName): warning UndefinedFunction
        "the function `{name}` is declared but not defined",
        "libdevice has it as `{library}`: call that, and link libdevice before PTX is generated";
    ExternVariable(name: NameId): warning UnresolvedExtern
        "the external variable `{name}` must be defined by another module";
    ConstantBytes(name: NameId, bytes: i64): warning ConstantMemory
        "expected at most {MOST_CONSTANT_BYTES} bytes of `.const` variables, found at least {bytes} with `{name}`",
        "move large tables to `.global`";
    /// The number of bytes, and the limit of the target.
    SharedBytes(name: NameId, bytes: i64, most: u32): warning SharedMemory
        "expected at most {most} bytes of `.shared` variables, found at least {bytes} in `{name}`",
        "declare one `.extern .shared` array without a size, and give the size at the launch";
    /// It takes too long to sum up what this kernel and those after it use.
    SharedBytesUnknown(name: NameId): warning SharedMemory
        "the `.shared` variables of `{name}` and of the kernels after it were not added up: \
         the kernels reach too many functions";
    /// Too small for calls, and the type to pass it as.
    SmallParameter(name: NameId, ty: ScalarType, wide: ScalarType): warning SmallParameter
        "`{name}` has a parameter or result of type `{ty}`, which calls cannot pass",
        "pass it as `{wide}`";
    SmallAddresses: warning SmallAddresses
        "expected `.address_size 64` on `sm_90` and newer, found 32",
        "write `64`";
    CodeLabelDifference(name: NameId): warning CodeLabelDifference
        "expected a label that a section defines in a difference, found `{name}`",
        "ptxas generates no debug information with differences of labels of functions: write the label itself";
    UnusedRegister(name: NameId): warning UnusedRegister
        "unused register `{name}`",
        "remove the register";
    UnusedLabel(name: NameId): warning UnusedLabel
        "unused label `{name}`",
        "remove the label";
    /// With its number in a range.
    UnwrittenRegister(name: (NameId, Option<u32>)): warning UnwrittenRegister
        "the register `{name}` is read but never written",
        "write it before, or read another register";
    /// The offset from a variable, and the number of bytes.
    MisalignedAccess(name: NameId, offset: i64, bytes: i64): warning MisalignedAccess
        "expected an offset from `{name}` that is aligned to {bytes} bytes, found {offset}",
        "use another offset, or several accesses to fewer bytes";
    UnusedFunction(name: NameId): warning UnusedFunction
        "unused function `{name}`",
        "remove the function";
}}
