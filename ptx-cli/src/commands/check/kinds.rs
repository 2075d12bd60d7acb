//! Kinds of warnings, as named on the command line.

use ptx_ir::Code;

/// Kinds of warnings.
#[derive(Copy, Clone, Debug)]
pub(super) enum Kind {
    All,
    Unused,
    Link,
    One(Code),
}

/// The warning about names that other modules must define.
pub(super) const LINK: Code = Code::UnresolvedExtern;

pub(super) const UNUSED: [Code; 3] = [
    Code::UnusedRegister,
    Code::UnusedLabel,
    Code::UnusedFunction,
];

impl Kind {
    pub(super) fn holds(self, code: Code) -> bool {
        match self {
            Self::All => true,
            Self::Unused => UNUSED.contains(&code),
            Self::Link => code == LINK,
            Self::One(one) => one == code,
        }
    }
}

pub(super) fn kind(text: &str) -> Result<Kind, String> {
    let plain = |t: &str| t.replace(['-', '_'], "").to_ascii_lowercase();
    let same =
        |c: &&Code| plain(c.name()) == plain(text) || c.to_string().eq_ignore_ascii_case(text);
    match text {
        "all" => Ok(Kind::All),
        "unused" => Ok(Kind::Unused),
        "link" => Ok(Kind::Link),
        text => Code::ALL
            .iter()
            .find(same)
            .map(|c| Kind::One(*c))
            .ok_or_else(|| {
                format!("unknown warning {text}; expected a code such as PTX0516 or a name such as ignored-modifier")
            }),
    }
}
