//! Values of warps: for each integer the known offsets of the 32 lanes from a number that is the same in all of them, and for each predicate the sets of lanes in
//! which it may hold.
//!
//! ```text
//!   tid.x                      32w + lane         32w: the same in all lanes, bits 5 to 9 may be one
//!   tid.x & 31                 lane               known
//!   tid.x >> 5                 w                  the same in all lanes
//!   (tid.x ^ (tid.x >> 3)) << 4                   bits from the number of the warp are inverted in all lanes
//! ```
//!
//! The tables state what instructions compute; `expression.rs` evaluates them. Integers are those of the lanes that execute the same instance of an instruction
//! ([`uniformity`](crate::uniformity)). In loops, the values are found by a fixed point: increments that are the same in all lanes change only the common number.
//!
//! Where no directive states the size of CTAs, dimension x is assumed to be a multiple of 32, and sums are assumed not to wrap around before they are extended:
//! each value records whether it depends on that.
//!
//! Cost: only values that addresses and guards of accesses depend on are evaluated, each at most [`MAX_PASSES`] times.

mod bitwise;
mod blocks;
mod division;
mod expression;
mod indices;
mod masks;
mod number;
mod phis;
mod results;
mod row_functions;
mod rows;
mod slice;
#[cfg(test)]
mod tests;

use alloc::boxed::Box;
use alloc::vec::Vec;

use ptx_ir::facts::{FunctionFacts, RegisterComponent};
use ptx_ir::{EntityId as _, InstId, Statement, StmtId, VarId};
use ptx_isa::Uniformity;

use crate::cfg::BlockId;
use crate::function_analysis::FunctionAnalysis;
use crate::function_dataflow::FunctionDataflow;
use crate::reg_lanes::VariableId;
use crate::ssa::{Ssa, Value, ValueId};
use crate::uniformity::FunctionUniformity;
use crate::values::Values;

use expression::Term;
use indices::Indices;
pub(crate) use masks::Masks;
pub(crate) use number::Assumed;
use number::{Number, ones};
use rows::Rows;
pub(crate) use rows::{RowOfLanes, RowStride};

/// The maximum number of evaluations of a value. After that, values that still change are unknown.
const MAX_PASSES: u32 = 12;

/// The value of a register in the lanes of a warp.
#[derive(Clone, PartialEq, Debug)]
enum Fact {
    /// It was not evaluated.
    New,
    /// An integer, modulo the width of the register.
    Number(Box<Number>),
    /// An integer whose lanes are in rows.
    Rows(Box<Rows>),
    Masks(Masks),
    Unknown,
}

impl Fact {
    fn of(term: Option<Term>, width: u32) -> Self {
        match term {
            Some(Term::Number(number)) => Self::Number(Box::new(stored(&number, width))),
            Some(Term::Rows(rows)) => Self::Rows(Box::new(rows.stored(width))),
            Some(Term::Masks(masks)) => Self::Masks(masks),
            None => Self::Unknown,
        }
    }

    fn term(&self) -> Option<Term> {
        match self {
            Self::Number(number) => Some(Term::Number(**number)),
            Self::Rows(rows) => Some(Term::Rows(**rows)),
            Self::Masks(masks) => Some(Term::Masks(*masks)),
            Self::New | Self::Unknown => None,
        }
    }

    /// Returns whether the value of each lane is known.
    fn is_known(&self) -> bool {
        match self {
            Self::Number(number) => number.is_known(),
            Self::Masks(masks) => masks.single().is_some(),
            Self::Rows(_) | Self::New | Self::Unknown => false,
        }
    }
}

/// An integer in a register of a width.
fn stored(number: &Number, width: u32) -> Number {
    let mask = ones(width);
    Number {
        offsets: number.offsets.map(|offset| offset & mask as i128),
        base: number.base & mask,
        inverted: number.inverted & mask,
        // Beyond them, the number was exact only if nothing wrapped around.
        bits: width,
        assumed: Assumed {
            no_wrap: number.assumed.no_wrap || number.bits < width,
            ..number.assumed
        },
    }
}

/// The address of an access in the lanes of a warp.
#[derive(Copy, Clone, Debug)]
pub(crate) struct LaneAddresses {
    /// The offset of each lane.
    pub(crate) offsets: [u64; 32],
    /// The bits that may be one in the number that is added in all lanes.
    pub(crate) base: u64,
    /// The bits that may be inverted in the offsets of all lanes.
    pub(crate) inverted: u64,
    /// The rows of the lanes; the addresses of different rows are unknown multiples of a number apart.
    pub(crate) rows: RowOfLanes,
    /// The bits that may be one in the numbers that are added in rows.
    pub(crate) row_bits: u64,
    pub(crate) stride: Option<RowStride>,
    pub(crate) assumed: Assumed,
}

/// The values of warps that the addresses of accesses depend on.
pub(crate) struct WarpValues<'a> {
    facts: FunctionFacts<'a>,
    function: &'a FunctionDataflow<'a>,
    ssa: &'a Ssa,
    values: &'a Values,
    uniformity: &'a FunctionUniformity,
    indices: Indices,
    /// The parameters that are pointers: variables with the offsets of the pointers.
    pointers: &'a [(VarId, u32)],
    /// For each value the position in `table`, or `u32::MAX`.
    positions: Vec<u32>,
    table: Vec<Entry>,
    /// The number of changes so far.
    changes: u32,
}

/// A value that is needed.
#[derive(Clone, Debug)]
struct Entry {
    id: ValueId,
    fact: Fact,
    /// The number of changes when the fact changed, and when it was evaluated.
    changed: u32,
    evaluated: u32,
}

impl<'a> WarpValues<'a> {
    /// Evaluates the values that some values depend on.
    pub(crate) fn new(
        function: &'a FunctionAnalysis<'_>,
        ssa: &'a Ssa,
        values: &'a Values,
        pointers: &'a [(VarId, u32)],
        needed: impl Iterator<Item = ValueId>,
    ) -> Self {
        ptx_dataflow::internals::record_build("values of warps", function.facts());
        let bounds = values.bounds();
        let mut warps = Self {
            facts: function.facts(),
            function,
            ssa,
            values,
            uniformity: function.uniformity_of_warps(),
            indices: Indices::new(bounds),
            pointers,
            positions: Vec::new(),
            table: Vec::new(),
            changes: 0,
        };
        warps.collect(needed);
        warps.solve();
        warps
    }

    /// Evaluates the values until nothing changes.
    fn solve(&mut self) {
        for pass in 0.. {
            let mut is_changed = false;
            for position in 0..self.table.len() {
                is_changed |= self.update(position, pass);
            }
            if !is_changed {
                return;
            }
        }
    }

    /// Evaluates a value again if one that it depends on changed. Returns whether it changed.
    fn update(&mut self, position: usize, pass: u32) -> bool {
        let Some(entry) = self.table.get(position) else {
            return false;
        };
        let (id, evaluated) = (entry.id, entry.evaluated);
        if pass > 0 && !self.is_outdated(id, evaluated) {
            return false;
        }
        let fact = match self.ssa.value(id) {
            Value::Phi { block, .. } => self.phi(id, block, pass),
            Value::Def {
                stmt,
                variable,
                old,
            } => self.definition(stmt, variable, old),
            Value::Entry { .. } | Value::Unknown => Fact::Unknown,
        };
        let changes = self.changes;
        let Some(entry) = self.table.get_mut(position) else {
            return false;
        };
        entry.evaluated = changes;
        if entry.fact == fact {
            return false;
        }
        self.changes += 1;
        entry.changed = self.changes;
        entry.fact = fact;
        true
    }

    /// Returns whether a value that another one depends on changed after a number of changes.
    fn is_outdated(&self, id: ValueId, changes: u32) -> bool {
        self.dependencies(id).iter().any(|dependency| {
            let entry = self.entry(*dependency);
            entry.is_some_and(|entry| entry.changed > changes)
        })
    }

    fn entry(&self, id: ValueId) -> Option<&Entry> {
        let position = *self.positions.get(id.index())?;
        self.table.get(position as usize)
    }

    /// The value of a register where a block reads it.
    fn read(&self, id: ValueId, block: BlockId) -> &Fact {
        static UNKNOWN: Fact = Fact::Unknown;
        let Some(entry) = self.entry(id) else {
            return &UNKNOWN;
        };
        // Lanes that left a loop at different times hold values of different iterations.
        if !entry.fact.is_known() && entry.fact != Fact::New && !self.is_same_time(id, block) {
            return &UNKNOWN;
        }
        &entry.fact
    }

    /// Returns whether the lanes of a warp left the loops around a definition together that do not contain a read.
    fn is_same_time(&self, id: ValueId, read: BlockId) -> bool {
        let Some(definition) = self.defining_block(id) else {
            return false;
        };
        let loops = self.function.loop_forest();
        let mut innermost = loops.innermost(definition);
        while let Some(id) = innermost
            && !loops.contains(id, read)
        {
            if self.uniformity.exit(id) > Uniformity::Warp {
                return false;
            }
            innermost = loops.get(id).and_then(|info| info.parent());
        }
        true
    }

    fn instruction(&self, stmt: StmtId) -> Option<InstId> {
        match self.facts.body().statement(stmt)? {
            Statement::Inst(inst) => Some(inst),
            _ => None,
        }
    }

    fn defining_block(&self, id: ValueId) -> Option<BlockId> {
        match self.ssa.value(id) {
            Value::Def { stmt, .. } => self.function.cfg().of_statement(stmt),
            Value::Phi { block, .. } => Some(block),
            Value::Entry { .. } | Value::Unknown => None,
        }
    }

    fn width(&self, id: ValueId) -> u32 {
        self.values.width(id).into()
    }

    /// The value that a statement reads from a register.
    fn register(&self, stmt: StmtId, place: RegisterComponent) -> Option<ValueId> {
        let variable: VariableId = self.function.variables().of(place).single()?;
        self.ssa.read(stmt, variable)
    }

    /// The addresses of the lanes: the value that a statement reads, with an offset.
    pub(crate) fn addresses(
        &self,
        stmt: StmtId,
        id: ValueId,
        offset: i64,
    ) -> Option<LaneAddresses> {
        let block = self.function.cfg().of_statement(stmt)?;
        let rows = Rows::of_term(&self.read(id, block).term()?)?;
        let sum = rows.number.sum(Number::constant(offset.into()))?;
        let number = stored(&sum, self.width(id));
        Some(LaneAddresses {
            offsets: number.offsets.map(|offset| offset as u64),
            base: number.base as u64,
            inverted: number.inverted as u64,
            rows: rows.rows,
            row_bits: rows.bits as u64,
            stride: rows.stride,
            assumed: number.assumed,
        })
    }

    /// The sets of lanes in which the guard of a statement may hold; `None` if they are unknown.
    pub(crate) fn guard(&self, stmt: StmtId) -> Option<Masks> {
        let block = self.function.cfg().of_statement(stmt)?;
        let inst = self.instruction(stmt)?;
        match self.guard_masks(stmt, &self.facts.inst(inst), block) {
            None if self.uniformity.guard(stmt) <= Uniformity::Warp => Some(Masks::known(u32::MAX)),
            masks => masks,
        }
    }
}
