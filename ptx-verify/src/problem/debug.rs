//! Problems of debug information.

use ptx_ir::NameId;
use ptx_isa::{Directive, ScalarType};

use super::problems;

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
