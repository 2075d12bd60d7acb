//! Decodes the operands of actions.

use ptx_ir::facts::Space;
use ptx_ir::{InstId, Operand};
use ptx_isa::{Marks, Role, ScalarType};

use super::accesses::{address_of, window};
use super::chosen::Chosen;
use super::operands::Context;
use super::step::{ActOperand, Window};
use crate::lanes::Place;

/// The operands of an action.
pub(super) fn act_operands(
    context: &mut Context<'_>,
    inst: InstId,
    chosen: &Chosen,
) -> Vec<Option<ActOperand>> {
    let default = window(context, inst);
    let facts = context.facts.inst(inst);
    let window = |operand: Operand| {
        let access = facts.memory().find(|a| a.operand == Some(operand));
        match access.map(|a| a.space) {
            Some(Space::State(space)) => Window::State(space),
            Some(Space::Generic) => Window::Generic,
            _ => default,
        }
    };
    let mut all = Vec::new();
    for (index, operand) in chosen.form.operands().iter().enumerate() {
        let written = chosen.operands[index].filter(|o| *o != Operand::Sink);
        let ty = chosen.types[index];
        let is_address = operand.role() == Role::Addr || operand.marks().contains(Marks::MBARRIER);
        all.push(written.and_then(|written| match is_address {
            true => address_of(context, written, window(written)).map(ActOperand::Address),
            false => act_places(context, written, ty).map(ActOperand::Places),
        }));
    }
    all
}

/// The places of an operand of an action. What is written to elements that are dropped goes to separate places.
fn act_places(
    context: &mut Context<'_>,
    written: Operand,
    ty: Option<ScalarType>,
) -> Option<Vec<Place>> {
    let Operand::Vector(list) = written else {
        return context.source(written, ty);
    };
    let mut places = Vec::new();
    for part in context.facts.body().pool().list(list).to_vec() {
        match part {
            Operand::Sink => {
                places.push(context.code.new_register(ty.map_or(32, ScalarType::bits)))
            }
            part => places.extend(context.source(part, ty)?),
        }
    }
    Some(places)
}
