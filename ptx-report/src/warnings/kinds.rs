//! Kinds of warnings, as named on the command line.

use ptx_ir::Code;

use crate::explain;

/// Kinds of warnings.
#[derive(Copy, Clone, Debug)]
pub enum Kind {
    /// All warnings.
    All,
    /// Unused declarations and code.
    Unused,
    /// Names that other modules must define.
    Link,
    /// Features that later versions of PTX may remove.
    Deprecated,
    /// The warnings with a code.
    One(Code),
}

/// The warning about names that other modules must define.
pub const LINK: Code = Code::UnresolvedExtern;

/// The meaning of the name `deprecated`, which a warning of `ptxkit check` and a lint share.
const DEPRECATED: [Code; 2] = [Code::Deprecated, Code::DeprecatedFeature];

/// The warnings about unused declarations and code.
pub const UNUSED: [Code; 3] = [
    Code::UnusedRegister,
    Code::UnusedLabel,
    Code::UnusedFunction,
];

/// Warnings about legal code with undefined results; off by default.
pub const MISTAKES: [Code; 2] = [Code::UnwrittenRegister, Code::MisalignedAccess];

impl Kind {
    /// Whether the kind contains the warnings with a code.
    #[must_use]
    pub fn contains(self, code: Code) -> bool {
        match self {
            Self::All => true,
            Self::Unused => UNUSED.contains(&code),
            Self::Link => code == LINK,
            Self::Deprecated => DEPRECATED.contains(&code),
            Self::One(single) => single == code,
        }
    }
}

/// The kind of warnings of `ptxkit check` with a name.
///
/// # Errors
///
/// The text is not the name of a kind; the message states the reason.
pub fn checked_kind(text: &str) -> Result<Kind, String> {
    match kind(text)? {
        Kind::One(code) if ptx_lint::Lint::ALL.iter().any(|lint| lint.code() == code) => {
            Err(format!("`{text}` is a lint, which `ptxkit lint` reports"))
        }
        kind => Ok(kind),
    }
}

/// The kind of warnings with a name.
///
/// # Errors
///
/// The text is not the name of a kind; the message states the reason.
pub fn kind(text: &str) -> Result<Kind, String> {
    match text {
        "all" => Ok(Kind::All),
        "unused" => Ok(Kind::Unused),
        "link" => Ok(Kind::Link),
        "deprecated" => Ok(Kind::Deprecated),
        text => {
            let code = Code::ALL.iter().find(|code| {
                explain::has_name(**code, text) || code.to_string().eq_ignore_ascii_case(text)
            });
            match code {
                Some(code) if is_warning(*code) => Ok(Kind::One(*code)),
                Some(code) => Err(format!("{code} is an error, not a warning; {}", expected())),
                None => Err(format!("unknown warning {text}; {}", expected())),
            }
        }
    }
}

/// The names of all kinds, for messages.
fn expected() -> String {
    let names: Vec<String> = Code::ALL
        .iter()
        .filter(|code| is_warning(**code))
        .map(|code| format!("{} ({code})", hyphenated(code.name())))
        .collect();
    format!("expected all, unused, link or one of {}", names.join(", "))
}

/// The name of the lint, the warning or the error with a code, such as `ignored-modifier`.
#[must_use]
pub fn code_name(code: Code) -> String {
    hyphenated(code.name())
}

/// `IgnoredModifier` as `ignored-modifier`.
fn hyphenated(name: &str) -> String {
    let mut text = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !text.is_empty() {
            text.push('-');
        }
        text.push(c.to_ascii_lowercase());
    }
    text
}

/// The errors of `ptxkit gate`, which comments can also suppress.
const GATE_ERRORS: [Code; 3] = [Code::AboveLimit, Code::BelowLimit, Code::DeniedInstruction];

/// Whether diagnostics with this code can be suppressed: warnings, according to their pages, and errors of `ptxkit gate`.
fn is_warning(code: Code) -> bool {
    if GATE_ERRORS.contains(&code) {
        return true;
    }
    explain::page(code).is_some_and(|text| text.lines().any(|line| line == "Severity: warning"))
}
