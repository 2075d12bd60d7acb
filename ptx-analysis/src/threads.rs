//! What single threads of a CTA compute from their index: values, conditions, and which of them come to a block.
//!
//! Values are evaluated for samples: all threads of the first two warps, and the first and the last one of each other warp. Where the size of a CTA is not
//! known, a likely one is assumed. What comes from memory, and what differs between iterations of loops, is not known.
//!
//! Cost: a number of evaluations that is bounded by the number of statements.

mod written;

pub use ptx_semantics::fold::PerThread;

use alloc::vec::Vec;

use ptx_dataflow::internals::Cells;
use ptx_ir::facts::{Facts, FunctionFacts};
use ptx_ir::{Operand, Statement, StmtId};
use ptx_isa::{SpecialReg, Uniformity};

use crate::cfg::{BlockId, Cfg};
use crate::function_analysis::FunctionAnalysis;
use crate::reg_lanes::Variables;
use crate::ssa::{Ssa, TooManyPhis, Value, ValueId};
use crate::values::LaunchBounds;

/// The lanes of a warp.
const LANES: u32 = 32;
/// How many values of threads are evaluated, and how many more for each statement.
const EVALUATIONS: u64 = 1 << 16;
const EVALUATIONS_PER_STATEMENT: u64 = 1 << 6;
/// How many instructions one after the other are followed.
const DEPTH: u32 = 48;
/// How often the blocks are passed to find which threads come there.
const PASSES: usize = 8;

/// The size of the CTAs of a function.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct CtaShape {
    /// The threads in each dimension.
    pub threads: [u32; 3],
    /// Whether the function requires it; otherwise it is only likely.
    pub is_required: bool,
}

impl CtaShape {
    /// The size that a kernel requires, or a likely one: one dimension, or rows of a warp where other indices are read.
    #[must_use]
    pub fn of(facts: FunctionFacts<'_>) -> Self {
        let bounds = LaunchBounds::of(facts);
        if let Some(threads) = bounds.threads {
            return Self {
                threads: threads.map(|n| n.max(1)),
                is_required: true,
            };
        }
        let body = facts.body();
        let mut dimensions = 1;
        for (id, _) in body.insts() {
            for operand in body.operands(id) {
                if let Operand::Lane(selector, at) = operand
                    && matches!(body.pool().get(*at), Operand::Special(SpecialReg::Tid))
                {
                    dimensions = dimensions.max(1 + selector.element().unwrap_or(0));
                }
            }
        }
        let most = bounds.most.clamp(1, 1024);
        let rows = (most / LANES).max(1);
        Self {
            threads: match dimensions {
                1 => [most, 1, 1],
                2 => [LANES, rows, 1],
                _ => [LANES, rows.div_ceil(4), 4.min(rows)],
            },
            is_required: false,
        }
    }
}

/// What is known of a value.
#[derive(Clone, Debug)]
enum State {
    New,
    /// It is being evaluated.
    Active,
    Done(Option<PerThread>),
}

/// The values of a function in single threads.
#[derive(Clone, Debug)]
pub struct ThreadValues<'a> {
    facts: FunctionFacts<'a>,
    variables: &'a Variables,
    ssa: &'a Ssa,
    cells: &'a Cells,
    shape: CtaShape,
    /// The linear indices of the samples.
    samples: Vec<u32>,
    states: Vec<State>,
    left: u64,
}

/// What [`ThreadValues`] evaluated, without the function.
#[derive(Clone, Debug)]
pub struct Evaluated {
    shape: CtaShape,
    samples: Vec<u32>,
    states: Vec<State>,
    left: u64,
}

impl<'a> ThreadValues<'a> {
    /// Evaluates nothing yet.
    ///
    /// # Errors
    ///
    /// As [`FunctionAnalysis::ssa`].
    ///
    /// ```
    /// use ptx_analysis::function_analysis::FunctionAnalysis;
    /// use ptx_analysis::threads::ThreadValues;
    /// use ptx_ir::facts::ModuleFacts;
    /// let module = ptx_parse::parse(
    ///     b".version 8.0\n.target sm_80\n.entry k() .reqntid 64 { .reg .b32 t, a; mov.u32 t, %tid.x; xor.b32 a, t, 1; ret; }",
    /// ).module;
    /// let facts = ModuleFacts::new(&module);
    /// let function = FunctionAnalysis::new(facts.function(module.function("k").unwrap()).unwrap());
    /// let mut threads = ThreadValues::new(&function)?;
    /// let (last, _) = function.body().statements().nth(2).unwrap();
    /// let value = threads.value(function.ssa()?.defs(last).next().unwrap()).unwrap();
    /// assert_eq!((value.get(6), threads.samples().len(), threads.shape().is_required), (7, 64, true));
    /// # Ok::<(), ptx_analysis::ssa::TooManyPhis>(())
    /// ```
    pub fn new(function: &'a FunctionAnalysis<'_>) -> Result<Self, TooManyPhis> {
        let ssa = function.ssa()?;
        Ok(Self::with_cells(
            function.facts(),
            function.variables(),
            ssa,
            const { &Cells::NONE },
        ))
    }

    pub(crate) fn with_cells(
        facts: FunctionFacts<'a>,
        variables: &'a Variables,
        ssa: &'a Ssa,
        cells: &'a Cells,
    ) -> Self {
        let shape = CtaShape::of(facts);
        let count = shape
            .threads
            .iter()
            .fold(1u32, |n, of| n.saturating_mul(*of));
        let is_sample = |t: &u32| *t < 2 * LANES || matches!(t % LANES, 0 | 31);
        Self {
            facts,
            variables,
            ssa,
            cells,
            shape,
            samples: (0..count.min(1024)).filter(is_sample).collect(),
            states: vec![State::New; ssa.len()],
            left: most_evaluations(facts),
        }
    }

    /// What was evaluated so far, for [`resume`](Self::resume).
    #[must_use]
    pub fn into_evaluated(self) -> Evaluated {
        Evaluated {
            shape: self.shape,
            samples: self.samples,
            states: self.states,
            left: self.left,
        }
    }

    /// The values of a function, some of which were evaluated before.
    ///
    /// # Errors
    ///
    /// As [`FunctionAnalysis::ssa`].
    pub fn resume(
        function: &'a FunctionAnalysis<'_>,
        evaluated: &Evaluated,
    ) -> Result<Self, TooManyPhis> {
        let ssa = function.ssa()?;
        if evaluated.states.len() != ssa.len() {
            return Self::new(function);
        }
        Ok(Self {
            facts: function.facts(),
            variables: function.variables(),
            ssa,
            cells: const { &Cells::NONE },
            shape: evaluated.shape,
            samples: evaluated.samples.clone(),
            states: evaluated.states.clone(),
            left: evaluated.left,
        })
    }

    /// The same function if a value is a number in all threads.
    #[must_use]
    pub fn assuming(&self, value: ValueId, number: u64) -> Self {
        let mut assuming = Self {
            samples: self.samples.clone(),
            states: vec![State::New; self.states.len()],
            left: most_evaluations(self.facts),
            ..*self
        };
        if let Some(state) = assuming.states.get_mut(value.as_u32() as usize) {
            *state = State::Done(Some(PerThread::Same(number)));
        }
        assuming
    }

    /// Takes the numbers of a value to be known. What was evaluated before and depends on it remains.
    pub fn assume(&mut self, value: ValueId, numbers: PerThread) {
        if let Some(state) = self.states.get_mut(value.as_u32() as usize) {
            *state = State::Done(Some(numbers));
        }
    }

    /// Evaluates these values again when they are asked for.
    pub fn forget(&mut self, values: &[ValueId]) {
        for value in values {
            if let Some(state) = self.states.get_mut(value.as_u32() as usize) {
                *state = State::New;
            }
        }
    }

    ptx_isa::getters! {
        /// The size of the CTAs.
        shape: CtaShape = shape;
        /// The linear indices of the threads that are samples, in their order; at most 128.
        samples: &[u32] = &samples;
    }

    /// A value in the samples; `None` if it is not known.
    pub fn value(&mut self, id: ValueId) -> Option<PerThread> {
        self.follow(id, 0)
    }

    /// A component of a special register in a sample; `None` if it does not follow from the index of the thread.
    #[must_use]
    pub fn special(&self, register: SpecialReg, component: u8, sample: usize) -> Option<u64> {
        let thread = *self.samples.get(sample)?;
        let [x, y, _] = self.shape.threads;
        let of = |all: [u32; 3]| all.get(usize::from(component)).copied();
        let value = match register {
            SpecialReg::Tid => of([thread % x, thread / x % y, thread / x / y])?,
            SpecialReg::Ntid => of(self.shape.threads)?,
            SpecialReg::Laneid => thread % LANES,
            SpecialReg::Warpid => thread / LANES,
            SpecialReg::LanemaskEq => 1 << (thread % LANES),
            SpecialReg::LanemaskLt => (1 << (thread % LANES)) - 1,
            SpecialReg::LanemaskLe => u32::MAX >> (LANES - 1 - thread % LANES),
            SpecialReg::LanemaskGe => u32::MAX << (thread % LANES),
            SpecialReg::LanemaskGt => (u32::MAX << (thread % LANES)) << 1,
            _ => return None,
        };
        Some(value.into())
    }

    /// In which threads a value is the same, as far as the samples tell.
    #[must_use]
    pub fn uniformity(&self, value: &PerThread) -> Uniformity {
        let PerThread::Each(all) = value else {
            return Uniformity::Grid;
        };
        let mut pairs = self.samples.iter().zip(all.iter());
        let Some((mut warp, mut first)) = pairs.next().map(|(t, v)| (t / LANES, v)) else {
            return Uniformity::Grid;
        };
        let mut level = Uniformity::Grid;
        for (thread, value) in pairs {
            let same_warp = thread / LANES == warp;
            if value != first {
                level = level.join(match same_warp {
                    true => Uniformity::Varying,
                    false => Uniformity::Warp,
                });
            }
            (warp, first) = (thread / LANES, value);
        }
        level
    }

    fn follow(&mut self, id: ValueId, depth: u32) -> Option<PerThread> {
        let at = id.as_u32() as usize;
        match self.states.get(at)? {
            State::Done(value) => return value.clone(),
            State::Active => return None,
            State::New if depth > DEPTH => return None,
            State::New => {}
        }
        self.states[at] = State::Active;
        let found = self.evaluate(id, depth);
        self.states[at] = State::Done(found.clone());
        found
    }

    fn evaluate(&mut self, id: ValueId, depth: u32) -> Option<PerThread> {
        match self.ssa.value(id) {
            Value::Def {
                stmt,
                variable,
                old,
            } => {
                let Some(Statement::Inst(inst)) = self.facts.body().statement(stmt) else {
                    return None;
                };
                let new = self.written((stmt, inst), variable, depth + 1)?;
                let Some(old) = old else { return Some(new) };
                let facts = self.facts.inst(inst);
                let (place, sense) = facts.guard_register()?;
                let guard = self.ssa.read(stmt, self.variables.of(place).start)?;
                let guard = self.follow(guard, depth + 1)?;
                let old = self.follow(old, depth + 1)?;
                Some(self.each(
                    |sample| match guard.get(sample) == u64::from(sense.holds(true)) {
                        true => new.get(sample),
                        false => old.get(sample),
                    },
                ))
            }
            Value::Phi { .. } => {
                let mut args = self.ssa.args(id).iter();
                let first = self.follow(*args.next()?, depth + 1)?;
                for arg in args {
                    if self.follow(*arg, depth + 1).as_ref() != Some(&first) {
                        return None;
                    }
                }
                Some(first)
            }
            _ => None,
        }
    }

    /// A value for each sample.
    fn each(&self, of: impl Fn(usize) -> u64) -> PerThread {
        PerThread::from_values((0..self.samples.len()).map(of).collect())
    }

    /// The value of the guard of an instruction, with its `!`.
    pub fn guard(&mut self, stmt: StmtId, facts: &Facts<'_>) -> Option<PerThread> {
        let (place, sense) = facts.guard_register()?;
        let value = self.ssa.read(stmt, self.variables.of(place).start)?;
        let value = self.value(value)?;
        Some(self.each(|sample| value.get(sample) ^ u64::from(sense.is_negated())))
    }
}

/// The maximum number of evaluations of values in a function.
fn most_evaluations(facts: FunctionFacts<'_>) -> u64 {
    let statements = facts.body().statement_table().len() as u64;
    EVALUATIONS + EVALUATIONS_PER_STATEMENT * statements
}

/// Sets of samples of which the samples may come to each block: bit `n` is sample `n`. Blocks that are never reached have none.
#[must_use]
pub fn reaching(function: &FunctionAnalysis<'_>, threads: &mut ThreadValues<'_>) -> Vec<u128> {
    let (cfg, facts) = (function.cfg(), function.facts());
    let count = threads.samples().len();
    let all = match count {
        128.. => u128::MAX,
        _ => (1 << count) - 1,
    };
    let order = function.reverse_post_order();
    let mut edges: Vec<(BlockId, BlockId, u128)> = Vec::new();
    for &block in order.order() {
        let condition = condition(cfg, facts, threads, block);
        for (_, edge) in cfg.out_edges(block) {
            let taken = match (edge.when, &condition) {
                (Some(when), Some(holds)) if when => *holds,
                (Some(_), Some(holds)) => all & !holds,
                _ => all,
            };
            edges.push((block, edge.to, taken));
        }
    }
    let mut sets = vec![0; cfg.len()];
    sets[0] = all;
    for _ in 0..PASSES {
        let mut changed = false;
        for &(from, to, taken) in &edges {
            let new = sets[from.as_u32() as usize] & taken;
            let set = &mut sets[to.as_u32() as usize];
            changed |= *set | new != *set;
            *set |= new;
        }
        if !changed {
            return sets;
        }
    }
    sets.fill(all);
    sets
}

/// The samples in which the guard of the last instruction of a block, without its `!`, is true.
fn condition(
    cfg: &Cfg,
    facts: FunctionFacts<'_>,
    threads: &mut ThreadValues<'_>,
    block: BlockId,
) -> Option<u128> {
    let of = cfg.block(block)?;
    let mut statements = facts.body().range(of.first, of.end).rev();
    let (stmt, inst) = statements.find_map(|(stmt, statement)| match statement {
        Statement::Inst(inst) => Some((stmt, inst)),
        _ => None,
    })?;
    let facts = facts.inst(inst);
    let (_, sense) = facts.guard_register()?;
    let guard = threads.guard(stmt, &facts)?;
    let samples = 0..threads.samples().len();
    let holds = samples.filter(|s| guard.get(*s) ^ u64::from(sense.is_negated()) == 1);
    Some(holds.fold(0, |set, sample| set | 1 << sample))
}
