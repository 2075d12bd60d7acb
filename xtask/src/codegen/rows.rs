//! The rows of the vocabulary files.

pub(crate) type Version = (u8, u8);

#[derive(Debug)]
pub(crate) struct TypeRow {
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) bits: u16,
    pub(crate) packed: Option<(String, u8)>,
    pub(crate) register: Option<String>,
    pub(crate) declare: Vec<String>,
    pub(crate) since: Version,
    pub(crate) target: Option<String>,
}

#[derive(Debug)]
pub(crate) struct SpaceRow {
    pub(crate) name: String,
    pub(crate) addressable: bool,
    pub(crate) modifier: bool,
    pub(crate) within: Option<String>,
    pub(crate) since: Version,
}

#[derive(Debug)]
pub(crate) struct VersionRow {
    pub(crate) version: Version,
    pub(crate) toolkit: Option<String>,
    pub(crate) driver: Option<String>,
}

#[derive(Debug)]
pub(crate) struct TargetRow {
    pub(crate) name: String,
    pub(crate) number: u16,
    /// `a`, `f` or nothing.
    pub(crate) suffix: Option<char>,
    pub(crate) since: Version,
    pub(crate) renamed: Option<(String, Version)>,
}

#[derive(Debug)]
pub(crate) struct RegisterRow {
    pub(crate) name: String,
    pub(crate) vector: bool,
    pub(crate) ty: String,
    pub(crate) volatile: bool,
    pub(crate) short: bool,
    pub(crate) since: Version,
    pub(crate) target: Option<String>,
}

#[derive(Debug)]
pub(crate) struct DirectiveRow {
    pub(crate) name: String,
    pub(crate) section: String,
    pub(crate) places: Vec<String>,
    pub(crate) ending: String,
    /// How many integers follow it, at least and at most.
    pub(crate) takes: Option<(u8, u8)>,
    pub(crate) since: Version,
    pub(crate) target: Option<String>,
    pub(crate) until: Option<Version>,
}

#[derive(Debug)]
pub(crate) struct ClassRow {
    pub(crate) name: String,
    pub(crate) positional: bool,
    pub(crate) meaning: String,
}

#[derive(Debug)]
pub(crate) struct ModifierRow {
    pub(crate) text: String,
    /// Index into the classes.
    pub(crate) class: usize,
    pub(crate) ignored: bool,
    pub(crate) doubled: bool,
}

/// An `option` line.
#[derive(Debug)]
pub(crate) struct OptionRow {
    pub(crate) name: String,
    pub(crate) since: Version,
    pub(crate) target: Option<String>,
}
