//! Every place of a source where a name stands, and what it means there.

mod rename;
mod walk;

use alloc::vec::Vec;

pub use rename::{RenameError, Renaming};
pub(crate) use rename::{Unresolved, is_name, unresolved};

use ptx_ir::{FuncId, LabelId, Module, NameId, RegDeclId, Span, SymbolId, VarId};

/// What a name stands for.
///
/// Functions are those that hold the name; registers, variables and labels of two functions are never the same thing.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
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
    /// A parameter of a declaration or a prototype, which nothing can mention: its place in
    /// [`Module::params`].
    Parameter(u32),
    /// Something that nothing declares, or that a debug section mentions.
    Unknown(NameId),
}

/// A place where a name stands.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct NameRef {
    /// What it means.
    pub entity: Entity,
    /// The name, without a number behind it; from the start of the source.
    pub name: Span,
    /// Of a member of a range its digits; of the declaration of a range its count, the digits between `<` and `>`; else
    /// empty.
    pub number: Span,
    /// Of a member of a range which one it is.
    pub member: Option<u32>,
    /// Whether this place declares it: the name in a declaration or a parameter list, a label at its place.
    pub declares: bool,
}

impl NameRef {
    /// The name with its number, if it is a member of a range.
    #[must_use]
    pub fn whole(&self) -> Span {
        match self.member {
            Some(_) => self.name.join(self.number),
            None => self.name,
        }
    }
}

/// Every name in the source of a module, in the order of the text.
///
/// Opcodes, directives, types, special registers and the words of `.target` are no names.
///
/// ```
/// use ptx_transform::{Entity, Names};
/// let text = ".version 8.0\n.target sm_80\n.entry k() { .reg .b32 %r<5>; mov.b32 %r1, 0; L: bra L; }";
/// let module = ptx_parse::parse_str(text).module;
/// let names = Names::of(&module);
/// let words: Vec<&str> = names.mentions().iter().map(|m| &text[m.whole().range()]).collect();
/// assert_eq!(words, ["k", "%r", "%r1", "L", "L"]);
/// assert!(matches!(names.mentions()[3].entity, Entity::Label(..)));
/// ```
#[derive(Clone, Default, Debug)]
pub struct Names {
    mentions: Vec<NameRef>,
}

impl Names {
    /// The names of a module that was read and not edited. Linear in its source, but for the logarithm of what a single
    /// statement mentions.
    #[must_use]
    pub fn of(module: &Module) -> Self {
        Self {
            mentions: walk::Walk::new(module).all(),
        }
    }

    /// All of them, in the order of the text.
    #[must_use]
    pub fn mentions(&self) -> &[NameRef] {
        &self.mentions
    }

    /// Forgets those in pieces of the text, which are in order.
    pub(crate) fn leave_out(&mut self, pieces: &[Span]) {
        let mut pieces = pieces.iter().peekable();
        self.mentions.retain(|m| {
            while pieces.next_if(|p| p.end <= m.name.start).is_some() {}
            pieces.peek().is_none_or(|p| m.name.start < p.start)
        });
    }

    /// Those in a part of the text.
    #[must_use]
    pub fn within(&self, span: Span) -> &[NameRef] {
        let first = self.mentions.partition_point(|m| m.name.start < span.start);
        let end = self.mentions.partition_point(|m| m.name.start < span.end);
        self.mentions.get(first..end).unwrap_or_default()
    }

    /// Whatever has a name: a variable or a function of the module, else every register, parameter, variable or label of that
    /// name, in all functions; only those of one function where one is given. Linear in the names.
    #[must_use]
    pub fn find(&self, module: &Module, name: &str, function: Option<FuncId>) -> Vec<Entity> {
        let of = |m: &&NameRef| m.declares && m.name.of(module.source()) == name.as_bytes();
        let mut found: Vec<Entity> = Vec::new();
        for m in self.mentions.iter().filter(of) {
            let wanted = match (m.entity, function) {
                (Entity::Symbol(_), f) => f.is_none(),
                (Entity::Register(at, _) | Entity::Variable(at, _) | Entity::Label(at, _), f) => {
                    f.is_none_or(|f| f == at)
                }
                _ => false,
            };
            if wanted {
                found.push(m.entity);
            }
        }
        let symbols = |e: &Entity| matches!(e, Entity::Symbol(_));
        if found.iter().any(symbols) {
            found.retain(symbols);
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}
