//! Functions, kernels, prototypes, and the directives in them.

use ptx_isa::Directive;

use crate::decl::{Linkage, TableRange};
use crate::entity::EntityId;
use crate::operand::OperandRange;
use crate::{NameId, SymbolId};

/// The index of a body in its module.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct BodyId(u32);

#[doc(hidden)]
impl EntityId for BodyId {
    fn from_index(index: usize) -> Self {
        Self(index as u32)
    }
    fn index(self) -> usize {
        self.0 as usize
    }
}

/// Kernel or function.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum FunctionKind {
    /// `.entry`
    Entry,
    /// `.func`
    Func,
}

/// A function or kernel, declared or defined.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Function {
    /// The name.
    pub name: NameId,
    /// The symbol, which the declarations and the definition of one name share; `None` if the text of the header up to the name is
    /// malformed.
    pub symbol: Option<SymbolId>,
    /// Kernel or function.
    pub kind: FunctionKind,
    /// `.extern`, `.visible`, `.weak` or `.common`.
    pub linkage: Option<Linkage>,
    /// The range in the table of attributes of [`Module::declarations`](crate::Module::declarations).
    pub attributes: TableRange,
    /// Results, parameters and directives.
    pub interface: Interface,
    /// The body; `None` for a declaration.
    pub body: Option<BodyId>,
    /// Whether the header is malformed: it is then the text from the start of the item to the body, and the other fields may be
    /// incomplete.
    pub raw_header: bool,
}

impl Function {
    /// A function of which nothing is known.
    #[doc(hidden)]
    pub const EMPTY: Self = Self {
        name: NameId::new(u32::MAX),
        symbol: None,
        kind: FunctionKind::Func,
        linkage: None,
        attributes: TableRange::EMPTY,
        interface: Interface {
            returns: TableRange::EMPTY,
            has_returns: false,
            params: TableRange::EMPTY,
            has_params: false,
            directives: TableRange::EMPTY,
        },
        body: None,
        raw_header: false,
    };
}

/// The parameters, results and directives of a function or of a `.callprototype`: ranges in the tables of the module.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub struct Interface {
    /// The results, in [`Module::params`](crate::Module::params).
    pub returns: TableRange,
    /// Whether a result list is written, be it empty.
    pub has_returns: bool,
    /// The parameters, in [`Module::params`](crate::Module::params).
    pub params: TableRange,
    /// Whether a parameter list is written, be it empty.
    pub has_params: bool,
    /// Performance and other directives between parameters and body, in
    /// [`Module::interface_directives`](crate::Module::interface_directives).
    pub directives: TableRange,
}

/// A `.callprototype`; the label before it names it.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Prototype {
    /// Results, parameters and directives.
    pub interface: Interface,
}

/// A directive with its arguments: `.loc 1 2 3`, `.pragma "nounroll";`, `.maxntid 128, 1, 1`.
///
/// | directive | arguments |
/// |---|---|
/// | `.version` | major, minor |
/// | `.target` | names |
/// | `.loc` | file, line, column; then, for an inlined place: name (with offset), file, line, column |
/// | `.file` | index, string; then, if written: time stamp, size |
/// | `.alias` | alias, aliasee |
/// | `.pragma` | strings |
/// | `.branchtargets`, `.calltargets` | labels, functions |
/// | others | numbers |
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct DirectiveStmt {
    /// The directive.
    pub directive: Directive,
    /// The arguments, in the pool of the body or module that contains the directive.
    pub args: OperandRange,
}

crate::constructors::constructors! {
    /// A prototype of an interface.
    Prototype(interface: Interface) {}
    /// A directive with arguments in the pool.
    DirectiveStmt(directive: Directive, args: OperandRange) {}
}
