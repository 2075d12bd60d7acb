//! New names for several entities at once.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use ptx_ir::raw::TextPatches;
use ptx_ir::{Module, Span};

use super::{
    Capture, Entity, NameForm, NameRef, Names, NewNames, OwnSymbols, check_spelling, find_capture,
    own_symbols,
};
use crate::Rewriting;

/// The reason why an entity cannot have another name.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum RenameError {
    /// The module was edited: its names differ from its source. Print and parse it first.
    Edited,
    /// This text cannot be declared as a name.
    Spelling(String),
    /// This name is also used where names are not resolved, such as in a debug section; it would no longer denote the same.
    Used(String),
    /// The new name is taken: with it, the name at this place of the old source would denote another entity, or none.
    Taken(String, Span),
}

impl fmt::Display for RenameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Edited => f.write_str("the module was edited: print and parse it first"),
            Self::Spelling(name) => write!(f, "`{name}` cannot be declared as a name"),
            Self::Used(name) => write!(
                f,
                "`{name}` is also used where names are not resolved, such as in a debug section"
            ),
            Self::Taken(name, _) => write!(
                f,
                "`{name}` is taken: a name would denote something else, or nothing"
            ),
        }
    }
}

impl core::error::Error for RenameError {}

/// New names for entities of a module.
///
/// All of them are assigned at once, so that two entities can exchange their names. A range such as `%r<5>` is renamed as a
/// whole by the name before its numbers.
///
/// ```
/// use ptx_edit::{Names, Renaming};
/// let text = ".version 8.0\n.target sm_80\n.entry k() { .reg .b32 %r<5>, x; mov.b32 %r1, x; }";
/// let module = ptx_parse::parse_str(text).module;
/// let names = Names::of(&module);
/// let mut renaming = Renaming::new();
/// renaming.set(names.refs()[1].entity, "%count");
/// let new = renaming.apply(&module, &names)?;
/// assert!(new.text().ends_with(b".reg .b32 %count<5>, x; mov.b32 %count1, x; }"));
/// renaming.set(names.refs()[1].entity, "x y");
/// assert!(renaming.apply(&module, &names).is_err());
/// # Ok::<(), ptx_edit::RenameError>(())
/// ```
#[derive(Clone, Default, Debug)]
pub struct Renaming {
    names: Vec<(Entity, String)>,
}

impl Renaming {
    /// No new names.
    #[must_use]
    pub const fn new() -> Self {
        Self { names: Vec::new() }
    }

    /// A prefix for the names of the [own symbols](own_symbols) of a module, so that they differ from the names of other
    /// modules. A `%` at the beginning of a name stays there.
    ///
    /// ```
    /// use ptx_edit::{Names, OwnSymbols, Renaming};
    /// let text = ".version 8.0\n.target sm_80\n.global .u32 n;\n.visible .entry k() { .reg .b32 r; ld.global.b32 r, [n]; }";
    /// let module = ptx_parse::parse_str(text).module;
    /// let names = Names::of(&module);
    /// let renaming = Renaming::prefix(&module, &names, "lib_", OwnSymbols::Private);
    /// let new = renaming.apply(&module, &names)?;
    /// assert!(new.text().ends_with(b".entry k() { .reg .b32 r; ld.global.b32 r, [lib_n]; }"));
    /// # Ok::<(), ptx_edit::RenameError>(())
    /// ```
    #[must_use]
    pub fn prefix(module: &Module, names: &Names, prefix: &str, which: OwnSymbols) -> Self {
        let prefixed_symbols = own_symbols(module, which);
        let mut renaming = Self::new();
        for m in names.refs().iter().filter(|m| m.declares) {
            if matches!(m.entity, Entity::Symbol(s) if prefixed_symbols.contains(s)) {
                let old = String::from_utf8_lossy(m.name.of(module.source()));
                let (sigil, stem) = match old.strip_prefix('%') {
                    Some(stem) => ("%", stem),
                    None => ("", &*old),
                };
                renaming.set(m.entity, format!("{sigil}{prefix}{stem}"));
            }
        }
        renaming
    }

    /// Sets the new name of an entity.
    pub fn set(&mut self, entity: Entity, name: impl Into<String>) {
        self.names.push((entity, name.into()));
    }

    /// The new name of an entity. Linear in the new names.
    #[must_use]
    pub fn get(&self, entity: Entity) -> Option<&str> {
        let mut names = self.names.iter().rev();
        Some(&names.find(|(e, _)| *e == entity)?.1)
    }

    fn new_names(&self) -> NewNames<'_> {
        NewNames::new(self.names.iter().map(|(e, name)| (*e, &**name)).collect())
    }

    /// Whether no entity gets a new name.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The patches of the source, unchecked. O(n log n) in the names.
    #[doc(hidden)]
    pub fn patch(&self, names: &Names, patches: &mut TextPatches) {
        let new_names = self.new_names();
        for m in names.refs() {
            if let Some(new) = new_names.get(m.entity) {
                patches.replace(m.name, new);
            }
        }
    }

    /// Rewrites the module with the new names: every name denotes the entity that it denoted before. The time is O(n log n) in
    /// the size of the source.
    ///
    /// # Errors
    ///
    /// A new name cannot be declared, or it is taken: a name would be captured. Or an old name is also used where names are
    /// not resolved, or the source of the module is not its text: it was edited or built.
    pub fn apply(&self, module: &Module, names: &Names) -> Result<Rewriting, RenameError> {
        if !module.has_current_source() {
            return Err(RenameError::Edited);
        }
        let unresolved = names.unresolved(module);
        let source = module.source();
        let new_names = self.new_names();
        for m in names.refs() {
            let Some(new) = new_names.get(m.entity) else {
                continue;
            };
            let old = m.name.of(source);
            if check_spelling(new.as_bytes(), NameForm::of(m.member)).is_err() {
                return Err(RenameError::Spelling(String::from(new)));
            }
            if unresolved.contains(old) && new.as_bytes() != old {
                return Err(RenameError::Used(String::from_utf8_lossy(old).into_owned()));
            }
        }
        if let Some(capture) = find_capture(module, None, &new_names) {
            let place = token(names, &capture);
            return Err(RenameError::Taken(capture.name, place));
        }
        let mut patches = TextPatches::new();
        self.patch(names, &mut patches);
        Ok(patches.apply(source).into())
    }
}

/// The token of a captured name.
fn token(names: &Names, capture: &Capture) -> Span {
    names
        .within(capture.place)
        .iter()
        .find(|m| m.entity == capture.entity)
        .map_or(capture.place, NameRef::whole)
}
