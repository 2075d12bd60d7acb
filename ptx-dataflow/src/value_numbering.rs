//! Value numbering along the dominator tree: which values are equal whatever the input is.
//!
//! Two values have one number if they are made by the same mnemonic from operands with the same numbers, by a copy of
//! the other, by phis of one block whose arguments have the same numbers, or by merges of the same old and new values
//! under the same guard. Where the definition of one dominates that of the other, the later one always repeats what the
//! earlier one made last; in two branches, neither of which dominates the other, nothing is said. What an instruction
//! makes that depends on memory, on other threads or on the time, or that has side effects, has a separate number; so have
//! arguments that arrive over the back edge of a loop. Operands that may change places are ordered where the
//! operation is known to allow that.
//!
//! Cost: linear in instructions, operands and arguments, times the logarithm of the number of values.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_ir::facts::{Facts, FunctionFacts, RegAccess, RegLane};
use ptx_ir::{InstId, Operand, Statement, StmtId};
use ptx_isa::ScalarType;

use crate::cfg::{BlockId, Cfg};
use crate::graph::ReversePostOrder;
use crate::reg_lanes::{VariableId, Variables};
use crate::ssa::{Ssa, Value, ValueId};
use ptx_semantics::fold::{commutes, is_copy};

/// The numbers of the values of a function.
///
/// ```
/// use ptx_dataflow::function_dataflow::FunctionDataflow;
/// use ptx_ir::facts::ModuleFacts;
/// let module = ptx_parse::parse(b".version 8.0\n.target sm_80\n.entry k() { .reg .b32 a, b, t; add.s32 a, t, 1; add.s32 b, t, 1; ret; }").module;
/// let facts = ModuleFacts::new(&module);
/// let function = FunctionDataflow::new(facts.function(module.function("k").unwrap()).unwrap());
/// let ssa = function.ssa()?;
/// let values: Vec<_> = function.body().statements().flat_map(|(stmt, _)| ssa.defs(stmt)).collect();
/// assert!(function.value_numbers()?.same(values[0], values[1]));
/// # Ok::<(), ptx_dataflow::ssa::TooManyPhis>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ValueNumbers {
    numbers: Vec<u32>,
}

impl ValueNumbers {
    /// Numbers every value.
    pub(crate) fn new(
        facts: FunctionFacts<'_>,
        cfg: &Cfg,
        order: &ReversePostOrder<BlockId>,
        variables: &Variables,
        ssa: &Ssa,
    ) -> Self {
        crate::builds::record("value numbers", facts);
        let mut pass = Pass {
            facts,
            variables,
            ssa,
            numbers: (0..ssa.len() as u32).collect(),
            done: vec![false; ssa.len()],
            known: BTreeMap::new(),
            next: ssa.len() as u32,
        };
        for (id, value) in ssa.values() {
            if matches!(value, Value::Entry { .. }) {
                pass.set(id, id.as_u32());
            }
        }
        for &block in order.order() {
            for phi in ssa.phis(block) {
                pass.phi(block, phi);
            }
            if let Some(b) = cfg.block(block) {
                for (stmt, _) in facts.body().range(b.first, b.end) {
                    pass.statement(stmt);
                }
            }
        }
        Self {
            numbers: pass.numbers,
        }
    }

    /// The number of a value.
    #[must_use]
    pub fn number(&self, id: ValueId) -> u32 {
        let number = self.numbers.get(id.as_u32() as usize);
        number.copied().unwrap_or(id.as_u32())
    }

    /// Whether the later of two values repeats the earlier one, if the definition of that dominates it.
    #[must_use]
    pub fn same(&self, a: ValueId, b: ValueId) -> bool {
        self.number(a) == self.number(b)
    }
}

/// What an expression is made of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Atom {
    Number(u32),
    /// A constant, a special register, the address of a variable: as it is written.
    Literal(u8, u64),
    Mnemonic(u32),
    /// Which result of an instruction.
    Result(u32),
    Phi(u32),
    Merge(bool),
    Inverted,
    Open,
    Close,
}

struct Pass<'a> {
    facts: FunctionFacts<'a>,
    variables: &'a Variables,
    ssa: &'a Ssa,
    numbers: Vec<u32>,
    done: Vec<bool>,
    known: BTreeMap<Vec<Atom>, u32>,
    next: u32,
}

impl Pass<'_> {
    fn set(&mut self, id: ValueId, number: u32) {
        let index = id.as_u32() as usize;
        if let (Some(slot), Some(done)) = (self.numbers.get_mut(index), self.done.get_mut(index)) {
            (*slot, *done) = (number, true);
        }
    }

    /// The number of a value that has one by now.
    fn get(&self, id: ValueId) -> Option<u32> {
        let index = id.as_u32() as usize;
        self.done.get(index).filter(|&&d| d)?;
        self.numbers.get(index).copied()
    }

    fn fresh(&mut self) -> u32 {
        self.next += 1;
        self.next - 1
    }

    /// The number of an expression.
    fn of(&mut self, key: Vec<Atom>) -> u32 {
        if let Some(&number) = self.known.get(&key) {
            return number;
        }
        let number = self.fresh();
        self.known.insert(key, number);
        number
    }

    fn phi(&mut self, block: BlockId, phi: ValueId) {
        let args: Option<Vec<u32>> = self.ssa.args(phi).iter().map(|&a| self.get(a)).collect();
        let number = match args.as_deref() {
            Some([first, rest @ ..]) if rest.iter().all(|a| a == first) => *first,
            Some(args) if !args.is_empty() => {
                let mut key = vec![Atom::Phi(block.as_u32())];
                key.extend(args.iter().map(|&a| Atom::Number(a)));
                self.of(key)
            }
            _ => phi.as_u32(),
        };
        self.set(phi, number);
    }

    fn statement(&mut self, stmt: StmtId) {
        let inst = match self.facts.body().statement(stmt) {
            Some(Statement::Inst(inst)) => Some(inst),
            _ => None,
        };
        let expression = inst.and_then(|inst| self.expression(stmt, inst));
        let guard = inst.and_then(|inst| {
            let f = self.facts.inst(inst);
            let (place, sense) = f.guard_register()?;
            Some((self.register(stmt, place)?, sense.is_negated()))
        });
        for def in self.ssa.defs(stmt) {
            let Value::Def { variable, old, .. } = self.ssa.value(def) else {
                continue;
            };
            let new = match (&expression, inst) {
                (Some(expression), Some(inst)) => {
                    let f = self.facts.inst(inst);
                    self.result(expression, &f, variable)
                }
                _ => None,
            };
            let number = match (new, old) {
                (new, None) => new.unwrap_or(def.as_u32()),
                (Some(new), Some(old)) => match (self.get(old), guard) {
                    (Some(old), _) if old == new => new,
                    (Some(old), Some((guard, negated))) => self.of(vec![
                        Atom::Merge(negated),
                        Atom::Number(guard),
                        Atom::Number(new),
                        Atom::Number(old),
                    ]),
                    _ => def.as_u32(),
                },
                (None, Some(_)) => def.as_u32(),
            };
            self.set(def, number);
        }
    }

    /// The number of the value that a statement reads in a scalar register or an element.
    fn register(&self, stmt: StmtId, place: RegLane) -> Option<u32> {
        self.variable(stmt, self.variables.of(place).single()?)
    }

    /// The number of the value that a statement reads in a variable.
    fn variable(&self, stmt: StmtId, variable: VariableId) -> Option<u32> {
        self.get(self.ssa.read(stmt, variable)?)
    }

    /// The mnemonic and the sources of an instruction that always makes the same of the same.
    fn expression(&self, stmt: StmtId, inst: InstId) -> Option<Expression> {
        let f = self.facts.inst(inst);
        if !f.may_be_duplicated() || f.memory().next().is_some() || !f.asynchronous().is_empty() {
            return None;
        }
        let sig = self.facts.body().inst(inst)?.sig;
        let signature = self.facts.module().signature(sig);
        let (opcode, mut sources) = (signature.opcode()?, Vec::new());
        for (operand, usage) in f.parts().filter(|(_, usage)| *usage != RegAccess::Write) {
            if usage != RegAccess::Read {
                return None;
            }
            let mut key = Vec::new();
            self.operand(stmt, operand, &f, &mut key)?;
            sources.push(key);
        }
        let modifiers: Vec<_> = signature.modifiers().collect();
        if let [a, b, ..] = &mut *sources
            && commutes(opcode, &modifiers)
            && a > b
        {
            core::mem::swap(a, b);
        }
        let copied = match &*sources {
            [source] if is_copy(opcode) => match **source {
                [Atom::Number(number)] => Some(number),
                _ => None,
            },
            _ => None,
        };
        let mut key = vec![Atom::Mnemonic(sig.as_u32())];
        key.extend(sources.into_iter().flatten());
        if f.reads_carry() {
            key.push(Atom::Number(self.variable(stmt, self.ssa.carry())?));
        }
        let width = signature.types().next().map(ScalarType::bits);
        Some(Expression { key, copied, width })
    }

    fn operand(
        &self,
        stmt: StmtId,
        operand: Operand,
        f: &Facts<'_>,
        key: &mut Vec<Atom>,
    ) -> Option<()> {
        let pool = &self.facts.body().pool();
        let atom = match operand {
            Operand::Not(at) => {
                key.push(Atom::Inverted);
                let place = f.place(pool.get(at))?;
                Atom::Number(self.register(stmt, place)?)
            }
            Operand::Reg(_) => {
                let place = f.place(operand)?;
                Atom::Number(self.register(stmt, place)?)
            }
            Operand::Lane(selector, at) => match (selector.element(), pool.get(at)) {
                (Some(_), Operand::Reg(_)) => {
                    let place = f.place(operand)?;
                    Atom::Number(self.register(stmt, place)?)
                }
                (None, Operand::Reg(_)) => {
                    let place = f.place(operand)?;
                    key.push(Atom::Literal(0, selector.bits().into()));
                    Atom::Number(self.register(stmt, place)?)
                }
                (_, Operand::Special(register)) => {
                    key.push(Atom::Literal(1, selector.bits().into()));
                    Atom::Literal(2, register as u64)
                }
                _ => return None,
            },
            Operand::Special(register) => Atom::Literal(2, register as u64),
            Operand::Small(value) => Atom::Literal(3, i64::from(value) as u64),
            Operand::Imm(id) => {
                let value = pool.immediate(id)?.value;
                Atom::Literal(4 + value.kind() as u8, value.bits())
            }
            Operand::Symbol(id) => Atom::Literal(16, id.as_u32().into()),
            Operand::Var(id) => Atom::Literal(17, id.as_u32().into()),
            Operand::Vector(list) => {
                key.push(Atom::Open);
                for &part in pool.list(list) {
                    // Vectors in vectors are allowed in initializers only.
                    if matches!(part, Operand::Vector(_)) {
                        return None;
                    }
                    self.operand(stmt, part, f, key)?;
                }
                Atom::Close
            }
            _ => return None,
        };
        key.push(atom);
        Some(())
    }

    /// The number of what an instruction writes to a variable.
    fn result(
        &mut self,
        expression: &Expression,
        f: &Facts<'_>,
        variable: VariableId,
    ) -> Option<u32> {
        if variable == self.ssa.carry() {
            let mut key = expression.key.clone();
            key.push(Atom::Result(u32::MAX));
            return Some(self.of(key));
        }
        let body = self.facts.body();
        let mut found = None;
        let results = f.parts().filter(|(_, usage)| *usage == RegAccess::Write);
        for (nth, (operand, _)) in (0u32..).zip(results) {
            let parts = match operand {
                Operand::Vector(list) => body.pool().list(list),
                _ => core::slice::from_ref(&operand),
            };
            for (part, &operand) in (0u32..).zip(parts) {
                let Some(place) = f.place(operand) else {
                    continue;
                };
                let range = self.variables.of(place);
                if range.contains(&variable) {
                    // Twice among the results, or a whole vector by its name.
                    if found.is_some() || range.len() > 1 {
                        return None;
                    }
                    let vector = matches!(parts, [_, _, ..]);
                    found = Some((nth, part, vector));
                }
            }
        }
        let (nth, part, vector) = found?;
        let width = self.variables.class(body, variable)?.bits();
        match expression.copied {
            Some(number) if !vector && nth == 0 && expression.width == Some(width) => {
                return Some(number);
            }
            _ => {}
        }
        // A wider register holds the result extended: another value.
        let mut key = expression.key.clone();
        key.push(Atom::Result(nth << 8 | part));
        key.push(Atom::Literal(32, width.into()));
        Some(self.of(key))
    }
}

/// What an instruction computes.
struct Expression {
    key: Vec<Atom>,
    /// Of a copy, the number of its source.
    copied: Option<u32>,
    /// The width of its first type.
    width: Option<u16>,
}
