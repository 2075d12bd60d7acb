//! Which values decide what the steps of a loop do.

use std::collections::{BTreeSet, HashSet};

use ptx_ir::FuncId;
use ptx_isa::Action;

use super::grid::Grid;
use crate::lanes::{Double, LaneOp, Place, Registers, lanes};
use crate::program::{
    Act, ActOperand, Address, Argument, Base, Call, Callee, ChangedElement, Function, Step, Target,
};

/// The steps that were executed.
pub(super) type Steps = BTreeSet<(FuncId, u32)>;

/// A value of a function; calls of a function that is called again before it returns are not told apart.
type Value = (FuncId, Place);

/// Values that are read, and those that are computed from them.
#[derive(Default)]
struct Flow {
    /// The values that decide where the steps go, and what they access.
    deciding: HashSet<Value>,
    /// Values that are written and what they are computed from.
    computed: Vec<(Value, Vec<Value>)>,
    /// Values that depend on time.
    timed: Vec<Value>,
}

/// Whether steps that were executed between two states of the registers of a call are executed in the same way again and again: no value differs, in the
/// lanes of a mask, that decides where they go and what they read, and none of these depends on time. Calls that began between the states have ended.
pub(super) fn repeat(
    grid: &Grid<'_>,
    function: FuncId,
    (before, after): (&Registers, &Registers),
    mask: u32,
    steps: &Steps,
) -> bool {
    let changed = differences(before, after, mask);
    let Some(mut flow) = Flow::of(grid, steps) else {
        return false;
    };
    let changed = changed.into_iter().map(|place| (function, place));
    let changed: Vec<Value> = changed.chain(flow.timed.iter().copied()).collect();
    if changed.is_empty() {
        return true;
    }
    flow.close();
    !changed.iter().any(|value| flow.deciding.contains(value))
}

/// The values that differ in the lanes of a mask.
fn differences(before: &Registers, after: &Registers, mask: u32) -> Vec<Place> {
    let mut found = Vec::new();
    let predicates = before.predicates.iter().zip(&after.predicates);
    for (at, (a, b)) in (0..).zip(predicates) {
        if (a ^ b) & mask != 0 {
            found.push(Place::Predicate(at));
        }
    }
    for (at, (a, b)) in (0..).zip(before.words.iter().zip(&after.words)) {
        if a != b && lanes(mask).any(|lane| a[lane] != b[lane]) {
            found.push(Place::Word(at));
        }
    }
    let differ = |a: &Double, b: &Double| a != b && lanes(mask).any(|lane| a[lane] != b[lane]);
    for (at, (a, b)) in (0..).zip(before.doubles.iter().zip(&after.doubles)) {
        if differ(a, b) {
            found.push(Place::Double(at));
        }
    }
    found
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
    /// The flow of values in steps; `None` if it is not known.
    fn of(grid: &Grid<'_>, steps: &Steps) -> Option<Self> {
        let mut flow = Self::default();
        for &(id, at) in steps {
            let function = grid.program.function(id)?;
            let target = function.steps.get(at as usize)?;
            let mut of = Of {
                flow: &mut flow,
                id,
                function,
            };
            of.add(grid, target)?;
        }
        Some(flow)
    }

    /// What deciding values are computed from decides as well.
    fn close(&mut self) {
        loop {
            let before = self.deciding.len();
            for (to, from) in &self.computed {
                if self.deciding.contains(to) {
                    self.deciding.extend(from);
                }
            }
            if self.deciding.len() == before {
                return;
            }
        }
    }
}

/// The flow of values in a function.
struct Of<'a> {
    flow: &'a mut Flow,
    id: FuncId,
    function: &'a Function,
}

impl Of<'_> {
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
            Step::Load(access) => self.decide(register(&access.address)),
            Step::Store(access) => {
                self.decide(register(&access.address));
                self.decide(access.places.iter().copied().flatten());
            }
            Step::Atomic(atomic) => {
                self.decide(register(&atomic.address));
                for element in &atomic.elements {
                    self.decide_element(element);
                }
            }
            Step::Special(_, place, ops) => {
                let id = self.id;
                let timed = parts(*place).map(|place| (id, place));
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

    /// The values that a call passes. What is passed in memory is as if it was stored.
    fn call(&mut self, grid: &Grid<'_>, call: &Call) -> Option<()> {
        let callee = match &call.callee {
            Callee::Function(id) => *id,
            Callee::Indirect(_) => return None,
            // The observer sees it.
            Callee::System(_) => return Some(()),
        };
        let frame = &grid.program.function(callee)?.frame;
        let own = self.id;
        for (argument, parameter) in call.arguments.iter().zip(&frame.parameters) {
            let (from, to) = ((own, argument), (callee, &parameter.place));
            self.pass(from, to);
        }
        for (result, parameter) in call.results.iter().zip(&frame.results) {
            self.pass((callee, &parameter.place), (own, result));
        }
        Some(())
    }

    fn pass(&mut self, (from, source): (FuncId, &Argument), (to, target): (FuncId, &Argument)) {
        let Argument::Registers(sources) = source else {
            return;
        };
        let sources = sources.iter().copied().flat_map(parts);
        let sources: Vec<Value> = sources.map(|place| (from, place)).collect();
        match target {
            Argument::Registers(targets) => {
                let targets = targets.iter().copied().flat_map(parts);
                let computed = targets.map(|place| ((to, place), sources.clone()));
                self.flow.computed.extend(computed);
            }
            _ => self.flow.deciding.extend(sources),
        }
    }

    fn act(&mut self, act: &Act) {
        if matches!(act.action, Action::Sleep | Action::Hint | Action::Fence) {
            return;
        }
        for operand in act.operands.iter().flatten() {
            match operand {
                ActOperand::Places(places) => self.decide(places.iter().copied()),
                ActOperand::Address(address) => self.decide(register(address)),
            }
        }
        if let Some(element) = &act.element {
            self.decide_element(element);
        }
    }

    fn decide(&mut self, places: impl IntoIterator<Item = Place>) {
        let id = self.id;
        let values = places.into_iter().flat_map(parts).map(|place| (id, place));
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
        let id = self.id;
        let from = from.iter().copied().flat_map(parts);
        let from: Vec<Value> = from.map(|place| (id, place)).collect();
        let to = parts(to).map(|to| ((id, to), from.clone()));
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
