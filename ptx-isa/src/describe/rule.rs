//! Rules as sentences without a full stop; versions and targets, such as "PTX 8.6 on sm_100a or sm_110a".

use core::fmt::{self, Display, Formatter};

use super::{Phrases, condition, demand, operand_name, slot_name};
use crate::{Cond, Enforcement, Form, Rule, RuleKind, Since};

/// A rule of the form as a sentence, with a remark if the PTX ISA manual does not document the rule.
#[must_use]
pub fn rule(form: &Form, rule: &Rule) -> impl Display {
    super::from_fn(move |f| {
        write_kind(f, form, &rule.kind)?;
        if rule.is_undocumented {
            f.write_str(" (ptxas only, not in the PTX ISA manual)")?;
        }
        Ok(())
    })
}

/// The demand of a rule of the form, as a sentence.
#[must_use]
pub fn rule_kind(form: &Form, rule: RuleKind) -> impl Display {
    super::from_fn(move |f| write_kind(f, form, &rule))
}

fn write_kind(f: &mut Formatter<'_>, form: &Form, kind: &RuleKind) -> fmt::Result {
    match *kind {
        RuleKind::Require(when, then) => {
            write_condition(f, form, &when)?;
            write!(f, "{}", demand(form, &then))
        }
        RuleKind::Deny(cond) => write!(f, "not allowed: {}", condition(form, &cond)),
        RuleKind::RequiresTarget(when, list) => {
            write_condition(f, form, &when)?;
            write!(f, "{}", floors(list))
        }
        RuleKind::RemovedIn(when, list) => {
            write_condition(f, form, &when)?;
            write!(f, "removed in {}", floors(list))
        }
        RuleKind::Deprecated(when, list, instead) => {
            write_condition(f, form, &when)?;
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

fn write_condition(f: &mut Formatter<'_>, form: &Form, when: &Cond) -> fmt::Result {
    match when {
        Cond::Always => Ok(()),
        when => write!(f, "if {}: ", condition(form, when)),
    }
}

/// One version and its targets.
#[must_use]
pub fn floor(floor: &Since) -> impl Display {
    super::from_fn(move |f| {
        write!(f, "PTX {}", floor.version)?;
        if floor.text().is_empty() {
            return Ok(());
        }
        f.write_str(" on ")?;
        let mut targets = Phrases::new(f, " or ");
        for name in floor.text().split(' ') {
            match name.strip_suffix('+') {
                Some(family) => targets.add(format_args!("the {family} family"))?,
                None if name.contains("..") => {
                    let (first, end) = name.split_once("..").unwrap_or((name, ""));
                    targets.add(format_args!("{first} and newer, below {end}"))?;
                }
                None if name.ends_with(|c: char| c.is_ascii_digit()) => {
                    targets.add(format_args!("{name} and newer"))?;
                }
                None => targets.add(format_args!("{name}"))?,
            }
        }
        Ok(())
    })
}

/// Alternative versions with their targets.
#[must_use]
pub fn floors(floors: &[Since]) -> impl Display {
    super::from_fn(move |f| {
        let mut all = Phrases::new(f, "; or ");
        floors
            .iter()
            .try_for_each(|since| all.add(format_args!("{}", floor(since))))
    })
}
