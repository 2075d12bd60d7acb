//! Structural equality of modules, apart from whitespace, comments and the order of modifiers.
//!
//! Names and immediates are compared by their spelling. Ids may differ between the modules, but those in two parsed bodies are
//! equal, since names get their ids in the order of their first mention.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::edit_log::Change;
use crate::operand_walk::OperandParts;
use crate::{
    Attribute, Binding, Body, BodyId, DeclId, Declarations, Declarator, DirectiveStmt, EntityId,
    FuncId, Function, ImmId, Interface, Item, LabelId, Module, NameId, Operand, OperandPool,
    OperandRange, Param, RegDeclId, RegId, ScopeId, SectionEntry, SigId, Span, Statement, StmtId,
    SymbolId, TypeName, VarId,
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
        modules: [left, right],
        spans: [Span::default(); 2],
        changes: [None; 2],
        bodies: None,
        sigs: vec![None; left.signatures.len()],
        are_edited: [left, right].iter().any(|m| !m.has_current_source()),
        pairs: Pairs::default(),
    };
    comparison.module().map_err(|subject| {
        let [left, right] = comparison.spans;
        Difference {
            left,
            right,
            message: format!("{subject} differ"),
        }
    })
}

/// A value of the left module, and the value of the right one with which it is compared.
type Sides<T> = [T; 2];

/// The error is the subject of the sentence that describes a difference: "the headers", "names".
type Same<T = ()> = Result<T, &'static str>;

fn same<T: PartialEq>([left, right]: Sides<T>, subject: &'static str) -> Same {
    if left == right { Ok(()) } else { Err(subject) }
}

/// Combines the values of each side.
fn combine<T, U, V>(
    [left, right]: Sides<T>,
    [second_left, second_right]: Sides<U>,
    function: impl Fn(T, U) -> V,
) -> Sides<V> {
    [function(left, second_left), function(right, second_right)]
}

/// The values of both sides; `None` if both are missing, and an error if one of them is.
fn both<T>(sides: Sides<Option<T>>, subject: &'static str) -> Same<Option<Sides<T>>> {
    match sides {
        [None, None] => Ok(None),
        [Some(left), Some(right)] => Ok(Some([left, right])),
        _ => Err(subject),
    }
}

/// Compares lists element by element. `lengths` is the error for lists of different lengths.
fn each<T: Copy>(
    lists: Sides<&[T]>,
    lengths: &'static str,
    mut compare_elements: impl FnMut(Sides<T>) -> Same,
) -> Same {
    same(lists.map(<[T]>::len), lengths)?;
    let [left, right] = lists;
    left.iter()
        .zip(right)
        .try_for_each(|(left, right)| compare_elements([*left, *right]))
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

fn canonical_mnemonic(module: &Module, signature: SigId) -> Vec<u8> {
    let mut text = Vec::new();
    module.signature(signature).write_canonical(&mut text);
    text
}

struct Comparison<'m> {
    modules: Sides<&'m Module>,
    /// The spans of the statements or items that are being compared.
    spans: Sides<Span>,
    /// The edits of their texts.
    changes: Sides<Option<&'m Change>>,
    /// The bodies that are being compared.
    bodies: Option<Sides<&'m Body>>,
    /// For each signature on the left, the one on the right that equals it.
    sigs: Vec<Option<SigId>>,
    /// Built and edited bodies have ids in another order. Their ids only have to correspond one to one.
    are_edited: bool,
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
    fn pair(&mut self, [left, right]: Sides<usize>) -> Option<bool> {
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

    fn are_paired(&self, [left, right]: Sides<usize>) -> bool {
        self.counterpart(left) == Some(right)
    }
}

impl<'m> Comparison<'m> {
    fn module(&mut self) -> Same {
        let modules = self.modules;
        same(modules.map(|m| m.header), "the headers")?;
        let [left, right] = modules;
        for ((left_id, left_item), (right_id, right_item)) in left.items().zip(right.items()) {
            let ids = [left_id, right_id];
            self.spans = combine(modules, ids, Module::span);
            self.changes = combine(modules, ids, |module, id| module.edits()?.change(id));
            self.item([left_item, right_item])?;
        }
        same(modules.map(|m| m.items().count()), "the numbers of items")
    }

    fn item(&mut self, items: Sides<Item>) -> Same {
        let modules = self.modules;
        let pools = modules.map(|m| &m.pool);
        match items {
            [Item::Directive(left), Item::Directive(right)] => self.directive(
                pools,
                combine(modules, [left, right], |m, id| m.directives[id]),
            ),
            [Item::Decl(left), Item::Decl(right)] => {
                self.decl(pools, modules.map(|m| &m.declarations), [left, right])
            }
            [Item::Function(left), Item::Function(right)] => self.function([left, right]),
            [Item::Section(left), Item::Section(right)] => {
                let sections = combine(modules, [left, right], |m, id| &m.sections[id]);
                self.name(sections.map(|s| s.name))?;
                let entries = sections.map(|s| &s.entries[..]);
                each(entries, "the lengths of sections", |entries| {
                    self.entry(pools, entries)
                })
            }
            [Item::Opaque(_), Item::Opaque(_)] => self.texts(),
            _ => Err("the kinds of items"),
        }
    }

    /// Compares statements that are only text.
    fn texts(&self) -> Same {
        let texts = [0, 1]
            .map(|side| self.modules[side].patched_text(self.spans[side], self.changes[side]));
        same(texts, "texts")
    }

    fn name(&self, names: Sides<NameId>) -> Same {
        same(combine(self.modules, names, Module::name_bytes), "names")
    }

    fn ty(&self, types: Sides<TypeName>) -> Same {
        match types {
            [TypeName::Unknown(left), TypeName::Unknown(right)] => self.name([left, right]),
            _ => same(types, "types"),
        }
    }

    fn directive(&mut self, pools: Sides<&OperandPool>, directives: Sides<DirectiveStmt>) -> Same {
        same(directives.map(|d| d.directive), "directives")?;
        self.range(pools, directives.map(|d| d.args))
    }

    fn entry(&mut self, pools: Sides<&OperandPool>, entries: Sides<SectionEntry>) -> Same {
        match entries {
            [SectionEntry::Label(left), SectionEntry::Label(right)] => self.name([left, right]),
            [
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
            ] => {
                let types = [(left_type, left_first), (right_type, right_first)];
                same(types, "the types of data")?;
                self.operand(pools, combine(pools, [left, right], OperandPool::get))
            }
            _ => same(entries, "data"),
        }
    }

    // --- declarations ---

    fn decl(
        &mut self,
        pools: Sides<&OperandPool>,
        tables: Sides<&Declarations>,
        ids: Sides<DeclId>,
    ) -> Same {
        let decls = combine(tables, ids, |table, id| &table.decls[id]);
        same(decls.map(|d| d.linkage), "linkages")?;
        same(decls.map(|d| d.space), "state spaces")?;
        same(decls.map(|d| d.vector), "vector lengths")?;
        self.operand(pools, decls.map(|d| d.bank))?;
        self.operand(pools, decls.map(|d| d.align))?;
        self.ty(decls.map(|d| d.ty))?;
        let attributes = combine(tables, decls, |table, d| d.attributes.of(&table.attributes));
        self.attributes(pools, attributes)?;
        let declarators = combine(tables, decls, |table, d| {
            d.declarators.of(&table.declarators)
        });
        each(declarators, "the numbers of names", |declarators| {
            self.declarator(pools, declarators)
        })
    }

    fn declarator(&mut self, pools: Sides<&OperandPool>, declarators: Sides<Declarator>) -> Same {
        self.name(declarators.map(|d| d.name))?;
        self.binding(declarators.map(|d| d.binding))?;
        self.operand(pools, declarators.map(|d| d.count))?;
        self.range(pools, declarators.map(|d| d.dims))?;
        self.operand(pools, declarators.map(|d| d.init))
    }

    fn binding(&mut self, bindings: Sides<Binding>) -> Same {
        match bindings {
            [Binding::Register(left), Binding::Register(right)] => self.reg_decl([left, right]),
            [Binding::Var(left), Binding::Var(right)] => self.var([left, right]),
            [Binding::Symbol(left), Binding::Symbol(right)] => self.symbol([left, right]),
            _ => same(bindings, "bindings"),
        }
    }

    fn symbol(&self, ids: Sides<SymbolId>) -> Same {
        let symbols = combine(self.modules, ids, |m, id| m.symbols[id]);
        self.name(symbols.map(|s| s.name))?;
        same(symbols.map(|s| s.number), "symbols")
    }

    fn attributes(&mut self, pools: Sides<&OperandPool>, attributes: Sides<&[Attribute]>) -> Same {
        let lengths = "the numbers of attributes";
        each(attributes, lengths, |attributes| match attributes {
            [Attribute::Managed, Attribute::Managed] => Ok(()),
            [
                Attribute::Unified(left, left_second),
                Attribute::Unified(right, right_second),
            ] => {
                self.operand(pools, [left, right])?;
                self.operand(pools, [left_second, right_second])
            }
            [Attribute::Unknown(left), Attribute::Unknown(right)] => self.name([left, right]),
            _ => Err("attributes"),
        })
    }

    fn params(&mut self, pools: Sides<&OperandPool>, params: Sides<&[Param]>) -> Same {
        each(params, "the numbers of parameters", |params| {
            same(params.map(|p| (p.space, p.vector, p.hidden)), "parameters")?;
            self.operand(pools, params.map(|p| p.align))?;
            self.operand(pools, params.map(|p| p.trailing_align))?;
            self.ty(params.map(|p| p.ty))?;
            if let Some(names) = both(params.map(|p| p.name), "names")? {
                self.name(names)?;
            }
            if let Some(pointers) = both(params.map(|p| p.ptr), "pointers")? {
                same(pointers.map(|p| (p.space, p.opaque)), "pointers")?;
                self.operand(pools, pointers.map(|p| p.align))?;
            }
            self.range(pools, params.map(|p| p.dims))
        })
    }

    fn interface(&mut self, interfaces: Sides<&Interface>) -> Same {
        let modules = self.modules;
        let pools = modules.map(|m| &m.pool);
        same(
            interfaces.map(|i| (i.has_returns, i.has_params)),
            "parameter lists",
        )?;
        let returns = combine(modules, interfaces, |m, i| i.returns.of(&m.params));
        self.params(pools, returns)?;
        let params = combine(modules, interfaces, |m, i| i.params.of(&m.params));
        self.params(pools, params)?;
        let directives = combine(modules, interfaces, |m, i| {
            i.directives.of(&m.interface_directives)
        });
        each(directives, "the numbers of directives", |directives| {
            self.directive(pools, directives)
        })
    }

    // --- functions ---

    fn function(&mut self, ids: Sides<FuncId>) -> Same {
        let modules = self.modules;
        let functions = combine(modules, ids, |m, id| &m.functions[id]);
        same(functions.map(|f| f.raw_header), "headers")?;
        let [left, _] = functions;
        if left.raw_header {
            let headers = [0, 1].map(|side| {
                let (span, change) = (self.spans[side], self.changes[side]);
                header_text(modules[side], functions[side], span, change)
            });
            same(headers, "headers")?;
        } else {
            same(functions.map(|f| (f.kind, f.linkage)), "kinds of functions")?;
            self.name(functions.map(|f| f.name))?;
            let attributes = combine(modules, functions, |m, f| {
                f.attributes.of(&m.declarations.attributes)
            });
            self.attributes(modules.map(|m| &m.pool), attributes)?;
            self.interface(functions.map(|f| &f.interface))?;
        }
        match both(functions.map(|f| f.body), "bodies")? {
            Some(bodies) => self.body(bodies),
            None => Ok(()),
        }
    }

    fn body(&mut self, ids: Sides<BodyId>) -> Same {
        let bodies = combine(self.modules, ids, |m, id| &m.bodies[id]);
        self.pairs = Pairs::default();
        self.pairs.scopes.pair([0, 0]);
        self.bodies = Some(bodies);
        let [left, right] = bodies;
        for ((left_id, left_statement), (right_id, right_statement)) in
            left.statements().zip(right.statements())
        {
            let ids = [left_id, right_id];
            self.spans = combine(bodies, ids, Body::source_span);
            self.changes = combine(bodies, ids, |body, id| body.edits()?.change(id));
            self.pairs.stmts.pair(ids.map(StmtId::index));
            self.statement(bodies, [left_statement, right_statement])?;
        }
        same(
            bodies.map(|b| b.statements().count()),
            "the numbers of statements",
        )?;
        same(bodies.map(|b| b.closed), "the ends of bodies")?;
        // Labels may be mentioned before they are set.
        for (label, left_label) in left.labels.iter() {
            let Some(index) = self.pairs.labels.counterpart(label.index()) else {
                continue;
            };
            let right_label = right.labels[LabelId::from_index(index)];
            let stmts = [left_label.stmt.index(), right_label.stmt.index()];
            let is_unset = combine(bodies, stmts, |body, stmt| stmt >= body.statements.len());
            if !self.pairs.stmts.are_paired(stmts) && is_unset != [true; 2] {
                return Err("labels");
            }
        }
        if self.are_edited {
            return Ok(());
        }
        same(bodies.map(|b| &b.registers), "registers")?;
        same(bodies.map(|b| &b.inner_scopes), "scopes")?;
        same(
            bodies.map(|b| [b.reg_decls.len(), b.vars.len(), b.labels.len()]),
            "the numbers of names",
        )
    }

    /// Pairs two ids. Returns the bodies if the names that the ids denote must still be compared, since neither id was mentioned before.
    fn pair<K: EntityId>(
        &mut self,
        table: fn(&mut Pairs) -> &mut OneToOne,
        ids: Sides<K>,
    ) -> Same<Option<Sides<&'m Body>>> {
        let indices = ids.map(K::index);
        if !self.are_edited {
            same(indices, "the ids of names")?;
        }
        match table(&mut self.pairs).pair(indices) {
            None => self.bodies.ok_or("bodies").map(Some),
            Some(true) => Ok(None),
            Some(false) => Err("names"),
        }
    }

    fn scope(&mut self, ids: Sides<ScopeId>) -> Same {
        self.pair(|pairs| &mut pairs.scopes, ids).map(drop)
    }

    /// Compares the statements that declare a name.
    fn declaring_statements(&self, stmts: Sides<Option<StmtId>>) -> Same {
        match both(stmts, "declarations")? {
            Some(stmts) if !self.pairs.stmts.are_paired(stmts.map(StmtId::index)) => {
                Err("declarations")
            }
            _ => Ok(()),
        }
    }

    #[inline]
    fn register(&mut self, ids: Sides<RegId>) -> Same {
        let Some(bodies) = self.pair(|pairs| &mut pairs.registers, ids)? else {
            return Ok(());
        };
        let registers = combine(bodies, ids, |body, id| body.registers[id]);
        same(registers.map(|r| r.number), "registers")?;
        self.reg_decl(registers.map(|r| r.decl))
    }

    fn reg_decl(&mut self, ids: Sides<RegDeclId>) -> Same {
        let Some(bodies) = self.pair(|pairs| &mut pairs.reg_decls, ids)? else {
            return Ok(());
        };
        let decls = combine(bodies, ids, |body, id| body.reg_decls[id]);
        self.name(decls.map(|d| d.name))?;
        self.ty(decls.map(|d| d.ty))?;
        same(decls.map(|d| (d.count, d.vector)), "register declarations")?;
        self.scope(decls.map(|d| d.scope))?;
        self.declaring_statements(decls.map(|d| d.stmt))
    }

    fn var(&mut self, ids: Sides<VarId>) -> Same {
        let Some(bodies) = self.pair(|pairs| &mut pairs.vars, ids)? else {
            return Ok(());
        };
        let vars = combine(bodies, ids, |body, id| body.vars[id]);
        self.name(vars.map(|v| v.name))?;
        same(vars.map(|v| (v.number, v.space)), "variables")?;
        self.scope(vars.map(|v| v.scope))?;
        self.declaring_statements(vars.map(|v| v.stmt))
    }

    fn label(&mut self, ids: Sides<LabelId>) -> Same {
        let Some(bodies) = self.pair(|pairs| &mut pairs.labels, ids)? else {
            return Ok(());
        };
        // The scope of a label is that of the statement that sets it, which is compared.
        self.name(combine(bodies, ids, |body, id| body.labels[id].name))
    }

    fn statement(&mut self, bodies: Sides<&'m Body>, statements: Sides<Statement>) -> Same {
        let pools = bodies.map(|b| &b.pool);
        match statements {
            [Statement::Inst(left), Statement::Inst(right)] => {
                let insts = combine(bodies, [left, right], |body, id| &body.insts[id]);
                self.signature(insts.map(|i| i.sig))?;
                if let Some(guards) = both(insts.map(|i| i.guard()), "guards")? {
                    same(guards.map(|g| g.sense), "guards")?;
                    let predicates = guards.map(|g| g.predicate);
                    self.operand(pools, combine(pools, predicates, OperandPool::get))?;
                }
                self.range(pools, insts.map(|i| i.operands()))
            }
            [Statement::Decl(left), Statement::Decl(right)] => {
                self.decl(pools, bodies.map(|b| &b.declarations), [left, right])
            }
            [Statement::Directive(left), Statement::Directive(right)] => self.directive(
                pools,
                combine(bodies, [left, right], |body, id| body.directives[id]),
            ),
            [Statement::Prototype(left), Statement::Prototype(right)] => {
                self.interface(combine(bodies, [left, right], |body, id| {
                    &body.prototypes[id].interface
                }))
            }
            [Statement::Function(left), Statement::Function(right)] => self.function([left, right]),
            [Statement::Opaque(_), Statement::Opaque(_)] => self.texts(),
            [Statement::Label(left), Statement::Label(right)] => self.label([left, right]),
            [Statement::Open(left), Statement::Open(right)]
            | [Statement::Close(left), Statement::Close(right)] => self.scope([left, right]),
            _ => same(statements, "statements"),
        }
    }

    fn signature(&mut self, ids: Sides<SigId>) -> Same {
        let [left, right] = ids;
        if self.sigs[left.index()] != Some(right) {
            same(combine(self.modules, ids, canonical_mnemonic), "mnemonics")?;
            self.sigs[left.index()] = Some(right);
        }
        Ok(())
    }

    // --- operands ---

    fn range(&mut self, pools: Sides<&OperandPool>, ranges: Sides<OperandRange>) -> Same {
        let operands = combine(pools, ranges, OperandPool::slice);
        each(operands, "the numbers of operands", |operands| {
            self.operand(pools, operands)
        })
    }

    #[inline]
    fn operand(&mut self, pools: Sides<&OperandPool>, operands: Sides<Operand>) -> Same {
        match operands {
            [Operand::Reg(left), Operand::Reg(right)] => self.register([left, right]),
            [Operand::Small(left), Operand::Small(right)] => same([left, right], "numbers"),
            _ => self.nested(pools, operands),
        }
    }

    /// Compares operands with their parts.
    fn nested(&mut self, pools: Sides<&OperandPool>, operands: Sides<Operand>) -> Same {
        let [left, right] = combine(pools, operands, OperandPool::walk_operand);
        left.zip(right)
            .try_for_each(|(left, right)| self.operand_without_parts(pools, [left, right]))
    }

    /// Compares operands without their parts, except for the number of these.
    fn operand_without_parts(
        &mut self,
        pools: Sides<&OperandPool>,
        operands: Sides<Operand>,
    ) -> Same {
        use Operand as O;
        match operands {
            [O::Imm(left), O::Imm(right)] => {
                let spelling = |side: usize, id: ImmId| {
                    let immediate = pools[side].immediate(id);
                    immediate.map_or("", |i| self.modules[side].name(i.text))
                };
                // Spaces between the tokens of an expression do not count.
                let texts = [spelling(0, left), spelling(1, right)];
                same(texts.map(|text| text.replace(' ', "")), "constants")
            }
            [O::Name(left), O::Name(right)]
            | [O::Str(left), O::Str(right)]
            | [O::Section(left), O::Section(right)] => self.name([left, right]),
            [O::Symbol(left), O::Symbol(right)] => self.symbol([left, right]),
            [O::Reg(left), O::Reg(right)] => self.register([left, right]),
            [O::Var(left), O::Var(right)] => self.var([left, right]),
            [O::Label(left), O::Label(right)] => self.label([left, right]),
            [O::Address(left), O::Address(right)] => {
                let forms = combine(pools, [left, right], |pool, id| {
                    Some(pool.address(id)?.form)
                });
                same(forms, "addresses")
            }
            [left, right] => {
                if let [OperandParts::List(left), OperandParts::List(right)] =
                    operands.map(Operand::parts)
                {
                    let lists = combine(pools, [left, right], OperandPool::list);
                    same(lists.map(<[Operand]>::len), "the lengths of lists")?;
                }
                same([left, right.with_parts(left.parts())], "operands")
            }
        }
    }
}
