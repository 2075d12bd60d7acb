//! Errors of names, which several parts of the builder report.

use ptx_ir::Code;

use crate::error::{BuildError, BuildErrorKind};

#[cold]
pub(crate) fn taken(name: &str) -> BuildError {
    BuildError::new(
        BuildErrorKind::Duplicate,
        format!("the module has a `{name}` already"),
        "give it another name; a function that was declared is begun with `define`",
    )
}

/// A function that is defined after what mentions it.
#[cold]
pub(crate) fn later(function: &str) -> BuildError {
    BuildError::new(
        BuildErrorKind::Unplaced,
        format!("`{function}` is mentioned before it is finished"),
        "declare it before with `declare_func`, and begin it with `define`",
    )
    .code_is(Code::LateDeclaration)
}

/// A function that was discarded before it was finished.
#[cold]
pub(crate) fn discarded(function: &str) -> BuildError {
    BuildError::new(
        BuildErrorKind::Foreign,
        format!("the function `{function}` was discarded"),
        "use the handle of the function that was built in its place, or declare one with `declare_func`",
    )
}

#[cold]
pub(crate) fn no_variables(range: &str) -> BuildError {
    BuildError::new(
        BuildErrorKind::Argument,
        format!("`{range}` is a range without members that can be named"),
        "a range has at least one member, and its name does not end with a digit: `x1<4>` has no members that can be named, as `x10` is member 10 of `x`",
    )
    .code_is(Code::BadCount)
}

/// A name that is out of scope, or hidden by another declaration.
#[cold]
pub(crate) fn hidden(noun: &str, name: &str) -> BuildError {
    BuildError::new(
        BuildErrorKind::Foreign,
        format!(
            "the {noun} `{name}` is not visible here: its scope is closed, or its name means something else"
        ),
        "make it before the scope is opened, and give what is inside another name",
    )
    .code_is(Code::LabelOutOfScope)
}

/// A label that is mentioned before it is placed, while the module has its name.
#[cold]
pub(crate) fn early(label: &str) -> BuildError {
    BuildError::new(
        BuildErrorKind::Duplicate,
        format!("the module has a `{label}` too, which the name means before the label is placed"),
        "give the label another name, or none: `label`",
    )
}
