//! Decodes memory accesses.

use ptx_ir::facts::Space;
use ptx_ir::{InstId, Operand};
use ptx_isa::internals::{Destination, Expr};
use ptx_isa::{Marks, Role, ScalarType, StateSpace};

use super::operands::{Context, OPERANDS};
use super::parts::Places;
use super::selected_form::SelectedForm;
use super::step::{Access, Address, Atomic, ChangedElement, Step, Window};
use crate::lanes::Place;
use crate::lower::{InMemory, Lowering, Source};

/// The window of the access of an instruction.
pub(super) fn window(context: &Context<'_>, inst: InstId) -> Window {
    let facts = context.facts.inst(inst);
    let space = facts
        .memory()
        .find(|a| a.operand.is_some())
        .map(|a| a.space);
    match space {
        Some(Space::State(space)) => Window::State(space),
        _ => Window::Generic,
    }
}

/// The address operand of an instruction. A variable on the stack or a parameter of the kernel has its own window.
pub(super) fn address_of(
    context: &mut Context<'_>,
    operand: Operand,
    window: Window,
) -> Option<Address> {
    let window = match window {
        Window::State(space) => match space.base() {
            StateSpace::Local => Window::Local,
            StateSpace::Global | StateSpace::Const => Window::State(StateSpace::Global),
            StateSpace::Shared if space != StateSpace::SharedCluster => {
                Window::State(StateSpace::Shared)
            }
            StateSpace::Param if !context.is_entry => Window::Local,
            StateSpace::Param => Window::KernelParameters,
            _ => window,
        },
        other => other,
    };
    context.address(operand, window)
}

/// An instruction that reads or changes memory.
pub(super) fn memory_step(
    context: &mut Context<'_>,
    inst: InstId,
    selected: &SelectedForm,
    address_operand: usize,
) -> Result<Step, &'static str> {
    let window = window(context, inst);
    let operand = selected.operands.get(address_operand).copied().flatten();
    let operand = operand.ok_or("missing address operand")?;
    let address = address_of(context, operand, window).ok_or("unsupported address")?;
    memory_access(context, selected, address, address_operand).ok_or(OPERANDS)
}

fn memory_access(
    context: &mut Context<'_>,
    selected: &SelectedForm,
    address: Address,
    address_operand: usize,
) -> Option<Step> {
    let data = (selected.position_of(Role::Def)).or_else(|| selected.position_of(Role::Use))?;
    let ty = selected.types[data]?;
    let bytes = (ty.bits() / 8) as u8;
    let step: Option<fn(Box<Access>) -> Step> = match selected.form.computation()?.assignments() {
        [only] => match (only.target(), only.value()) {
            (Destination::Operand(_), Expr::Memory(_)) => Some(Step::Load),
            (Destination::Memory(_), Expr::Operand(_)) => Some(Step::Store),
            _ => None,
        },
        _ => None,
    };
    if let Some(step) = step {
        return Some(step(Box::new(Access {
            address,
            bytes,
            places: data_places(context, selected.operands[data]?, ty)?,
            ty,
        })));
    }
    let operands = unaliased(context, selected)?;
    let count = selected.lengths[data].unwrap_or(1);
    let start = context.code.ops.len() as u32;
    let mut elements = Vec::new();
    for element in 0..count {
        let place = context.code.new_register(ty.bits());
        let loaded = [(address_operand as u8, InMemory { ty, place })];
        elements.push(changed_element(
            context, selected, &operands, element, &loaded,
        )?);
    }
    Some(Step::Atomic(Box::new(Atomic {
        address,
        elements,
        start,
    })))
}

/// The places that a load writes or a store reads; `None` where an element is dropped.
fn data_places(
    context: &mut Context<'_>,
    data: Operand,
    ty: ScalarType,
) -> Option<Vec<Option<Place>>> {
    let parts = match data {
        Operand::Vector(list) => context.facts.body().pool().list(list).to_vec(),
        other => vec![other],
    };
    let mut places = Vec::new();
    for part in parts {
        match part {
            Operand::Sink => places.push(None),
            part => places.extend(context.source(part, Some(ty))?.into_iter().map(Some)),
        }
    }
    Some(places)
}

/// The places of the operands of an atomic operation, of which no source is a result: elements and lanes are changed one after the other, so a source
/// that is also a result is copied first.
fn unaliased(context: &mut Context<'_>, selected: &SelectedForm) -> Option<Vec<Option<Source>>> {
    let mut operands = Places::new(context, selected)?.operands;
    let results = selected
        .position_of(Role::Def)
        .and_then(|index| operands.get(index)?.clone())
        .unwrap_or_default();
    let sources = selected
        .form
        .operands()
        .iter()
        .zip(&mut operands)
        .filter(|(form_operand, _)| !matches!(form_operand.role(), Role::Def | Role::ReadWrite));
    for place in sources.flat_map(|(_, places)| places).flatten() {
        if results.contains(place) {
            let copy = context.code.new_register(context.code.width(*place));
            context.code.copy(copy, *place);
            *place = copy;
        }
    }
    Some(operands)
}

/// The change of an element of a vector in memory.
fn changed_element(
    context: &mut Context<'_>,
    selected: &SelectedForm,
    operands: &[Option<Source>],
    element: usize,
    loaded: &[(u8, InMemory)],
) -> Option<ChangedElement> {
    let start = context.code.ops.len() as u32;
    let mut lowering = Lowering::new(
        &mut context.code,
        selected.form,
        &selected.slots,
        selected.mnemonic.modifiers(),
        operands,
    );
    lowering.element = element;
    lowering.loaded = loaded;
    let mut lowered = lowering.lower()?;
    let new = lowered.stored?;
    context.code.write_results(&mut lowered.results);
    Some(ChangedElement {
        bytes: (loaded.first()?.1.ty.bits() / 8) as u8,
        loaded: loaded.iter().map(|(_, value)| value.place).collect(),
        ops: (start, context.code.ops.len() as u32),
        new,
    })
}

/// The change of each element of a vector in memory by an action.
pub(super) fn combinations(
    context: &mut Context<'_>,
    selected: &SelectedForm,
) -> Option<Vec<ChangedElement>> {
    let mut types = selected.mnemonic.modifiers().iter().rev();
    let ty = types.find_map(|m| m.scalar_type())?;
    let operands = unaliased(context, selected)?;
    let data = selected.position_of(Role::Use)?;
    let count = selected.lengths[data].unwrap_or(1);
    let mut elements = Vec::new();
    for element in 0..count {
        let mut loaded = Vec::new();
        for (index, operand) in (0u8..).zip(selected.form.operands()) {
            if operand.role() == Role::Addr && !operand.marks().contains(Marks::MBARRIER) {
                let place = context.code.new_register(ty.bits());
                loaded.push((index, InMemory { ty, place }));
            }
        }
        elements.push(changed_element(
            context, selected, &operands, element, &loaded,
        )?);
    }
    Some(elements)
}
