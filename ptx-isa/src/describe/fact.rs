//! All that is said of a form, a line each: of the form as such, or of the instruction that chose its words.

use core::fmt::{self, Arguments, Display, Write};

use super::{alternatives, effect, floors, operand, rule};
use crate::{Cond, Form, RuleKind, Slot, SlotAssignment};

/// What a line is about.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Topic {
    /// The words of a slot.
    Modifiers,
    /// What may stand for an operand.
    Operands,
    /// What goes together.
    Rules,
    /// Versions and targets.
    Since,
    /// What it does beyond its operands.
    Effects,
    /// What else is worth knowing.
    Note,
    /// Where manual and assembler do not agree.
    Differs,
}

impl Topic {
    /// A heading for its lines.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Modifiers => "modifiers",
            Self::Operands => "operands",
            Self::Rules => "rules",
            Self::Since => "since",
            Self::Effects => "effects",
            Self::Note => "note",
            Self::Differs => "differs",
        }
    }
}

/// Calls `put` with every line, topics not sorted; names and words stand in backquotes.
///
/// Where an instruction chose its words, they are named, and what they rule out is left out.
pub fn each_fact(
    form: &Form,
    chosen: Option<&SlotAssignment>,
    put: &mut dyn FnMut(Topic, Arguments<'_>) -> fmt::Result,
) -> fmt::Result {
    for (index, slot) in form.slots().enumerate() {
        // Of a word that stands for itself there is nothing to say but that it is there.
        if is_written(&alternatives(slot), slot.name()) {
            if slot.is_optional() && chosen.is_some_and(|c| c.is_filled(index)) {
                put(Topic::Modifiers, format_args!("`{}`: here", slot.name()))?;
            }
            continue;
        }
        let (name, words, more) = (slot.name(), alternatives(slot), more(slot, index, chosen));
        put(Topic::Modifiers, format_args!("`{name}`: `{words}`{more}"))?;
    }
    for each in form.operands() {
        let text = operand(form, each);
        put(Topic::Operands, format_args!("`{}`: {text}", each.name))?;
    }
    let possible = |when: &Cond| chosen.and_then(|c| when.decide(c)) != Some(false);
    if !form.since().is_empty() {
        put(Topic::Since, format_args!("{}", floors(form.since())))?;
    }
    for each in form.rules() {
        let (topic, matters) = match &each.kind {
            RuleKind::RequiresTarget(when, _)
            | RuleKind::RemovedIn(when, _)
            | RuleKind::Deprecated(when, ..) => (Topic::Since, possible(when)),
            RuleKind::Require(when, _) | RuleKind::Deny(when) => (Topic::Rules, possible(when)),
            _ => (Topic::Rules, true),
        };
        if matters {
            put(topic, format_args!("{}", rule(form, each)))?;
        }
    }
    for each in form.effects().iter().filter(|e| possible(&e.when)) {
        put(Topic::Effects, format_args!("{}", effect(form, each)))?;
    }
    for text in form.notes() {
        put(Topic::Note, format_args!("{text}"))?;
    }
    for text in form.differences() {
        put(Topic::Differs, format_args!("{text}"))?;
    }
    Ok(())
}

/// What the absence of a slot means, and what it holds.
fn more<'a>(
    slot: &'a Slot,
    index: usize,
    chosen: Option<&'a SlotAssignment>,
) -> impl Display + use<'a> {
    super::from_fn(move |f| {
        if let Some(default) = slot.default() {
            write!(f, ", else `{default}`")?;
        }
        let Some(chosen) = chosen.filter(|c| c.is_filled(index)) else {
            return Ok(());
        };
        f.write_str(", here `")?;
        chosen.words(index).try_for_each(|w| write!(f, "{w}"))?;
        f.write_str("`")
    })
}

/// Whether something is displayed as just this text.
fn is_written(what: &impl Display, text: &str) -> bool {
    struct Rest<'a>(&'a str);
    impl Write for Rest<'_> {
        fn write_str(&mut self, part: &str) -> fmt::Result {
            self.0 = self.0.strip_prefix(part).ok_or(fmt::Error)?;
            Ok(())
        }
    }
    let mut rest = Rest(text);
    write!(rest, "{what}").is_ok() && rest.0.is_empty()
}
