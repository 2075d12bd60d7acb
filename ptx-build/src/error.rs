//! What is wrong with a call of the builder.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use ptx_ir::Diagnostic;

/// The sort of an [`Error`].
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Kind {
    /// The verifier refuses it: see [`Error::diagnostics`].
    Illegal,
    /// A register, label or variable of another function, another module, or of a scope that is closed.
    Foreign,
    /// A label that is used and placed nowhere.
    Unplaced,
    /// A name or a label that is there already.
    Duplicate,
    /// Text that is no name, number, string or mnemonic of PTX.
    Spelling,
    /// A statement that was begun and not ended.
    Unfinished,
    /// A scope that is not open, or not closed.
    Scope,
    /// Arguments or results that a function does not have, or a number that a call of the builder does not take.
    Argument,
    /// A part of a module that was read and not understood: see [`replay`](crate::replay()).
    Unknown,
}

#[derive(Clone, PartialEq, Debug)]
struct Inner {
    kind: Kind,
    message: String,
    text: String,
    diagnostics: Vec<Diagnostic>,
}

/// Why the builder refuses something.
#[derive(Clone, PartialEq, Debug)]
pub struct Error(Box<Inner>);

impl Error {
    pub(crate) fn new(kind: Kind, message: String) -> Self {
        Self(Box::new(Inner {
            kind,
            message,
            text: String::new(),
            diagnostics: Vec::new(),
        }))
    }

    pub(crate) fn illegal(text: String, diagnostics: Vec<Diagnostic>) -> Self {
        let mut message = String::new();
        for diagnostic in &diagnostics {
            if !message.is_empty() {
                message.push('\n');
            }
            message.push_str(&diagnostic.message);
        }
        Self(Box::new(Inner {
            kind: Kind::Illegal,
            message,
            text,
            diagnostics,
        }))
    }

    /// What sort of mistake it is.
    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    /// What is wrong, in words.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The text that the verifier refuses: a statement, a declaration, or the whole module.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// What the verifier says; spans count from the start of [`text`](Self::text).
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.0.diagnostics
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.diagnostics.is_empty() {
            return f.write_str(&self.0.message);
        }
        for (i, d) in self.0.diagnostics.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            let line = line_of(&self.0.text, d.span.start as usize);
            write!(f, "`{line}`: {} ({})", d.message, d.code)?;
            if let Some(help) = &d.help {
                write!(f, "; {help}")?;
            }
        }
        Ok(())
    }
}

impl core::error::Error for Error {}

fn line_of(text: &str, at: usize) -> &str {
    let before = text.get(..at).unwrap_or_default();
    let start = before.rfind('\n').map_or(0, |i| i + 1);
    let rest = text.get(start..).unwrap_or_default();
    rest.lines().next().unwrap_or_default().trim()
}
