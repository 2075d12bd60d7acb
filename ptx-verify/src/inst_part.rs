//! Returns the part of an instruction to which a violation refers.

use core::mem::discriminant;

use ptx_isa::internals::{Cond, FormMatch, InstQuery, OperandShape, Rule, RuleKind, Table};
use smallvec::SmallVec;

use crate::location::Part;

/// Returns the part with the modifiers from one index to another.
pub(crate) fn modifiers(first: usize, last: usize) -> Part {
    Part::Modifiers(first as u32, last as u32)
}

/// Returns the part with an operand of the form: an operand, or an element of an operand in brackets, in braces or beside `|`.
pub(crate) fn operand(query: &InstQuery<'_>, form: &FormMatch<'_>, index: usize) -> Option<Part> {
    let written_index = form.operands().written(index)?;
    let written = query.operands().get(written_index)?;
    let has_elements = matches!(
        written.shape,
        OperandShape::Bracket(_) | OperandShape::Vector(_) | OperandShape::Pair(_)
    );
    let is_element = form
        .operands()
        .get(index)
        .is_some_and(|operand| discriminant(&operand.shape) != discriminant(&written.shape));
    Some(if has_elements && is_element {
        let element = form.operands().part(index);
        Part::Element(written_index as u32, element as u32)
    } else {
        Part::Operand(written_index as u32)
    })
}

/// Returns the part with the modifiers in the columns of a table.
pub(crate) fn columns(query: &InstQuery<'_>, form: &FormMatch<'_>, table: &Table) -> Option<Part> {
    // The first words are the name of the instruction.
    let name_words = form.instruction().words().len();
    let mut indices = (name_words..query.modifiers().len()).filter(|index| {
        let slot = form.assignment().slot_of(index - name_words);
        slot.is_some_and(|slot| {
            let mut columns = table.columns().iter();
            columns.any(|column| usize::from(*column) == slot)
        })
    });
    let first = indices.next()?;
    Some(modifiers(first, indices.next_back().unwrap_or(first)))
}

/// Returns the index of the first modifier in a slot.
fn modifier_in_slot(query: &InstQuery<'_>, form: &FormMatch<'_>, slot: usize) -> Option<usize> {
    let name_words = form.instruction().words().len();
    (name_words..query.modifiers().len())
        .find(|index| form.assignment().slot_of(index - name_words) == Some(slot))
}

/// Returns the first operand that violates a rule, or else the last modifier that violates it; `None` if the rule is violated by a missing part.
pub(crate) fn rule(query: &InstQuery<'_>, form: &FormMatch<'_>, violated: &Rule) -> Option<Part> {
    let operand_part = |index: u8| operand(query, form, index.into());
    let mut worklist: SmallVec<[Cond; 8]> = SmallVec::new();
    match violated.kind() {
        RuleKind::Require(when, then) => worklist.extend([when, then]),
        RuleKind::Deny(cond) => worklist.push(cond),
        RuleKind::Ordered(low, _) => return operand_part(low),
        _ => return None,
    }
    let (mut first_operand, mut last_modifier) = (None, None);
    while let Some(cond) = worklist.pop() {
        match cond {
            Cond::All(parts) | Cond::Any(parts) => worklist.extend(parts.iter().rev().copied()),
            Cond::Operand(index, test) => {
                let operand = form.operands().get(index.into());
                if operand.is_some_and(|operand| operand.is(test)) {
                    first_operand = first_operand.or_else(|| operand_part(index));
                }
            }
            Cond::Holds(slot, words) if form.assignment().is_filled(slot.into()) => {
                let modifier = query
                    .modifiers()
                    .iter()
                    .position(|modifier| words.contains(*modifier))
                    .or_else(|| modifier_in_slot(query, form, slot.into()));
                last_modifier = last_modifier.max(modifier);
            }
            Cond::Filled(slot) => {
                let words = form.form().slot(slot.into()).map(|slot| slot.words());
                let modifier = query
                    .modifiers()
                    .iter()
                    .position(|modifier| words.is_some_and(|words| words.contains(*modifier)));
                last_modifier = last_modifier.max(modifier);
            }
            _ => {}
        }
    }
    first_operand.or_else(|| last_modifier.map(|index| modifiers(index, index)))
}
