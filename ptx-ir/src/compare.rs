//! Structural equality: whether two modules mean the same, white space, comments and the order of
//! modifiers aside.
//!
//! Names are compared by their spelling, immediates by theirs; ids need not agree between modules,
//! but inside a body they do, as both number names in the order of their first mention.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::edit_log::Change;
use crate::operand_walk::OperandParts;
use crate::{
    Attribute, Binding, Body, BodyId, Declarations, Declarator, DirectiveStmt, EntityId, Function,
    ImmId, Interface, Item, LabelId, Module, NameId, Operand, OperandPool, OperandRange, Param,
    RegDeclId, RegId, ScopeId, SectionEntry, SigId, Span, Statement, StmtId, SymbolId, TypeName,
    VarDecl, VarId,
};

/// The first place where two modules differ.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Difference {
    /// The place in the first module, from the start of its source.
    pub left: Span,
    /// The place in the second one.
    pub right: Span,
    /// The first difference, as a sentence.
    pub message: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Compares two modules statement by statement.
///
/// # Errors
///
/// The first difference.
pub fn compare(left: &Module, right: &Module) -> Result<(), Difference> {
    let mut comparison = Comparison {
        left,
        right,
        spans: Sides::new(Span::default(), Span::default()),
        changes: Sides::new(None, None),
        bodies: None,
        sigs: vec![None; left.signatures.len()],
        edited: [left, right].iter().any(|m| !m.has_current_source()),
        pairs: Pairs::default(),
    };
    comparison.module().map_err(|subject| Difference {
        left: comparison.spans.left,
        right: comparison.spans.right,
        message: format!("{subject} differ"),
    })
}

/// The error is the subject of the sentence that describes a difference: "the headers", "names".
type Same = Result<(), &'static str>;

fn same<T: PartialEq>(left: T, right: T, subject: &'static str) -> Same {
    if left == right { Ok(()) } else { Err(subject) }
}

/// Compares lists element by element. `lengths` is the error for lists of different lengths.
fn each<T>(
    left: &[T],
    right: &[T],
    lengths: &'static str,
    compare_elements: impl FnMut((&T, &T)) -> Same,
) -> Same {
    same(left.len(), right.len(), lengths)?;
    left.iter().zip(right).try_for_each(compare_elements)
}

/// The text of a function before its body.
fn header_text(
    module: &Module,
    function: &Function,
    item: Span,
    change: Option<&Change>,
) -> Vec<u8> {
    let end = function.body.map_or(item.end, |b| module.bodies[b].base);
    let text = module.patched_text(Span::new(item.start, end), change);
    text.trim_ascii().to_vec()
}

fn name_counts(body: &Body) -> [usize; 3] {
    [body.reg_decls.len(), body.vars.len(), body.labels.len()]
}

fn canonical_mnemonic(module: &Module, signature: SigId) -> Vec<u8> {
    let mut text = Vec::new();
    module.signature(signature).write_canonical(&mut text);
    text
}

/// The text of a constant without spaces.
fn immediate_text(module: &Module, pool: &OperandPool, id: ImmId) -> String {
    let text = pool.immediate(id).map_or("", |i| module.name(i.text));
    text.replace(' ', "")
}

/// The same thing of both modules.
#[derive(Copy, Clone)]
struct Sides<T> {
    left: T,
    right: T,
}

impl<T> Sides<T> {
    const fn new(left: T, right: T) -> Self {
        Self { left, right }
    }
}

struct Comparison<'m> {
    left: &'m Module,
    right: &'m Module,
    /// The spans of the statements or items that are being compared.
    spans: Sides<Span>,
    /// The edits of their texts.
    changes: Sides<Option<&'m Change>>,
    bodies: Option<(&'m Body, &'m Body)>,
    /// For each signature on the left, the one on the right that equals it.
    sigs: Vec<Option<SigId>>,
    /// Built and edited bodies have ids in another order. Their ids only have to correspond one to one.
    edited: bool,
    /// The ids of the two bodies that correspond to each other.
    pairs: Pairs,
}

/// The correspondence of the ids of two bodies.
#[derive(Default)]
struct Pairs {
    stmts: OneToOne,
    scopes: OneToOne,
    registers: OneToOne,
    reg_decls: OneToOne,
    vars: OneToOne,
    labels: OneToOne,
}

/// Pairs of a number on the left and a number on the right. Each number is in one pair at most.
#[derive(Default)]
struct OneToOne {
    /// For each number on the left, its counterpart plus one; 0 for none.
    left: Vec<u32>,
    /// For each number on the right, its counterpart plus one; 0 for none.
    right: Vec<u32>,
}

impl OneToOne {
    /// Returns whether two numbers are a pair. Makes them one and returns `None` if both are in no pair.
    fn pair(&mut self, left: usize, right: usize) -> Option<bool> {
        if left >= self.left.len() {
            self.left.resize((left + 1).next_power_of_two(), 0);
        }
        if right >= self.right.len() {
            self.right.resize((right + 1).next_power_of_two(), 0);
        }
        match (self.left[left], self.right[right]) {
            (0, 0) => {
                self.left[left] = right as u32 + 1;
                self.right[right] = left as u32 + 1;
                None
            }
            (counterpart, _) => Some(counterpart as usize == right + 1),
        }
    }

    fn counterpart(&self, left: usize) -> Option<usize> {
        (*self.left.get(left)? as usize).checked_sub(1)
    }

    fn are_paired(&self, left: usize, right: usize) -> bool {
        self.counterpart(left) == Some(right)
    }
}

impl<'m> Comparison<'m> {
    fn module(&mut self) -> Same {
        same(self.left.header, self.right.header, "the headers")?;
        for ((left_id, left_item), (right_id, right_item)) in
            self.left.items().zip(self.right.items())
        {
            self.spans = Sides::new(self.left.span(left_id), self.right.span(right_id));
            self.changes = Sides::new(
                self.left.edits().and_then(|e| e.change(left_id)),
                self.right.edits().and_then(|e| e.change(right_id)),
            );
            self.item(left_item, right_item)?;
        }
        same(
            self.left.items().count(),
            self.right.items().count(),
            "the numbers of items",
        )
    }

    fn item(&mut self, left: Item, right: Item) -> Same {
        let pools = Sides::new(&self.left.pool, &self.right.pool);
        match (left, right) {
            (Item::Directive(left), Item::Directive(right)) => self.directive(
                pools,
                self.left.directives[left],
                self.right.directives[right],
            ),
            (Item::Decl(left), Item::Decl(right)) => {
                let tables = Sides::new(&self.left.declarations, &self.right.declarations);
                self.decl(
                    pools,
                    tables,
                    &self.left.declarations.decls[left],
                    &self.right.declarations.decls[right],
                )
            }
            (Item::Function(left), Item::Function(right)) => {
                self.function(&self.left.functions[left], &self.right.functions[right])
            }
            (Item::Section(left), Item::Section(right)) => {
                let (left, right) = (&self.left.sections[left], &self.right.sections[right]);
                self.name(left.name, right.name)?;
                let lengths = "the lengths of sections";
                each(&left.entries, &right.entries, lengths, |(left, right)| {
                    self.entry(pools, *left, *right)
                })
            }
            (Item::Opaque(_), Item::Opaque(_)) => self.texts(),
            _ => Err("the kinds of items"),
        }
    }

    /// Statements that are only text.
    fn texts(&self) -> Same {
        let left = self.left.patched_text(self.spans.left, self.changes.left);
        let right = self
            .right
            .patched_text(self.spans.right, self.changes.right);
        same(left, right, "texts")
    }

    fn name(&self, left: NameId, right: NameId) -> Same {
        same(
            self.left.name_bytes(left),
            self.right.name_bytes(right),
            "names",
        )
    }

    fn names(&self, left: Option<NameId>, right: Option<NameId>) -> Same {
        match (left, right) {
            (None, None) => Ok(()),
            (Some(left), Some(right)) => self.name(left, right),
            _ => Err("names"),
        }
    }

    fn ty(&self, left: TypeName, right: TypeName) -> Same {
        match (left, right) {
            (TypeName::Known(left), TypeName::Known(right)) => same(left, right, "types"),
            (TypeName::Unknown(left), TypeName::Unknown(right)) => self.name(left, right),
            _ => Err("types"),
        }
    }

    fn directive(
        &mut self,
        pools: Sides<&OperandPool>,
        left: DirectiveStmt,
        right: DirectiveStmt,
    ) -> Same {
        same(left.directive, right.directive, "directives")?;
        self.range(pools, left.args, right.args)
    }

    fn entry(
        &mut self,
        pools: Sides<&OperandPool>,
        left: SectionEntry,
        right: SectionEntry,
    ) -> Same {
        match (left, right) {
            (SectionEntry::Label(left), SectionEntry::Label(right)) => self.name(left, right),
            (
                SectionEntry::Other {
                    ty: left_type,
                    first: left_first,
                    value: left,
                },
                SectionEntry::Other {
                    ty: right_type,
                    first: right_first,
                    value: right,
                },
            ) => {
                same(
                    (left_type, left_first),
                    (right_type, right_first),
                    "the types of data",
                )?;
                self.operand(pools, pools.left.get(left), pools.right.get(right))
            }
            _ => same(left, right, "data"),
        }
    }

    // --- declarations ---

    fn decl(
        &mut self,
        pools: Sides<&OperandPool>,
        tables: Sides<&Declarations>,
        left: &VarDecl,
        right: &VarDecl,
    ) -> Same {
        same(left.linkage, right.linkage, "linkages")?;
        same(left.space, right.space, "state spaces")?;
        same(left.vector, right.vector, "vector lengths")?;
        self.operand(pools, left.bank, right.bank)?;
        self.operand(pools, left.align, right.align)?;
        self.ty(left.ty, right.ty)?;
        self.attributes(
            pools,
            left.attributes.of(&tables.left.attributes),
            right.attributes.of(&tables.right.attributes),
        )?;
        let left_declarators = left.declarators.of(&tables.left.declarators);
        let right_declarators = right.declarators.of(&tables.right.declarators);
        each(
            left_declarators,
            right_declarators,
            "the numbers of names",
            |(left, right)| self.declarator(pools, left, right),
        )
    }

    fn declarator(
        &mut self,
        pools: Sides<&OperandPool>,
        left: &Declarator,
        right: &Declarator,
    ) -> Same {
        self.name(left.name, right.name)?;
        self.binding(left.binding, right.binding)?;
        self.operand(pools, left.count, right.count)?;
        self.range(pools, left.dims, right.dims)?;
        self.operand(pools, left.init, right.init)
    }

    fn binding(&mut self, left: Binding, right: Binding) -> Same {
        match (left, right) {
            (Binding::Register(left), Binding::Register(right)) => self.reg_decl(left, right),
            (Binding::Var(left), Binding::Var(right)) => self.var(left, right),
            (Binding::Symbol(left), Binding::Symbol(right)) => self.symbol(left, right),
            _ => same(left, right, "bindings"),
        }
    }

    fn symbol(&self, left: SymbolId, right: SymbolId) -> Same {
        let (left, right) = (self.left.symbols[left], self.right.symbols[right]);
        self.name(left.name, right.name)?;
        same(left.number, right.number, "symbols")
    }

    fn attributes(
        &mut self,
        pools: Sides<&OperandPool>,
        left: &[Attribute],
        right: &[Attribute],
    ) -> Same {
        each(
            left,
            right,
            "the numbers of attributes",
            |(left, right)| match (*left, *right) {
                (Attribute::Managed, Attribute::Managed) => Ok(()),
                (
                    Attribute::Unified(left, left_second),
                    Attribute::Unified(right, right_second),
                ) => {
                    self.operand(pools, left, right)?;
                    self.operand(pools, left_second, right_second)
                }
                (Attribute::Unknown(left), Attribute::Unknown(right)) => self.name(left, right),
                _ => Err("attributes"),
            },
        )
    }

    fn param(&mut self, pools: Sides<&OperandPool>, left: &Param, right: &Param) -> Same {
        same(
            (left.space, left.vector, left.hidden),
            (right.space, right.vector, right.hidden),
            "parameters",
        )?;
        self.operand(pools, left.align, right.align)?;
        self.operand(pools, left.trailing_align, right.trailing_align)?;
        self.ty(left.ty, right.ty)?;
        self.names(left.name, right.name)?;
        same(
            left.ptr.map(|pointer| (pointer.space, pointer.opaque)),
            right.ptr.map(|pointer| (pointer.space, pointer.opaque)),
            "pointers",
        )?;
        if let (Some(left), Some(right)) = (left.ptr, right.ptr) {
            self.operand(pools, left.align, right.align)?;
        }
        self.range(pools, left.dims, right.dims)
    }

    fn params(&mut self, pools: Sides<&OperandPool>, left: &[Param], right: &[Param]) -> Same {
        each(left, right, "the numbers of parameters", |(left, right)| {
            self.param(pools, left, right)
        })
    }

    fn interface(&mut self, left: &Interface, right: &Interface) -> Same {
        let pools = Sides::new(&self.left.pool, &self.right.pool);
        same(
            (left.has_returns, left.has_params),
            (right.has_returns, right.has_params),
            "parameter lists",
        )?;
        self.params(
            pools,
            left.returns.of(&self.left.params),
            right.returns.of(&self.right.params),
        )?;
        self.params(
            pools,
            left.params.of(&self.left.params),
            right.params.of(&self.right.params),
        )?;
        let left_directives = left.directives.of(&self.left.interface_directives);
        let right_directives = right.directives.of(&self.right.interface_directives);
        let lengths = "the numbers of directives";
        each(
            left_directives,
            right_directives,
            lengths,
            |(left, right)| self.directive(pools, *left, *right),
        )
    }

    // --- functions ---

    fn function(&mut self, left: &Function, right: &Function) -> Same {
        same(left.raw_header, right.raw_header, "headers")?;
        if left.raw_header {
            let left_header = header_text(self.left, left, self.spans.left, self.changes.left);
            let right_header = header_text(self.right, right, self.spans.right, self.changes.right);
            same(left_header, right_header, "headers")?;
        } else {
            same(
                (left.kind, left.linkage),
                (right.kind, right.linkage),
                "kinds of functions",
            )?;
            self.name(left.name, right.name)?;
            let pools = Sides::new(&self.left.pool, &self.right.pool);
            self.attributes(
                pools,
                left.attributes.of(&self.left.declarations.attributes),
                right.attributes.of(&self.right.declarations.attributes),
            )?;
            self.interface(&left.interface, &right.interface)?;
        }
        match (left.body, right.body) {
            (None, None) => Ok(()),
            (Some(left), Some(right)) => self.body(left, right),
            _ => Err("bodies"),
        }
    }

    fn body(&mut self, left: BodyId, right: BodyId) -> Same {
        let left_body = &self.left.bodies[left];
        let right_body = &self.right.bodies[right];
        self.pairs = Pairs::default();
        self.pairs.scopes.pair(0, 0);
        self.bodies = Some((left_body, right_body));
        for ((left_id, left_statement), (right_id, right_statement)) in
            left_body.statements().zip(right_body.statements())
        {
            self.spans = Sides::new(
                left_body.source_span(left_id),
                right_body.source_span(right_id),
            );
            self.changes = Sides::new(
                left_body.edits().and_then(|e| e.change(left_id)),
                right_body.edits().and_then(|e| e.change(right_id)),
            );
            self.pairs.stmts.pair(left_id.index(), right_id.index());
            self.statement(left, right, left_statement, right_statement)?;
        }
        same(
            left_body.statements().count(),
            right_body.statements().count(),
            "the numbers of statements",
        )?;
        same(left_body.closed, right_body.closed, "the ends of bodies")?;
        // Labels may be mentioned before they are set.
        for (label, left_label) in left_body.labels.iter() {
            let Some(index) = self.pairs.labels.counterpart(label.index()) else {
                continue;
            };
            let right_label = right_body.labels[LabelId::from_index(index)];
            let (left_stmt, right_stmt) = (left_label.stmt.index(), right_label.stmt.index());
            let are_set_together = self.pairs.stmts.are_paired(left_stmt, right_stmt);
            let are_unset = left_stmt >= left_body.statements.len()
                && right_stmt >= right_body.statements.len();
            if !are_set_together && !are_unset {
                return Err("labels");
            }
        }
        if self.edited {
            return Ok(());
        }
        same(&left_body.registers, &right_body.registers, "registers")?;
        same(&left_body.inner_scopes, &right_body.inner_scopes, "scopes")?;
        same(
            name_counts(left_body),
            name_counts(right_body),
            "the numbers of names",
        )
    }

    /// Pairs two ids. Returns whether the names that they denote must still be compared, since neither id was mentioned before.
    fn pair(
        &mut self,
        table: fn(&mut Pairs) -> &mut OneToOne,
        left: usize,
        right: usize,
    ) -> Result<bool, &'static str> {
        if !self.edited && left != right {
            return Err("the ids of names");
        }
        match table(&mut self.pairs).pair(left, right) {
            None => Ok(true),
            Some(true) => Ok(false),
            Some(false) => Err("names"),
        }
    }

    fn current_bodies(&self) -> Result<(&'m Body, &'m Body), &'static str> {
        self.bodies.ok_or("bodies")
    }

    fn scope(&mut self, left: ScopeId, right: ScopeId) -> Same {
        self.pair(|pairs| &mut pairs.scopes, left.index(), right.index())
            .map(drop)
    }

    /// Compares the statements that declare a name.
    fn declaring_statements(&self, left: Option<StmtId>, right: Option<StmtId>) -> Same {
        match (left, right) {
            (None, None) => Ok(()),
            (Some(left), Some(right))
                if self.pairs.stmts.are_paired(left.index(), right.index()) =>
            {
                Ok(())
            }
            _ => Err("declarations"),
        }
    }

    #[inline]
    fn register(&mut self, left: RegId, right: RegId) -> Same {
        if !self.pair(|pairs| &mut pairs.registers, left.index(), right.index())? {
            return Ok(());
        }
        let (left_body, right_body) = self.current_bodies()?;
        let (left, right) = (left_body.registers[left], right_body.registers[right]);
        same(left.number, right.number, "registers")?;
        self.reg_decl(left.decl, right.decl)
    }

    fn reg_decl(&mut self, left: RegDeclId, right: RegDeclId) -> Same {
        if !self.pair(|pairs| &mut pairs.reg_decls, left.index(), right.index())? {
            return Ok(());
        }
        let (left_body, right_body) = self.current_bodies()?;
        let (left, right) = (left_body.reg_decls[left], right_body.reg_decls[right]);
        self.name(left.name, right.name)?;
        self.ty(left.ty, right.ty)?;
        same(
            (left.count, left.vector),
            (right.count, right.vector),
            "register declarations",
        )?;
        self.scope(left.scope, right.scope)?;
        self.declaring_statements(left.stmt, right.stmt)
    }

    fn var(&mut self, left: VarId, right: VarId) -> Same {
        if !self.pair(|pairs| &mut pairs.vars, left.index(), right.index())? {
            return Ok(());
        }
        let (left_body, right_body) = self.current_bodies()?;
        let (left, right) = (left_body.vars[left], right_body.vars[right]);
        self.name(left.name, right.name)?;
        same(
            (left.number, left.space),
            (right.number, right.space),
            "variables",
        )?;
        self.scope(left.scope, right.scope)?;
        self.declaring_statements(left.stmt, right.stmt)
    }

    fn label(&mut self, left: LabelId, right: LabelId) -> Same {
        if !self.pair(|pairs| &mut pairs.labels, left.index(), right.index())? {
            return Ok(());
        }
        let (left_body, right_body) = self.current_bodies()?;
        // Its scope is that of the statement that sets it, which is compared.
        self.name(left_body.labels[left].name, right_body.labels[right].name)
    }

    fn statement(
        &mut self,
        left_body: BodyId,
        right_body: BodyId,
        left: Statement,
        right: Statement,
    ) -> Same {
        let left_body = &self.left.bodies[left_body];
        let right_body = &self.right.bodies[right_body];
        let pools = Sides::new(&left_body.pool, &right_body.pool);
        match (left, right) {
            (Statement::Inst(left), Statement::Inst(right)) => {
                let (left, right) = (&left_body.insts[left], &right_body.insts[right]);
                self.signature(left.sig, right.sig)?;
                match (left.guard(), right.guard()) {
                    (None, None) => {}
                    (Some(left_guard), Some(right_guard)) => {
                        same(left_guard.sense, right_guard.sense, "guards")?;
                        let left_predicate = left_body.pool.get(left_guard.predicate);
                        let right_predicate = right_body.pool.get(right_guard.predicate);
                        self.operand(pools, left_predicate, right_predicate)?;
                    }
                    _ => return Err("guards"),
                }
                self.range(pools, left.operands(), right.operands())
            }
            (Statement::Decl(left), Statement::Decl(right)) => {
                let tables = Sides::new(&left_body.declarations, &right_body.declarations);
                self.decl(
                    pools,
                    tables,
                    &left_body.declarations.decls[left],
                    &right_body.declarations.decls[right],
                )
            }
            (Statement::Directive(left), Statement::Directive(right)) => self.directive(
                pools,
                left_body.directives[left],
                right_body.directives[right],
            ),
            (Statement::Prototype(left), Statement::Prototype(right)) => self.interface(
                &left_body.prototypes[left].interface,
                &right_body.prototypes[right].interface,
            ),
            (Statement::Function(left), Statement::Function(right)) => {
                self.function(&self.left.functions[left], &self.right.functions[right])
            }
            (Statement::Opaque(_), Statement::Opaque(_)) => self.texts(),
            (Statement::Label(left), Statement::Label(right)) => self.label(left, right),
            (Statement::Open(left), Statement::Open(right))
            | (Statement::Close(left), Statement::Close(right)) => self.scope(left, right),
            _ => same(left, right, "statements"),
        }
    }

    fn signature(&mut self, left: SigId, right: SigId) -> Same {
        if self.sigs[left.index()] == Some(right) {
            return Ok(());
        }
        let left_text = canonical_mnemonic(self.left, left);
        let right_text = canonical_mnemonic(self.right, right);
        same(left_text, right_text, "mnemonics")?;
        self.sigs[left.index()] = Some(right);
        Ok(())
    }

    // --- operands ---

    fn range(
        &mut self,
        pools: Sides<&OperandPool>,
        left: OperandRange,
        right: OperandRange,
    ) -> Same {
        let (left, right) = (pools.left.slice(left), pools.right.slice(right));
        each(left, right, "the numbers of operands", |(left, right)| {
            self.operand(pools, *left, *right)
        })
    }

    #[inline]
    fn operand(&mut self, pools: Sides<&OperandPool>, left: Operand, right: Operand) -> Same {
        match (left, right) {
            (Operand::Reg(left), Operand::Reg(right)) => self.register(left, right),
            (Operand::Small(left), Operand::Small(right)) => same(left, right, "numbers"),
            _ => self.nested(pools, left, right),
        }
    }

    /// Compares operands with their parts.
    fn nested(&mut self, pools: Sides<&OperandPool>, left: Operand, right: Operand) -> Same {
        pools
            .left
            .walk_operand(left)
            .zip(pools.right.walk_operand(right))
            .try_for_each(|(left, right)| self.operand_without_parts(pools, left, right))
    }

    /// Compares operands without their parts, except for the number of these.
    fn operand_without_parts(
        &mut self,
        pools: Sides<&OperandPool>,
        left: Operand,
        right: Operand,
    ) -> Same {
        use Operand as O;
        match (left, right) {
            (O::Imm(left), O::Imm(right)) => {
                let left_text = immediate_text(self.left, pools.left, left);
                let right_text = immediate_text(self.right, pools.right, right);
                same(left_text, right_text, "constants")
            }
            (O::Name(left), O::Name(right))
            | (O::Str(left), O::Str(right))
            | (O::Section(left), O::Section(right)) => self.name(left, right),
            (O::Symbol(left), O::Symbol(right)) => self.symbol(left, right),
            (O::Reg(left), O::Reg(right)) => self.register(left, right),
            (O::Var(left), O::Var(right)) => self.var(left, right),
            (O::Label(left), O::Label(right)) => self.label(left, right),
            (O::Address(left), O::Address(right)) => {
                let left_form = pools.left.address(left).map(|address| address.form);
                let right_form = pools.right.address(right).map(|address| address.form);
                same(left_form, right_form, "addresses")
            }
            _ => {
                if let (OperandParts::List(left), OperandParts::List(right)) =
                    (left.parts(), right.parts())
                {
                    let (left_list, right_list) = (pools.left.list(left), pools.right.list(right));
                    same(left_list.len(), right_list.len(), "the lengths of lists")?;
                }
                same(left, right.with_parts(left.parts()), "operands")
            }
        }
    }
}
