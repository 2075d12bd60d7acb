//! Declarations: variables, registers, parameters, and what they bind.

use ptx_isa::{Directive, ScalarType, StateSpace};

use crate::cow_vec::CowVec;
use crate::entity::PrimaryMap;
use crate::operand::{Operand, OperandRange};
use crate::{DeclId, FuncId, NameId, RegDeclId, ScopeId, StmtId, SymbolId, VarId};

/// The type of a declaration.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum TypeName {
    /// A type of PTX.
    Known(ScalarType),
    /// An unknown type, its dot included.
    Unknown(NameId),
}

impl TypeName {
    /// The type, if PTX knows it.
    #[must_use]
    pub fn known(self) -> Option<ScalarType> {
        match self {
            Self::Known(t) => Some(t),
            Self::Unknown(_) => None,
        }
    }
}

/// The visibility of a name in other modules. Manual 11.6.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Linkage {
    /// Declared here, defined elsewhere.
    Extern,
    /// Visible to other modules.
    Visible,
    /// Visible, and replaced by a definition that is not weak.
    Weak,
    /// Visible, and merged with others of the same name.
    Common,
}

impl Linkage {
    /// The directive of the linkage.
    #[must_use]
    pub const fn directive(self) -> Directive {
        match self {
            Self::Extern => Directive::Extern,
            Self::Visible => Directive::Visible,
            Self::Weak => Directive::Weak,
            Self::Common => Directive::Common,
        }
    }

    /// The linkage of a directive; `None` for other directives.
    #[must_use]
    pub const fn from_directive(directive: Directive) -> Option<Self> {
        Some(match directive {
            Directive::Extern => Self::Extern,
            Directive::Visible => Self::Visible,
            Directive::Weak => Self::Weak,
            Directive::Common => Self::Common,
            _ => return None,
        })
    }
}

/// An item of an `.attribute( … )` list. Manual 5.4.8, 11.5.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Attribute {
    /// `.managed`
    Managed,
    /// `.unified(uuid1, uuid2)`
    Unified(Operand, Operand),
    /// Any other attribute, with its dot and without its arguments.
    Unknown(NameId),
}

/// A range of attributes in the table of its owner.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TableRange {
    /// The first index.
    pub start: u32,
    /// The number of elements.
    pub len: u32,
}

impl TableRange {
    /// No elements.
    pub const EMPTY: Self = Self { start: 0, len: 0 };

    /// The elements of `table` in this range.
    #[doc(hidden)]
    pub fn of<T>(self, table: &[T]) -> &[T] {
        let start = self.start as usize;
        table
            .get(start..start + self.len as usize)
            .unwrap_or_default()
    }
}

/// The entity that a declarator or a parameter declares.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Binding {
    /// Registers of the body.
    Register(RegDeclId),
    /// A variable of the body, the first of its range if it is one.
    Var(VarId),
    /// A variable of the module, the first of its range if it is one.
    Symbol(SymbolId),
    /// Nothing: a parameter named `_`, or of a prototype.
    None,
}

impl Binding {
    /// The variable of the module, if it is one.
    #[must_use]
    pub const fn symbol(self) -> Option<SymbolId> {
        match self {
            Self::Symbol(id) => Some(id),
            _ => None,
        }
    }
}

/// A declaration statement: `.global .align 4 .v2 .f32 a, b[4] = {…};`
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct VarDecl {
    /// `.extern`, `.visible`, `.weak` or `.common`.
    pub linkage: Option<Linkage>,
    /// The state space of the variables; [`StateSpace::Reg`] for registers.
    pub space: StateSpace,
    /// Bank number of the obsolete `.const[n]`, as written.
    pub bank: Operand,
    /// The range in the table of attributes of the same [`Declarations`].
    pub attributes: TableRange,
    /// The alignment as written; [`Operand::Absent`] if none is.
    pub align: Operand,
    /// 2 or 4 for `.v2`, `.v4`; 1 for scalars.
    pub vector: u8,
    /// The element type.
    pub ty: TypeName,
    /// The range in the table of declarators of the same [`Declarations`].
    pub declarators: TableRange,
}

/// One name of a declaration, with what follows it.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Declarator {
    /// The name, without `<n>`.
    pub name: NameId,
    /// The declared entity.
    pub binding: Binding,
    /// The `n` of `name<n>`; [`Operand::Absent`] for a plain name.
    pub count: Operand,
    /// Array dimensions, outermost first; [`Operand::Absent`] for `[]`.
    pub dims: OperandRange,
    /// The initializer; [`Operand::Absent`] where there is none.
    pub init: Operand,
}

/// The declarations of a body or of the module level.
#[derive(Clone, Default, Debug)]
#[non_exhaustive]
pub struct Declarations {
    /// The declarations.
    pub decls: PrimaryMap<DeclId, VarDecl>,
    /// The declarators of all declarations.
    #[doc(hidden)]
    pub declarators: CowVec<Declarator>,
    /// The attributes of all declarations and functions.
    #[doc(hidden)]
    pub attributes: CowVec<Attribute>,
}

impl Declarations {
    ptx_isa::getters! {
        /// The declarators of all declarations.
        #[doc(hidden)]
        all_declarators: &[Declarator] = &declarators;
        /// The attributes of all declarations and functions.
        attributes: &[Attribute] = &attributes;
    }

    /// The declarators of a declaration.
    #[must_use]
    pub fn declarators(&self, id: DeclId) -> &[Declarator] {
        self.decls
            .get(id)
            .map_or(&[], |d| d.declarators.of(&self.declarators))
    }
}

/// A parameter or a result of a function, kernel or prototype.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Param {
    /// [`StateSpace::Param`] or [`StateSpace::Reg`].
    pub space: StateSpace,
    /// The alignment as written.
    pub align: Operand,
    /// 2 or 4 for `.v2`, `.v4`; 1 for scalars.
    pub vector: u8,
    /// The (element) type.
    pub ty: TypeName,
    /// Alignment as written after the type, where ptxas accepts and ignores it.
    pub trailing_align: Operand,
    /// The `.ptr` attribute.
    pub ptr: Option<PointerAttribute>,
    /// Written with `.hidden`: a compiler has added the parameter.
    pub hidden: bool,
    /// The name; `None` for `_`.
    pub name: Option<NameId>,
    /// The entity that the name denotes in the body.
    pub binding: Binding,
    /// Array dimensions; [`Operand::Absent`] for `[]`.
    pub dims: OperandRange,
}

/// The `.ptr` attribute of a kernel parameter: properties of the memory that it points to. Manual 4.4.2 (`.ptr`).
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct PointerAttribute {
    /// The state space of the memory; `None` for a generic pointer.
    pub space: Option<StateSpace>,
    /// `.texref`, `.samplerref` or `.surfref` instead of a state space.
    pub opaque: Option<ScalarType>,
    /// The alignment of the memory, as written.
    pub align: Operand,
}

impl PointerAttribute {
    /// A generic pointer without alignment.
    #[doc(hidden)]
    pub const GENERIC: Self = Self {
        space: None,
        opaque: None,
        align: Operand::Absent,
    };
}

/// A declared register name.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct RegDecl {
    /// The name, of a range without its number.
    pub name: NameId,
    /// The number of registers of the range; `None` for a plain name.
    pub count: Option<u32>,
    /// The type.
    pub ty: TypeName,
    /// 2 or 4 for vector registers; 1 for scalars.
    pub vector: u8,
    /// The scope that declares it.
    pub scope: ScopeId,
    /// The declaration; `None` for a parameter.
    pub stmt: Option<StmtId>,
}

/// A register that the body mentions or declares by a plain name.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Register {
    /// The declared name it comes from.
    pub decl: RegDeclId,
    /// The number in the range; 0 for a plain name.
    pub number: u32,
}

/// A parameter or a variable declared inside a function.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Var {
    /// The name, of a range without its number.
    pub name: NameId,
    /// The number in the range; `None` for a plain name.
    pub number: Option<u32>,
    /// The state space.
    pub space: StateSpace,
    /// The scope that declares it.
    pub scope: ScopeId,
    /// The declaration; `None` for a parameter.
    pub stmt: Option<StmtId>,
}

/// A name of the module.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Symbol {
    /// The name, of a range without its number.
    pub name: NameId,
    /// The number in the range; `None` for a plain name.
    pub number: Option<u32>,
    /// The kind.
    pub kind: SymbolKind,
}

/// The kind of a symbol.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum SymbolKind {
    /// A variable in this space, first declared by this statement.
    Variable(StateSpace, DeclId),
    /// A function or kernel, by its first declaration.
    Function(FuncId),
}

crate::constructors::constructors! {
    /// A declaration without names, attributes and alignment.
    VarDecl(space: StateSpace, ty: TypeName) {
        linkage: None, bank: Operand::Absent, attributes: TableRange::EMPTY, align: Operand::Absent, vector: 1,
        declarators: TableRange::EMPTY
    }
    /// A plain name without dimensions and initializer.
    Declarator(name: NameId, binding: Binding) {
        count: Operand::Absent, dims: OperandRange::EMPTY, init: Operand::Absent
    }
    /// An unnamed scalar parameter.
    Param(space: StateSpace, ty: TypeName) {
        align: Operand::Absent, vector: 1, trailing_align: Operand::Absent, ptr: None, hidden: false, name: None,
        binding: Binding::None, dims: OperandRange::EMPTY
    }
    /// A scalar with a plain name.
    RegDecl(name: NameId, ty: TypeName, scope: ScopeId) { count: None, vector: 1, stmt: None }
    /// The register of a declaration with a number.
    Register(decl: RegDeclId, number: u32) {}
    /// A variable with a plain name.
    Var(name: NameId, space: StateSpace, scope: ScopeId) { number: None, stmt: None }
    /// A plain name.
    Symbol(name: NameId, kind: SymbolKind) { number: None }
}
