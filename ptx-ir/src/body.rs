//! The body of a function: dense tables of statements, instructions, operands and names.

use alloc::boxed::Box;

use crate::cow_vec::CowVec;
use crate::decl::{Declarations, RegDecl, Register, Var};
use crate::edit::Edits;
use crate::entity::{EntityId, PrimaryMap};
use crate::function::{DirectiveStmt, Prototype};
use crate::operand::{Operand, OperandPool, OperandRange};
use crate::statements::Statements;
use crate::{
    DeclId, DirectiveId, FuncId, InstId, LabelId, NameId, OpaqueId, OperandRef, PrototypeId,
    RegDeclId, RegId, ScopeId, SigId, Span, StmtId, VarId,
};

/// A statement of a body.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Statement {
    /// An instruction with its guard.
    Inst(InstId),
    /// `name:`
    Label(LabelId),
    /// A declaration of registers or variables.
    Decl(DeclId),
    /// `.loc`, `.pragma`, `.branchtargets`, `.calltargets`…
    Directive(DirectiveId),
    /// `.callprototype`
    Prototype(PrototypeId),
    /// `{` of an inner scope.
    Open(ScopeId),
    /// `}` of an inner scope.
    Close(ScopeId),
    /// The declaration of a function inside another one.
    Function(FuncId),
    /// Something that was not understood.
    Opaque(OpaqueId),
    /// Nothing: an edit took the statement away. [`Body::statements`] passes over it.
    Removed,
}

const _: () = assert!(size_of::<Statement>() == 8);
const _: () = assert!(size_of::<Inst>() == 16);
const _: () = assert!(size_of::<StmtSpan>() == 8);

/// Where a statement stands in the source, and whether comments stand inside it.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct StmtSpan {
    start: u32,
    len: u32,
}

impl StmtSpan {
    const COMMENTS: u32 = 1 << 31;

    /// A statement at `span`, holding comments or not.
    #[inline]
    pub const fn new(span: Span, comments: bool) -> Self {
        let len = (span.end - span.start) & !Self::COMMENTS;
        Self {
            start: span.start,
            len: if comments { len | Self::COMMENTS } else { len },
        }
    }

    /// Where it stands.
    #[inline]
    pub const fn span(self) -> Span {
        Span::new(self.start, self.start + (self.len & !Self::COMMENTS))
    }

    /// Whether comments or line markers stand between its tokens.
    #[inline]
    pub const fn has_comments(self) -> bool {
        self.len & Self::COMMENTS != 0
    }
}

/// The condition under which an instruction executes: `@p`, `@!p`.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Guard {
    /// Where the predicate stands in the operand pool: a register, or a name that nothing declares.
    pub predicate: OperandRef,
    /// `@!p`
    pub negated: bool,
}

/// An instruction.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Inst {
    /// The mnemonic, in the table of the module.
    pub sig: SigId,
    operands: OperandRange,
    /// 0 for none; else bit 0 is set, bit 1 says negated. The predicate then stands in the pool
    /// right before the operands.
    guard: u32,
}

impl Inst {
    /// An instruction with operands in the pool; with a guard, its predicate is the first of them.
    #[inline]
    pub fn new(sig: SigId, operands: OperandRange, guarded: bool, negated: bool) -> Self {
        let (operands, guard) = if guarded {
            let rest = OperandRange {
                start: operands.start + 1,
                len: operands.len.saturating_sub(1),
            };
            (rest, 1 | (negated as u32) << 1)
        } else {
            (operands, 0)
        };
        Self {
            sig,
            operands,
            guard,
        }
    }

    /// Its guard, if it has one.
    #[inline]
    pub fn guard(&self) -> Option<Guard> {
        (self.guard != 0).then(|| Guard {
            predicate: OperandRef::new(self.operands.start.wrapping_sub(1)),
            negated: self.guard & 2 != 0,
        })
    }

    /// Where its operands stand in the pool.
    #[inline]
    pub fn operands(&self) -> OperandRange {
        self.operands
    }
}

/// A label.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Label {
    /// Its name.
    pub name: NameId,
    /// The scope in which it can be named.
    pub scope: ScopeId,
    /// The statement that sets it.
    pub stmt: StmtId,
}

/// An inner `{ }` scope.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Scope {
    /// The scope around it.
    pub parent: ScopeId,
    /// Its `{`.
    pub open: StmtId,
    /// Its `}`; `None` where it is missing.
    pub close: Option<StmtId>,
}

/// A statement that was not understood: its text is its span.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Opaque {
    /// What it mentions, resolved; each may be read and written.
    pub mentions: OperandRange,
}

/// The body of a function. All ids and spans count from this body.
#[derive(Clone, Default, Debug)]
pub struct Body {
    /// The `{` in the source, from the start of the source; spans of statements count from here.
    pub base: u32,
    /// One past the `}`, from `base`.
    pub end: u32,
    /// Whether the closing `}` is there.
    pub closed: bool,
    /// The statements in order.
    pub statements: PrimaryMap<StmtId, Statement>,
    /// Where each statement stands, from `base`; as many as `statements`.
    pub origins: CowVec<StmtSpan>,
    /// The instructions.
    pub insts: PrimaryMap<InstId, Inst>,
    /// Operands of instructions, directives and initialisers.
    pub pool: OperandPool,
    /// The registers mentioned, in the order of their first mention.
    pub registers: PrimaryMap<RegId, Register>,
    /// The register names declared.
    pub reg_decls: PrimaryMap<RegDeclId, RegDecl>,
    /// Parameters and variables.
    pub vars: PrimaryMap<VarId, Var>,
    /// The labels.
    pub labels: PrimaryMap<LabelId, Label>,
    /// The inner scopes; scope `n` stands at `n - 1`, as the function's own scope 0 needs no entry.
    pub inner_scopes: CowVec<Scope>,
    /// The declarations.
    pub declarations: Declarations,
    /// The directives.
    pub directives: PrimaryMap<DirectiveId, DirectiveStmt>,
    /// The call prototypes.
    pub prototypes: PrimaryMap<PrototypeId, Prototype>,
    /// Statements that were not understood.
    pub opaques: PrimaryMap<OpaqueId, Opaque>,
    /// What was edited, if anything was.
    pub(crate) edits: Option<Box<Edits<StmtId>>>,
}

impl Body {
    /// Every statement with its id, in order.
    #[inline]
    pub fn statements(&self) -> Statements<'_> {
        Statements::all(&self.statements, self.placed(), Statement::Removed)
    }

    /// The statements from `first` up to, not including, `end`; up to the last one where `end` is no statement.
    #[inline]
    pub fn range(&self, first: StmtId, end: StmtId) -> Statements<'_> {
        self.statements().between(first, end)
    }

    /// Every instruction with its id, in the order of the statements.
    pub fn insts(&self) -> impl Iterator<Item = (InstId, &Inst)> + '_ {
        self.statements().filter_map(|(_, s)| match s {
            Statement::Inst(id) => self.insts.get(id).map(|i| (id, i)),
            _ => None,
        })
    }

    /// The operands of an instruction, without its guard.
    #[inline]
    pub fn operands(&self, inst: InstId) -> &[Operand] {
        self.insts
            .get(inst)
            .map_or(&[], |i| self.pool.slice(i.operands))
    }

    /// Where a statement stands, counted from [`base`](Self::base).
    #[inline]
    pub fn span(&self, stmt: StmtId) -> Span {
        self.origins
            .get(stmt.index())
            .map_or(Span::default(), |o| o.span())
    }

    /// Where a statement stands, counted from the start of the source.
    pub fn source_span(&self, stmt: StmtId) -> Span {
        self.span(stmt).shifted(self.base)
    }

    /// An inner scope; `None` for scope 0, the function itself.
    pub fn scope(&self, id: ScopeId) -> Option<&Scope> {
        self.inner_scopes
            .get((id.as_u32() as usize).checked_sub(1)?)
    }

    /// Adds a statement at its place in the source, counted from [`base`](Self::base). For reading; statements of a body that
    /// is there are added by an [`Editor`](crate::edit::Editor).
    #[inline]
    pub fn push_statement(&mut self, statement: Statement, origin: StmtSpan) -> StmtId {
        self.origins.push(origin);
        self.statements.push(statement)
    }
}
