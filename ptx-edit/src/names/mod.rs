//! The names in the text of a module, and the entity that each of them denotes.

mod capture;
mod entity_map;
mod finder;
mod own;
mod renaming;
mod taken;
mod unresolved;

use alloc::vec::Vec;

use ptx_ir::{FuncId, ItemId, LabelId, Module, NameId, RegDeclId, Span, SymbolId, VarId};

pub(crate) use capture::{Capture, NewNames, find_capture};
pub use entity_map::EntityMap;
pub(crate) use finder::Finder;
pub use own::{OwnSymbols, own_symbols};
pub use renaming::{RenameError, Renaming};
pub use taken::{NameForm, TakenNames};
pub(crate) use taken::{check_spelling, denotes};
pub(crate) use unresolved::{body_names, debug_names, is_debug_name, is_unresolved, module_names};

/// The entity that a name denotes.
///
/// Registers, variables and labels of two functions are different entities even if they have the same name.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Entity {
    /// A variable or a function of the module, an alias, or all variables of a range such as `g<3>`: the first symbol of the
    /// name.
    Symbol(SymbolId),
    /// A register, or all registers of a range such as `%r<5>`.
    Register(FuncId, RegDeclId),
    /// A parameter or a variable of a function, or all variables of a range: the first of them.
    Variable(FuncId, VarId),
    /// A label, of a statement or of a prototype or a table of targets.
    Label(FuncId, LabelId),
    /// A parameter of a declaration or a prototype, which no statement can use: its index in [`Module::params`].
    Parameter(u32),
    /// An undeclared name, or a name in a debug section.
    Unknown(NameId),
}

/// An occurrence of a name.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct NameRef {
    /// The entity that the name denotes.
    pub entity: Entity,
    /// The span of the name without a number after it, from the start of the source.
    pub name: Span,
    /// The span of the digits of a member of a range, or of the count of a declared range. It is empty for other names.
    pub number: Span,
    /// The number of a member of a range.
    pub member: Option<u32>,
    /// Whether it is a declaration: the name in a declaration or a parameter list, or a label before its `:`.
    pub declares: bool,
}

impl NameRef {
    /// The name with its number, if it is a member of a range.
    #[doc(hidden)]
    #[must_use]
    pub fn whole(&self) -> Span {
        match self.member {
            Some(_) => self.name.join(self.number),
            None => self.name,
        }
    }
}

/// All names in the source of a module, in the order of the text. Opcodes, directives, types, special registers and the
/// arguments of `.target` are not names.
///
/// ```
/// use ptx_edit::{Entity, Names};
/// let text = ".version 8.0\n.target sm_80\n.entry k() { .reg .b32 %r<5>; mov.b32 %r1, 0; L: bra L; }";
/// let module = ptx_parse::parse_str(text).module;
/// let names = Names::of(&module);
/// let words: Vec<&str> = names.refs().iter().map(|m| &text[m.whole().range()]).collect();
/// assert_eq!(words, ["k", "%r", "%r1", "L", "L"]);
/// assert!(matches!(names.refs()[3].entity, Entity::Label(..)));
/// ```
#[derive(Clone, Default, Debug)]
pub struct Names {
    refs: Vec<NameRef>,
}

impl Names {
    /// The names of a module that was parsed and not edited. O(n log n) in the size of the source.
    #[must_use]
    pub fn of(module: &Module) -> Self {
        let mut refs = Vec::with_capacity(module.source().len() / 12);
        let mut finder = Finder::new(module);
        for (id, item) in module.items() {
            finder.whole_item(id, item, &mut refs);
        }
        Self { refs }
    }

    /// The names in one item of a module that was parsed and not edited. O(n log n) in the size of the item, and linear in the
    /// names of the module.
    #[doc(hidden)]
    #[must_use]
    pub fn of_item(module: &Module, item: ItemId) -> Self {
        let mut names = Self::default();
        if let Some(record) = module.item(item) {
            Finder::new(module).whole_item(item, record, &mut names.refs);
        }
        names
    }

    /// The names in one item of a module that was parsed and not edited, without the names in the body of a function.
    #[doc(hidden)]
    #[must_use]
    pub fn of_header(module: &Module, item: ItemId) -> Self {
        let mut names = Self::default();
        if let Some(record) = module.item(item) {
            Finder::new(module).item(item, record, &mut names.refs);
        }
        names
    }

    /// All names, in the order of the text.
    #[must_use]
    pub fn refs(&self) -> &[NameRef] {
        &self.refs
    }

    /// Removes the names in these spans, which are sorted.
    #[doc(hidden)]
    pub fn remove_within(&mut self, spans: &[Span]) {
        let mut spans = spans.iter().peekable();
        self.refs.retain(|m| {
            while spans.next_if(|p| p.end <= m.name.start).is_some() {}
            spans.peek().is_none_or(|p| m.name.start < p.start)
        });
    }

    /// The names in a part of the text.
    #[must_use]
    pub fn within(&self, span: Span) -> &[NameRef] {
        let first = self.refs.partition_point(|m| m.name.start < span.start);
        let end = self.refs.partition_point(|m| m.name.start < span.end);
        self.refs.get(first..end).unwrap_or_default()
    }

    /// The entities with a name: the variables and functions of the module, or if it has none, all registers, parameters,
    /// variables and labels, of one function if `function` is given. Linear in the names.
    #[must_use]
    pub fn find(&self, module: &Module, name: &str, function: Option<FuncId>) -> Vec<Entity> {
        let mut entities: Vec<Entity> = self
            .refs
            .iter()
            .filter(|r| r.declares && r.name.of(module.source()) == name.as_bytes())
            .map(|r| r.entity)
            .filter(|entity| match *entity {
                Entity::Symbol(_) => function.is_none(),
                Entity::Register(owner, _)
                | Entity::Variable(owner, _)
                | Entity::Label(owner, _) => function.is_none_or(|function| function == owner),
                _ => false,
            })
            .collect();
        let is_symbol = |entity: &Entity| matches!(entity, Entity::Symbol(_));
        if entities.iter().any(is_symbol) {
            entities.retain(is_symbol);
        }
        entities.sort_unstable();
        entities.dedup();
        entities
    }

    /// The names that are used where they are not resolved: undeclared names, names in debug sections, and, as ranges, those
    /// of ranges such as `N<5>` in tables of branch targets. An entity with such a name cannot be renamed.
    #[doc(hidden)]
    #[must_use]
    pub fn unresolved(&self, module: &Module) -> TakenNames {
        let mut unresolved_names = TakenNames::default();
        for m in &self.refs {
            if let Entity::Unknown(name) = m.entity {
                unresolved_names.add(module.name_bytes(name), NameForm::Plain);
            }
        }
        for body in module.bodies().values() {
            for name in unresolved::target_ranges(body) {
                unresolved_names.add(module.name_bytes(name), NameForm::Range);
            }
        }
        unresolved_names
    }
}
