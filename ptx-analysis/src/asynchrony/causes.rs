//! The other instruction of violations: the initialization of an object, the operation before a fence, the write of a register.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_ir::InstId;

use super::events::{Event, Events, Kind};
use super::mechanism::Mechanism;
use super::place::Place;
use super::{Rule, Violation};

/// Initializations beyond these are not looked at.
const MOST: usize = 64;

/// Adds the other instructions to violations without one.
pub(super) fn add(events: &Events, found: &mut [Violation]) {
    if found.iter().all(|v| v.cause.is_some()) {
        return;
    }
    let causes = Causes::new(events);
    for violation in found.iter_mut().filter(|v| v.cause.is_none()) {
        violation.cause = causes.of(violation);
    }
}

/// The instructions that may be causes, in the order of the text.
struct Causes<'a> {
    events: &'a Events,
    by_inst: BTreeMap<InstId, Vec<&'a Event>>,
    initializations: Vec<(InstId, Place)>,
    tensor: Vec<InstId>,
    frees: Vec<InstId>,
    /// The writes of registers, by their variables.
    writes: BTreeMap<u32, Vec<InstId>>,
}

impl<'a> Causes<'a> {
    fn new(events: &'a Events) -> Self {
        let mut causes = Self {
            events,
            by_inst: BTreeMap::new(),
            initializations: Vec::new(),
            tensor: Vec::new(),
            frees: Vec::new(),
            writes: BTreeMap::new(),
        };
        for event in events.all() {
            causes.by_inst.entry(event.inst).or_default().push(event);
            match &event.kind {
                Kind::Initialize(place) if causes.initializations.len() < MOST => {
                    causes.initializations.push((event.inst, *place));
                }
                Kind::Start(number) => {
                    let operation = events.operation(*number);
                    let is_tensor = operation.is_some_and(|o| {
                        matches!(
                            o.mechanism,
                            Mechanism::Tensor | Mechanism::TensorLoads | Mechanism::TensorStores
                        )
                    });
                    if is_tensor {
                        causes.tensor.push(event.inst);
                    }
                }
                Kind::Free(..) => causes.frees.push(event.inst),
                Kind::Registers { writes, .. } => {
                    for variable in writes {
                        causes.writes.entry(*variable).or_default().push(event.inst);
                    }
                }
                _ => {}
            }
        }
        let order = |inst: &InstId| events.order(*inst);
        let lists = causes.writes.values_mut();
        for list in lists.chain([&mut causes.tensor, &mut causes.frees]) {
            list.sort_by_key(order);
        }
        causes.initializations.sort_by_key(|(inst, _)| order(inst));
        causes
    }

    fn of(&self, violation: &Violation) -> Option<InstId> {
        match violation.rule {
            Rule::TensorFence | Rule::TensorFenceBefore => {
                self.last_before(&self.tensor, violation.inst)
            }
            Rule::TensorMemoryFreed => self.last_before(&self.frees, violation.inst),
            Rule::WarpgroupFence => self.write(violation.inst),
            Rule::MbarrierNotPublished => {
                let before = |(inst, _): &&(InstId, Place)| self.is_before(*inst, violation.inst);
                let mut all = self.initializations.iter().rev();
                all.find(before).map(|(inst, _)| *inst)
            }
            Rule::MbarrierNotInitialized
            | Rule::MbarrierInitializedTwice
            | Rule::MbarrierNotFenced
            | Rule::MbarrierPhase
            | Rule::MbarrierOverwritten => self.initialization(violation.inst),
            _ => None,
        }
    }

    fn is_before(&self, a: InstId, b: InstId) -> bool {
        self.events.order(a) < self.events.order(b)
    }

    /// The last of some instructions before another one in the text.
    fn last_before(&self, sorted: &[InstId], inst: InstId) -> Option<InstId> {
        let count = sorted.partition_point(|other| self.is_before(*other, inst));
        sorted.get(count.checked_sub(1)?).copied()
    }

    /// The last write of a register of a product before it.
    fn write(&self, inst: InstId) -> Option<InstId> {
        let events = self.by_inst.get(&inst)?.iter();
        let operation = events.clone().find_map(|event| match event.kind {
            Kind::Start(number) => self.events.operation(number),
            _ => None,
        })?;
        let registers = operation.written.iter().chain(&operation.read);
        let lists = registers.filter_map(|variable| self.writes.get(variable));
        let last = lists.filter_map(|list| self.last_before(list, inst));
        last.max_by_key(|write| self.events.order(*write))
    }

    /// An initialization of the object that an instruction uses: the last one before it, or the first one after it.
    fn initialization(&self, inst: InstId) -> Option<InstId> {
        let events = self.by_inst.get(&inst)?.iter();
        let object = events.clone().find_map(|event| match &event.kind {
            Kind::Object(place)
            | Kind::Await(place)
            | Kind::Phase(place, _)
            | Kind::Initialize(place)
            | Kind::Invalidate(place)
            | Kind::Signal(place)
            | Kind::Expect(place, _) => Some(*place),
            Kind::Start(number) => self.events.operation(*number)?.object,
            Kind::Memory(access) => Some(access.place),
            _ => None,
        })?;
        // A write may begin elsewhere in the object.
        let is_write = events
            .clone()
            .all(|event| matches!(event.kind, Kind::Memory(_)));
        let is_object = |place: Place| match is_write {
            true => place.root.is_some() && place.root == object.root,
            false => place.may_be_same_address(object),
        };
        let of_object = |(other, place): &&(InstId, Place)| *other != inst && is_object(*place);
        let mut all = self.initializations.iter().filter(of_object).copied();
        let first = all.next()?;
        let before = all.take_while(|(other, _)| self.is_before(*other, inst));
        Some(before.last().unwrap_or(first).0)
    }
}
