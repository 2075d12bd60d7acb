//! The values that decide what the steps of a loop do.

use std::collections::{BTreeSet, HashSet};

use ptx_ir::FuncId;
use ptx_isa::Action;

use super::cells::{Cell, Cells};
use super::grid::Grid;
use super::repeated_loop::Loop;
use crate::lanes::{Double, LaneOp, Place, Registers, lanes};
use crate::program::{
    Act, ActOperand, Address, Argument, Atomic, Base, Call, Callee, ChangedElement, Function, Step,
    Target,
};

/// An instruction of a function.
type StepOfFunction = (FuncId, u32);

/// The steps that lanes executed since the start of a loop, and their accesses.
#[derive(Debug, Default)]
pub(super) struct Trace {
    pub(super) steps: BTreeSet<StepOfFunction>,
    /// The words that steps read and wrote; only for loops that may change memory.
    pub(super) reads: BTreeSet<(StepOfFunction, Cell)>,
    pub(super) writes: BTreeSet<(StepOfFunction, Cell)>,
    /// The functions that were called through addresses.
    pub(super) callees: BTreeSet<(StepOfFunction, FuncId)>,
}

/// A value that steps compute with; calls of a function that is called again before it returns are not told apart.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
enum Value {
    Register(FuncId, Place),
    Memory(Cell),
}

/// Values that are read, and those that are computed from them.
#[derive(Default)]
struct Flow {
    /// The values that decide where the steps go, what they access, and what others can see.
    deciding: HashSet<Value>,
    /// Values that are written and what they are computed from.
    computed: Vec<(Value, Vec<Value>)>,
    /// Values that depend on time.
    timed: Vec<Value>,
}

/// Whether the steps of a loop are executed in the same way again and again: no value differs between two states of the registers of its call, in the
/// lanes of the loop, that decides where they go and what they access, and none of these depends on time. Calls that began between the states have ended.
pub(super) fn repeats(
    grid: &Grid<'_>,
    repeated: &Loop,
    cells: &Cells,
    (before, after): (&Registers, &Registers),
) -> bool {
    let (_, function, _) = repeated.place();
    let (_, _, mask) = repeated.lanes;
    let places = differences(before, after, mask);
    let mut changed: Vec<Value> = places
        .into_iter()
        .map(|place| Value::Register(function, place))
        .collect();
    let words = repeated.written.iter().filter(|(_, w)| w.first != w.last);
    changed.extend(words.map(|(cell, _)| Value::Memory(*cell)));
    let Some(mut flow) = Flow::of_loop(grid, repeated, cells) else {
        return false;
    };
    changed.append(&mut flow.timed);
    if changed.is_empty() {
        return true;
    }
    flow.close();
    !changed.iter().any(|value| flow.deciding.contains(value))
}

/// The values that differ in the lanes of a mask.
fn differences(before: &Registers, after: &Registers, mask: u32) -> Vec<Place> {
    let mut changed = Vec::new();
    let predicates = before.predicates.iter().zip(&after.predicates);
    for (at, (a, b)) in (0..).zip(predicates) {
        if (a ^ b) & mask != 0 {
            changed.push(Place::Predicate(at));
        }
    }
    for (at, (a, b)) in (0..).zip(before.words.iter().zip(&after.words)) {
        if a != b && lanes(mask).any(|lane| a[lane] != b[lane]) {
            changed.push(Place::Word(at));
        }
    }
    let differ = |a: &Double, b: &Double| a != b && lanes(mask).any(|lane| a[lane] != b[lane]);
    for (at, (a, b)) in (0..).zip(before.doubles.iter().zip(&after.doubles)) {
        if differ(a, b) {
            changed.push(Place::Double(at));
        }
    }
    changed
}

/// The files of a value: one of 128 bits is in two places.
fn parts(place: Place) -> impl Iterator<Item = Place> {
    let (first, second) = match place {
        Place::Quad(at) => (Place::Double(at), Some(Place::Double(at + 1))),
        other => (other, None),
    };
    core::iter::once(first).chain(second)
}

impl Flow {
    /// The flow of values in a loop; `None` if it is not known.
    fn of_loop(grid: &Grid<'_>, repeated: &Loop, cells: &Cells) -> Option<Self> {
        let mut flow = Self::default();
        let steps = &repeated.trace.steps;
        let passes_memory = steps.iter().any(|&(id, at)| {
            let function = grid.program.function(id);
            let target = function.and_then(|function| function.steps.get(at as usize));
            target.is_some_and(|target| passes_memory(&target.step))
        });
        for &(id, at) in steps {
            let function = grid.program.function(id)?;
            let target = function.steps.get(at as usize)?;
            let mut builder = FlowBuilder {
                flow: &mut flow,
                step: (id, at),
                function,
                repeated,
                cells,
                passes_memory,
            };
            builder.add(grid, target)?;
        }
        Some(flow)
    }

    /// Adds the values that deciding values are computed from.
    fn close(&mut self) {
        loop {
            let count_before = self.deciding.len();
            for (to, from) in &self.computed {
                if self.deciding.contains(to) {
                    self.deciding.extend(from);
                }
            }
            if self.deciding.len() == count_before {
                return;
            }
        }
    }
}

/// Whether a step is a call that copies bytes of the stack, which is not seen as an access.
fn passes_memory(step: &Step) -> bool {
    let Step::Call(call) = step else { return false };
    let mut passed = call.arguments.iter().chain(&call.results);
    passed.any(|argument| matches!(argument, Argument::Memory(_)))
}

/// Adds the steps of a loop to its flow of values.
struct FlowBuilder<'a> {
    flow: &'a mut Flow,
    step: StepOfFunction,
    function: &'a Function,
    repeated: &'a Loop,
    cells: &'a Cells,
    /// Calls copy bytes of the stack.
    passes_memory: bool,
}

impl FlowBuilder<'_> {
    fn add(&mut self, grid: &Grid<'_>, target: &Target) -> Option<()> {
        self.decide(target.guard.map(|(at, _)| Place::Predicate(at)));
        self.compute(target.before);
        match &target.step {
            Step::Lanes(first, end) => self.compute((*first, *end)),
            Step::Fold(fold) => {
                let mut reads = fold.sources.clone();
                let carry = Place::Predicate(crate::lower::Code::CARRY);
                reads.extend(fold.reads_carry.then_some(carry));
                let written = fold.results.iter().copied().chain(fold.second);
                let written = written.chain(fold.writes_carry.then_some(carry));
                for to in written {
                    self.define(to, &reads);
                }
            }
            Step::Load(access) => {
                self.decide(register(&access.address));
                let words = self.read_words();
                for place in access.places.iter().copied().flatten() {
                    self.define_from(place, &words);
                }
            }
            Step::Store(access) => {
                self.decide(register(&access.address));
                let stored: Vec<Place> = access.places.iter().copied().flatten().collect();
                self.store(&stored);
            }
            Step::Atomic(atomic) => self.change(atomic),
            Step::Special(_, place, ops) => {
                let id = self.step.0;
                let timed = parts(*place).map(|place| Value::Register(id, place));
                self.flow.timed.extend(timed);
                self.compute(*ops);
            }
            Step::Table(index, _) => self.decide([*index]),
            Step::Act(act) => self.act(act),
            Step::Call(call) => self.call(grid, call)?,
            Step::Return | Step::Jump(_) | Step::Exit | Step::Trap | Step::Unsupported(_) => {}
        }
        Some(())
    }

    /// The words that only this loop accesses, of those that it writes.
    fn private(&self, cell: &Cell) -> bool {
        !(self.passes_memory && cell.is_local())
            && self.cells.is_only_user(*cell, self.repeated.lanes)
    }

    /// The words that the step accesses, of a set of accesses.
    fn words(&self, accesses: &BTreeSet<(StepOfFunction, Cell)>) -> Vec<Cell> {
        let all = accesses.range((self.step, Cell::FIRST)..);
        let accesses_of_step = all.take_while(|(step, _)| *step == self.step);
        accesses_of_step.map(|(_, cell)| *cell).collect()
    }

    /// The words that the step reads and the loop writes. The others do not change.
    fn read_words(&self) -> Vec<Value> {
        let words = self.words(&self.repeated.trace.reads).into_iter();
        words
            .filter(|cell| self.repeated.written.contains_key(cell))
            .map(Value::Memory)
            .collect()
    }

    /// Values are stored. They decide what other threads do, unless only this loop accesses the words.
    fn store(&mut self, stored: &[Place]) {
        let words = self.words(&self.repeated.trace.writes);
        if words.is_empty() || !words.iter().all(|cell| self.private(cell)) {
            self.decide(stored.iter().copied());
            return;
        }
        let id = self.step.0;
        for cell in words {
            let registers = stored.iter().copied().flat_map(parts);
            let from: Vec<Value> = registers.map(|place| Value::Register(id, place)).collect();
            self.flow.computed.push((Value::Memory(cell), from));
        }
    }

    /// An atomic operation reads words, and stores what it computes from them.
    fn change(&mut self, atomic: &Atomic) {
        self.decide(register(&atomic.address));
        let words = self.words(&self.repeated.trace.writes);
        if words.is_empty() || !words.iter().all(|cell| self.private(cell)) {
            for element in &atomic.elements {
                self.decide_element(element);
            }
            return;
        }
        let read: Vec<Value> = words.into_iter().map(Value::Memory).collect();
        for element in &atomic.elements {
            for place in &element.loaded {
                self.define_from(*place, &read);
            }
            self.compute(element.ops);
        }
        let new: Vec<Place> = atomic.elements.iter().map(|element| element.new).collect();
        self.store(&new);
    }

    /// The values that a call passes. What is passed in memory is as if it was stored.
    fn call(&mut self, grid: &Grid<'_>, call: &Call) -> Option<()> {
        match &call.callee {
            Callee::Function(callee) => self.pass_to(grid, call, *callee),
            Callee::Indirect(place) => {
                self.decide([*place]);
                let callees = &self.repeated.trace.callees;
                let from_here = callees.iter().filter(|(step, _)| *step == self.step);
                let from_here: Vec<FuncId> = from_here.map(|(_, callee)| *callee).collect();
                if from_here.is_empty() {
                    return None;
                }
                from_here
                    .into_iter()
                    .try_for_each(|callee| self.pass_to(grid, call, callee))
            }
            Callee::System(_) => {
                for argument in &call.arguments {
                    if let Argument::Registers(places) = argument {
                        self.decide(places.iter().copied());
                    }
                }
                Some(())
            }
        }
    }

    fn pass_to(&mut self, grid: &Grid<'_>, call: &Call, callee: FuncId) -> Option<()> {
        let frame = &grid.program.function(callee)?.frame;
        let caller = self.step.0;
        for (argument, parameter) in call.arguments.iter().zip(&frame.parameters) {
            self.pass((caller, argument), (callee, &parameter.place));
        }
        for (result, parameter) in call.results.iter().zip(&frame.results) {
            self.pass((callee, &parameter.place), (caller, result));
        }
        Some(())
    }

    fn pass(&mut self, (from, source): (FuncId, &Argument), (to, target): (FuncId, &Argument)) {
        let Argument::Registers(sources) = source else {
            return;
        };
        let sources = sources.iter().copied().flat_map(parts);
        let sources: Vec<Value> = sources.map(|place| Value::Register(from, place)).collect();
        match target {
            Argument::Registers(targets) => {
                let targets = targets.iter().copied().flat_map(parts);
                let computed = targets.map(|place| (Value::Register(to, place), sources.clone()));
                self.flow.computed.extend(computed);
            }
            _ => self.flow.deciding.extend(sources),
        }
    }

    fn act(&mut self, act: &Act) {
        if matches!(act.action, Action::Sleep | Action::Hint | Action::Fence) {
            return;
        }
        let is_address =
            |operand: &Option<ActOperand>| matches!(operand, Some(ActOperand::Address(_)));
        // A wait has the object, the phase, and perhaps the time that it may take, which is a hint.
        let hint = match act.action {
            Action::MbarrierWait => act.operands.iter().position(is_address).map(|at| at + 2),
            _ => None,
        };
        for (index, operand) in act.operands.iter().enumerate() {
            match operand {
                Some(ActOperand::Places(places)) if hint != Some(index) => {
                    self.decide(places.iter().copied());
                }
                Some(ActOperand::Address(address)) => self.decide(register(address)),
                _ => {}
            }
        }
        if let Some(element) = &act.element {
            self.decide_element(element);
        }
        let words = self.read_words();
        self.flow.deciding.extend(words);
    }

    fn decide(&mut self, places: impl IntoIterator<Item = Place>) {
        let id = self.step.0;
        let places = places.into_iter().flat_map(parts);
        let values = places.map(|place| Value::Register(id, place));
        self.flow.deciding.extend(values);
    }

    fn decide_element(&mut self, element: &ChangedElement) {
        self.decide(element.loaded.iter().copied());
        self.decide([element.new]);
        let function = self.function;
        self.decide(ops(function, element.ops).iter().flat_map(LaneOp::read));
    }

    fn compute(&mut self, range: (u32, u32)) {
        let function = self.function;
        for op in ops(function, range) {
            self.define(op.written(), &op.read());
        }
    }

    fn define(&mut self, to: Place, from: &[Place]) {
        let id = self.step.0;
        let from = from.iter().copied().flat_map(parts);
        let from: Vec<Value> = from.map(|place| Value::Register(id, place)).collect();
        self.define_from(to, &from);
    }

    fn define_from(&mut self, to: Place, from: &[Value]) {
        let id = self.step.0;
        let to = parts(to).map(|place| (Value::Register(id, place), from.to_vec()));
        self.flow.computed.extend(to);
    }
}

fn ops(function: &Function, (first, end): (u32, u32)) -> &[LaneOp] {
    let ops = function.code.ops.get(first as usize..end as usize);
    ops.unwrap_or_default()
}

/// The register that an address is computed from.
const fn register(address: &Address) -> Option<Place> {
    match address.base {
        Base::Register(place) => Some(place),
        Base::Frame | Base::Zero => None,
    }
}
