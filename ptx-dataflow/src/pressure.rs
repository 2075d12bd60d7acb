//! The greatest number of registers that are live at once.
//!
//! Counted at each instruction: the registers that are live before it; and those that are live after it together with those
//! that it writes, as a result needs a register even if it is never read. A register of up to 32 bits is one unit, of 64
//! bits two units, of 128 bits four; predicates are not counted in units. ptxas unrolls, reorders and rematerializes, so
//! this is a measure of the text, not of the machine code.
//!
//! Cost: one backward pass over the instructions, `O(log v)` for each register that one names, for `v` registers.

use alloc::vec::Vec;

use ptx_ir::facts::{FunctionFacts, Mentions};
use ptx_ir::{Body, EntityId as _, Statement, StmtId};
use ptx_isa::RegisterClass;

use crate::cfg::Cfg;
use crate::function_dataflow::FunctionDataflow;
use crate::liveness::{LiveSet, Liveness};
use crate::reg_lanes::{VariableId, Variables};

/// The classes that are counted.
pub const CLASSES: [RegisterClass; 6] = [
    RegisterClass::Predicate,
    RegisterClass::Bits8,
    RegisterClass::Bits16,
    RegisterClass::Bits32,
    RegisterClass::Bits64,
    RegisterClass::Bits128,
];

/// The greatest number of live registers.
///
/// ```
/// use ptx_dataflow::function_dataflow::FunctionDataflow;
/// use ptx_ir::facts::ModuleFacts;
/// let module = ptx_parse::parse(b".version 8.0\n.target sm_80\n.entry k() { .reg .b64 a; .reg .b32 b; mov.b64 a, 1; cvt.u32.u64 b, a; ret; }").module;
/// let facts = ModuleFacts::new(&module);
/// let function = FunctionDataflow::new(facts.function(module.function("k").unwrap()).unwrap());
/// // One register of 64 bits counts as two of 32.
/// assert_eq!(function.pressure().units, 2);
/// ```
#[derive(Copy, Clone, PartialEq, Eq, Hash, Default, Debug)]
#[non_exhaustive]
pub struct Pressure {
    /// In units of 32 bits.
    pub units: u32,
    /// The first instruction with that number of units.
    pub at: Option<StmtId>,
    /// The greatest number of each class separately, in the order of [`CLASSES`].
    pub by_class: [u32; CLASSES.len()],
}

/// What is live at an instruction, and how that differs before it and after it.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct LivePoint<'a> {
    /// The instruction.
    pub stmt: StmtId,
    /// The greater one of what is live before it, and of what is live after it together with its results; in units of 32
    /// bits.
    pub units: u32,
    /// The greater one of the two for each class separately, in the order of [`CLASSES`].
    pub by_class: [u32; CLASSES.len()],
    /// The variables that it writes and that are live after it.
    pub written: &'a [VariableId],
    /// The variables that it reads and that are not live after it, or that it writes, too.
    pub read: &'a [VariableId],
}

impl Pressure {
    /// Counts the live registers of a function.
    pub(crate) fn new(
        facts: FunctionFacts<'_>,
        cfg: &Cfg,
        variables: &Variables,
        liveness: &Liveness,
    ) -> Self {
        count(facts, cfg, variables, liveness, &mut |_| {})
    }

    /// Counts the live registers of a function and calls `visitor` for each instruction: block after block in the order of
    /// [`Cfg::blocks`], in each block from the last instruction to the first. What is live before an instruction is what is
    /// live after it without [`LivePoint::written`] and with [`LivePoint::read`]; after the last one that is
    /// [`Liveness::live_out`].
    ///
    /// ```
    /// use ptx_dataflow::function_dataflow::FunctionDataflow;
    /// use ptx_dataflow::pressure::Pressure;
    /// use ptx_ir::facts::ModuleFacts;
    /// let module = ptx_parse::parse(b".version 8.0\n.target sm_80\n.entry k() { .reg .b64 a; .reg .b32 b; mov.b64 a, 1; cvt.u32.u64 b, a; ret; }").module;
    /// let facts = ModuleFacts::new(&module);
    /// let function = FunctionDataflow::new(facts.function(module.function("k").unwrap()).unwrap());
    /// let mut units = Vec::new();
    /// let mut note = |point: ptx_dataflow::pressure::LivePoint<'_>| units.push(point.units);
    /// Pressure::visit(&function, &mut note);
    /// // `ret`, `cvt` and `mov`.
    /// assert_eq!(units, [0, 2, 2]);
    /// ```
    pub fn visit(function: &FunctionDataflow<'_>, visitor: &mut dyn FnMut(LivePoint<'_>)) -> Self {
        count(
            function.facts(),
            function.cfg(),
            function.variables(),
            function.liveness(),
            visitor,
        )
    }
}

fn count(
    facts: FunctionFacts<'_>,
    cfg: &Cfg,
    variables: &Variables,
    liveness: &Liveness,
    visitor: &mut dyn FnMut(LivePoint<'_>),
) -> Pressure {
    crate::builds::record("pressure", facts);
    let body = facts.body();
    let classes: Vec<u8> = variables
        .ids()
        .map(|variable| class_index(variables.class(body, variable)))
        .collect();
    let mut count = Count {
        variables,
        body,
        classes: &classes,
        end: None,
        block: 0,
        changed: vec![(0, false); variables.len()],
        passing: Vec::new(),
        written: Vec::new(),
        read: Vec::new(),
        now: Pressure::default(),
        peak: Pressure::default(),
    };
    let mut counts = liveness.counts(&classes);
    for (id, block) in cfg.blocks() {
        let end = liveness.live_out(id);
        count.start(end, counts.of(end.set));
        for (stmt, statement) in body.range(block.first, block.end).rev() {
            let mentions = match statement {
                Statement::Inst(inst) => facts.inst(inst).registers(),
                Statement::Opaque(opaque) => facts.opaque(opaque),
                _ => continue,
            };
            let (units, by_class) = count.step(stmt, &mentions);
            visitor(LivePoint {
                stmt,
                units,
                by_class,
                written: &count.written,
                read: &count.read,
            });
        }
    }
    count.peak
}

struct Count<'a> {
    body: &'a Body,
    variables: &'a Variables,
    classes: &'a [u8],
    /// What is live at the end of the current block.
    end: Option<LiveSet<'a>>,
    /// The current block, counted from one.
    block: u32,
    /// For each variable the last block that changed its state, and whether it is live there now.
    changed: Vec<(u32, bool)>,
    /// Variables that the current instruction writes and that are dead after it.
    passing: Vec<VariableId>,
    /// Those that are live after the current instruction and that it writes, and those that become live before it.
    written: Vec<VariableId>,
    read: Vec<VariableId>,
    now: Pressure,
    peak: Pressure,
}

impl<'a> Count<'a> {
    /// Begins at the end of the next block.
    fn start(&mut self, end: LiveSet<'a>, by_class: [u32; CLASSES.len()]) {
        self.end = Some(end);
        self.block += 1;
        let units = CLASSES.iter().zip(by_class).map(|(c, n)| units(*c) * n);
        self.now.units = units.sum();
        self.now.by_class = by_class;
    }

    /// Sets whether a variable is live; returns whether that changed.
    fn change(&mut self, variable: VariableId, live: bool) -> bool {
        let index = variable.index();
        let (Some(entry), Some(&class)) = (self.changed.get_mut(index), self.classes.get(index))
        else {
            return false;
        };
        let was_live = match *entry {
            (block, was_live) if block == self.block => was_live,
            _ => self.end.is_some_and(|end| end.contains(variable)),
        };
        *entry = (self.block, live);
        if was_live == live {
            return false;
        }
        let class = usize::from(class);
        let units = CLASSES.get(class).map_or(0, |c| units(*c));
        let slot = self.now.by_class.get_mut(class);
        if live {
            self.now.units += units;
            slot.into_iter().for_each(|n| *n += 1);
        } else {
            self.now.units -= units;
            slot.into_iter().for_each(|n| *n -= 1);
        }
        true
    }

    /// Adds what is live at an instruction to the greatest numbers.
    fn note(&mut self, stmt: StmtId, units: u32, by_class: [u32; CLASSES.len()]) {
        let first = || {
            let at = self.peak.at;
            at.is_none_or(|at| self.body.precedes(stmt, at))
        };
        if units > self.peak.units || units == self.peak.units && first() {
            self.peak.units = units;
            self.peak.at = Some(stmt);
        }
        for (peak, here) in self.peak.by_class.iter_mut().zip(by_class) {
            *peak = (*peak).max(here);
        }
    }

    /// Goes back over an instruction; returns the greater numbers of units and of each class after it and before it.
    fn step(&mut self, stmt: StmtId, mentions: &Mentions<'_>) -> (u32, [u32; CLASSES.len()]) {
        let variables = self.variables;
        self.written.clear();
        self.read.clear();
        for m in mentions.clone() {
            if m.usage.writes() || m.usage.may_write() {
                for variable in variables.of(m.place) {
                    if self.change(variable, true) {
                        self.passing.push(variable);
                    }
                }
            }
        }
        let after = self.now;
        while let Some(variable) = self.passing.pop() {
            self.change(variable, false);
        }
        for m in mentions.clone().filter(|m| m.usage.writes()) {
            for variable in variables.of(m.place) {
                if self.change(variable, false) {
                    self.written.push(variable);
                }
            }
        }
        for m in mentions.clone().filter(|m| m.usage.reads()) {
            for variable in variables.of(m.place) {
                if self.change(variable, true) {
                    self.read.push(variable);
                }
            }
        }
        let units = after.units.max(self.now.units);
        let mut by_class = after.by_class;
        for (here, now) in by_class.iter_mut().zip(self.now.by_class) {
            *here = (*here).max(now);
        }
        self.note(stmt, units, by_class);
        (units, by_class)
    }
}

/// The position of a class in [`CLASSES`]. Registers of unknown type count as 32 bits.
fn class_index(class: Option<RegisterClass>) -> u8 {
    let class = class.unwrap_or(RegisterClass::Bits32);
    CLASSES
        .iter()
        .position(|known| *known == class)
        .unwrap_or(3) as u8
}

/// How many registers of 32 bits a register of a class takes.
fn units(class: RegisterClass) -> u32 {
    match class {
        RegisterClass::Predicate => 0,
        class => u32::from(class.bits()).div_ceil(32),
    }
}
