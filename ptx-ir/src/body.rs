//! The body of a function: dense tables of statements, instructions, operands and names.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;

use ptx_isa::{Directive, StateSpace};

use crate::comments::Comments;
use crate::cow_vec::CowVec;
use crate::decl::{Declarations, RegDecl, Register, Var};
use crate::edit_log::Edits;
use crate::entity::{EntityId, PrimaryMap};
use crate::function::{DirectiveStmt, Prototype};
use crate::operand::{Operand, OperandPool, OperandRange};
use crate::statements::Statements;
use crate::{
    DeclId, DirectiveId, FuncId, InstId, LabelId, Module, NameId, OpaqueId, OperandRef,
    PrototypeId, RegDeclId, RegId, ScopeId, SigId, Span, StmtId, SymbolKind, VarId,
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
    /// A statement that could not be parsed.
    Opaque(OpaqueId),
    /// A statement that an edit removed. [`Body::statements`] skips it.
    Removed,
}

const _: () = assert!(size_of::<Statement>() == 8);
const _: () = assert!(size_of::<Inst>() == 16);
const _: () = assert!(size_of::<StmtSpan>() == 8);

/// The span of a statement, and whether there are comments inside it.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct StmtSpan {
    start: u32,
    len: u32,
}

impl StmtSpan {
    const COMMENTS: u32 = 1 << 31;

    /// A statement at `span`, holding comments or not.
    #[doc(hidden)]
    #[inline]
    #[must_use]
    pub const fn new(span: Span, comments: bool) -> Self {
        debug_assert!(span.start <= span.end, "a span ends after its start");
        let len = (span.end - span.start) & !Self::COMMENTS;
        Self {
            start: span.start,
            len: if comments { len | Self::COMMENTS } else { len },
        }
    }

    /// The span.
    #[inline]
    #[must_use]
    pub const fn span(self) -> Span {
        Span::new(self.start, self.start + (self.len & !Self::COMMENTS))
    }

    /// Whether comments or line markers are between its tokens.
    #[inline]
    #[must_use]
    pub const fn has_comments(self) -> bool {
        self.len & Self::COMMENTS != 0
    }
}

/// The value of the predicate for which a guard holds.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum GuardSense {
    /// `@p`
    Positive,
    /// `@!p`
    Negated,
}

impl GuardSense {
    /// Returns whether the guard is negated.
    #[must_use]
    pub const fn is_negated(self) -> bool {
        matches!(self, Self::Negated)
    }

    /// Returns whether the guard holds for a value of its predicate.
    #[must_use]
    pub const fn holds(self, predicate: bool) -> bool {
        predicate != self.is_negated()
    }
}

/// The condition under which an instruction executes: `@p`, `@!p`.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Guard {
    /// The position of the predicate in the operand pool: a register, or an undeclared name.
    pub predicate: OperandRef,
    /// The value of the predicate for which the instruction executes.
    pub sense: GuardSense,
}

/// An instruction.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Inst {
    /// The mnemonic, in [`Module::signatures`].
    pub sig: SigId,
    operands: OperandRange,
    /// 0 if there is no guard. Otherwise bit 0 is set, bit 1 is set for `@!p`, and the predicate is in the pool at
    /// `operands.start - 1`.
    guard: u32,
}

impl Inst {
    /// An instruction with operands in the pool; with a guard, its predicate is the first of them.
    #[doc(hidden)]
    #[inline]
    #[must_use]
    pub fn new(sig: SigId, operands: OperandRange, guard: Option<GuardSense>) -> Self {
        debug_assert!(
            guard.is_none() || !operands.is_empty(),
            "the predicate of the guard is in the pool"
        );
        match guard {
            None => Self {
                sig,
                operands,
                guard: 0,
            },
            Some(sense) => Self {
                sig,
                operands: OperandRange {
                    start: operands.start + 1,
                    len: operands.len.saturating_sub(1),
                },
                guard: match sense {
                    GuardSense::Positive => 1,
                    GuardSense::Negated => 3,
                },
            },
        }
    }

    /// The guard; `None` if the instruction has none.
    #[inline]
    #[must_use]
    pub fn guard(&self) -> Option<Guard> {
        (self.guard != 0).then(|| Guard {
            predicate: OperandRef::new(self.operands.start.wrapping_sub(1)),
            sense: if self.guard & 2 == 0 {
                GuardSense::Positive
            } else {
                GuardSense::Negated
            },
        })
    }

    /// The range of the operands in the pool.
    #[inline]
    #[must_use]
    pub fn operands(&self) -> OperandRange {
        self.operands
    }
}

/// A label.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Label {
    /// The name.
    pub name: NameId,
    /// The scope in which it can be named.
    pub scope: ScopeId,
    /// The statement that sets it.
    pub stmt: StmtId,
}

/// An inner `{ }` scope.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Scope {
    /// The scope around it.
    pub parent: ScopeId,
    /// The statement that is the `{`.
    pub open: StmtId,
    /// The statement that is the `}`; `None` if it is missing.
    pub close: Option<StmtId>,
}

/// A statement that could not be parsed: its text is its span.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Opaque {
    /// The resolved names in the statement. The registers among them may be read and written.
    pub mentions: OperandRange,
}

crate::constructors::constructors! {
    /// A label.
    Label(name: NameId, scope: ScopeId, stmt: StmtId) {}
    /// A scope that is not closed yet.
    Scope(parent: ScopeId, open: StmtId) { close: None }
    /// A statement with the names that it contains.
    Opaque(mentions: OperandRange) {}
}

/// The body of a function. Ids are local to the body; spans of statements count from its `{`.
///
/// A body that was built and not parsed [is in no source](Self::is_in_source): its spans are empty, and it is printed from its
/// records and [comments](Self::comments).
///
/// Its tables can be read here and changed by an `ptx_edit::Editor` only.
#[derive(Clone, Default, Debug)]
pub struct Body {
    /// The `{` in the source, from the start of the source; spans of statements count from here.
    pub(crate) base: u32,
    /// One past the `}`, from `base`.
    pub(crate) end: u32,
    pub(crate) closed: bool,
    /// The statements in order.
    pub(crate) statements: PrimaryMap<StmtId, Statement>,
    /// The span of each statement, from `base`; as many as `statements`.
    pub(crate) origins: CowVec<StmtSpan>,
    /// The instructions.
    pub(crate) insts: PrimaryMap<InstId, Inst>,
    /// Operands of instructions, directives and initializers.
    pub(crate) pool: OperandPool,
    pub(crate) registers: PrimaryMap<RegId, Register>,
    pub(crate) reg_decls: PrimaryMap<RegDeclId, RegDecl>,
    pub(crate) vars: PrimaryMap<VarId, Var>,
    pub(crate) labels: PrimaryMap<LabelId, Label>,
    /// The inner scopes; scope `n` is at `n - 1`, because the function's own scope 0 has no entry.
    pub(crate) inner_scopes: CowVec<Scope>,
    pub(crate) declarations: Declarations,
    pub(crate) directives: PrimaryMap<DirectiveId, DirectiveStmt>,
    pub(crate) prototypes: PrimaryMap<PrototypeId, Prototype>,
    pub(crate) opaques: PrimaryMap<OpaqueId, Opaque>,
    /// The comments of a body that is in no source.
    pub(crate) comments: Comments<StmtId>,
    /// The record of edits; `None` for a body that was not edited.
    pub(crate) edits: Option<Box<Edits<StmtId>>>,
}

impl Body {
    /// Every statement with its id, in order.
    #[inline]
    #[must_use]
    pub fn statements(&self) -> impl DoubleEndedIterator<Item = (StmtId, Statement)> + Clone {
        Statements::all(&self.statements, self.placed(), Some(Statement::Removed))
    }

    /// Every statement with its id, in order, removed ones included.
    #[doc(hidden)]
    #[must_use]
    pub fn all_statements(&self) -> impl DoubleEndedIterator<Item = (StmtId, Statement)> + Clone {
        Statements::all(&self.statements, self.placed(), None)
    }

    /// The statements from `first` up to, not including, `end`; up to the last one where `end` is not a statement.
    #[inline]
    #[must_use]
    pub fn range(
        &self,
        first: StmtId,
        end: StmtId,
    ) -> impl DoubleEndedIterator<Item = (StmtId, Statement)> + Clone {
        Statements::all(&self.statements, self.placed(), Some(Statement::Removed))
            .between(first, end)
    }

    /// Every instruction with its id, in the order of the statements.
    ///
    /// ```
    /// let module = ptx_parse::parse(b".entry k() { .reg .b32 a; mov.b32 a, 1; ret; }").module;
    /// let (_, _, body) = module.definitions().next().unwrap();
    /// let mnemonics = body.insts().map(|(_, inst)| module.signature(inst.sig).text());
    /// assert_eq!(mnemonics.collect::<Vec<_>>(), ["mov.b32", "ret"]);
    /// ```
    pub fn insts(&self) -> impl Iterator<Item = (InstId, &Inst)> + '_ {
        self.statements().filter_map(|(_, s)| match s {
            Statement::Inst(id) => self.insts.get(id).map(|i| (id, i)),
            _ => None,
        })
    }

    /// The operands of an instruction, without its guard.
    #[inline]
    #[must_use]
    pub fn operands(&self, inst: InstId) -> &[Operand] {
        self.insts
            .get(inst)
            .map_or(&[], |i| self.pool.slice(i.operands))
    }

    /// The span of a statement, counted from [`base`](Self::base). It does not change when the text before the function does;
    /// [`source_span`](Self::source_span) is the span in the source.
    #[inline]
    #[must_use]
    pub fn relative_span(&self, stmt: StmtId) -> Span {
        self.origins
            .get(stmt.index())
            .map_or(Span::default(), |o| o.span())
    }

    /// The span of a statement, counted from the start of the source.
    #[must_use]
    pub fn source_span(&self, stmt: StmtId) -> Span {
        self.relative_span(stmt).shifted(self.base)
    }

    /// Whether the body was parsed from the source of the module, and was not built.
    #[doc(hidden)]
    #[inline]
    #[must_use]
    pub fn is_in_source(&self) -> bool {
        // A parsed body has its `{` at least.
        self.end > 0
    }

    /// An inner scope; `None` for scope 0, the function itself.
    #[must_use]
    pub fn scope(&self, id: ScopeId) -> Option<&Scope> {
        self.inner_scopes
            .get((id.as_u32() as usize).checked_sub(1)?)
    }
}

/// The tables.
impl Body {
    ptx_isa::getters! {
        /// The offset of the `{` in the source; spans of statements count from here.
        base: u32 = base;
        /// One past the `}`, counted from [`base`](Self::base).
        end: u32 = end;
        /// Whether the closing `}` is there.
        #[doc(hidden)]
        is_closed: bool = closed;
        /// Every statement by id, removed ones included. [`statements`](Self::statements) gives them in
        /// the order of the text.
        #[doc(hidden)]
        statement_table: &PrimaryMap<StmtId, Statement> = &statements;
        /// The span of each statement of [`statement_table`](Self::statement_table), from
        /// [`base`](Self::base).
        #[doc(hidden)]
        stmt_spans: &[StmtSpan] = &origins;
        /// Every instruction by id, those of removed statements included.
        inst_table: &PrimaryMap<InstId, Inst> = &insts;
        /// Operands of instructions, directives and initializers.
        pool: &OperandPool = &pool;
        /// The registers mentioned, in the order of their first mention.
        registers: &PrimaryMap<RegId, Register> = &registers;
        /// The register names declared.
        reg_decls: &PrimaryMap<RegDeclId, RegDecl> = &reg_decls;
        /// Parameters and variables.
        vars: &PrimaryMap<VarId, Var> = &vars;
        /// The labels.
        labels: &PrimaryMap<LabelId, Label> = &labels;
        /// The inner scopes; scope `n` is at index `n - 1`, as scope 0 is the function itself.
        #[doc(hidden)]
        inner_scopes: &[Scope] = &inner_scopes;
        /// The declarations.
        declarations: &Declarations = &declarations;
        /// The directives.
        directives: &PrimaryMap<DirectiveId, DirectiveStmt> = &directives;
        /// The call prototypes.
        prototypes: &PrimaryMap<PrototypeId, Prototype> = &prototypes;
        /// Statements that could not be parsed.
        opaques: &PrimaryMap<OpaqueId, Opaque> = &opaques;
        /// The comments of a body that is in no source; empty for a parsed one.
        comments: &Comments<StmtId> = &comments;
    }

    /// One statement; `None` for an id of another body.
    #[inline]
    #[must_use]
    pub fn statement(&self, id: StmtId) -> Option<Statement> {
        self.statements.get(id).copied()
    }

    /// One instruction; `None` for an id of another body.
    #[inline]
    #[must_use]
    pub fn inst(&self, id: InstId) -> Option<&Inst> {
        self.insts.get(id)
    }

    /// The directive of a statement; `None` for other statements.
    #[must_use]
    pub fn directive(&self, statement: Statement) -> Option<Directive> {
        match statement {
            Statement::Directive(id) => Some(self.directives.get(id)?.directive),
            _ => None,
        }
    }

    /// The functions that are declared inside this one.
    pub fn functions(&self) -> impl Iterator<Item = FuncId> + '_ {
        self.statements()
            .filter_map(|(_, statement)| match statement {
                Statement::Function(id) => Some(id),
                _ => None,
            })
    }

    /// The name of a register, as it is written.
    #[must_use]
    pub fn register_name(&self, module: &Module, register: RegId) -> String {
        let decl = self.reg_decl_of(register);
        let mut name = String::from(decl.map_or("", |d| module.name(d.name)));
        if let Some(r) = self.registers.get(register)
            && decl.is_some_and(|d| d.count.is_some())
        {
            name.push_str(&format!("{}", r.number));
        }
        name
    }

    /// The name of a label; empty if the body has no such label.
    #[must_use]
    pub fn label_name<'m>(&self, module: &'m Module, label: LabelId) -> &'m str {
        self.labels
            .get(label)
            .map_or("", |label| module.name(label.name))
    }

    /// The state space of the variable or parameter that an operand names; for an address, of its base. `None` for other operands.
    #[must_use]
    pub fn variable_space(&self, module: &Module, operand: Operand) -> Option<StateSpace> {
        let operand = match operand {
            Operand::Address(address) => self.pool.address(address)?.base,
            operand => operand,
        };
        match operand {
            Operand::Var(variable) => Some(self.vars.get(variable)?.space),
            Operand::Symbol(symbol) => match module.symbols().get(symbol)?.kind {
                SymbolKind::Variable(space, _) => Some(space),
                SymbolKind::Function(_) => None,
            },
            _ => None,
        }
    }

    /// The declaration of a register.
    #[must_use]
    pub fn reg_decl_of(&self, register: RegId) -> Option<&RegDecl> {
        self.reg_decls.get(self.registers.get(register)?.decl)
    }
}
