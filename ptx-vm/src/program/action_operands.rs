//! The operands of actions of the machine.

use ptx_ir::facts::Space;
use ptx_ir::{InstId, Operand};
use ptx_isa::{Marks, Modifier, Role, ScalarType, StateSpace};

use super::accesses::{address_of, window};
use super::operands::Context;
use super::selected_form::SelectedForm;
use super::step::{ActOperand, Window};
use crate::lanes::Place;

/// The operands of an action.
pub(super) fn act_operands(
    context: &mut Context<'_>,
    inst: InstId,
    selected: &SelectedForm,
) -> Option<Vec<Option<ActOperand>>> {
    // An mbarrier object is then in the CTA of the destination, or in the other CTA of a pair.
    let modifiers = selected.mnemonic.modifiers();
    let reaches_cluster = [Modifier::SharedCluster, Modifier::CtaGroup2]
        .iter()
        .any(|modifier| modifiers.contains(modifier));
    let mut operands = Vec::new();
    for (index, operand) in selected.form.operands().iter().enumerate() {
        let written = selected.operands[index].filter(|o| *o != Operand::Sink);
        let ty = selected.types[index];
        let is_address = operand.role() == Role::Addr || operand.marks().contains(Marks::MBARRIER);
        let Some(written) = written else {
            operands.push(None);
            continue;
        };
        operands.push(Some(if is_address {
            let mut window = operand_window(context, inst, written);
            if reaches_cluster && operand.marks().contains(Marks::MBARRIER) {
                window = Window::State(StateSpace::SharedCluster);
            }
            ActOperand::Address(address_of(context, written, window)?)
        } else {
            ActOperand::Places(act_places(context, written, ty, operand.role())?)
        }));
    }
    Some(operands)
}

/// The window of the access through an address operand.
fn operand_window(context: &Context<'_>, inst: InstId, operand: Operand) -> Window {
    let facts = context.facts.inst(inst);
    let access = facts.memory().find(|a| a.operand == Some(operand));
    match access.map(|a| a.space) {
        Some(Space::State(space)) => Window::State(space),
        Some(Space::Generic) => Window::Generic,
        _ => window(context, inst),
    }
}

/// The places of an operand of an action. What is written to elements that are dropped goes to separate places.
fn act_places(
    context: &mut Context<'_>,
    written: Operand,
    ty: Option<ScalarType>,
    role: Role,
) -> Option<Vec<Place>> {
    if !matches!(role, Role::Def | Role::ReadWrite) {
        return context.source(written, ty);
    }
    let bits = ty.map_or(32, ScalarType::bits);
    let places = context.destinations(written)?.into_iter();
    let places = places.map(|place| place.unwrap_or_else(|| context.code.new_register(bits)));
    Some(places.collect())
}
