//! Rules as sentences without a full stop.

use core::fmt::{self, Display, Formatter};

use super::{condition, demand, floors, operand_name, slot_name};
use crate::{Cond, Enforcement, Form, Rule, RuleKind};

/// A rule of the form as a sentence; says whether the PTX ISA manual does not document it.
#[must_use]
pub fn rule(form: &Form, rule: &Rule) -> impl Display {
    super::from_fn(move |f| {
        kind(f, form, &rule.kind)?;
        if rule.is_undocumented {
            f.write_str(" (ptxas only, not in the PTX ISA manual)")?;
        }
        Ok(())
    })
}

/// What a rule of the form demands, as a sentence.
#[must_use]
pub fn rule_kind(form: &Form, rule: RuleKind) -> impl Display {
    super::from_fn(move |f| kind(f, form, &rule))
}

fn kind(f: &mut Formatter<'_>, form: &Form, kind: &RuleKind) -> fmt::Result {
    match *kind {
        RuleKind::Require(when, then) => {
            given(f, form, &when)?;
            write!(f, "{}", demand(form, &then))
        }
        RuleKind::Deny(cond) => write!(f, "not allowed: {}", condition(form, &cond)),
        RuleKind::RequiresTarget(when, list) => {
            given(f, form, &when)?;
            write!(f, "{}", floors(list))
        }
        RuleKind::RemovedIn(when, list) => {
            given(f, form, &when)?;
            write!(f, "removed in {}", floors(list))
        }
        RuleKind::Deprecated(when, list, instead) => {
            given(f, form, &when)?;
            write!(f, "deprecated since {}; use {instead}", floors(list))
        }
        RuleKind::Ordered(low, high) => {
            let (low, high) = (operand_name(form, low), operand_name(form, high));
            write!(
                f,
                "if both are constants, {low} must not be greater than {high}"
            )
        }
        RuleKind::MustAgree(slot, enforcement) => {
            let name = slot_name(form, slot);
            write!(f, "all instructions of a kernel must have the same {name}")?;
            f.write_str(match enforcement {
                Enforcement::Error => "",
                Enforcement::Warning => " (a warning)",
            })
        }
    }
}

fn given(f: &mut Formatter<'_>, form: &Form, when: &Cond) -> fmt::Result {
    match when {
        Cond::Always => Ok(()),
        when => write!(f, "if {}: ", condition(form, when)),
    }
}
