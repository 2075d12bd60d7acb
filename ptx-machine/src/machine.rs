//! Runs one thread through a function.
//!
//! What [`ptx_analysis::fold`] knows is computed, addresses are converted, plain loads and stores reach bytes of memory. Everything else
//! is an unknown function: its results follow from its mnemonic, from the values that it reads and from how many effects came before.
//! Two functions that do the same thus leave the same trace, whatever their instructions are.

use std::collections::HashMap;

use ptx_analysis::reg_lanes::Variables;
use ptx_ir::facts::{Flow, FunctionFacts, RegLane, Targets};
use ptx_ir::query::Queries;
use ptx_ir::{FuncId, InstId, LabelId, Operand, Statement};

use crate::hash::Hash;

/// How a run ended.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum End {
    /// The function did.
    Done,
    /// There were too many steps.
    StepLimit,
    /// The next instruction is unrecognized, or may do anything.
    Unknown,
}

/// What a run did that others can see.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trace {
    /// A number for each effect, which follows from what was done and with which values; and where it was done.
    pub effects: Vec<(u64, u32)>,
    /// How it ended.
    pub end: End,
    /// How many instructions were executed.
    pub steps: usize,
}

impl Trace {
    /// Whether the rewritten function does what this one does: the same effects, as far as both were followed. It takes no more steps.
    #[must_use]
    pub fn agrees(&self, rewritten: &Self) -> bool {
        let pairs = self.effects.iter().zip(&rewritten.effects);
        let same = pairs.clone().all(|(a, b)| a.0 == b.0);
        let whole = self.end == rewritten.end && self.effects.len() == rewritten.effects.len();
        let ended = match self.end {
            End::StepLimit => rewritten.effects.len() >= self.effects.len(),
            _ => whole && rewritten.steps <= self.steps,
        };
        same && ended
    }
}

/// One thread in a function.
#[derive(Debug)]
pub struct Machine<'a> {
    pub(crate) facts: FunctionFacts<'a>,
    pub(crate) variables: Variables,
    /// The bits of each variable; the carry flag after them.
    pub(crate) registers: Vec<u128>,
    pub(crate) carry: bool,
    memory: HashMap<u64, u8>,
    pub(crate) seed: u64,
    pub(crate) effects: u64,
    widths: Vec<u16>,
    /// The variables in which the function returns its results.
    results: Vec<u32>,
    statements: Vec<Statement>,
    labels: HashMap<LabelId, usize>,
    pub(crate) queries: Queries<()>,
    pub(crate) sources: HashMap<InstId, Vec<Option<u16>>>,
}

/// The position of a thread that has ended: after everything, and no caller reads the results.
const OVER: usize = usize::MAX;

/// The lowest `bits` bits.
pub(crate) fn ones(bits: u16) -> u128 {
    match bits {
        128.. => u128::MAX,
        _ => (1 << bits) - 1,
    }
}

impl<'a> Machine<'a> {
    /// A thread at the start of a function. What registers and memory hold follows from the seed and their names.
    #[must_use]
    pub fn new(facts: FunctionFacts<'a>, function: FuncId, seed: u64) -> Self {
        let (module, body) = (facts.module(), facts.body());
        let variables = Variables::new(body);
        let widths: Vec<u16> = (0..variables.len() as u32)
            .map(|v| variables.class(body, v).map_or(64, |c| c.bits()))
            .collect();
        let results = facts.results().flat_map(|r| variables.of(r.into()));
        let results = results.collect();
        let mut statements = Vec::new();
        let mut labels = HashMap::new();
        for (_, statement) in body.statements() {
            if let Statement::Label(label) = statement {
                labels.insert(label, statements.len());
            }
            statements.push(statement);
        }
        let mut queries = Queries::new(module);
        queries.enter(module, function, body);
        let mut machine = Self {
            facts,
            registers: vec![0; variables.len()],
            variables,
            carry: seed & 1 == 1,
            memory: HashMap::new(),
            seed,
            effects: 0,
            widths,
            results,
            statements,
            labels,
            queries,
            sources: HashMap::new(),
        };
        for variable in 0..machine.variables.len() as u32 {
            let name = machine.name(variable);
            machine.registers[variable as usize] =
                Hash::new(seed).text(&name).bits() & ones(machine.width(variable));
        }
        machine
    }

    pub(crate) fn width(&self, variable: u32) -> u16 {
        self.widths.get(variable as usize).copied().unwrap_or(64)
    }

    fn name(&self, variable: u32) -> String {
        let (module, body) = (self.facts.module(), self.facts.body());
        let place = self.variables.place(variable);
        let register = body.registers().get(place.register);
        let decl = register.and_then(|r| body.reg_decls().get(r.decl));
        let name = decl.map_or("", |d| module.name(d.name));
        let number = register.map_or(0, |r| r.number);
        let number = decl.and_then(|d| d.count).map(|_| number.to_string());
        let lane = place.lane.map(|l| format!(".{l}"));
        format!(
            "{name}{}{}",
            number.unwrap_or_default(),
            lane.unwrap_or_default()
        )
    }

    fn named(&self, name: &str) -> Option<usize> {
        (0..self.variables.len()).find(|&v| self.name(v as u32) == name)
    }

    /// Gives a register a value, if the function mentions it.
    pub fn set(&mut self, name: &str, bits: u128) {
        if let Some(variable) = self.named(name) {
            self.registers[variable] = bits & ones(self.width(variable as u32));
        }
    }

    /// The value of a register.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<u128> {
        Some(self.registers[self.named(name)?])
    }

    /// Sets the carry flag.
    pub fn set_carry(&mut self, carry: bool) {
        self.carry = carry;
    }

    /// Puts bytes to a generic address.
    pub fn poke(&mut self, address: u64, bytes: &[u8]) {
        for (at, &byte) in (0u64..).zip(bytes) {
            self.memory.insert(address.wrapping_add(at), byte);
        }
    }

    /// The bytes at a generic address, at most 16.
    #[must_use]
    pub fn peek(&self, address: u64, bytes: u64) -> u128 {
        let byte = |at: u64| {
            let address = address.wrapping_add(at);
            let first = || Hash::new(self.seed).number(address).value() as u8;
            u128::from(self.memory.get(&address).copied().unwrap_or_else(first)) << (8 * at)
        };
        (0..bytes.min(16)).map(byte).sum()
    }

    /// Runs at most that many instructions.
    pub fn run(&mut self, most: usize) -> Trace {
        let mut trace = Trace {
            effects: Vec::new(),
            end: End::StepLimit,
            steps: 0,
        };
        let mut at = 0;
        while trace.steps < most {
            let next = match self.statements.get(at) {
                None => {
                    if at != OVER {
                        self.tell_results(&mut trace.effects);
                    }
                    trace.end = End::Done;
                    return trace;
                }
                Some(Statement::Opaque(_)) => None,
                Some(&Statement::Inst(inst)) => {
                    trace.steps += 1;
                    self.instruction(inst, at, &mut trace.effects)
                }
                Some(_) => Some(at + 1),
            };
            let Some(next) = next else {
                trace.end = End::Unknown;
                return trace;
            };
            at = next;
        }
        trace
    }

    /// Executes an instruction; gives the next statement.
    fn instruction(
        &mut self,
        inst: InstId,
        at: usize,
        trace: &mut Vec<(u64, u32)>,
    ) -> Option<usize> {
        let f = self.facts.inst(inst);
        if !f.is_known() {
            return None;
        }
        if f.guard().is_some() {
            let (place, negated) = f.guard_register()?;
            if (self.register(place) == 1) == negated {
                return Some(at + 1);
            }
        }
        match f.flow() {
            Flow::Next => self.compute(inst, &f, trace)?,
            Flow::Jump => {
                let Targets::Label(label) = f.targets() else {
                    return None;
                };
                return self.labels.get(&label).copied();
            }
            Flow::Table => {
                let Targets::List(list) = f.targets() else {
                    return None;
                };
                let (index, _) = f.parts().next()?;
                let target = usize::try_from(self.scalar(index)).ok()?;
                let Operand::Label(label) = *list.operands.get(target)? else {
                    return None;
                };
                return self.labels.get(&label).copied();
            }
            Flow::Call => {
                self.compute(inst, &f, trace)?;
                if f.never_returns() {
                    return Some(OVER);
                }
            }
            flow @ (Flow::Return | Flow::Exit | Flow::Trap) => {
                self.compute(inst, &f, trace)?;
                if flow == Flow::Return {
                    self.tell_results(trace);
                }
                return Some(OVER);
            }
            _ => return None,
        }
        Some(at + 1)
    }

    /// What the registers hold that the caller reads.
    fn tell_results(&self, trace: &mut Vec<(u64, u32)>) {
        let results = self.results.iter();
        let hash = results.fold(Hash::new(self.effects), |h, &v| {
            h.wide(self.registers[v as usize])
        });
        trace.push((hash.value(), u32::MAX));
    }

    /// Writes a register, or an element of one.
    pub(crate) fn write(&mut self, place: RegLane, bits: u128) {
        let mut bits = bits;
        for variable in self.variables.of(place) {
            let width = self.width(variable);
            if let Some(register) = self.registers.get_mut(variable as usize) {
                *register = bits & ones(width);
            }
            bits = bits.checked_shr(width.into()).unwrap_or(0);
        }
    }
}
