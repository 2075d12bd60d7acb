//! The values that decide the effects of the steps of a loop.

use std::collections::{BTreeSet, HashSet};

use ptx_ir::FuncId;
use ptx_isa::Action;

use super::cells::{Cell, Cells};
use super::grid::Grid;
use super::repeated_loop::Loop;
use crate::lanes::{LaneOp, Place, Registers, lanes};
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
    /// The words that steps read; only for loops that may change memory.
    pub(super) reads: BTreeSet<(StepOfFunction, Cell)>,
    /// The words that steps wrote; only for loops that may change memory.
    pub(super) writes: BTreeSet<(StepOfFunction, Cell)>,
    /// The functions that were called through addresses.
    pub(super) callees: BTreeSet<(StepOfFunction, FuncId)>,
}

/// A value that steps use. The registers of all calls of a function are one, also if it is called again before it returns.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
enum Value {
    Register(FuncId, Place),
    Memory(Cell),
}

/// The flow of values through the steps of a loop.
#[derive(Default)]
struct Flow {
    /// The values that decide the branches and addresses of the steps, and those that other threads see.
    deciding: HashSet<Value>,
    /// The written values, each with the values from which it is computed.
    computed: Vec<(Value, Vec<Value>)>,
    /// Values that depend on time.
    timed: Vec<Value>,
}

/// Whether the steps of a loop are repeated with the same effects. `before` and `after` are two states of the registers of its call; calls that began
/// between them have ended. No deciding value may differ between the states in the lanes of the loop, and none may depend on time.
pub(super) fn repeats(
    grid: &Grid<'_>,
    repeated: &Loop,
    cells: &Cells,
    before: &Registers,
    after: &Registers,
) -> bool {
    let (_, function, _) = repeated.place();
    let mut changed: Vec<Value> = differences(before, after, repeated.lanes.mask)
        .into_iter()
        .map(|place| Value::Register(function, place))
        .collect();
    for (cell, written) in &repeated.written {
        if written.first != written.last {
            changed.push(Value::Memory(*cell));
        }
    }
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

/// The registers that differ in the lanes of a mask.
fn differences(before: &Registers, after: &Registers, mask: u32) -> Vec<Place> {
    let mut differences = Vec::new();
    let predicates = before.predicates.iter().zip(&after.predicates);
    for (index, (a, b)) in (0..).zip(predicates) {
        if (a ^ b) & mask != 0 {
            differences.push(Place::Predicate(index));
        }
    }
    for (index, (a, b)) in (0..).zip(before.words.iter().zip(&after.words)) {
        if a != b && lanes(mask).any(|lane| a[lane] != b[lane]) {
            differences.push(Place::Word(index));
        }
    }
    for (index, (a, b)) in (0..).zip(before.doubles.iter().zip(&after.doubles)) {
        if a != b && lanes(mask).any(|lane| a[lane] != b[lane]) {
            differences.push(Place::Double(index));
        }
    }
    differences
}

/// The registers of at most 64 bits that contain a value.
fn registers_of(place: Place) -> impl Iterator<Item = Place> {
    let (first, second) = match place {
        Place::Quad(index) => (Place::Double(index), Some(Place::Double(index + 1))),
        other => (other, None),
    };
    core::iter::once(first).chain(second)
}

impl Flow {
    /// The flow of values in a loop; `None` if it is unknown.
    fn of_loop(grid: &Grid<'_>, repeated: &Loop, cells: &Cells) -> Option<Self> {
        let mut flow = Self::default();
        let steps = &repeated.trace.steps;
        let passes_memory = steps.iter().any(|&(id, step_index)| {
            let function = grid.program.function(id);
            let target = function.and_then(|f| f.steps.get(step_index as usize));
            target.is_some_and(|target| passes_memory(&target.step))
        });
        for &(id, step_index) in steps {
            let function = grid.program.function(id)?;
            let target = function.steps.get(step_index as usize)?;
            let mut builder = FlowBuilder {
                flow: &mut flow,
                step: (id, step_index),
                function,
                repeated,
                cells,
                passes_memory,
            };
            builder.add(grid, target)?;
        }
        Some(flow)
    }

    /// Adds the values from which deciding values are computed to the deciding ones.
    fn close(&mut self) {
        loop {
            let count_before = self.deciding.len();
            for (value, sources) in &self.computed {
                if self.deciding.contains(value) {
                    self.deciding.extend(sources);
                }
            }
            if self.deciding.len() == count_before {
                return;
            }
        }
    }
}

/// Whether a step is a call that copies bytes of the stack, which the observer does not see as an access.
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
        self.decide(target.guard.map(|guard| Place::Predicate(guard.predicate)));
        self.compute(target.operand_ops);
        match &target.step {
            Step::Lanes(first, end) => self.compute((*first, *end)),
            Step::Fold(fold) => {
                let mut reads = fold.sources.clone();
                let carry = Place::Predicate(crate::lower::Code::CARRY);
                reads.extend(fold.reads_carry.then_some(carry));
                let results = fold.results.iter().copied();
                for result in results
                    .chain(fold.second)
                    .chain(fold.writes_carry.then_some(carry))
                {
                    self.define(result, &reads);
                }
            }
            Step::Load(access) => {
                self.decide(address_register(&access.address));
                let words = self.read_words();
                for place in access.places.iter().copied().flatten() {
                    self.define_from(place, &words);
                }
            }
            Step::Store(access) => {
                self.decide(address_register(&access.address));
                let stored: Vec<Place> = access.places.iter().copied().flatten().collect();
                self.store(&stored);
            }
            Step::Atomic(atomic) => self.change(atomic),
            Step::Special(_, place, ops) => {
                let id = self.step.0;
                let timed = registers_of(*place).map(|place| Value::Register(id, place));
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

    /// Whether no other lanes access a word that the loop writes.
    fn is_private(&self, cell: &Cell) -> bool {
        !(self.passes_memory && cell.is_local())
            && self.cells.is_only_user(*cell, self.repeated.lanes)
    }

    /// The words of the step in a set of accesses.
    fn words(&self, accesses: &BTreeSet<(StepOfFunction, Cell)>) -> Vec<Cell> {
        accesses
            .range((self.step, Cell::FIRST)..)
            .take_while(|(step, _)| *step == self.step)
            .map(|(_, cell)| *cell)
            .collect()
    }

    /// The words that the step reads and the loop writes. The other words do not change.
    fn read_words(&self) -> Vec<Value> {
        self.words(&self.repeated.trace.reads)
            .into_iter()
            .filter(|cell| self.repeated.written.contains_key(cell))
            .map(Value::Memory)
            .collect()
    }

    /// Adds a store of values. They are deciding unless only this loop accesses the words.
    fn store(&mut self, stored: &[Place]) {
        let words = self.words(&self.repeated.trace.writes);
        if words.is_empty() || !words.iter().all(|cell| self.is_private(cell)) {
            self.decide(stored.iter().copied());
            return;
        }
        let id = self.step.0;
        for cell in words {
            let sources: Vec<Value> = stored
                .iter()
                .copied()
                .flat_map(registers_of)
                .map(|place| Value::Register(id, place))
                .collect();
            self.flow.computed.push((Value::Memory(cell), sources));
        }
    }

    /// Adds an atomic operation, which reads words and stores values that are computed from them.
    fn change(&mut self, atomic: &Atomic) {
        self.decide(address_register(&atomic.address));
        let words = self.words(&self.repeated.trace.writes);
        if words.is_empty() || !words.iter().all(|cell| self.is_private(cell)) {
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

    /// Adds a call and the values that it passes. A value that is passed in memory is deciding, as if it was stored.
    fn call(&mut self, grid: &Grid<'_>, call: &Call) -> Option<()> {
        match &call.callee {
            Callee::Function(callee) => self.pass_to(grid, call, *callee),
            Callee::Indirect(place) => {
                self.decide([*place]);
                let callees: Vec<FuncId> = self
                    .repeated
                    .trace
                    .callees
                    .iter()
                    .filter(|(step, _)| *step == self.step)
                    .map(|(_, callee)| *callee)
                    .collect();
                if callees.is_empty() {
                    return None;
                }
                callees
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
            self.pass(caller, argument, callee, &parameter.place);
        }
        for (result, parameter) in call.results.iter().zip(&frame.results) {
            self.pass(callee, &parameter.place, caller, result);
        }
        Some(())
    }

    /// Adds the copy of an argument or a result from one function to another one.
    fn pass(
        &mut self,
        source_function: FuncId,
        source: &Argument,
        target_function: FuncId,
        target: &Argument,
    ) {
        let Argument::Registers(sources) = source else {
            return;
        };
        let sources: Vec<Value> = sources
            .iter()
            .copied()
            .flat_map(registers_of)
            .map(|place| Value::Register(source_function, place))
            .collect();
        match target {
            Argument::Registers(targets) => {
                for place in targets.iter().copied().flat_map(registers_of) {
                    let value = Value::Register(target_function, place);
                    self.flow.computed.push((value, sources.clone()));
                }
            }
            _ => self.flow.deciding.extend(sources),
        }
    }

    fn act(&mut self, act: &Act) {
        if matches!(
            act.action,
            Action::Sleep
                | Action::Hint
                | Action::Fence
                | Action::RegisterRequest
                | Action::RegisterRelease
        ) {
            return;
        }
        // The operands of a wait are the object, the phase, and perhaps the time that it may take, which is a hint.
        let hint = if act.action == Action::MbarrierWait {
            act.operands
                .iter()
                .position(|operand| matches!(operand, Some(ActOperand::Address(_))))
                .map(|index| index + 2)
        } else {
            None
        };
        for (index, operand) in act.operands.iter().enumerate() {
            match operand {
                Some(ActOperand::Places(places)) if hint != Some(index) => {
                    self.decide(places.iter().copied());
                }
                Some(ActOperand::Address(address)) => self.decide(address_register(address)),
                _ => {}
            }
        }
        for element in &act.elements {
            self.decide_element(element);
        }
        let words = self.read_words();
        self.flow.deciding.extend(words);
    }

    /// Makes registers deciding.
    fn decide(&mut self, places: impl IntoIterator<Item = Place>) {
        let id = self.step.0;
        for place in places.into_iter().flat_map(registers_of) {
            self.flow.deciding.insert(Value::Register(id, place));
        }
    }

    fn decide_element(&mut self, element: &ChangedElement) {
        self.decide(element.loaded.iter().copied());
        self.decide([element.new]);
        let operations = operations(self.function, element.ops);
        self.decide(operations.iter().flat_map(LaneOp::read));
    }

    /// Adds the operations `range.0..range.1` of the function.
    fn compute(&mut self, range: (u32, u32)) {
        for op in operations(self.function, range) {
            self.define(op.written(), &op.read());
        }
    }

    /// Adds a value that is computed from registers.
    fn define(&mut self, result: Place, sources: &[Place]) {
        let id = self.step.0;
        let sources: Vec<Value> = sources
            .iter()
            .copied()
            .flat_map(registers_of)
            .map(|place| Value::Register(id, place))
            .collect();
        self.define_from(result, &sources);
    }

    fn define_from(&mut self, result: Place, sources: &[Value]) {
        let id = self.step.0;
        for place in registers_of(result) {
            let value = Value::Register(id, place);
            self.flow.computed.push((value, sources.to_vec()));
        }
    }
}

fn operations(function: &Function, (first, end): (u32, u32)) -> &[LaneOp] {
    let operations = function.code.ops.get(first as usize..end as usize);
    operations.unwrap_or_default()
}

/// The register from which an address is computed.
const fn address_register(address: &Address) -> Option<Place> {
    match address.base {
        Base::Register(place) => Some(place),
        Base::Frame | Base::Zero => None,
    }
}
