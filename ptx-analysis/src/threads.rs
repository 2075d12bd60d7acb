//! Values that single threads of a CTA compute from their index, conditions on the index, and the threads that may reach a block.
//!
//! Values are evaluated for sample threads: all threads of the first two warps, and the first and the last one of each other warp. Where the size
//! of a CTA is unknown, a likely one is assumed. Values that come from memory, or differ between iterations of loops, are unknown.
//!
//! Cost: a number of evaluations that is bounded by the number of statements.

mod instruction_values;

pub use ptx_semantics::fold::PerThread;

use alloc::vec::Vec;

use ptx_dataflow::AnalysisError;
use ptx_dataflow::internals::{Cells, Meter, meter};
use ptx_ir::facts::{Facts, FunctionFacts};
use ptx_ir::{BudgetExhausted, InstId, Operand, Statement, StmtId};
use ptx_isa::{SpecialReg, Uniformity};

use crate::cfg::{BlockId, Cfg};
use crate::function_analysis::FunctionAnalysis;
use crate::function_dataflow::FunctionDataflow;
use crate::reg_lanes::Variables;
use crate::ssa::{Ssa, Value, ValueId};
use crate::values::LaunchBounds;

/// The lanes of a warp.
const LANES: u32 = 32;
/// The maximum number of evaluations of a value in one thread, for a function without statements.
const EVALUATIONS: u64 = 1 << 16;
/// The number of further evaluations for each statement.
const EVALUATIONS_PER_STATEMENT: u64 = 1 << 6;
/// The maximum number of definitions that are followed from a value, one after the other.
const DEPTH: u32 = 48;
/// The maximum number of passes over the edges to find the threads that may reach each block.
const PASSES: usize = 8;

/// The size of the CTAs of a function.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct CtaShape {
    /// The threads in each dimension.
    pub threads: [u32; 3],
    /// Whether the function requires this size; otherwise it is only likely.
    pub is_required: bool,
}

impl CtaShape {
    /// The size that a kernel requires, or a likely one: one dimension, or rows of a warp, or of all threads if they are fewer, where other indices are read.
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
                if let Operand::Component(selector, register) = operand
                    && matches!(
                        body.pool().get(*register),
                        Operand::Special(SpecialReg::Tid)
                    )
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
                2 => [bounds.lanes(), rows, 1],
                _ => [bounds.lanes(), rows.div_ceil(4), 4.min(rows)],
            },
            is_required: false,
        }
    }
}

/// The state of the evaluation of a value.
#[derive(Clone, Debug)]
enum State {
    /// The value was not evaluated.
    New,
    /// The value is being evaluated. An active value that is needed again depends on itself, as in a loop.
    Active,
    /// The value in the samples; `None` if it is unknown.
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
    /// The states of the values by their numbers.
    states: Vec<State>,
    /// The number of evaluations that may still be done.
    remaining_evaluations: u64,
}

/// An instruction with the statement that contains it.
#[derive(Copy, Clone)]
struct InstructionStatement {
    stmt: StmtId,
    inst: InstId,
}

/// The results of [`ThreadValues`], without a reference to the function.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct Evaluated {
    shape: CtaShape,
    samples: Vec<u32>,
    states: Vec<State>,
    remaining_evaluations: u64,
}

impl<'a> ThreadValues<'a> {
    /// The values of a function. Those of definitions are evaluated once and kept by the [`FunctionAnalysis`], others when they are queried.
    ///
    /// # Errors
    ///
    /// As [`FunctionDataflow::ssa`].
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
    /// # Ok::<(), ptx_analysis::AnalysisError>(())
    /// ```
    pub fn new(function: &'a FunctionAnalysis<'_>) -> Result<Self, AnalysisError> {
        Self::resume(function, function.thread_values()?)
    }

    /// Evaluates the values that reachable statements define, in reverse postorder, so that values that they read are evaluated before.
    ///
    /// # Errors
    ///
    /// The budget is exhausted.
    pub(crate) fn of_definitions(
        function: &'a FunctionDataflow<'_>,
        ssa: &'a Ssa,
        meter: &mut Meter<'_>,
    ) -> Result<Self, BudgetExhausted> {
        ptx_dataflow::internals::record_build("values of threads", function.facts());
        let (facts, variables) = (function.facts(), function.variables());
        let mut values = Self::with_cells(facts, variables, ssa, const { &Cells::NONE });
        for &id in function.reverse_post_order().order() {
            let Some(block) = function.cfg().block(id) else {
                continue;
            };
            for (stmt, _) in facts.body().range(block.first, block.end) {
                for def in ssa.defs(stmt) {
                    meter.count(1)?;
                    values.follow(def, 0);
                }
            }
        }
        meter.charge()?;
        Ok(values)
    }

    /// Values that are evaluated when they are queried.
    pub(crate) fn on_demand(function: &'a FunctionDataflow<'_>) -> Result<Self, AnalysisError> {
        Ok(Self::with_cells(
            function.facts(),
            function.variables(),
            function.ssa()?,
            const { &Cells::NONE },
        ))
    }

    /// Values that are evaluated when they are queried. `ssa` has variables for `cells`.
    pub(crate) fn with_cells(
        facts: FunctionFacts<'a>,
        variables: &'a Variables,
        ssa: &'a Ssa,
        cells: &'a Cells,
    ) -> Self {
        let shape = CtaShape::of(facts);
        let thread_count = shape
            .threads
            .iter()
            .fold(1u32, |count, size| count.saturating_mul(*size));
        Self {
            facts,
            variables,
            ssa,
            cells,
            shape,
            samples: (0..thread_count.min(1024))
                .filter(|thread| *thread < 2 * LANES || matches!(thread % LANES, 0 | 31))
                .collect(),
            states: vec![State::New; ssa.len()],
            remaining_evaluations: most_evaluations(facts),
        }
    }

    /// The results of all evaluations so far, for [`resume`](Self::resume).
    #[doc(hidden)]
    #[must_use]
    pub fn into_evaluated(self) -> Evaluated {
        Evaluated {
            shape: self.shape,
            samples: self.samples,
            states: self.states,
            remaining_evaluations: self.remaining_evaluations,
        }
    }

    /// The values of a function, some of which were evaluated before.
    ///
    /// # Errors
    ///
    /// As [`FunctionDataflow::ssa`].
    #[doc(hidden)]
    pub fn resume(
        function: &'a FunctionDataflow<'_>,
        evaluated: &Evaluated,
    ) -> Result<Self, AnalysisError> {
        let ssa = function.ssa()?;
        if evaluated.states.len() != ssa.len() {
            return Ok(Self::of_definitions(function, ssa, &mut meter(function))?);
        }
        Ok(Self {
            facts: function.facts(),
            variables: function.variables(),
            ssa,
            cells: const { &Cells::NONE },
            shape: evaluated.shape,
            samples: evaluated.samples.clone(),
            states: evaluated.states.clone(),
            remaining_evaluations: evaluated.remaining_evaluations,
        })
    }

    /// The values of the function under the assumption that a value is `number` in all threads. Nothing is evaluated yet.
    #[doc(hidden)]
    #[must_use]
    pub fn assuming(&self, value: ValueId, number: u64) -> Self {
        let mut assuming = Self {
            samples: self.samples.clone(),
            states: vec![State::New; self.states.len()],
            remaining_evaluations: most_evaluations(self.facts),
            ..*self
        };
        if let Some(state) = assuming.states.get_mut(value.as_u32() as usize) {
            *state = State::Done(Some(PerThread::Same(number)));
        }
        assuming
    }

    /// Assumes that a value has these numbers. Values that depend on it and were evaluated before keep their results.
    #[doc(hidden)]
    pub fn assume(&mut self, value: ValueId, numbers: PerThread) {
        if let Some(state) = self.states.get_mut(value.as_u32() as usize) {
            *state = State::Done(Some(numbers));
        }
    }

    /// Forgets the results of values: they are evaluated again when they are queried.
    #[doc(hidden)]
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

    /// A value in the samples; `None` if it is unknown.
    pub fn value(&mut self, id: ValueId) -> Option<PerThread> {
        self.follow(id, 0)
    }

    /// A component of a special register in a sample; `None` if it does not follow from the index of the thread.
    #[doc(hidden)]
    #[must_use]
    pub fn special(&self, register: SpecialReg, component: u8, sample: usize) -> Option<u64> {
        let thread = *self.samples.get(sample)?;
        let [x, y, _] = self.shape.threads;
        let component = usize::from(component);
        let value = match register {
            SpecialReg::Tid => *[thread % x, thread / x % y, thread / x / y].get(component)?,
            SpecialReg::Ntid => *self.shape.threads.get(component)?,
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

    /// The largest group of threads in which a value is the same, as far as the samples tell.
    #[must_use]
    pub fn uniformity(&self, value: &PerThread) -> Uniformity {
        let PerThread::Each(numbers) = value else {
            return Uniformity::Grid;
        };
        let threads_with_numbers = self.samples.iter().zip(numbers.iter());
        let mut uniformity = Uniformity::Grid;
        for ((previous_thread, previous_number), (thread, number)) in threads_with_numbers
            .clone()
            .zip(threads_with_numbers.skip(1))
        {
            if number != previous_number {
                let is_same_warp = thread / LANES == previous_thread / LANES;
                uniformity = uniformity.join(if is_same_warp {
                    Uniformity::Varying
                } else {
                    Uniformity::Warp
                });
            }
        }
        uniformity
    }

    /// Evaluates a value that was reached over `depth` definitions.
    fn follow(&mut self, id: ValueId, depth: u32) -> Option<PerThread> {
        let index = id.as_u32() as usize;
        match self.states.get(index)? {
            State::Done(value) => return value.clone(),
            State::Active => return None,
            State::New if depth > DEPTH => return None,
            State::New => {}
        }
        self.states[index] = State::Active;
        let value = self.evaluate(id, depth);
        self.states[index] = State::Done(value.clone());
        value
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
                let statement = InstructionStatement { stmt, inst };
                let new = self.written_value(statement, variable, depth + 1)?;
                let Some(old) = old else { return Some(new) };
                let facts = self.facts.inst(inst);
                let (place, sense) = facts.guard_register()?;
                let predicate = self.ssa.read(stmt, self.variables.of(place).first())?;
                let guard = self.follow(predicate, depth + 1)?;
                let old = self.follow(old, depth + 1)?;
                Some(self.for_each_sample(|sample| {
                    if guard.get(sample) == u64::from(sense.holds(true)) {
                        new.get(sample)
                    } else {
                        old.get(sample)
                    }
                }))
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

    /// The value that has the number `number(sample)` in each sample.
    fn for_each_sample(&self, number: impl Fn(usize) -> u64) -> PerThread {
        PerThread::from_values((0..self.samples.len()).map(number).collect())
    }

    /// The value of the guard of an instruction, with its `!`.
    pub fn guard(&mut self, stmt: StmtId, facts: &Facts<'_>) -> Option<PerThread> {
        let (place, sense) = facts.guard_register()?;
        let predicate = self.ssa.read(stmt, self.variables.of(place).first())?;
        let value = self.value(predicate)?;
        Some(self.for_each_sample(|sample| value.get(sample) ^ u64::from(sense.is_negated())))
    }
}

/// The maximum number of evaluations in a function.
fn most_evaluations(facts: FunctionFacts<'_>) -> u64 {
    let statements = facts.body().statement_table().len() as u64;
    EVALUATIONS + EVALUATIONS_PER_STATEMENT * statements
}

/// For each block, the set of the samples that may reach it: bit `n` is sample `n`. The sets of unreachable blocks are empty.
#[must_use]
pub fn reaching(function: &FunctionDataflow<'_>, threads: &mut ThreadValues<'_>) -> Vec<u128> {
    let (cfg, facts) = (function.cfg(), function.facts());
    let all = match threads.samples().len() {
        128.. => u128::MAX,
        count => (1 << count) - 1,
    };
    let mut edges: Vec<ConditionalEdge> = Vec::new();
    for &block in function.reverse_post_order().order() {
        let condition = branch_condition(cfg, facts, threads, block);
        for (_, edge) in cfg.out_edges(block) {
            let taking_samples = match (edge.when, condition) {
                (Some(true), Some(samples)) => samples,
                (Some(false), Some(samples)) => all & !samples,
                _ => all,
            };
            edges.push(ConditionalEdge {
                from: block,
                to: edge.to,
                taking_samples,
            });
        }
    }
    let mut reaching = vec![0; cfg.len()];
    reaching[0] = all;
    for _ in 0..PASSES {
        let mut changed = false;
        for edge in &edges {
            let samples = reaching[edge.from.as_u32() as usize] & edge.taking_samples;
            let reaching_target = &mut reaching[edge.to.as_u32() as usize];
            changed |= *reaching_target | samples != *reaching_target;
            *reaching_target |= samples;
        }
        if !changed {
            return reaching;
        }
    }
    reaching.fill(all);
    reaching
}

/// An edge of the control flow and the samples that take it if they reach its source.
struct ConditionalEdge {
    from: BlockId,
    to: BlockId,
    taking_samples: u128,
}

/// The samples in which the guard of the last instruction of a block, without its `!`, is true; `None` if it is unknown.
fn branch_condition(
    cfg: &Cfg,
    facts: FunctionFacts<'_>,
    threads: &mut ThreadValues<'_>,
    block: BlockId,
) -> Option<u128> {
    let (stmt, inst) = cfg.block(block)?.insts(facts.body()).next_back()?;
    let facts = facts.inst(inst);
    let (_, sense) = facts.guard_register()?;
    let guard = threads.guard(stmt, &facts)?;
    Some(
        (0..threads.samples().len())
            .filter(|sample| guard.get(*sample) ^ u64::from(sense.is_negated()) == 1)
            .fold(0, |samples, sample| samples | 1 << sample),
    )
}
