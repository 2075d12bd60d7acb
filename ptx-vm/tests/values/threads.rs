//! The values of the threads of a launch, as they are computed.

use std::collections::HashMap;

use ptx_analysis::cfg::BlockId;
use ptx_analysis::graph::LoopId;
use ptx_analysis::memory_access::requests::LANES;
use ptx_analysis::ssa::{Value, ValueId};
use ptx_analysis::values::{Affine, AffineSymbol, AffineSymbolId, VariableRef};
use ptx_ir::{Binding, EntityId, FuncId, InstId, Module};
use ptx_isa::StateSpace;
use ptx_vm::{ExecutedStep, StepRegister, StepState};

use super::checked::Checked;
use super::function::Function;

/// What a thread knows in a call.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    function: FuncId,
    registers: Vec<Option<u64>>,
    /// What each value of SSA was last.
    values: Vec<Option<u64>>,
    pub(super) symbols: HashMap<AffineSymbolId, i128>,
    counters: HashMap<LoopId, u64>,
    /// How often the headers of the loops that the thread is in will be executed.
    expected: HashMap<LoopId, (u64, bool)>,
    block: Option<BlockId>,
    /// The place of the last statement, and whether it is over.
    last: (u32, bool),
}

/// A CTA and the index of a thread in it.
pub(super) type Thread = ([u32; 3], u32);

/// The execution of an instruction by a warp in one iteration of each loop around it.
#[derive(PartialEq, Eq, Hash, Debug)]
struct Instance {
    grid: u64,
    block: [u32; 3],
    first_thread: u32,
    inst: InstId,
    iterations: Vec<u64>,
}

/// The lanes that executed an instance one after the other, though they were predicted to execute it together.
#[derive(Debug)]
struct SeparateLanes {
    mask: u32,
    /// The predicted sets of lanes.
    sets: Vec<u32>,
}

/// The threads of a launch.
#[derive(Debug)]
pub(crate) struct Threads<'a> {
    pub(super) name: String,
    module: &'a Module,
    known: &'a HashMap<FuncId, Function>,
    pub(super) threads: HashMap<Thread, Vec<Frame>>,
    /// Special registers of the threads.
    special: HashMap<(Thread, AffineSymbol), i128>,
    /// The number of the grid that is executed.
    grid: u64,
    /// Symbols that are the same for all threads of the grid.
    pub(super) common: HashMap<(FuncId, AffineSymbolId), i128>,
    pub(super) checked: Checked,
    separate_lanes: HashMap<Instance, SeparateLanes>,
    /// The size of a CTA, and where the memory of the arguments begins.
    pub(super) block: [u32; 3],
    pub(super) buffers: u64,
}

impl<'a> Threads<'a> {
    pub(crate) fn new(
        name: String,
        module: &'a Module,
        known: &'a HashMap<FuncId, Function>,
    ) -> Self {
        Self {
            name,
            module,
            known,
            threads: HashMap::new(),
            grid: 0,
            special: HashMap::new(),
            common: HashMap::new(),
            checked: Checked::default(),
            separate_lanes: HashMap::new(),
            block: [1; 3],
            buffers: 0,
        }
    }

    /// What was compared. In a launch that `is_complete`, lanes that executed an instruction one after the other are a predicted set.
    pub(crate) fn finish(mut self, is_complete: bool) -> Checked {
        for (instance, lanes) in &self.separate_lanes {
            if is_complete && !lanes.sets.contains(&lanes.mask) {
                let name = &self.name;
                self.checked
                    .note(|| format!("{name}: lanes of {instance:?}: {lanes:x?}"));
            }
        }
        self.checked
    }

    /// Notes what lanes did.
    pub(crate) fn step(&mut self, step: &ExecutedStep<'_>) {
        let place = step.place;
        if self.grid != place.grid.number {
            self.grid = place.grid.number;
            self.block = place.grid.threads;
            self.threads.clear();
            self.special.clear();
            self.common.clear();
        }
        let Some(function) = self.known.get(&place.function) else {
            return;
        };
        for lane in (0..32u32).filter(|lane| step.lanes >> lane & 1 == 1) {
            let thread = (place.block, place.first_thread + lane);
            let mut frames = self.threads.remove(&thread).unwrap_or_default();
            let depth = place.depth as usize;
            frames.truncate(depth + 1);
            while frames.len() <= depth {
                frames.push(Frame {
                    function: place.function,
                    registers: vec![None; function.variables.len()],
                    values: vec![None; function.ssa.len()],
                    symbols: HashMap::new(),
                    counters: HashMap::new(),
                    expected: HashMap::new(),
                    block: None,
                    last: (0, true),
                });
            }
            let frame = &mut frames[depth];
            if frame.function == place.function {
                self.lane(function, thread, frame, step, lane as usize);
            }
            if step.state == StepState::Calls {
                frames.truncate(depth + 1);
            }
            self.threads.insert(thread, frames);
        }
        self.accesses(function, step);
    }

    /// The state space of a variable, and its bytes.
    pub(super) fn variable(&self, function: FuncId, of: VariableRef) -> Option<(StateSpace, u64)> {
        let (module, body) = (self.module, self.module.body(function)?);
        let (all, pool, wanted) = match of {
            VariableRef::Local(id) => (body.declarations(), body.pool(), Binding::Var(id)),
            VariableRef::Module(id) => (module.declarations(), module.pool(), Binding::Symbol(id)),
        };
        all.decls.iter().find_map(|(id, decl)| {
            let mut declarators = all.declarators(id).iter();
            let declarator = declarators.find(|d| d.binding == wanted)?;
            // The machine has constants in global memory.
            let space = match decl.space.base() {
                StateSpace::Const => StateSpace::Global,
                other => other,
            };
            Some((space, decl.layout(declarator, pool)?.size?))
        })
    }

    pub(super) fn statement_text(&self, function: FuncId, stmt: ptx_ir::StmtId) -> String {
        let body = self.module.body(function).unwrap();
        let span = body.source_span(stmt);
        String::from_utf8_lossy(span.of(self.module.source())).into_owned()
    }

    fn lane(
        &mut self,
        function: &Function,
        thread: Thread,
        frame: &mut Frame,
        step: &ExecutedStep<'_>,
        lane: usize,
    ) {
        let (stmt, at) = function.statement(step.place.inst);
        for value in step.reads {
            match value.register() {
                StepRegister::Register(of) => {
                    for variable in function.variables.of(of) {
                        let known = &mut frame.registers[variable.index()];
                        if known.is_none() {
                            *known = Some(value.bits(lane) as u64);
                        }
                    }
                }
                StepRegister::Special(register, component) => {
                    let symbol = AffineSymbol::Special(register, component);
                    let bits = value.bits(lane) as i128;
                    self.special.insert((thread, symbol), bits);
                }
                _ => {}
            }
        }
        let cfg = &function.cfg;
        let block = cfg.of_statement(stmt).unwrap();
        let (before, over) = frame.last;
        let again = frame.block == Some(block) && (at < before || at == before && over);
        if frame.block != Some(block) || again {
            for block in path(function, frame.block, block) {
                self.enter(function, thread, frame, block);
            }
        }
        frame.last = (at, step.state == StepState::Done);
        if step.place.active >> lane & 1 == 0 {
            // Values that keep what was there before.
            self.keep(function, frame, stmt);
            return;
        }
        for value in step.writes {
            let StepRegister::Register(of) = value.register() else {
                continue;
            };
            let Some(variable) = function.variables.of(of).single() else {
                continue;
            };
            let defs = function.ssa.defs(stmt);
            let of_variable = |d: &ValueId| function.ssa.variable(*d) == Some(variable);
            let Some(def) = defs.clone().find(of_variable) else {
                continue;
            };
            let expected = function.expected(def);
            if value.ty().bits() < expected.width || expected.width > 64 {
                frame.registers[variable.index()] = None;
                frame.values[def.as_u32() as usize] = None;
                continue;
            }
            let bits = value.bits(lane) as u64;
            frame.registers[variable.index()] = Some(bits);
            frame.values[def.as_u32() as usize] = Some(bits);
            self.value(function, thread, frame, def, bits);
        }
    }

    /// The values of a statement whose guard does not hold.
    fn keep(&mut self, function: &Function, frame: &mut Frame, stmt: ptx_ir::StmtId) {
        for def in function.ssa.defs(stmt) {
            if let Some(variable) = function.ssa.variable(def)
                && let Some(bits) = frame.registers.get(variable.index())
            {
                frame.values[def.as_u32() as usize] = *bits;
            }
        }
    }

    /// Enters a block: loops are counted, and phis get their values.
    fn enter(&mut self, function: &Function, thread: Thread, frame: &mut Frame, block: BlockId) {
        let loops = &function.loops;
        let from = frame.block.replace(block);
        for (id, info) in loops.iter() {
            let was_in = from.is_some_and(|b| loops.contains(id, b));
            if was_in && !loops.contains(id, block) {
                self.left(function, frame, id);
            }
            if info.header() == block {
                let counter = frame.counters.entry(id).or_default();
                *counter = if was_in { *counter + 1 } else { 0 };
            }
        }
        let mut phis = Vec::new();
        for phi in function.ssa.phis(block) {
            let bits = function
                .ssa
                .variable(phi)
                .and_then(|variable| *frame.registers.get(variable.index())?);
            frame.values[phi.as_u32() as usize] = bits;
            phis.extend(bits.map(|bits| (phi, bits)));
        }
        for (phi, bits) in phis {
            self.value(function, thread, frame, phi, bits);
        }
        let entered = loops.header(block) == Some(block);
        if let (Some(id), true) = (loops.innermost(block), entered)
            && frame.counters.get(&id) == Some(&0)
        {
            frame.expected.remove(&id);
            if let Some(count) = function.values.trip_count(id)
                && let Some(n) = self.trip_count(function, thread, frame, count)
            {
                frame.expected.insert(id, (n, count.is_exact));
            }
        }
    }

    /// The frame of a lane in a call.
    fn frame(&self, step: &ExecutedStep<'_>, lane: usize, depth: usize) -> Option<&Frame> {
        let thread = (step.place.block, step.place.first_thread + lane as u32);
        self.threads.get(&thread)?.get(depth)
    }

    /// The iterations of the loops around the block of a frame, outer ones first.
    fn iterations(&self, frame: &Frame) -> Vec<u64> {
        let (Some(function), Some(block)) = (self.known.get(&frame.function), frame.block) else {
            return Vec::new();
        };
        let loops = function.loops.iter().map(|(id, _)| id);
        loops
            .filter(|id| function.loops.contains(*id, block))
            .map(|id| frame.counters.get(&id).copied().unwrap_or(0))
            .collect()
    }

    /// Whether lanes that execute a step together are in different iterations of a loop around it, or around a call. A group of lanes that executes many
    /// instructions after a divergent branch lets the other lanes go on, which may come to a later iteration.
    pub(super) fn are_in_different_iterations(&self, step: &ExecutedStep<'_>, mask: u32) -> bool {
        (0..=step.place.depth as usize).any(|depth| {
            let mut iterations = (0..LANES)
                .filter(|lane| mask >> lane & 1 == 1)
                .filter_map(|lane| self.frame(step, lane, depth))
                .map(|frame| self.iterations(frame));
            let first = iterations.next();
            iterations.any(|next| Some(next) != first)
        })
    }

    /// Notes that lanes execute an instruction without others that were predicted to execute it, too.
    pub(super) fn add_separate_lanes(&mut self, step: &ExecutedStep<'_>, mask: u32, sets: &[u32]) {
        for lane in (0..LANES).filter(|lane| mask >> lane & 1 == 1) {
            let Some(frame) = self.frame(step, lane, step.place.depth as usize) else {
                continue;
            };
            let instance = Instance {
                grid: step.place.grid.number,
                block: step.place.block,
                first_thread: step.place.first_thread,
                inst: step.place.inst,
                iterations: self.iterations(frame),
            };
            let lanes = self.separate_lanes.entry(instance);
            let lanes = lanes.or_insert_with(|| SeparateLanes {
                mask: 0,
                sets: sets.to_vec(),
            });
            lanes.mask |= 1 << lane;
        }
    }

    fn trip_count(
        &self,
        function: &Function,
        thread: Thread,
        frame: &Frame,
        count: &ptx_analysis::values::TripCount,
    ) -> Option<u64> {
        if let ptx_analysis::values::Count::Affine(distance) = &count.count
            && distance.assumes_no_wrap
        {
            return None;
        }
        count.evaluate(|symbol| self.symbol(function, thread, frame, symbol))
    }

    /// A thread left a loop.
    fn left(&mut self, function: &Function, frame: &mut Frame, id: LoopId) {
        let Some((expected, is_exact)) = frame.expected.remove(&id) else {
            return;
        };
        let counted = frame.counters.get(&id).map_or(0, |c| c + 1);
        self.checked.trip_counts += 1;
        if counted > expected || is_exact && counted != expected {
            let count = function.values.trip_count(id);
            let name = &self.name;
            self.checked.note(|| {
                format!("{name}: {counted} iterations of {id:?}, not {expected}: {count:?}")
            });
        }
    }

    /// What a symbol is for a thread.
    fn symbol(
        &self,
        function: &Function,
        thread: Thread,
        frame: &Frame,
        id: AffineSymbolId,
    ) -> Option<i128> {
        match function.values.symbol(id)? {
            symbol @ AffineSymbol::Special(..) => self.special.get(&(thread, symbol)).copied(),
            AffineSymbol::Counter(id) => frame.counters.get(&id).map(|&c| c.into()),
            AffineSymbol::Value { value, signed } => {
                let bits = (*frame.values.get(value.as_u32() as usize)?)?;
                let above = 64 - u32::from(function.expected(value).width.clamp(1, 64));
                Some(match signed {
                    true => ((bits << above) as i64 >> above).into(),
                    false => bits.into(),
                })
            }
            AffineSymbol::Product(a, b) => {
                let a = self.symbol(function, thread, frame, a)?;
                Some(a.wrapping_mul(self.symbol(function, thread, frame, b)?))
            }
            _ => {
                let common = self.common.get(&(frame.function, id));
                common.or_else(|| frame.symbols.get(&id)).copied()
            }
        }
    }

    /// Compares a value with what the analysis knows of it.
    fn value(
        &mut self,
        function: &Function,
        thread: Thread,
        frame: &mut Frame,
        id: ValueId,
        bits: u64,
    ) {
        let expected = function.expected(id);
        if !(8..=64).contains(&expected.width) {
            return;
        }
        let above = 64 - u32::from(expected.width);
        let signed = ((bits << above) as i64) >> above;
        self.checked.values += 1;
        let any = ptx_analysis::values::Interval::of_bits(expected.width, false);
        self.checked.intervals += u64::from(expected.unsigned != any);
        self.checked.alignments += u64::from(expected.alignment.bits > 0);
        let mut wrong = None;
        if !expected.unsigned.contains(bits.into()) || !expected.signed.contains(signed.into()) {
            wrong = Some("interval");
        }
        if !expected.alignment.contains(bits) {
            wrong = Some("alignment");
        }
        self.learn(function, thread, frame, &expected.form, bits);
        let found = expected
            .form
            .value(|symbol| self.symbol(function, thread, frame, symbol));
        if let Some(found) = found {
            self.checked.forms += 1;
            let own = AffineSymbol::Value {
                value: id,
                signed: false,
            };
            let is_own = expected
                .form
                .as_symbol()
                .and_then(|s| function.values.symbol(s))
                == Some(own);
            self.checked.composed += u64::from(!is_own);
            if (found ^ bits) << above != 0 {
                wrong = Some("form");
            }
        }
        if let Some(assumed) = &expected.assumed {
            let found = assumed.value(|symbol| self.symbol(function, thread, frame, symbol));
            if let Some(found) = found {
                self.checked.assumed += 1;
                self.checked.wrapped += u64::from((found ^ bits) << above != 0);
            }
        }
        if let Some(what) = wrong {
            let statement = match function.ssa.value(id) {
                Value::Def { stmt, .. } => self.statement_text(frame.function, stmt),
                other => format!("{other:?}"),
            };
            let symbols: Vec<_> = expected
                .form
                .terms()
                .iter()
                .map(|t| {
                    let symbol = function.values.symbol(t.symbol);
                    (symbol, self.symbol(function, thread, frame, t.symbol))
                })
                .collect();
            let name = &self.name;
            self.checked.note(|| {
                format!("{name}: {what} of `{statement}` {id:?} for {bits:#x} in {thread:?}: {expected:?} {symbols:x?}")
            });
        }
    }

    /// Learns the only symbol of a form that is unknown and cannot be read otherwise.
    fn learn(
        &mut self,
        function: &Function,
        thread: Thread,
        frame: &mut Frame,
        form: &Affine,
        bits: u64,
    ) {
        let unknown = |id: AffineSymbolId| self.symbol(function, thread, frame, id).is_none();
        let mut terms = form.terms().iter().filter(|t| unknown(t.symbol));
        let (Some(term), None) = (terms.next(), terms.next()) else {
            return;
        };
        let Some(symbol) = function.values.symbol(term.symbol) else {
            return;
        };
        let is_fixed = matches!(
            symbol,
            AffineSymbol::Parameter { .. } | AffineSymbol::Variable(_) | AffineSymbol::Window(_)
        );
        if !is_fixed || term.factor != 1 {
            return;
        }
        let rest = form.value(|id| match id == term.symbol {
            true => Some(0),
            false => self.symbol(function, thread, frame, id),
        });
        let Some(rest) = rest else { return };
        let value = i128::from(bits.wrapping_sub(rest));
        let common = match symbol {
            AffineSymbol::Variable(VariableRef::Local(_)) => false,
            AffineSymbol::Parameter { .. } => function.is_kernel,
            _ => true,
        };
        match common {
            true => self.common.insert((frame.function, term.symbol), value),
            false => frame.symbols.insert(term.symbol, value),
        };
    }
}

/// The blocks that control enters to get to another one, through those without instructions.
fn path(function: &Function, from: Option<BlockId>, to: BlockId) -> Vec<BlockId> {
    let cfg = &function.cfg;
    let Some(from) = from else {
        // Blocks before the first instruction.
        let mut blocks = vec![];
        let mut at = ptx_analysis::cfg::Cfg::ENTRY;
        while at != to && !function.has_instructions[at.index()] {
            blocks.push(at);
            let Some(&next) = cfg.successors(at).first() else {
                break;
            };
            at = next;
        }
        blocks.push(to);
        return blocks;
    };
    let mut queue = vec![vec![from]];
    let mut seen = vec![false; cfg.len()];
    while let Some(path) = queue.pop() {
        let last = path[path.len() - 1];
        for &next in cfg.successors(last) {
            let mut longer = path.clone();
            longer.push(next);
            if next == to {
                return longer.split_off(1);
            }
            if !function.has_instructions[next.index()] && !seen[next.index()] {
                seen[next.index()] = true;
                queue.push(longer);
            }
        }
    }
    vec![to]
}
