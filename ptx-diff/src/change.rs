//! What differs outside of code: headers of modules and functions, variables.

use alloc::string::String;

/// What a difference is about.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Subject {
    /// The version of the module.
    Version,
    /// The target of the module.
    Target,
    /// The address size of the module.
    AddressSize,
    /// A variable: it is added or removed, or its declaration differs apart from its initializer.
    Variable,
    /// The initializer of a variable.
    Initializer,
    /// The function that another name means.
    Alias,
    /// A function without a body.
    Declaration,
    /// `.entry` or `.func`.
    Kind,
    /// `.visible`, `.weak`, …
    Linkage,
    /// The attributes of a function.
    Attributes,
    /// A result of a function.
    Result,
    /// A parameter of a function.
    Parameter,
    /// Launch bounds or another directive after the parameters; a pragma of the module.
    Directive,
    /// Text that could not be parsed.
    Unrecognized,
}

/// A difference outside of code.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Change {
    /// What it is about.
    pub subject: Subject,
    /// The name of the variable, the parameter or the directive; empty where there is only one.
    pub name: String,
    /// What the left module has, as it is written in PTX; `None` if it has nothing of that name.
    pub left: Option<String>,
    /// What the right module has.
    pub right: Option<String>,
}
