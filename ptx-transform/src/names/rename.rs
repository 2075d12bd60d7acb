//! Other names for things, checked by reading the new text.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use ptx_ir::lex::scan;
use ptx_ir::{Module, Severity, Span};
use ptx_isa::SpecialReg;
use ptx_parse::parse;

use super::{Entity, NameRef, Names};
use crate::{Rewritten, Splices, reachability};

/// Why something cannot have another name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RenameError {
    /// This is no name of PTX, or a word that has a meaning of its own.
    Spelling(String),
    /// A debug section or something that nothing declares has this name as well; it would no longer mean the same.
    Used(String),
    /// The new name is taken: with it the name at this place of the old source would mean something else, or nothing.
    Taken(String, Span),
}

impl fmt::Display for RenameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Spelling(name) => write!(f, "`{name}` is no name that can be declared"),
            Self::Used(name) => write!(
                f,
                "`{name}` is also mentioned where names are not resolved, such as a debug section"
            ),
            Self::Taken(name, _) => write!(
                f,
                "`{name}` is taken: a name would mean something else, or nothing"
            ),
        }
    }
}

impl core::error::Error for RenameError {}

/// Words that the assembler reads as something else wherever they stand.
const WORDS: [&[u8]; 3] = [b"WARP_SZ", b"inlined_at", b"function_name"];

/// Whether a word can be declared as a name.
pub(crate) fn is_name(word: &[u8]) -> bool {
    scan::starts_ident(word, 0)
        && scan::ident_end(word, 0) == word.len()
        && SpecialReg::from_text(word).is_none()
        && !WORDS.contains(&word)
}

/// New names for things of a module.
///
/// All of them are given at once, so that two things may change places. A range such as `%r<5>` is renamed as a whole by the
/// name before its numbers.
///
/// ```
/// use ptx_transform::{Names, Renaming};
/// let text = ".version 8.0\n.target sm_80\n.entry k() { .reg .b32 %r<5>, x; mov.b32 %r1, x; }";
/// let module = ptx_parse::parse_str(text).module;
/// let names = Names::of(&module);
/// let mut renaming = Renaming::new();
/// renaming.set(names.mentions()[1].entity, "%count");
/// let new = renaming.apply(&module, &names).unwrap();
/// assert!(new.text.ends_with(b".reg .b32 %count<5>, x; mov.b32 %count1, x; }"));
/// renaming.set(names.mentions()[1].entity, "x y");
/// assert!(renaming.apply(&module, &names).is_err());
/// ```
#[derive(Clone, Default, Debug)]
pub struct Renaming {
    names: BTreeMap<Entity, String>,
}

impl Renaming {
    /// Nothing is renamed.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            names: BTreeMap::new(),
        }
    }

    /// A prefix for the functions and variables of a module that no other module can see, so that they keep apart from those of
    /// others; with `visible` also for kernels and all that is visible and defined here. What other modules have to provide
    /// or may define as well (`.extern`, `.weak`, `.common`) keeps its name. A `%` that a name begins with stays in front.
    ///
    /// ```
    /// use ptx_transform::{Names, Renaming};
    /// let text = ".version 8.0\n.target sm_80\n.global .u32 n;\n.visible .entry k() { .reg .b32 r; ld.global.b32 r, [n]; }";
    /// let module = ptx_parse::parse_str(text).module;
    /// let names = Names::of(&module);
    /// let renaming = Renaming::prefix(&module, &names, "lib_", false);
    /// let new = renaming.apply(&module, &names).unwrap();
    /// assert!(new.text.ends_with(b".entry k() { .reg .b32 r; ld.global.b32 r, [lib_n]; }"));
    /// ```
    #[must_use]
    pub fn prefix(module: &Module, names: &Names, prefix: &str, visible: bool) -> Self {
        let wanted = reachability::own(module, visible);
        let mut renaming = Self::new();
        for m in names.mentions().iter().filter(|m| m.declares) {
            if wanted.contains(&m.entity) {
                let old = String::from_utf8_lossy(m.name.of(module.source()));
                // A `%` stands nowhere but in front.
                let (sigil, rest) = match old.strip_prefix('%') {
                    Some(rest) => ("%", rest),
                    None => ("", &*old),
                };
                renaming.set(m.entity, alloc::format!("{sigil}{prefix}{rest}"));
            }
        }
        renaming
    }

    /// Gives something another name.
    pub fn set(&mut self, entity: Entity, name: impl Into<String>) {
        self.names.insert(entity, name.into());
    }

    /// The new name of something, if it has one.
    pub fn get(&self, entity: Entity) -> Option<&str> {
        self.names.get(&entity).map(String::as_str)
    }

    /// Whether nothing is renamed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The pieces of the source that change, without a check. Linear in the names.
    pub fn splices(&self, names: &Names, splices: &mut Splices) {
        for mention in names.mentions() {
            if let Some(new) = self.names.get(&mention.entity) {
                splices.replace(mention.name, new);
            }
        }
    }

    /// The source with the new names. It is read again, and each name in it has to mean what it did.
    ///
    /// Linear in the source.
    ///
    /// # Errors
    ///
    /// A new name is none, is taken or would be captured by a scope in between, or what is renamed is also mentioned where
    /// names are not resolved. Nothing is renamed then.
    pub fn apply(&self, module: &Module, names: &Names) -> Result<Rewritten, RenameError> {
        let unresolved = unresolved(module, names);
        for mention in names.mentions() {
            let Some(new) = self.names.get(&mention.entity) else {
                continue;
            };
            let old = mention.name.of(module.source());
            if !is_name(new.as_bytes()) {
                return Err(RenameError::Spelling(new.clone()));
            }
            if unresolved.has(old) && new.as_bytes() != old {
                return Err(RenameError::Used(String::from_utf8_lossy(old).into_owned()));
            }
        }
        let mut splices = Splices::new();
        self.splices(names, &mut splices);
        let new = splices.apply(module.source());
        match self.first_other(module, names, &new) {
            None => Ok(new),
            Some((old, at)) => {
                let name = String::from_utf8_lossy(at.of(&new.text)).into_owned();
                Err(RenameError::Taken(name, old))
            }
        }
    }

    /// The first name in the old text that does not mean what it did, and where it is in the new one.
    fn first_other(&self, module: &Module, names: &Names, new: &Rewritten) -> Option<(Span, Span)> {
        let parsed = parse(&new.text);
        let found = Names::of(&parsed.module);
        let same = |(old, new): (&NameRef, &NameRef)| match (old.entity, new.entity) {
            (Entity::Unknown(a), Entity::Unknown(b)) => {
                module.name_bytes(a) == parsed.module.name_bytes(b)
            }
            (a, b) => (a, old.member, old.declares) == (b, new.member, new.declares),
        };
        let pairs = || names.mentions().iter().zip(found.mentions());
        if let Some((old, other)) = pairs().find(|&(a, b)| !same((a, b))) {
            return Some((old.whole(), other.whole()));
        }
        if names.mentions().len() != found.mentions().len() {
            let last = |n: &Names| n.mentions().last().map_or(Span::default(), NameRef::whole);
            return Some((last(names), last(&found)));
        }
        // Two things in one scope may have one name now.
        let errors = |d: &&ptx_ir::Diagnostic| d.severity == Severity::Error;
        let before = match parsed.has_errors() {
            true => parse(module.source())
                .diagnostics
                .iter()
                .filter(errors)
                .count(),
            false => 0,
        };
        let mut now = parsed.diagnostics.iter().filter(errors);
        let at = now.nth(before)?.span;
        let old = new.map.to_old(at.start).unwrap_or_default();
        Some((Span::new(old, old), at))
    }
}

/// Names that are mentioned where they are not resolved, and beginnings of tables of targets such as `N<5>`.
pub(crate) struct Unresolved<'m> {
    names: BTreeSet<&'m [u8]>,
    tables: BTreeSet<&'m [u8]>,
}

impl Unresolved<'_> {
    /// Whether a thing of this name may be meant.
    pub(crate) fn has(&self, name: &[u8]) -> bool {
        if self.names.contains(name) {
            return true;
        }
        let digits = name.iter().rev().take_while(|b| b.is_ascii_digit()).count();
        let mut splits = name.len() - digits..name.len();
        !self.tables.is_empty()
            && splits.any(|at| name.get(..at).is_some_and(|n| self.tables.contains(n)))
    }

    /// All of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> + '_ {
        self.names.iter().chain(&self.tables).copied()
    }
}

pub(crate) fn unresolved<'m>(module: &'m Module, names: &Names) -> Unresolved<'m> {
    let of = |m: &NameRef| match m.entity {
        Entity::Unknown(name) => Some(module.name_bytes(name)),
        _ => None,
    };
    let mut tables: Vec<&[u8]> = Vec::new();
    for body in module.bodies().values() {
        tables.extend(body.pool().operands().iter().filter_map(|o| match *o {
            ptx_ir::Operand::Range(at) => match body.pool().get(at) {
                ptx_ir::Operand::Name(name) => Some(module.name_bytes(name)),
                ptx_ir::Operand::Label(id) => Some(module.name_bytes(body.labels().get(id)?.name)),
                _ => None,
            },
            _ => None,
        }));
    }
    Unresolved {
        names: names.mentions().iter().filter_map(of).collect(),
        tables: tables.into_iter().collect(),
    }
}
