//! Structural equality: whether two modules mean the same, white space, comments and the order of
//! modifiers aside.
//!
//! Names are compared by their spelling, immediates by theirs; ids need not agree between modules,
//! but inside a body they do, as both number names in the order of their first mention.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use crate::edit_log::Change;
use crate::operand_walk::OperandParts;
use crate::{
    Attribute, Binding, Body, BodyId, Declarations, Declarator, DirectiveStmt, EntityId, Function,
    Interface, Item, LabelId, Module, NameId, Operand, OperandPool, OperandRange, Param, RegDecl,
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
    let mut c = Comparison {
        left,
        right,
        at: (Span::default(), Span::default()),
        changes: (None, None),
        bodies: None,
        sigs: vec![None; left.signatures.len()],
        edited: [left, right].iter().any(|m| !m.has_current_source()),
        pairs: Pairs::default(),
    };
    match c.module() {
        Ok(()) => Ok(()),
        Err(what) => Err(Difference {
            left: c.at.0,
            right: c.at.1,
            message: format!("{what} differ"),
        }),
    }
}

type Same = Result<(), &'static str>;

fn same<T: PartialEq>(a: T, b: T, what: &'static str) -> Same {
    if a == b { Ok(()) } else { Err(what) }
}

/// Compares lists element by element; `lengths` says what differs if their lengths do.
fn each<T>(a: &[T], b: &[T], lengths: &'static str, one: impl FnMut((&T, &T)) -> Same) -> Same {
    same(a.len(), b.len(), lengths)?;
    a.iter().zip(b).try_for_each(one)
}

struct Comparison<'m> {
    left: &'m Module,
    right: &'m Module,
    /// The statements being compared.
    at: (Span, Span),
    /// The edits of the texts of both.
    changes: (Option<&'m Change>, Option<&'m Change>),
    bodies: Option<(&'m Body, &'m Body)>,
    /// The signature on the right that equals one on the left.
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

/// Numbers on the left and on the right that belong together; one more than they are, 0 for none.
#[derive(Default)]
struct OneToOne {
    left: Vec<u32>,
    right: Vec<u32>,
}

impl OneToOne {
    /// Whether two numbers belong together; `None` where neither was seen before: now they do.
    fn pair(&mut self, a: usize, b: usize) -> Option<bool> {
        if a >= self.left.len() {
            self.left.resize((a + 1).next_power_of_two(), 0);
        }
        if b >= self.right.len() {
            self.right.resize((b + 1).next_power_of_two(), 0);
        }
        match (self.left[a], self.right[b]) {
            (0, 0) => {
                (self.left[a], self.right[b]) = (b as u32 + 1, a as u32 + 1);
                None
            }
            (x, y) => Some((x as usize, y as usize) == (b + 1, a + 1)),
        }
    }

    fn are_paired(&self, a: usize, b: usize) -> bool {
        self.left.get(a).is_some_and(|&x| x as usize == b + 1)
    }
}

/// The pools that two operands come from.
#[derive(Copy, Clone)]
struct Pools<'m>(&'m OperandPool, &'m OperandPool);

impl<'m> Comparison<'m> {
    fn module(&mut self) -> Same {
        let (l, r) = (self.left, self.right);
        same(l.header, r.header, "the headers")?;
        for ((a, x), (b, y)) in l.items().zip(r.items()) {
            self.at = (l.span(a), r.span(b));
            self.changes = (
                l.edits().and_then(|e| e.change(a)),
                r.edits().and_then(|e| e.change(b)),
            );
            self.item(x, y)?;
        }
        same(l.items().count(), r.items().count(), "the numbers of items")
    }

    fn item(&mut self, x: Item, y: Item) -> Same {
        let (l, r) = (self.left, self.right);
        let pools = Pools(&l.pool, &r.pool);
        match (x, y) {
            (Item::Directive(a), Item::Directive(b)) => {
                self.directive(pools, l.directives[a], r.directives[b])
            }
            (Item::Decl(a), Item::Decl(b)) => {
                let tables = (&l.declarations, &r.declarations);
                self.decl(
                    pools,
                    tables,
                    &l.declarations.decls[a],
                    &r.declarations.decls[b],
                )
            }
            (Item::Function(a), Item::Function(b)) => {
                self.function(&l.functions[a], &r.functions[b])
            }
            (Item::Section(a), Item::Section(b)) => {
                let (a, b) = (&l.sections[a], &r.sections[b]);
                self.name(a.name, b.name)?;
                let lengths = "the lengths of sections";
                each(&a.entries, &b.entries, lengths, |(a, b)| {
                    self.entry(pools, *a, *b)
                })
            }
            (Item::Opaque(_), Item::Opaque(_)) => self.texts(),
            _ => Err("the kinds of items"),
        }
    }

    /// Statements that are only text.
    fn texts(&self) -> Same {
        let a = self.left.patched_text(self.at.0, self.changes.0);
        let b = self.right.patched_text(self.at.1, self.changes.1);
        same(a, b, "texts")
    }

    fn name(&self, a: NameId, b: NameId) -> Same {
        same(self.left.name_bytes(a), self.right.name_bytes(b), "names")
    }

    fn names(&self, a: Option<NameId>, b: Option<NameId>) -> Same {
        match (a, b) {
            (None, None) => Ok(()),
            (Some(a), Some(b)) => self.name(a, b),
            _ => Err("names"),
        }
    }

    fn ty(&self, a: TypeName, b: TypeName) -> Same {
        match (a, b) {
            (TypeName::Known(a), TypeName::Known(b)) => same(a, b, "types"),
            (TypeName::Unknown(a), TypeName::Unknown(b)) => self.name(a, b),
            _ => Err("types"),
        }
    }

    fn directive(&mut self, p: Pools<'_>, a: DirectiveStmt, b: DirectiveStmt) -> Same {
        same(a.directive, b.directive, "directives")?;
        self.range(p, a.args, b.args)
    }

    fn entry(&mut self, p: Pools<'_>, a: SectionEntry, b: SectionEntry) -> Same {
        match (a, b) {
            (SectionEntry::Label(a), SectionEntry::Label(b)) => self.name(a, b),
            (
                SectionEntry::Other {
                    ty: s,
                    first: f,
                    value: a,
                },
                SectionEntry::Other {
                    ty: t,
                    first: g,
                    value: b,
                },
            ) => {
                same((s, f), (t, g), "the types of data")?;
                self.operand(p, p.0.get(a), p.1.get(b))
            }
            _ => same(a, b, "data"),
        }
    }

    // --- declarations ---

    fn decl(
        &mut self,
        p: Pools<'_>,
        tables: (&Declarations, &Declarations),
        a: &VarDecl,
        b: &VarDecl,
    ) -> Same {
        same(a.linkage, b.linkage, "linkages")?;
        same(a.space, b.space, "state spaces")?;
        same(a.vector, b.vector, "vector lengths")?;
        self.operand(p, a.bank, b.bank)?;
        self.operand(p, a.align, b.align)?;
        self.ty(a.ty, b.ty)?;
        self.attributes(
            p,
            a.attributes.of(&tables.0.attributes),
            b.attributes.of(&tables.1.attributes),
        )?;
        let a = a.declarators.of(&tables.0.declarators);
        let b = b.declarators.of(&tables.1.declarators);
        each(a, b, "the numbers of names", |(a, b)| {
            self.declarator(p, a, b)
        })
    }

    fn declarator(&mut self, p: Pools<'_>, a: &Declarator, b: &Declarator) -> Same {
        self.name(a.name, b.name)?;
        self.binding(a.binding, b.binding)?;
        self.operand(p, a.count, b.count)?;
        self.range(p, a.dims, b.dims)?;
        self.operand(p, a.init, b.init)
    }

    fn binding(&mut self, a: Binding, b: Binding) -> Same {
        match (a, b) {
            (Binding::Register(a), Binding::Register(b)) => self.reg_decl(a, b),
            (Binding::Var(a), Binding::Var(b)) => self.var(a, b),
            (Binding::Symbol(a), Binding::Symbol(b)) => self.symbol(a, b),
            _ => same(a, b, "bindings"),
        }
    }

    fn symbol(&self, a: SymbolId, b: SymbolId) -> Same {
        let (a, b) = (self.left.symbols[a], self.right.symbols[b]);
        self.name(a.name, b.name)?;
        same(a.number, b.number, "symbols")
    }

    fn attributes(&mut self, p: Pools<'_>, a: &[Attribute], b: &[Attribute]) -> Same {
        each(a, b, "the numbers of attributes", |(a, b)| match (*a, *b) {
            (Attribute::Managed, Attribute::Managed) => Ok(()),
            (Attribute::Unified(a, c), Attribute::Unified(b, d)) => {
                self.operand(p, a, b)?;
                self.operand(p, c, d)
            }
            (Attribute::Unknown(a), Attribute::Unknown(b)) => self.name(a, b),
            _ => Err("attributes"),
        })
    }

    fn param(&mut self, p: Pools<'_>, a: &Param, b: &Param) -> Same {
        same(
            (a.space, a.vector, a.hidden),
            (b.space, b.vector, b.hidden),
            "parameters",
        )?;
        self.operand(p, a.align, b.align)?;
        self.operand(p, a.trailing_align, b.trailing_align)?;
        self.ty(a.ty, b.ty)?;
        self.names(a.name, b.name)?;
        same(
            a.ptr.map(|p| (p.space, p.opaque)),
            b.ptr.map(|p| (p.space, p.opaque)),
            "pointers",
        )?;
        if let (Some(a), Some(b)) = (a.ptr, b.ptr) {
            self.operand(p, a.align, b.align)?;
        }
        self.range(p, a.dims, b.dims)
    }

    fn interface(&mut self, a: &Interface, b: &Interface) -> Same {
        let (l, r) = (self.left, self.right);
        let p = Pools(&l.pool, &r.pool);
        same(
            (a.has_returns, a.has_params),
            (b.has_returns, b.has_params),
            "parameter lists",
        )?;
        for (x, y) in [(a.returns, b.returns), (a.params, b.params)] {
            let (x, y) = (x.of(&l.params), y.of(&r.params));
            each(x, y, "the numbers of parameters", |(x, y)| {
                self.param(p, x, y)
            })?;
        }
        let x = a.directives.of(&l.interface_directives);
        let y = b.directives.of(&r.interface_directives);
        each(x, y, "the numbers of directives", |(x, y)| {
            self.directive(p, *x, *y)
        })
    }

    // --- functions ---

    fn function(&mut self, a: &Function, b: &Function) -> Same {
        let (l, r) = (self.left, self.right);
        same(a.raw_header, b.raw_header, "headers")?;
        if a.raw_header {
            let header = |m: &'m Module, f: &Function, item: Span, change| {
                let end = f.body.map_or(item.end, |b| m.bodies[b].base);
                let text = m.patched_text(Span::new(item.start, end), change);
                text.trim_ascii().to_vec()
            };
            let (c, d) = self.changes;
            same(
                header(l, a, self.at.0, c),
                header(r, b, self.at.1, d),
                "headers",
            )?;
        } else {
            same(
                (a.kind, a.linkage),
                (b.kind, b.linkage),
                "kinds of functions",
            )?;
            self.name(a.name, b.name)?;
            let p = Pools(&l.pool, &r.pool);
            self.attributes(
                p,
                a.attributes.of(&l.declarations.attributes),
                b.attributes.of(&r.declarations.attributes),
            )?;
            self.interface(&a.interface, &b.interface)?;
        }
        match (a.body, b.body) {
            (None, None) => Ok(()),
            (Some(a), Some(b)) => self.body(a, b),
            _ => Err("bodies"),
        }
    }

    fn body(&mut self, a: BodyId, b: BodyId) -> Same {
        let (l, r) = (&self.left.bodies[a], &self.right.bodies[b]);
        self.pairs = Pairs::default();
        self.pairs.scopes.pair(0, 0);
        self.bodies = Some((l, r));
        for ((i, x), (j, y)) in l.statements().zip(r.statements()) {
            self.at = (l.source_span(i), r.source_span(j));
            self.changes = (
                l.edits().and_then(|e| e.change(i)),
                r.edits().and_then(|e| e.change(j)),
            );
            self.pairs.stmts.pair(i.index(), j.index());
            self.statement(a, b, x, y)?;
        }
        same(
            l.statements().count(),
            r.statements().count(),
            "the numbers of statements",
        )?;
        same(l.closed, r.closed, "the ends of bodies")?;
        // Labels may be mentioned before they are set.
        for (a, b) in l.labels.ids().zip(0..) {
            let Some(other) = self.pairs.labels.left.get(b).filter(|&&o| o > 0) else {
                continue;
            };
            let b = LabelId::from_index(*other as usize - 1);
            let (a, b) = (l.labels[a].stmt, r.labels[b].stmt);
            let set = self.pairs.stmts.are_paired(a.index(), b.index());
            let unset = a.index() >= l.statements.len() && b.index() >= r.statements.len();
            same(set || unset, true, "labels")?;
        }
        if self.edited {
            return Ok(());
        }
        same(&l.registers, &r.registers, "registers")?;
        same(&l.inner_scopes, &r.inner_scopes, "scopes")?;
        let lengths = |b: &Body| (b.reg_decls.len(), b.vars.len(), b.labels.len());
        same(lengths(l), lengths(r), "the numbers of names")
    }

    /// Whether two ids agree; true where they are to be compared, as they were not seen before.
    fn pair(
        &mut self,
        of: fn(&mut Pairs) -> &mut OneToOne,
        a: usize,
        b: usize,
    ) -> Result<bool, &'static str> {
        if !self.edited && a != b {
            return Err("the ids of names");
        }
        match of(&mut self.pairs).pair(a, b) {
            None => Ok(true),
            Some(true) => Ok(false),
            Some(false) => Err("names"),
        }
    }

    fn both(&self) -> Result<(&'m Body, &'m Body), &'static str> {
        self.bodies.ok_or("bodies")
    }

    fn scope(&mut self, a: ScopeId, b: ScopeId) -> Same {
        self.pair(|p| &mut p.scopes, a.index(), b.index()).map(drop)
    }

    /// The statements that declare a name.
    fn declared(&self, a: Option<StmtId>, b: Option<StmtId>) -> Same {
        let same_place = match (a, b) {
            (None, None) => true,
            (Some(a), Some(b)) => self.pairs.stmts.are_paired(a.index(), b.index()),
            _ => false,
        };
        same(same_place, true, "declarations")
    }

    #[inline]
    fn register(&mut self, a: RegId, b: RegId) -> Same {
        if !self.pair(|p| &mut p.registers, a.index(), b.index())? {
            return Ok(());
        }
        let (l, r) = self.both()?;
        let (a, b) = (l.registers[a], r.registers[b]);
        same(a.number, b.number, "registers")?;
        self.reg_decl(a.decl, b.decl)
    }

    fn reg_decl(&mut self, a: RegDeclId, b: RegDeclId) -> Same {
        if !self.pair(|p| &mut p.reg_decls, a.index(), b.index())? {
            return Ok(());
        }
        let (l, r) = self.both()?;
        let (a, b) = (l.reg_decls[a], r.reg_decls[b]);
        self.name(a.name, b.name)?;
        self.ty(a.ty, b.ty)?;
        let key = |d: &RegDecl| (d.count, d.vector);
        same(key(&a), key(&b), "register declarations")?;
        self.scope(a.scope, b.scope)?;
        self.declared(a.stmt, b.stmt)
    }

    fn var(&mut self, a: VarId, b: VarId) -> Same {
        if !self.pair(|p| &mut p.vars, a.index(), b.index())? {
            return Ok(());
        }
        let (l, r) = self.both()?;
        let (a, b) = (l.vars[a], r.vars[b]);
        self.name(a.name, b.name)?;
        same((a.number, a.space), (b.number, b.space), "variables")?;
        self.scope(a.scope, b.scope)?;
        self.declared(a.stmt, b.stmt)
    }

    fn label(&mut self, a: LabelId, b: LabelId) -> Same {
        if !self.pair(|p| &mut p.labels, a.index(), b.index())? {
            return Ok(());
        }
        let (l, r) = self.both()?;
        // Its scope is that of the statement that sets it, which is compared.
        self.name(l.labels[a].name, r.labels[b].name)
    }

    fn statement(&mut self, a: BodyId, b: BodyId, x: Statement, y: Statement) -> Same {
        let (l, r) = (&self.left.bodies[a], &self.right.bodies[b]);
        let p = Pools(&l.pool, &r.pool);
        match (x, y) {
            (Statement::Inst(a), Statement::Inst(b)) => {
                let (a, b) = (&l.insts[a], &r.insts[b]);
                self.signature(a.sig, b.sig)?;
                match (a.guard(), b.guard()) {
                    (None, None) => {}
                    (Some(g), Some(h)) => {
                        same(g.sense, h.sense, "guards")?;
                        self.operand(p, l.pool.get(g.predicate), r.pool.get(h.predicate))?;
                    }
                    _ => return Err("guards"),
                }
                self.range(p, a.operands(), b.operands())
            }
            (Statement::Decl(a), Statement::Decl(b)) => {
                let tables = (&l.declarations, &r.declarations);
                self.decl(
                    p,
                    tables,
                    &l.declarations.decls[a],
                    &r.declarations.decls[b],
                )
            }
            (Statement::Directive(a), Statement::Directive(b)) => {
                self.directive(p, l.directives[a], r.directives[b])
            }
            (Statement::Prototype(a), Statement::Prototype(b)) => {
                self.interface(&l.prototypes[a].interface, &r.prototypes[b].interface)
            }
            (Statement::Function(a), Statement::Function(b)) => {
                self.function(&self.left.functions[a], &self.right.functions[b])
            }
            (Statement::Opaque(_), Statement::Opaque(_)) => self.texts(),
            (Statement::Label(a), Statement::Label(b)) => self.label(a, b),
            (Statement::Open(a), Statement::Open(b))
            | (Statement::Close(a), Statement::Close(b)) => self.scope(a, b),
            _ => same(x, y, "statements"),
        }
    }

    fn signature(&mut self, a: SigId, b: SigId) -> Same {
        if self.sigs[a.index()] == Some(b) {
            return Ok(());
        }
        let text = |m: &Module, s: SigId| {
            let mut out = Vec::new();
            m.signature(s).write_canonical(&mut out);
            out
        };
        same(text(self.left, a), text(self.right, b), "mnemonics")?;
        self.sigs[a.index()] = Some(b);
        Ok(())
    }

    // --- operands ---

    fn range(&mut self, p: Pools<'_>, a: OperandRange, b: OperandRange) -> Same {
        let (a, b) = (p.0.slice(a), p.1.slice(b));
        each(a, b, "the numbers of operands", |(a, b)| {
            self.operand(p, *a, *b)
        })
    }

    #[inline]
    fn operand(&mut self, p: Pools<'_>, a: Operand, b: Operand) -> Same {
        match (a, b) {
            (Operand::Reg(a), Operand::Reg(b)) => self.register(a, b),
            (Operand::Small(a), Operand::Small(b)) => same(a, b, "numbers"),
            _ => self.nested(p, a, b),
        }
    }

    /// Compares operands with their parts.
    fn nested(&mut self, p: Pools<'_>, a: Operand, b: Operand) -> Same {
        p.0.walk_operand(a)
            .zip(p.1.walk_operand(b))
            .try_for_each(|(a, b)| self.one(p, a, b))
    }

    /// Compares operands without their parts, except for the number of these.
    fn one(&mut self, p: Pools<'_>, a: Operand, b: Operand) -> Same {
        use Operand as O;
        match (a, b) {
            (O::Imm(a), O::Imm(b)) => {
                let text = |m: &Module, p: &OperandPool, i| {
                    let text = p.immediate(i).map(|i| m.name(i.text).to_string());
                    text.unwrap_or_default().replace(' ', "")
                };
                same(
                    text(self.left, p.0, a),
                    text(self.right, p.1, b),
                    "constants",
                )
            }
            (O::Name(a), O::Name(b)) | (O::Str(a), O::Str(b)) | (O::Section(a), O::Section(b)) => {
                self.name(a, b)
            }
            (O::Symbol(a), O::Symbol(b)) => self.symbol(a, b),
            (O::Reg(a), O::Reg(b)) => self.register(a, b),
            (O::Var(a), O::Var(b)) => self.var(a, b),
            (O::Label(a), O::Label(b)) => self.label(a, b),
            (O::Address(a), O::Address(b)) => {
                let form = |pool: &OperandPool, id| pool.address(id).map(|a| a.form);
                same(form(p.0, a), form(p.1, b), "addresses")
            }
            _ => {
                if let (OperandParts::List(a), OperandParts::List(b)) = (a.parts(), b.parts()) {
                    let lengths = (p.0.list(a).len(), p.1.list(b).len());
                    same(lengths.0, lengths.1, "the lengths of lists")?;
                }
                same(a, b.with_parts(a.parts()), "operands")
            }
        }
    }
}
