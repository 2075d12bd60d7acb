//! Which operands a statement holds, those inside others included, and where each is kept.

use alloc::vec::Vec;

use crate::body::{Body, Statement};
use crate::operand::{Operand, OperandPool, OperandRange};
use crate::{AddrId, DeclId, Declarations, OperandRef};

/// Where an operand is kept.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Slot {
    /// In the pool.
    At(OperandRef),
    /// The base of an address.
    Base(AddrId),
    /// The offset of an address.
    Offset(AddrId),
    /// The initialiser of the declarator with this index.
    Initial(u32),
}

/// The operands of a range, as a start for [`Operands`].
pub(super) fn of_range(pool: &OperandPool, range: OperandRange, todo: &mut Vec<(Slot, Operand)>) {
    for i in (0..range.len() as u32).rev() {
        let at = range.at(i);
        todo.push((Slot::At(at), pool.get(at)));
    }
}

/// The operands of a declaration: its initialisers. All others are numbers.
pub(super) fn of_declaration(tables: &Declarations, id: DeclId) -> Vec<(Slot, Operand)> {
    let Some(decl) = tables.decls.get(id) else {
        return Vec::new();
    };
    let range = decl.declarators;
    let all = (range.start..).zip(range.of(&tables.declarators));
    all.map(|(i, d)| (Slot::Initial(i), d.init)).collect()
}

/// The operands of a statement, outermost ones only.
pub(super) fn of_statement(body: &Body, statement: Statement) -> Vec<(Slot, Operand)> {
    let mut todo = Vec::new();
    match statement {
        Statement::Inst(id) => {
            if let Some(inst) = body.insts.get(id) {
                of_range(&body.pool, inst.operands(), &mut todo);
                if let Some(guard) = inst.guard() {
                    todo.push((Slot::At(guard.predicate), body.pool.get(guard.predicate)));
                }
            }
        }
        Statement::Directive(id) => {
            if let Some(directive) = body.directives.get(id) {
                of_range(&body.pool, directive.args, &mut todo);
            }
        }
        Statement::Opaque(id) => {
            if let Some(opaque) = body.opaques.get(id) {
                of_range(&body.pool, opaque.mentions, &mut todo);
            }
        }
        Statement::Decl(id) => todo = of_declaration(&body.declarations, id),
        _ => {}
    }
    todo
}

/// Takes an operand from those to do, and adds its parts.
pub(super) fn next(pool: &OperandPool, todo: &mut Vec<(Slot, Operand)>) -> Option<(Slot, Operand)> {
    let (slot, operand) = todo.pop()?;
    let at = |i: u32| {
        let at = OperandRef::new(i);
        (Slot::At(at), pool.get(at))
    };
    match operand {
        Operand::Address(id) => {
            if let Some(address) = pool.address(id) {
                todo.push((Slot::Offset(id), address.offset));
                todo.push((Slot::Base(id), address.base));
            }
        }
        Operand::Vector(id) | Operand::List(id) | Operand::Bracket(id) => {
            if let Some(&range) = pool.lists.get(id) {
                of_range(pool, range, todo);
            }
        }
        Operand::Pair(first)
        | Operand::Masked(first)
        | Operand::Difference(first)
        | Operand::Field(first)
        | Operand::Range(first) => {
            todo.push(at(first.as_u32().saturating_add(1)));
            todo.push(at(first.as_u32()));
        }
        Operand::Not(inner)
        | Operand::Neg(inner)
        | Operand::Generic(inner)
        | Operand::Lane(_, inner) => todo.push(at(inner.as_u32())),
        _ => {}
    }
    Some((slot, operand))
}

/// Whether one of the operands, or a part of one, is `wanted`.
pub(super) fn any(
    pool: &OperandPool,
    mut todo: Vec<(Slot, Operand)>,
    mut wanted: impl FnMut(Operand) -> bool,
) -> bool {
    while let Some((_, operand)) = next(pool, &mut todo) {
        if wanted(operand) {
            return true;
        }
    }
    false
}

/// What is kept at a place of the pool.
fn kept(pool: &OperandPool, slot: Slot) -> Operand {
    let address = |id| pool.address(id);
    match slot {
        Slot::At(at) => pool.get(at),
        Slot::Base(id) => address(id).map_or(Operand::Absent, |a| a.base),
        Slot::Offset(id) => address(id).map_or(Operand::Absent, |a| a.offset),
        Slot::Initial(_) => Operand::Absent,
    }
}

/// Forgets operands: no question to the whole pool finds them any more.
pub(super) fn clear(pool: &mut OperandPool, mut todo: Vec<(Slot, Operand)>) {
    while let Some((slot, _)) = next(pool, &mut todo) {
        set(pool, None, slot, Operand::Absent);
    }
}

/// Replaces what is kept at a place.
pub(super) fn set(
    pool: &mut OperandPool,
    tables: Option<&mut Declarations>,
    slot: Slot,
    new: Operand,
) {
    match slot {
        Slot::At(at) => pool.set(at, new),
        Slot::Base(id) => {
            if let Some(address) = pool.addresses.get_mut(id) {
                address.base = new;
            }
        }
        Slot::Offset(id) => {
            if let Some(address) = pool.addresses.get_mut(id) {
                address.offset = new;
            }
        }
        Slot::Initial(index) => {
            if let Some(d) = tables.and_then(|t| t.declarators.get_mut(index as usize)) {
                d.init = new;
            }
        }
    }
}

/// Gives what is kept at these places parts of its own, so that no two statements share any.
pub(super) fn deep_copy(pool: &mut OperandPool, range: OperandRange) {
    let slots = |range: OperandRange| (0..range.len() as u32).map(move |i| Slot::At(range.at(i)));
    let mut todo: Vec<Slot> = slots(range).collect();
    while let Some(slot) = todo.pop() {
        let copy = |pool: &mut OperandPool, first: OperandRef, len: u32| {
            let old = OperandRange {
                start: first.as_u32(),
                len,
            };
            let operands = pool.slice(old).to_vec();
            pool.extend(&operands)
        };
        let list = |pool: &mut OperandPool, id| {
            let old = pool.lists.get(id).copied().unwrap_or_default();
            copy(pool, old.at(0), old.len)
        };
        let mut inner = OperandRange::default();
        let new = match kept(pool, slot) {
            Operand::Address(id) => {
                let Some(address) = pool.address(id).copied() else {
                    continue;
                };
                let id = pool.add_address(address);
                todo.extend([Slot::Base(id), Slot::Offset(id)]);
                Operand::Address(id)
            }
            Operand::Vector(id) => {
                inner = list(pool, id);
                Operand::Vector(pool.lists.push(inner))
            }
            Operand::List(id) => {
                inner = list(pool, id);
                Operand::List(pool.lists.push(inner))
            }
            Operand::Bracket(id) => {
                inner = list(pool, id);
                Operand::Bracket(pool.lists.push(inner))
            }
            Operand::Pair(first) => {
                inner = copy(pool, first, 2);
                Operand::Pair(inner.at(0))
            }
            Operand::Masked(first) => {
                inner = copy(pool, first, 2);
                Operand::Masked(inner.at(0))
            }
            Operand::Difference(first) => {
                inner = copy(pool, first, 2);
                Operand::Difference(inner.at(0))
            }
            Operand::Field(first) => {
                inner = copy(pool, first, 2);
                Operand::Field(inner.at(0))
            }
            Operand::Range(first) => {
                inner = copy(pool, first, 2);
                Operand::Range(inner.at(0))
            }
            Operand::Not(first) => {
                inner = copy(pool, first, 1);
                Operand::Not(inner.at(0))
            }
            Operand::Neg(first) => {
                inner = copy(pool, first, 1);
                Operand::Neg(inner.at(0))
            }
            Operand::Generic(first) => {
                inner = copy(pool, first, 1);
                Operand::Generic(inner.at(0))
            }
            Operand::Lane(selector, first) => {
                inner = copy(pool, first, 1);
                Operand::Lane(selector, inner.at(0))
            }
            _ => continue,
        };
        set(pool, None, slot, new);
        todo.extend(slots(inner));
    }
}

/// The parts of operands that name something or are numbers, in the order in which they are written.
fn leaves(pool: &OperandPool, mut todo: Vec<(Slot, Operand)>, found: &mut Vec<Operand>) {
    while let Some((_, operand)) = next(pool, &mut todo) {
        found.push(operand);
    }
}

impl OperandPool {
    /// An operand of this pool, then its parts, those of parts included, in the order in which they are written.
    pub fn parts(&self, operand: Operand, found: &mut Vec<Operand>) {
        let slot = Slot::At(OperandRef::new(u32::MAX));
        leaves(self, alloc::vec![(slot, operand)], found);
    }
}

impl Body {
    /// What a statement mentions: its operands (of a guarded instruction the predicate first), each before its parts, in the
    /// order in which they are written; of a declaration its initialisers. The names that a statement makes are no operands.
    ///
    /// ```
    /// # use ptx_ir::{Operand, Statement};
    /// # let text = ".version 8.0\n.target sm_80\n.entry k() { .reg .b64 %rd<3>; ld.b64 %rd1, [%rd2+8]; }";
    /// # let module = ptx_parse::parse_str(text).module;
    /// # let body = module.bodies().values().next().unwrap();
    /// let mut found = Vec::new();
    /// for (_, statement) in body.statements() {
    ///     body.mentions(statement, &mut found);
    /// }
    /// let registers = found.iter().filter(|o| matches!(o, Operand::Reg(_)));
    /// assert_eq!(registers.count(), 2);
    /// ```
    pub fn mentions(&self, statement: Statement, found: &mut Vec<Operand>) {
        leaves(&self.pool, of_statement(self, statement), found);
    }
}
