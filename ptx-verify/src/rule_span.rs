//! Which words of an instruction a broken rule speaks of.

use alloc::vec::Vec;
use ptx_ir::Span;
use ptx_isa::{Cond, FormMatch, Rule, RuleKind};

use crate::explain::Explainer;

/// The operand that breaks the rule, else the last modifier that does; `None` where something is missing.
pub(crate) fn of_rule(
    explainer: &Explainer<'_>,
    selection: &FormMatch<'_>,
    rule: &Rule,
) -> Option<Span> {
    let open = match rule.kind {
        RuleKind::Require(when, then) => alloc::vec![when, then],
        RuleKind::Deny(cond) => alloc::vec![cond],
        RuleKind::Ordered(low, _) => return explainer.span_of(selection, low.into()),
        RuleKind::AtMostOne(operands, _) => {
            return explainer.span_of(selection, (*operands.last()?).into());
        }
        _ => return None,
    };
    let (mut operand, mut modifier) = (None, None);
    for leaf in leaves(open) {
        match leaf {
            Cond::Operand(index, test) => {
                let written = selection.operands.get(index.into());
                if written.is_some_and(|w| w.is(test)) {
                    operand = operand.or(explainer.span_of(selection, index.into()));
                }
            }
            Cond::Holds(slot, words) if selection.assignment.is_filled(slot.into()) => {
                let mut written = explainer.request.modifiers.iter();
                let index = written.position(|m| words.contains(*m));
                modifier = modifier.max(index);
            }
            Cond::Filled(slot) => {
                let words = selection.form.slot(slot.into()).map(|s| s.words());
                let mut written = explainer.request.modifiers.iter();
                let index = written.position(|m| words.is_some_and(|w| w.contains(*m)));
                modifier = modifier.max(index);
            }
            _ => {}
        }
    }
    operand.or_else(|| explainer.layout.modifiers.get(modifier?).copied())
}

/// The conditions that a condition is made of, those that it denies left out.
fn leaves(mut open: Vec<Cond>) -> Vec<Cond> {
    let mut found = Vec::new();
    while let Some(cond) = open.pop() {
        match cond {
            Cond::All(parts) | Cond::Any(parts) => open.extend(parts.iter().rev()),
            Cond::Not(_) => {}
            leaf => found.push(leaf),
        }
    }
    found
}
