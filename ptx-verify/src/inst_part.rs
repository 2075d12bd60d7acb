//! The part of an instruction to which a violation refers.

use core::mem::discriminant;

use ptx_isa::{Cond, FormMatch, InstQuery, OperandShape, Rule, RuleKind, Table};
use smallvec::SmallVec;

use crate::location::Part;

/// Modifiers, from the first to the last of two numbers.
pub(crate) fn modifiers(first: usize, last: usize) -> Part {
    Part::Modifiers(first as u32, last as u32)
}

/// The place at which an operand of the form is written: an operand, or a part of one in brackets, in braces or around `|`.
pub(crate) fn operand(query: &InstQuery<'_>, form: &FormMatch<'_>, index: usize) -> Option<Part> {
    let nth = form.operands().written(index)?;
    let outer = query.operands().get(nth)?;
    let grouped = matches!(
        outer.shape,
        OperandShape::Bracket(_) | OperandShape::Vector(_) | OperandShape::Pair(_)
    );
    let inner = form.operands().get(index);
    let is_part = inner.is_some_and(|i| discriminant(&i.shape) != discriminant(&outer.shape));
    Some(match grouped && is_part {
        true => Part::Element(nth as u32, form.operands().part(index) as u32),
        false => Part::Operand(nth as u32),
    })
}

/// The modifiers in the columns of a table, from the first to the last.
pub(crate) fn columns(query: &InstQuery<'_>, form: &FormMatch<'_>, table: &Table) -> Option<Part> {
    let fixed = form.instruction().words().len();
    let mut of_table = (fixed..query.modifiers().len()).filter(|i| {
        let slot = form.assignment().slot_of(i - fixed);
        slot.is_some_and(|s| table.columns().iter().any(|&c| usize::from(c) == s))
    });
    let first = of_table.next()?;
    Some(modifiers(first, of_table.next_back().unwrap_or(first)))
}

/// The first modifier in a slot.
fn in_slot(query: &InstQuery<'_>, form: &FormMatch<'_>, slot: usize) -> Option<usize> {
    let fixed = form.instruction().words().len();
    let mut all = fixed..query.modifiers().len();
    all.find(|i| form.assignment().slot_of(i - fixed) == Some(slot))
}

/// The operand that violates the rule, or else the last modifier that does; `None` where something is missing.
pub(crate) fn rule(query: &InstQuery<'_>, form: &FormMatch<'_>, violated: &Rule) -> Option<Part> {
    let operand_at = |index: u8| operand(query, form, index.into());
    let mut open: SmallVec<[Cond; 8]> = SmallVec::new();
    match violated.kind() {
        RuleKind::Require(when, then) => open.extend([when, then]),
        RuleKind::Deny(cond) => open.push(cond),
        RuleKind::Ordered(low, _) => return operand_at(low),
        _ => return None,
    }
    let (mut first_operand, mut modifier) = (None, None);
    while let Some(cond) = open.pop() {
        match cond {
            Cond::All(parts) | Cond::Any(parts) => open.extend(parts.iter().rev().copied()),
            Cond::Operand(index, test) => {
                let written = form.operands().get(index.into());
                if written.is_some_and(|w| w.is(test)) {
                    first_operand = first_operand.or_else(|| operand_at(index));
                }
            }
            Cond::Holds(slot, words) if form.assignment().is_filled(slot.into()) => {
                let named = query.modifiers().iter().position(|m| words.contains(*m));
                modifier = modifier.max(named.or_else(|| in_slot(query, form, slot.into())));
            }
            Cond::Filled(slot) => {
                let words = form.form().slot(slot.into()).map(|s| s.words());
                let mut written = query.modifiers().iter();
                let index = written.position(|m| words.is_some_and(|w| w.contains(*m)));
                modifier = modifier.max(index);
            }
            _ => {}
        }
    }
    first_operand.or_else(|| modifier.map(|i| modifiers(i, i)))
}
