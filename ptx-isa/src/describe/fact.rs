//! All statements about a form, one line each.

use core::fmt::{self, Arguments, Display, Write};

use super::{alternatives, effect, floors, operand, rule};
use crate::{Cond, Form, RuleKind, Slot, SlotAssignment};

/// The topic of a line.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Topic {
    /// The modifiers of a slot.
    Modifiers,
    /// An operand.
    Operands,
    /// A legality rule.
    Rules,
    /// Versions and targets.
    Since,
    /// The results of the form, in the notation of the tables.
    Computes,
    /// An effect besides reading and writing operands.
    Effects,
    /// Additional information.
    Note,
    /// A difference between the PTX ISA manual and ptxas.
    Differs,
}

impl Topic {
    /// The heading of its lines.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Modifiers => "modifiers",
            Self::Operands => "operands",
            Self::Rules => "rules",
            Self::Since => "since",
            Self::Computes => "computes",
            Self::Effects => "effects",
            Self::Note => "note",
            Self::Differs => "differs",
        }
    }
}

/// Calls `put` with every line in no particular order of topics; names and modifiers are in backquotes.
///
/// With the modifiers of an instruction (`chosen`), rules that they exclude are omitted.
///
/// # Errors
///
/// The first error that `put` returns.
pub fn each_fact(
    form: &Form,
    chosen: Option<&SlotAssignment>,
    put: &mut dyn FnMut(Topic, Arguments<'_>) -> fmt::Result,
) -> fmt::Result {
    for (index, slot) in form.slots().enumerate() {
        // The slot of a fixed modifier is always filled.
        if displays_as(&alternatives(slot), slot.name()) {
            if slot.is_optional() && chosen.is_some_and(|c| c.is_filled(index)) {
                put(Topic::Modifiers, format_args!("`{}`: given", slot.name()))?;
            }
            continue;
        }
        let (name, words) = (slot.name(), alternatives(slot));
        let choice = slot_choice(slot, index, chosen);
        put(
            Topic::Modifiers,
            format_args!("`{name}`: `{words}`{choice}"),
        )?;
    }
    for form_operand in form.operands() {
        let (name, text) = (form_operand.name, operand(form, form_operand));
        put(Topic::Operands, format_args!("`{name}`: {text}"))?;
    }
    let is_possible = |when: &Cond| chosen.and_then(|c| when.decide(c)) != Some(false);
    if !form.since().is_empty() {
        put(Topic::Since, format_args!("{}", floors(form.since())))?;
    }
    for form_rule in form.rules() {
        let (topic, is_relevant) = match &form_rule.kind {
            RuleKind::RequiresTarget(when, _)
            | RuleKind::RemovedIn(when, _)
            | RuleKind::Deprecated(when, ..) => (Topic::Since, is_possible(when)),
            RuleKind::Require(when, _) | RuleKind::Deny(when) => (Topic::Rules, is_possible(when)),
            _ => (Topic::Rules, true),
        };
        if is_relevant {
            put(topic, format_args!("{}", rule(form, form_rule)))?;
        }
    }
    if let Some(computation) = form.computation() {
        put(Topic::Computes, format_args!("`{}`", computation.text()))?;
    }
    for form_effect in form.effects() {
        if is_possible(&form_effect.when) {
            put(
                Topic::Effects,
                format_args!("{}", effect(form, form_effect)),
            )?;
        }
    }
    for text in form.notes() {
        put(Topic::Note, format_args!("{text}"))?;
    }
    for text in form.differences() {
        put(Topic::Differs, format_args!("{text}"))?;
    }
    Ok(())
}

/// The default of a slot and the modifiers of the instruction in it.
fn slot_choice<'a>(
    slot: &'a Slot,
    index: usize,
    chosen: Option<&'a SlotAssignment>,
) -> impl Display + use<'a> {
    super::from_fn(move |f| {
        if let Some(default) = slot.default() {
            write!(f, ", default `{default}`")?;
        }
        let Some(chosen) = chosen.filter(|c| c.is_filled(index)) else {
            return Ok(());
        };
        f.write_str(", given: `")?;
        chosen.words(index).try_for_each(|w| write!(f, "{w}"))?;
        f.write_str("`")
    })
}

/// Whether a value is displayed as the text.
fn displays_as(value: &impl Display, text: &str) -> bool {
    struct Unmatched<'a>(&'a str);
    impl Write for Unmatched<'_> {
        fn write_str(&mut self, part: &str) -> fmt::Result {
            self.0 = self.0.strip_prefix(part).ok_or(fmt::Error)?;
            Ok(())
        }
    }
    let mut unmatched = Unmatched(text);
    write!(unmatched, "{value}").is_ok() && unmatched.0.is_empty()
}
