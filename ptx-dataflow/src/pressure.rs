//! The greatest number of registers that are live at once.
//!
//! Two numbers are counted at each instruction: the registers that are live before it, and the registers that are live after it or written
//! by it, as a result needs a register even if it is never read. A register of up to 32 bits is one unit, of 64
//! bits two units, of 128 bits four; predicates are not counted in units. ptxas unrolls, reorders and rematerializes, so
//! this is a measure of the text, not of the machine code.
//!
//! Cost: one backward pass over the instructions, `O(log v)` for each register that one names, for `v` registers.

use alloc::vec::Vec;

use ptx_ir::facts::{FunctionFacts, Mentions};
use ptx_ir::{Body, EntityId as _, StmtId};
use ptx_isa::RegisterClass;

use crate::cfg::Cfg;
use crate::function_dataflow::FunctionDataflow;
use crate::liveness::{LiveSet, Liveness};
use crate::mentions::block_mentions;
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
    /// The greatest number of live registers, in units of 32 bits.
    pub units: u32,
    /// The first instruction with this number of units.
    pub at: Option<StmtId>,
    /// The greatest number of each class separately, in the order of [`CLASSES`].
    pub by_class: [u32; CLASSES.len()],
}

/// The live registers at an instruction, and the differences between those before and those after it.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct LivePoint<'a> {
    /// The instruction.
    pub stmt: StmtId,
    /// The greater one of two numbers in units of 32 bits: the registers that are live before it, and the registers that are live after it or written by
    /// it.
    pub units: u32,
    /// The greater one of the two numbers for each class separately, in the order of [`CLASSES`].
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
    /// [`Cfg::blocks`], in each block from the last instruction to the first. The variables that are live before an instruction are those that are
    /// live after it without [`LivePoint::written`] and with [`LivePoint::read`]. Those after the last instruction are
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

/// Counts the live registers, and calls `visitor` as [`Pressure::visit`] does.
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
        .map(|variable| class_index(variables.class(variable)))
        .collect();
    let mut counter = Counter {
        variables,
        body,
        classes: &classes,
        live_out: None,
        block: 0,
        changed: vec![(0, false); variables.len()],
        passing: Vec::new(),
        written: Vec::new(),
        read: Vec::new(),
        current: Pressure::default(),
        peak: Pressure::default(),
    };
    let mut counts = liveness.counts(&classes);
    for (id, block) in cfg.blocks() {
        let live_out = liveness.live_out(id);
        counter.start_block(live_out, counts.of(live_out.set));
        for (stmt, mentions) in block_mentions(facts, block).rev() {
            let (units, by_class) = counter.step(stmt, &mentions);
            visitor(LivePoint {
                stmt,
                units,
                by_class,
                written: &counter.written,
                read: &counter.read,
            });
        }
    }
    counter.peak
}

struct Counter<'a> {
    body: &'a Body,
    variables: &'a Variables,
    /// The class of each variable, as an index in [`CLASSES`].
    classes: &'a [u8],
    /// The live variables at the end of the current block.
    live_out: Option<LiveSet<'a>>,
    /// The number of the current block, from 1.
    block: u32,
    /// For each variable the last block that changed its state, and whether it is live at the current position in that block.
    changed: Vec<(u32, bool)>,
    /// Variables that the current instruction writes and that are dead after it.
    passing: Vec<VariableId>,
    /// Variables that the current instruction writes and that are live after it.
    written: Vec<VariableId>,
    /// Variables that become live before the current instruction.
    read: Vec<VariableId>,
    /// The numbers at the current position.
    current: Pressure,
    peak: Pressure,
}

impl<'a> Counter<'a> {
    /// Moves to the end of the next block.
    fn start_block(&mut self, live_out: LiveSet<'a>, by_class: [u32; CLASSES.len()]) {
        self.live_out = Some(live_out);
        self.block += 1;
        self.current.units = CLASSES
            .iter()
            .zip(by_class)
            .map(|(class, count)| units(*class) * count)
            .sum();
        self.current.by_class = by_class;
    }

    /// Sets whether a variable is live; returns whether that changed.
    fn set_live(&mut self, variable: VariableId, live: bool) -> bool {
        let index = variable.index();
        let (Some(entry), Some(&class)) = (self.changed.get_mut(index), self.classes.get(index))
        else {
            return false;
        };
        let was_live = match *entry {
            (block, was_live) if block == self.block => was_live,
            _ => self
                .live_out
                .is_some_and(|live_out| live_out.contains(variable)),
        };
        *entry = (self.block, live);
        if was_live == live {
            return false;
        }
        let class = usize::from(class);
        let units = CLASSES.get(class).map_or(0, |c| units(*c));
        if live {
            self.current.units += units;
        } else {
            self.current.units -= units;
        }
        if let Some(count) = self.current.by_class.get_mut(class) {
            if live {
                *count += 1;
            } else {
                *count -= 1;
            }
        }
        true
    }

    /// Raises the peak to the numbers at an instruction.
    fn raise_peak(&mut self, stmt: StmtId, units: u32, by_class: [u32; CLASSES.len()]) {
        let is_peak = match self.peak.at {
            // The first one of equal peaks counts.
            Some(peak) if units == self.peak.units => self.body.precedes(stmt, peak),
            Some(_) => units > self.peak.units,
            None => true,
        };
        if is_peak {
            self.peak.units = units;
            self.peak.at = Some(stmt);
        }
        raise(&mut self.peak.by_class, by_class);
    }

    /// Moves before an instruction; returns the greater numbers of units and of each class after it and before it.
    fn step(&mut self, stmt: StmtId, mentions: &Mentions<'_>) -> (u32, [u32; CLASSES.len()]) {
        let variables = self.variables;
        self.written.clear();
        self.read.clear();
        for mention in mentions.clone() {
            if mention.usage.writes() || mention.usage.may_write() {
                for variable in variables.of(mention.place) {
                    if self.set_live(variable, true) {
                        self.passing.push(variable);
                    }
                }
            }
        }
        let after = self.current;
        while let Some(variable) = self.passing.pop() {
            self.set_live(variable, false);
        }
        for mention in mentions.clone().filter(|m| m.usage.writes()) {
            for variable in variables.of(mention.place) {
                if self.set_live(variable, false) {
                    self.written.push(variable);
                }
            }
        }
        for mention in mentions.clone().filter(|m| m.usage.reads()) {
            for variable in variables.of(mention.place) {
                if self.set_live(variable, true) {
                    self.read.push(variable);
                }
            }
        }
        let units = after.units.max(self.current.units);
        let mut by_class = after.by_class;
        raise(&mut by_class, self.current.by_class);
        self.raise_peak(stmt, units, by_class);
        (units, by_class)
    }
}

/// Replaces each count by the greater one of itself and the count in `others`.
fn raise(counts: &mut [u32; CLASSES.len()], others: [u32; CLASSES.len()]) {
    for (count, other) in counts.iter_mut().zip(others) {
        *count = (*count).max(other);
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

/// The number of registers of 32 bits that a register of a class takes.
fn units(class: RegisterClass) -> u32 {
    match class {
        RegisterClass::Predicate => 0,
        class => u32::from(class.bits()).div_ceil(32),
    }
}
