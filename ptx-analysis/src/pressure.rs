//! How many registers are alive at once.
//!
//! Counted where an instruction is executed: what is live behind it together with what it writes, as even a result that
//! nobody reads takes a register; and what is live before it. A register of up to 32 bits is one unit, of 64 bits two,
//! of 128 bits four; predicates have registers of their own and no unit. The assembler unrolls, reorders and keeps
//! fewer values alive than the text does, so this is a measure of the text. Cost: one pass backwards over the
//! instructions.

use alloc::vec::Vec;

use ptx_ir::facts::{FunctionFacts, Mentions};
use ptx_ir::{Body, Statement, StmtId};
use ptx_isa::RegisterClass;

use crate::cfg::Cfg;
use crate::liveness::Liveness;
use crate::reg_lanes::Variables;

/// The classes that are counted.
pub const CLASSES: [RegisterClass; 6] = [
    RegisterClass::Predicate,
    RegisterClass::Bits8,
    RegisterClass::Bits16,
    RegisterClass::Bits32,
    RegisterClass::Bits64,
    RegisterClass::Bits128,
];

/// The most registers alive at once.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub struct Pressure {
    /// In units of 32 bits.
    pub units: u32,
    /// The first instruction where that is so.
    pub at: Option<StmtId>,
    /// Of each class on its own, in the order of [`CLASSES`].
    pub by_class: [u32; CLASSES.len()],
}

impl Pressure {
    /// Walks through every block backwards.
    pub fn new(
        facts: FunctionFacts<'_>,
        cfg: &Cfg,
        variables: &Variables,
        liveness: &Liveness,
    ) -> Self {
        let body = facts.body();
        let classes = (0..variables.len() as u32).map(|v| variables.class(body, v));
        let classes: Vec<u8> = classes
            .map(|c| CLASSES.iter().position(|k| Some(*k) == c).unwrap_or(3) as u8)
            .collect();
        let mut count = Count {
            variables,
            body,
            classes,
            live: alloc::vec![false; variables.len()],
            passing: Vec::new(),
            now: Pressure::default(),
            peak: Pressure::default(),
        };
        for (id, block) in cfg.blocks() {
            for &variable in liveness.live_out(id) {
                count.add(variable);
            }
            for (stmt, statement) in body.range(block.first, block.end).rev() {
                match statement {
                    Statement::Inst(inst) => count.step(stmt, &facts.inst(inst).registers()),
                    Statement::Opaque(opaque) => count.step(stmt, &facts.opaque(opaque)),
                    _ => {}
                }
            }
            for &variable in liveness.live_in(id) {
                count.remove(variable);
            }
        }
        count.peak
    }
}

struct Count<'a> {
    body: &'a Body,
    variables: &'a Variables,
    classes: Vec<u8>,
    live: Vec<bool>,
    /// Written at the instruction at hand, and dead behind it.
    passing: Vec<u32>,
    now: Pressure,
    peak: Pressure,
}

impl Count<'_> {
    fn change(&mut self, variable: u32, live: bool) {
        let index = variable as usize;
        let (Some(entry), Some(&class)) = (self.live.get_mut(index), self.classes.get(index))
        else {
            return;
        };
        if *entry == live {
            return;
        }
        *entry = live;
        let units = match CLASSES.get(usize::from(class)) {
            Some(RegisterClass::Predicate) | None => 0,
            Some(class) => u32::from(class.bits()).div_ceil(32),
        };
        let slot = self.now.by_class.get_mut(usize::from(class));
        if live {
            self.now.units += units;
            slot.into_iter().for_each(|n| *n += 1);
        } else {
            self.now.units -= units;
            slot.into_iter().for_each(|n| *n -= 1);
        }
    }

    fn add(&mut self, variable: u32) {
        self.change(variable, true);
    }

    fn remove(&mut self, variable: u32) {
        self.change(variable, false);
    }

    fn note(&mut self, stmt: StmtId) {
        let first = || {
            let at = self.peak.at;
            at.is_none_or(|at| self.body.precedes(stmt, at))
        };
        if self.now.units > self.peak.units || self.now.units == self.peak.units && first() {
            self.peak.units = self.now.units;
            self.peak.at = Some(stmt);
        }
        for (peak, now) in self.peak.by_class.iter_mut().zip(self.now.by_class) {
            *peak = (*peak).max(now);
        }
    }

    fn step(&mut self, stmt: StmtId, mentions: &Mentions<'_>) {
        let variables = self.variables;
        for m in mentions.clone() {
            if m.usage.writes() || m.usage.may_write() {
                for variable in variables.of(m.place) {
                    if self.live.get(variable as usize) == Some(&false) {
                        self.passing.push(variable);
                        self.add(variable);
                    }
                }
            }
        }
        self.note(stmt);
        while let Some(variable) = self.passing.pop() {
            self.remove(variable);
        }
        for m in mentions.clone().filter(|m| m.usage.writes()) {
            variables.of(m.place).for_each(|v| self.remove(v));
        }
        for m in mentions.clone().filter(|m| m.usage.reads()) {
            variables.of(m.place).for_each(|v| self.add(v));
        }
        self.note(stmt);
    }
}
