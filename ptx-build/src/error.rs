//! Errors of the builder.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use ptx_ir::{Code, Diagnostic};

/// The kind of a [`BuildError`].
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum BuildErrorKind {
    /// The verifier refuses it: see [`BuildError::diagnostics`].
    Illegal,
    /// A register, label or variable of another function, another module, or of a scope that is closed.
    Foreign,
    /// A label that is used and placed nowhere.
    Unplaced,
    /// A name or a label that is there already.
    Duplicate,
    /// Text that is not a valid name, number, string or mnemonic.
    Spelling,
    /// A statement that was begun and not ended.
    Unfinished,
    /// A scope that is not open, or not closed.
    Scope,
    /// Arguments or results that a function does not have, or a number that a call of the builder does not take.
    Argument,
}

impl BuildErrorKind {
    /// The code of the same mistake in a text.
    const fn code(self) -> Code {
        match self {
            Self::Illegal => Code::UnknownInstruction,
            Self::Foreign | Self::Unplaced => Code::UndefinedName,
            Self::Duplicate => Code::DuplicateName,
            Self::Spelling => Code::UnexpectedToken,
            Self::Unfinished => Code::MissingSemicolon,
            Self::Scope => Code::UnclosedBrace,
            Self::Argument => Code::CallArgument,
        }
    }

    /// Refuses something with another code than the usual one.
    pub(crate) fn refuse<T>(
        self,
        code: Code,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Result<T, BuildError> {
        Err(BuildError::new(self, message, help).with_code(code))
    }
}

#[derive(Clone, PartialEq, Debug)]
struct Inner {
    kind: BuildErrorKind,
    code: Code,
    message: String,
    help: Option<String>,
    text: String,
    diagnostics: Vec<Diagnostic>,
}

/// Why the builder refuses something.
#[derive(Clone, PartialEq, Debug)]
pub struct BuildError(Box<Inner>);

impl BuildError {
    /// An error with a message and help.
    pub(crate) fn new(
        kind: BuildErrorKind,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Self(Box::new(Inner {
            kind,
            code: kind.code(),
            message: message.into(),
            help: Some(help.into()),
            text: String::new(),
            diagnostics: Vec::new(),
        }))
    }

    /// With another code than the usual one of its kind.
    pub(crate) fn with_code(mut self, code: Code) -> Self {
        self.0.code = code;
        self
    }

    pub(crate) fn illegal(text: String, diagnostics: Vec<Diagnostic>) -> Self {
        let mut message = String::new();
        for diagnostic in &diagnostics {
            if !message.is_empty() {
                message.push('\n');
            }
            message.push_str(&diagnostic.message);
        }
        let first = diagnostics.first();
        Self(Box::new(Inner {
            kind: BuildErrorKind::Illegal,
            code: first.map_or(BuildErrorKind::Illegal.code(), |d| d.code),
            message,
            help: first.and_then(|d| d.help.clone()),
            text,
            diagnostics,
        }))
    }

    /// With other messages.
    pub(crate) fn renamed(mut self, rename: impl Fn(&str) -> String) -> Self {
        let inner = &mut *self.0;
        inner.message = rename(&inner.message);
        inner.help = inner.help.as_deref().map(&rename);
        for d in &mut inner.diagnostics {
            d.message = rename(&d.message);
            d.help = d.help.as_deref().map(&rename);
        }
        self
    }

    /// The kind of the error.
    #[must_use]
    pub fn kind(&self) -> BuildErrorKind {
        self.0.kind
    }

    /// The code that the checker gives the same mistake in a text (the first, where there are more): `docs/diagnostics.md` has a
    /// page for each.
    #[must_use]
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// The description of the error.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Help: what to do instead. Errors of the verifier have it where their message does not say it.
    #[must_use]
    pub fn help(&self) -> Option<&str> {
        self.0.help.as_deref()
    }

    /// The text that the verifier refuses: a statement, a declaration, a fragment as it was given, or the whole module.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// The diagnostics of the verifier; spans count from the start of [`text`](Self::text).
    #[must_use]
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.0.diagnostics
    }
}

/// Message, code and help: a line for each diagnostic.
impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.diagnostics.is_empty() {
            return write_error(f, self.message(), self.code(), self.help());
        }
        for (i, d) in self.0.diagnostics.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            let line = line_of(&self.0.text, d.span.start as usize);
            write!(f, "`{line}`: ")?;
            write_error(f, &d.message, d.code, d.help.as_deref())?;
        }
        Ok(())
    }
}

fn write_error(
    f: &mut fmt::Formatter<'_>,
    message: &str,
    code: Code,
    help: Option<&str>,
) -> fmt::Result {
    write!(f, "{message} ({code})")?;
    help.map_or(Ok(()), |help| write!(f, "; {help}"))
}

impl core::error::Error for BuildError {}

/// The line of a text with the byte at `position`, without white space around it.
fn line_of(text: &str, position: usize) -> &str {
    let start = text.get(..position).and_then(|t| t.rfind('\n'));
    text.get(start.map_or(0, |newline| newline + 1)..)
        .and_then(|l| l.lines().next())
        .unwrap_or_default()
        .trim()
}

#[cold]
pub(crate) fn taken_name(name: &str) -> BuildError {
    BuildError::new(
        BuildErrorKind::Duplicate,
        format!("the module has a `{name}` already"),
        "give it another name; a function that was declared is begun with `define`",
    )
}

/// A function that is defined after what mentions it.
#[cold]
pub(crate) fn not_finished(function: &str) -> BuildError {
    BuildError::new(
        BuildErrorKind::Unplaced,
        format!("`{function}` is mentioned before it is finished"),
        "declare it before with `declare_func`, and begin it with `define`",
    )
    .with_code(Code::LateDeclaration)
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
    .with_code(Code::BadCount)
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
    .with_code(Code::LabelOutOfScope)
}

/// A label that is mentioned before it is placed, while the module has its name.
#[cold]
pub(crate) fn unplaced_label(label: &str) -> BuildError {
    BuildError::new(
        BuildErrorKind::Duplicate,
        format!("the module has a `{label}` too, which the name means before the label is placed"),
        "give the label another name, or none: `label`",
    )
}
