//! Which values decide what the steps of a loop do.

use std::collections::{BTreeSet, HashSet};

use ptx_ir::FuncId;
use ptx_isa::Action;

use super::grid::Grid;
use crate::lanes::{Double, LaneOp, Place, Registers, lanes};
use crate::program::{Act, ActOperand, Address, Base, ChangedElement, Function, Step, Target};

/// The steps that were executed.
pub(super) type Steps = BTreeSet<(FuncId, u32)>;

/// Values that are read, and those that are computed from them.
#[derive(Default)]
struct Flow {
    /// The values that decide where the steps go, and what they access.
    deciding: HashSet<Place>,
    /// Values that are written and what they are computed from.
    computed: Vec<(Place, Vec<Place>)>,
    /// Values that depend on time.
    timed: Vec<Place>,
}

/// Whether steps that were executed between two states of the registers are executed in the same way again and again: no value differs, in the lanes of
/// a mask, that decides where they go and what they read, and none of these depends on time.
pub(super) fn repeat(
    grid: &Grid<'_>,
    function: FuncId,
    (before, after): (&Registers, &Registers),
    mask: u32,
    steps: &Steps,
) -> bool {
    let mut changed = differences(before, after, mask);
    let Some(mut flow) = Flow::of(grid, function, steps) else {
        return changed.is_empty();
    };
    changed.append(&mut flow.timed);
    if changed.is_empty() {
        return true;
    }
    flow.close();
    !changed.iter().any(|place| flow.deciding.contains(place))
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
    /// The flow of values in steps of one function; `None` if others are called, or time is read without it.
    fn of(grid: &Grid<'_>, function: FuncId, steps: &Steps) -> Option<Self> {
        let mut flow = Self::default();
        let code = grid.program.function(function)?;
        for &(of, at) in steps {
            if of != function {
                return None;
            }
            flow.add(code, code.steps.get(at as usize)?)?;
        }
        Some(flow)
    }

    fn add(&mut self, function: &Function, target: &Target) -> Option<()> {
        self.decide(target.guard.map(|(at, _)| Place::Predicate(at)));
        self.compute(function, target.before);
        match &target.step {
            Step::Lanes(first, end) => self.compute(function, (*first, *end)),
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
                    self.decide_element(function, element);
                }
            }
            Step::Special(_, place, ops) => {
                self.timed.extend(parts(*place));
                self.compute(function, *ops);
            }
            Step::Table(index, _) => self.decide([*index]),
            Step::Act(act) => self.act(function, act),
            Step::Jump(_) | Step::Exit | Step::Trap | Step::Unsupported(_) => {}
            Step::Call(_) | Step::Return => return None,
        }
        Some(())
    }

    fn act(&mut self, function: &Function, act: &Act) {
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
            self.decide_element(function, element);
        }
    }

    fn decide(&mut self, places: impl IntoIterator<Item = Place>) {
        self.deciding.extend(places.into_iter().flat_map(parts));
    }

    fn decide_element(&mut self, function: &Function, element: &ChangedElement) {
        self.decide(element.loaded.iter().copied());
        self.decide([element.new]);
        self.decide(ops(function, element.ops).iter().flat_map(LaneOp::read));
    }

    fn compute(&mut self, function: &Function, range: (u32, u32)) {
        for op in ops(function, range) {
            self.define(op.written(), &op.read());
        }
    }

    fn define(&mut self, to: Place, from: &[Place]) {
        let from: Vec<Place> = from.iter().copied().flat_map(parts).collect();
        let to = parts(to).map(|to| (to, from.clone()));
        self.computed.extend(to);
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
