//! The causes of violations: the initialization of an object, the operation before a fence, the write of a register.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_ir::InstId;

use super::events::{Event, Events, Kind};
use super::mechanism::Mechanism;
use super::place::Place;
use super::{Rule, Violation};
use crate::reg_lanes::VariableId;

/// The maximum number of initializations that are examined.
const MOST_INITIALIZATIONS: usize = 64;

/// Adds causes to the violations without one.
pub(super) fn add(events: &Events, violations: &mut [Violation]) {
    if violations.iter().all(|v| v.cause.is_some()) {
        return;
    }
    let causes = Causes::new(events);
    for violation in violations.iter_mut().filter(|v| v.cause.is_none()) {
        violation.cause = causes.cause(violation);
    }
}

/// The instructions that may be causes; all lists are in the order of the text.
struct Causes<'a> {
    events: &'a Events,
    by_inst: BTreeMap<InstId, Vec<&'a Event>>,
    initializations: Vec<Initialization>,
    /// The operations on tensor memory.
    tensor_operations: Vec<InstId>,
    /// The deallocations of tensor memory.
    frees: Vec<InstId>,
    /// The writes of registers, by their variables.
    register_writes: BTreeMap<VariableId, Vec<InstId>>,
}

/// An initialization of an mbarrier object.
struct Initialization {
    inst: InstId,
    object: Place,
}

impl<'a> Causes<'a> {
    fn new(events: &'a Events) -> Self {
        let mut causes = Self {
            events,
            by_inst: BTreeMap::new(),
            initializations: Vec::new(),
            tensor_operations: Vec::new(),
            frees: Vec::new(),
            register_writes: BTreeMap::new(),
        };
        for event in events.all() {
            causes.by_inst.entry(event.inst).or_default().push(event);
            match &event.kind {
                Kind::Initialize(place) if causes.initializations.len() < MOST_INITIALIZATIONS => {
                    causes.initializations.push(Initialization {
                        inst: event.inst,
                        object: *place,
                    });
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
                        causes.tensor_operations.push(event.inst);
                    }
                }
                Kind::Free(..) => causes.frees.push(event.inst),
                Kind::Registers { writes, .. } => {
                    for variable in writes {
                        causes
                            .register_writes
                            .entry(*variable)
                            .or_default()
                            .push(event.inst);
                    }
                }
                _ => {}
            }
        }
        for insts in causes
            .register_writes
            .values_mut()
            .chain([&mut causes.tensor_operations, &mut causes.frees])
        {
            insts.sort_by_key(|inst| events.order(*inst));
        }
        causes
            .initializations
            .sort_by_key(|initialization| events.order(initialization.inst));
        causes
    }

    fn cause(&self, violation: &Violation) -> Option<InstId> {
        match violation.rule {
            Rule::TensorFence | Rule::TensorFenceBefore => {
                self.last_before(&self.tensor_operations, violation.inst)
            }
            Rule::TensorMemoryFreed => self.last_before(&self.frees, violation.inst),
            Rule::WarpgroupFence => self.write_of_product_register(violation.inst),
            Rule::MbarrierNotPublished => self
                .initializations
                .iter()
                .map(|initialization| initialization.inst)
                .rfind(|inst| self.is_before(*inst, violation.inst)),
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

    /// The last of sorted instructions before another one in the text.
    fn last_before(&self, sorted: &[InstId], inst: InstId) -> Option<InstId> {
        let count = sorted.partition_point(|other| self.is_before(*other, inst));
        sorted.get(count.checked_sub(1)?).copied()
    }

    /// The last write before a product of one of its registers.
    fn write_of_product_register(&self, product: InstId) -> Option<InstId> {
        let mut events = self.by_inst.get(&product)?.iter();
        let operation = events.find_map(|event| match event.kind {
            Kind::Start(number) => self.events.operation(number),
            _ => None,
        })?;
        operation
            .written
            .iter()
            .chain(&operation.read)
            .filter_map(|variable| self.register_writes.get(variable))
            .filter_map(|writes| self.last_before(writes, product))
            .max_by_key(|write| self.events.order(*write))
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
        // A write may begin anywhere in the object.
        let is_write = events
            .clone()
            .all(|event| matches!(event.kind, Kind::Memory(_)));
        let mut of_object = self.initializations.iter().filter(|initialization| {
            let place = initialization.object;
            let may_be_same = if is_write {
                place.root.is_some() && place.root == object.root
            } else {
                place.may_be_same_address(object)
            };
            initialization.inst != inst && may_be_same
        });
        let first = of_object.next()?;
        let last_before = of_object
            .take_while(|initialization| self.is_before(initialization.inst, inst))
            .last();
        Some(last_before.unwrap_or(first).inst)
    }
}
