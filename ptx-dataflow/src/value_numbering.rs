//! Value numbering along the dominator tree: values with the same number are equal for every input.
//!
//! Two values have the same number if they are results of the same mnemonic for operands with the same numbers, if one is a copy of
//! the other, if they are phis of one block whose arguments have the same numbers, or merges of the same old and new values
//! under the same guard. If the definition of one dominates that of the other, the later value always equals the last
//! value of the earlier definition. Nothing follows for values of which neither dominates the other. A result that depends on memory, on other threads or on
//! the time, and a result of an instruction with side effects, has a separate number; so has an
//! argument of a phi for the back edge of a loop. The operands of commutative operations are sorted.
//!
//! Cost: linear in instructions, operands and arguments, times the logarithm of the number of values.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_ir::facts::{Facts, FunctionFacts, RegAccess, RegisterComponent};
use ptx_ir::{EntityId as _, InstId, Operand, Statement, StmtId};
use ptx_isa::ScalarType;

use crate::cfg::{BlockId, Cfg};
use crate::graph::ReversePostOrder;
use crate::reg_lanes::{VariableId, Variables};
use crate::ssa::{Ssa, Value, ValueId};
use ptx_semantics::internals::{commutes, is_copy};

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
/// # Ok::<(), ptx_dataflow::AnalysisError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ValueNumbers {
    numbers: Vec<u32>,
}

impl ValueNumbers {
    /// Numbers all values.
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
            is_numbered: vec![false; ssa.len()],
            expressions: BTreeMap::new(),
            next_number: ssa.len() as u32,
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
            if let Some(block) = cfg.block(block) {
                for (stmt, _) in facts.body().range(block.first, block.end) {
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
        self.numbers.get(id.index()).copied().unwrap_or(id.as_u32())
    }

    /// Returns whether two values have the same number: the later one equals the earlier one if the definition of the earlier one dominates it.
    #[must_use]
    pub fn same(&self, a: ValueId, b: ValueId) -> bool {
        self.number(a) == self.number(b)
    }
}

/// A part of the key of an expression, which is written in prefix notation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Atom {
    /// The number of a value.
    Number(u32),
    /// A constant, a special register or the address of a variable: its kind and its bits.
    Literal(u8, u64),
    Mnemonic(u32),
    /// The position of a result of an instruction.
    Result(u32),
    /// A phi of a block.
    Phi(u32),
    /// A merge under a guard, which is negated or not.
    Merge(bool),
    /// The negation of the predicate that follows.
    Inverted,
    /// The ends of a vector.
    Open,
    Close,
}

struct Pass<'a> {
    facts: FunctionFacts<'a>,
    variables: &'a Variables,
    ssa: &'a Ssa,
    numbers: Vec<u32>,
    /// Whether each value has its final number.
    is_numbered: Vec<bool>,
    /// The numbers of expressions.
    expressions: BTreeMap<Vec<Atom>, u32>,
    next_number: u32,
}

impl Pass<'_> {
    fn set(&mut self, id: ValueId, number: u32) {
        let index = id.index();
        if let (Some(entry), Some(is_numbered)) =
            (self.numbers.get_mut(index), self.is_numbered.get_mut(index))
        {
            (*entry, *is_numbered) = (number, true);
        }
    }

    /// The number of a value, if it was visited.
    fn get(&self, id: ValueId) -> Option<u32> {
        let number = self.numbers.get(id.index()).copied()?;
        self.is_numbered.get(id.index())?.then_some(number)
    }

    /// The number of an expression. A new expression gets a new number.
    fn expression_number(&mut self, key: Vec<Atom>) -> u32 {
        *self.expressions.entry(key).or_insert_with(|| {
            self.next_number += 1;
            self.next_number - 1
        })
    }

    /// Numbers a phi.
    fn phi(&mut self, block: BlockId, phi: ValueId) {
        let args: Option<Vec<u32>> = self.ssa.args(phi).iter().map(|&a| self.get(a)).collect();
        let number = match args.as_deref() {
            Some([first, others @ ..]) if others.iter().all(|arg| arg == first) => *first,
            Some(args) if !args.is_empty() => {
                let mut key = vec![Atom::Phi(block.as_u32())];
                key.extend(args.iter().map(|&arg| Atom::Number(arg)));
                self.expression_number(key)
            }
            _ => phi.as_u32(),
        };
        self.set(phi, number);
    }

    /// Numbers the values that a statement writes.
    fn statement(&mut self, stmt: StmtId) {
        let inst = match self.facts.body().statement(stmt) {
            Some(Statement::Inst(inst)) => Some(inst),
            _ => None,
        };
        let expression = inst.and_then(|inst| self.expression(stmt, inst));
        let guard = inst.and_then(|inst| {
            let facts = self.facts.inst(inst);
            let (place, sense) = facts.guard_register()?;
            Some((self.register(stmt, place)?, sense.is_negated()))
        });
        for def in self.ssa.defs(stmt) {
            let Value::Def { variable, old, .. } = self.ssa.value(def) else {
                continue;
            };
            let new = match (&expression, inst) {
                (Some(expression), Some(inst)) => {
                    let facts = self.facts.inst(inst);
                    self.result(expression, &facts, variable)
                }
                _ => None,
            };
            let number = match (new, old) {
                (new, None) => new.unwrap_or(def.as_u32()),
                (Some(new), Some(old)) => match (self.get(old), guard) {
                    (Some(old), _) if old == new => new,
                    (Some(old), Some((guard, negated))) => self.expression_number(vec![
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
    fn register(&self, stmt: StmtId, place: RegisterComponent) -> Option<u32> {
        self.variable(stmt, self.variables.of(place).single()?)
    }

    /// The key of an operand that is a register or an element of one.
    fn register_atom(&self, stmt: StmtId, operand: Operand, facts: &Facts<'_>) -> Option<Atom> {
        let place = facts.place(operand)?;
        self.register(stmt, place).map(Atom::Number)
    }

    /// The number of the value that a statement reads in a variable.
    fn variable(&self, stmt: StmtId, variable: VariableId) -> Option<u32> {
        self.get(self.ssa.read(stmt, variable)?)
    }

    /// The mnemonic and the sources of an instruction whose results are a function of its sources.
    fn expression(&self, stmt: StmtId, inst: InstId) -> Option<Expression> {
        let facts = self.facts.inst(inst);
        if !facts.may_be_duplicated()
            || facts.memory().next().is_some()
            || !facts.asynchronous().is_empty()
        {
            return None;
        }
        let sig = self.facts.body().inst(inst)?.sig;
        let signature = self.facts.module().signature(sig);
        let (opcode, mut sources) = (signature.opcode()?, Vec::new());
        for (operand, usage) in facts
            .parts()
            .filter(|(_, usage)| *usage != RegAccess::Write)
        {
            if usage != RegAccess::Read {
                return None;
            }
            let mut key = Vec::new();
            self.operand(stmt, operand, &facts, &mut key)?;
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
        if facts.reads_carry() {
            key.push(Atom::Number(self.variable(stmt, self.ssa.carry())?));
        }
        let width = signature.types().next().map(ScalarType::bits);
        Some(Expression { key, copied, width })
    }

    /// Appends an operand to the key of an expression; `None` for an operand without a number.
    fn operand(
        &self,
        stmt: StmtId,
        operand: Operand,
        facts: &Facts<'_>,
        key: &mut Vec<Atom>,
    ) -> Option<()> {
        let pool = &self.facts.body().pool();
        let atom = match operand {
            Operand::Not(predicate) => {
                key.push(Atom::Inverted);
                self.register_atom(stmt, pool.get(predicate), facts)?
            }
            Operand::Reg(_) => self.register_atom(stmt, operand, facts)?,
            Operand::Component(selector, base) => match (selector.element(), pool.get(base)) {
                (Some(_), Operand::Reg(_)) => self.register_atom(stmt, operand, facts)?,
                (None, Operand::Reg(_)) => {
                    key.push(Atom::Literal(0, selector.bits().into()));
                    self.register_atom(stmt, operand, facts)?
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
                    self.operand(stmt, part, facts, key)?;
                }
                Atom::Close
            }
            _ => return None,
        };
        key.push(atom);
        Some(())
    }

    /// The number of the result that an instruction writes to a variable.
    fn result(
        &mut self,
        expression: &Expression,
        facts: &Facts<'_>,
        variable: VariableId,
    ) -> Option<u32> {
        if variable == self.ssa.carry() {
            let mut key = expression.key.clone();
            key.push(Atom::Result(u32::MAX));
            return Some(self.expression_number(key));
        }
        let body = self.facts.body();
        let mut position = None;
        let results = facts
            .parts()
            .filter(|(_, usage)| *usage == RegAccess::Write);
        for (result, (operand, _)) in (0u32..).zip(results) {
            let components = match operand {
                Operand::Vector(list) => body.pool().list(list),
                _ => core::slice::from_ref(&operand),
            };
            for (component, &operand) in (0u32..).zip(components) {
                let Some(place) = facts.place(operand) else {
                    continue;
                };
                let range = self.variables.of(place);
                if range.contains(&variable) {
                    // The variable is listed twice among the results, or as a part of a whole vector register.
                    if position.is_some() || range.len() > 1 {
                        return None;
                    }
                    let is_in_vector = matches!(components, [_, _, ..]);
                    position = Some((result, component, is_in_vector));
                }
            }
        }
        let (result, component, is_in_vector) = position?;
        let width = self.variables.class(variable)?.bits();
        if !is_in_vector
            && result == 0
            && expression.width == Some(width)
            && expression.copied.is_some()
        {
            return expression.copied;
        }
        // A wider register has the extended result, which is another value.
        let mut key = expression.key.clone();
        key.push(Atom::Result(result << 8 | component));
        key.push(Atom::Literal(32, width.into()));
        Some(self.expression_number(key))
    }
}

/// The computation of an instruction.
struct Expression {
    /// The mnemonic and the sources.
    key: Vec<Atom>,
    /// The number of the source, if the instruction is a copy.
    copied: Option<u32>,
    /// The width of the first type in bits.
    width: Option<u16>,
}
