//! The results of an instruction that is not a call.

use alloc::vec::Vec;

use ptx_ir::Operand;
use ptx_ir::facts::MemoryAccess;
use ptx_isa::internals::{Destination, Length, SlotAssignment};
use ptx_isa::{Action, Form, Modifier, Role, StateSpace};

use super::evaluation::{Evaluation, Site, Written};
use super::expression::{MAX_OPERANDS, Scope, Source};
use super::lattice::{AbstractValue, Address};
use crate::memory_access::Provenance;
use crate::reg_lanes::VariableId;

/// An element of the result of an instruction.
#[derive(Copy, Clone)]
struct Element {
    index: usize,
    count: usize,
}

/// A result that is not a vector.
const SCALAR: Element = Element { index: 0, count: 1 };

/// The address that an action computes, whatever its operands are.
fn new_address(action: Action, site: &Site<'_>) -> Option<Address> {
    let (object, space, offset) = match action {
        Action::StackAllocate => (
            Some(Provenance::Allocation(site.stmt)),
            StateSpace::Local,
            Some(0),
        ),
        // A variable of another CTA.
        Action::MapShared if site.facts.has_modifier(Modifier::SharedCluster) => {
            (None, StateSpace::Shared, None)
        }
        _ => return None,
    };
    Some(Address {
        object,
        space: Some(space),
        is_generic: false,
        is_certain: true,
        offset,
    })
}

impl Evaluation<'_> {
    /// Appends the results of an instruction that follow from the tables. Variables that it writes may be missing.
    pub(super) fn results(
        &mut self,
        site: &Site<'_>,
        has_memory: bool,
        written: &mut Vec<Written>,
    ) {
        let facts = &site.facts;
        let Some((form, slots)) = facts.form().filter(|_| facts.is_known()) else {
            return;
        };
        if let Some(action) = form.action() {
            if let Action::ToGeneric | Action::FromGeneric = action {
                written.extend(self.converted(site, action));
                return;
            }
            if let Some(address) = new_address(action, site) {
                let mut operands = form.operands().iter();
                let result = operands.position(|operand| operand.role() == Role::Def);
                let variable = result.and_then(|index| self.written_variable(site, index, SCALAR));
                written.extend(variable.map(|variable| Written {
                    variable,
                    value: AbstractValue::Address(address),
                }));
                return;
            }
        }
        let Some(computation) = form.computation().filter(|c| !c.is_approximate()) else {
            return;
        };
        let sources = self.sources(site, form, slots);
        let assignments = computation.assignments();
        let count = self.element_count(site);
        for index in 0..count {
            let element = Element { index, count };
            let loaded = if has_memory {
                self.loaded_element(site, element)
            } else {
                AbstractValue::AddressOrNumber
            };
            for assignment in assignments {
                let Destination::Operand(operand) = assignment.target() else {
                    continue;
                };
                let Some(variable) = self.written_variable(site, operand.into(), element) else {
                    continue;
                };
                let source = sources.get(usize::from(operand));
                let scope = Scope {
                    site,
                    form,
                    slots,
                    sources: &sources,
                    loaded,
                    bits: source.and_then(|source| source.type_bits).unwrap_or(64),
                    assignments,
                };
                written.push(Written {
                    variable,
                    value: scope.result(&assignment.value()),
                });
            }
        }
    }

    /// A result about which the tables say nothing.
    pub(super) fn other_result(&self, site: &Site<'_>) -> AbstractValue {
        let mut computed = AbstractValue::Number;
        for read in self.ssa.uses(site.stmt) {
            computed = computed.computed_with(self.value(read.value));
        }
        match computed {
            AbstractValue::Number if site.facts.is_known() => AbstractValue::AddressOrNumber,
            AbstractValue::Undefined => AbstractValue::Undefined,
            _ => AbstractValue::Unknown,
        }
    }

    /// The operands of an instruction, by their index in the form.
    fn sources(
        &self,
        site: &Site<'_>,
        form: &'static Form,
        slots: &SlotAssignment,
    ) -> [Source; MAX_OPERANDS] {
        let mut sources = [Source::UNKNOWN; MAX_OPERANDS];
        for (source, operand) in sources.iter_mut().zip(form.operands()) {
            let ty = operand.ty().scalar_type(slots, form);
            source.type_bits = ty.map(|ty| ty.bits());
        }
        for operand in site.facts.sources() {
            if let Some(source) = sources.get_mut(operand.index) {
                (source.value, source.register_bits) = self.source(site, operand.operand);
            }
        }
        sources
    }

    /// The value of an operand, and the bits of its register.
    fn source(&self, site: &Site<'_>, operand: Operand) -> (AbstractValue, u16) {
        let pool = self.facts.body().pool();
        match operand {
            Operand::Symbol(_) | Operand::Var(_) => (self.variable_address(operand), 64),
            Operand::Address(id) => {
                let Some(address) = pool.address(id) else {
                    return (AbstractValue::Unknown, 64);
                };
                let offset = address
                    .byte_offset(pool)
                    .map_or(AbstractValue::Number, AbstractValue::Constant);
                (self.variable_address(address.base).plus(offset), 64)
            }
            Operand::Special(_) => (AbstractValue::Number, 64),
            Operand::Component(_, register)
                if matches!(pool.get(register), Operand::Special(_)) =>
            {
                (AbstractValue::Number, 64)
            }
            Operand::Not(_) => (AbstractValue::Number, 1),
            _ => {
                let Some(register) = site.facts.place(operand) else {
                    let is_float =
                        matches!(operand, Operand::Imm(_)) && pool.integer(operand).is_none();
                    let value = if is_float {
                        AbstractValue::Number
                    } else {
                        self.register(site, operand)
                    };
                    return (value, 64);
                };
                let variable = self.function.variables().of(register).next();
                let bits = variable.and_then(|variable| self.variable_width(variable));
                (self.register(site, operand), bits.unwrap_or(64))
            }
        }
    }

    /// The result of a conversion of an address to a generic one, or back.
    fn converted(&self, site: &Site<'_>, action: Action) -> Option<Written> {
        let id = self.facts.body().inst(site.inst)?.sig;
        let signature = self.facts.module().signature(id);
        // The windows of shared memory have the same addresses.
        let space = signature.state_spaces().next()?.base();
        let mut operands = site.facts.operands();
        let source = operands.find(|o| matches!(o.role, Role::Use | Role::Symbol))?;
        let mut operands = site.facts.operands();
        let destination = operands.find(|o| o.role == Role::Def)?;
        let variable = self.written_variable(site, destination.index, SCALAR)?;
        let mut sources = site.facts.sources();
        let source = sources
            .find(|operand| operand.index == source.index)
            .map_or(AbstractValue::Unknown, |operand| {
                self.source(site, operand.operand).0
            });
        let (object, offset) = match source {
            AbstractValue::Undefined => {
                return Some(Written {
                    variable,
                    value: source,
                });
            }
            // It is not an address in that space.
            AbstractValue::Address(address)
                if action == Action::FromGeneric && self.is_elsewhere(address, space) =>
            {
                return Some(Written {
                    variable,
                    value: source,
                });
            }
            AbstractValue::Address(address) => (address.object, address.offset),
            _ => (None, None),
        };
        Some(Written {
            variable,
            value: AbstractValue::Address(Address {
                object,
                space: Some(space),
                is_generic: action == Action::ToGeneric || space == StateSpace::Global,
                is_certain: true,
                offset,
            }),
        })
    }

    /// Returns whether a generic address is certainly in another state space, in a function that does not test the state spaces of addresses.
    fn is_elsewhere(&self, address: Address, space: StateSpace) -> bool {
        let is_other = address
            .space
            .is_some_and(|other| other != space && other != StateSpace::Param);
        if !is_other || !address.is_certain || !address.is_generic {
            return false;
        }
        let mut insts = self.facts.body().insts();
        !insts.any(|(inst, _)| self.facts.inst(inst).action() == Some(Action::TestSpace))
    }

    /// The number of elements of the first result.
    fn element_count(&self, site: &Site<'_>) -> usize {
        let Some((form, _)) = site.facts.form() else {
            return 1;
        };
        let mut operands = form.operands().iter();
        let Some(result) = operands.position(|operand| operand.role() == Role::Def) else {
            return 1;
        };
        if form.operands()[result].length() == Length::Scalar {
            return 1;
        }
        match site.facts.operand(result).map(|operand| operand.operand) {
            Some(Operand::Vector(list)) => self.facts.body().pool().list(list).len(),
            _ => 1,
        }
    }

    /// The variable that holds an element of a result; `index` is the index of its operand in the form.
    fn written_variable(
        &self,
        site: &Site<'_>,
        index: usize,
        element: Element,
    ) -> Option<VariableId> {
        let (form, _) = site.facts.form()?;
        let operand = match site.facts.operand(index)?.operand {
            // The registers of a result that is divided among several are not evaluated.
            Operand::Vector(list) if form.operands().get(index)?.length() != Length::Scalar => {
                *self.facts.body().pool().list(list).get(element.index)?
            }
            Operand::Vector(_) => return None,
            other if element.count == 1 => other,
            _ => return None,
        };
        let register = site.facts.place(operand)?;
        self.function.variables().of(register).single()
    }

    /// The value that an instruction loads to an element.
    fn loaded_element(&mut self, site: &Site<'_>, element: Element) -> AbstractValue {
        let mut reads = site.facts.memory().filter(MemoryAccess::reads);
        let (Some(access), None) = (reads.next(), reads.next()) else {
            return AbstractValue::AddressOrNumber;
        };
        self.loaded(site, &access, element.index, element.count)
    }
}
