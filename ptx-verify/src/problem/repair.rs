//! The texts about changes of a modifier that make an instruction legal.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use ptx_ir::{Code, Signature};
use ptx_isa::internals::{ForeignWord, ModifierEdit, Repair, Rule};
use ptx_isa::{Modifier, ModifierClass, ScalarType};

use super::{NamedForm, Side, Text, list};
use crate::location::Part;

/// The maximum number of modifiers that are listed although the operands are not legal with all of them.
const MOST_LISTED: usize = 8;

/// Returns the text about modifiers that each of the changes makes legal. All changes are of one kind and, unless they insert, of one
/// modifier. `rule` is the rule that the modifiers violate.
pub(super) fn text(
    signature: &Signature<'_>,
    repairs: &[Repair],
    rule: Option<(NamedForm, &'static Rule)>,
) -> Text {
    let op = signature.text();
    let modifiers: Vec<Modifier> = signature.modifiers().collect();
    let Some(first) = repairs.first() else {
        return Text::error(Code::Combination, format!("invalid form of `{op}`"));
    };
    let expected = Expected::new(signature, repairs);
    let (code, message) = match first.edit() {
        ModifierEdit::Insert(..) => (
            Code::MissingModifier,
            format!("missing modifier of `{op}`: expected {expected}"),
        ),
        ModifierEdit::Replace(index, _) => {
            let modifier = modifiers.get(index).map_or("", |modifier| modifier.text());
            let message = format!("expected {expected} in `{op}`, found `{modifier}`");
            (Code::WrongModifier, message)
        }
        ModifierEdit::Remove(index) => {
            let modifier = modifiers.get(index).copied();
            let text = modifier.map_or("", |modifier| modifier.text());
            let earlier = modifiers.get(..index).unwrap_or_default();
            let message = if modifier.is_some_and(|modifier| earlier.contains(&modifier)) {
                format!("duplicate modifier `{text}` in `{op}`")
            } else if rule.is_some() {
                format!("`{text}` cannot be used in `{op}`")
            } else {
                format!("`{op}` does not take the modifier `{text}` here")
            };
            (Code::WrongModifier, message)
        }
        _ => (Code::Combination, format!("invalid form of `{op}`")),
    };
    // Each of the modifiers in a rule may be the mistake.
    if let Some((form, rule)) = rule {
        let description = ptx_isa::internals::describe::rule_kind(form.form, rule.kind());
        let text = Text::error(Code::Combination, message).help(description.to_string());
        return if first.fits_operands() && keeps_order(&modifiers, first.edit()) {
            fix(text, first.edit())
        } else {
            text
        };
    }
    let text = Text::error(code, message);
    // The narrowest scope is not an example: with it, a program is legal and perhaps wrong.
    let inserts_scopes = repairs.iter().all(|repair| {
        let modifier = repair.edit().modifier();
        modifier.map(|modifier| modifier.class()) == Some(ModifierClass::Scope)
    });
    if repairs.len() > 1 && inserts_scopes {
        let advice = "choose the scope of the threads that have to observe the memory accesses";
        let widest = repairs.last().map_or(first.edit(), Repair::edit);
        return text.help(match full_mnemonic(signature, widest) {
            Some(full) => format!(
                "{advice}; `{}` is short for `{full}`",
                mnemonic(signature, widest)
            ),
            None => advice.into(),
        });
    }
    let best = best(signature, repairs);
    match help_without_fix(signature, repairs, best) {
        Some(help) => text.help(help),
        None => with_suggestion(text, signature, repairs, best),
    }
}

/// Adds the best change to a text, or the first one as an example.
fn with_suggestion(
    text: Text,
    signature: &Signature<'_>,
    repairs: &[Repair],
    best: Option<ModifierEdit>,
) -> Text {
    let Some(first) = repairs.first() else {
        return text;
    };
    let example = mnemonic(signature, best.unwrap_or(first.edit()));
    match best {
        Some(edit) if repairs.len() == 1 => {
            let text = fix(text.help(format!("write `{example}`")), edit);
            let modifiers: Vec<Modifier> = signature.modifiers().collect();
            if removes_repetition(&modifiers, edit) {
                text.machine_applicable()
            } else {
                text
            }
        }
        Some(edit) => fix(text.help(format!("for example `{example}`")), edit),
        None => {
            let help = match full_mnemonic(signature, first.edit()) {
                Some(full) => format!("for example `{example}`, short for `{full}`"),
                None => format!("for example `{example}`"),
            };
            if first.fits_operands() {
                fix(text.help(help), first.edit())
            } else {
                text.help(help)
            }
        }
    }
}

/// Returns the help for the beginning of a mnemonic up to the changed modifier, if it means several instructions.
fn sequence_help(signature: &Signature<'_>, edit: ModifierEdit) -> Option<&'static str> {
    let count = match edit {
        ModifierEdit::Insert(index, _) => index,
        ModifierEdit::Replace(index, _) => index + 1,
        _ => return None,
    };
    let mut start = String::from(signature.opcode_text());
    signature
        .modifiers()
        .take(count)
        .for_each(|m| start.push_str(m.text()));
    ForeignWord::from_text(&start)?.help()
}

/// Returns the help if each change gives the instruction another meaning, so that no change is suggested.
fn help_without_fix(
    signature: &Signature<'_>,
    repairs: &[Repair],
    best: Option<ModifierEdit>,
) -> Option<String> {
    let modifiers: Vec<Modifier> = signature.modifiers().collect();
    let edit = best.unwrap_or(repairs.first()?.edit());
    if let Some(help) = sequence_help(signature, repairs.first()?.edit()) {
        return Some(help.into());
    }
    if let Some(help) = other_operation_help(&modifiers, repairs) {
        return Some(help);
    }
    if !keeps_order(&modifiers, edit) {
        let example = mnemonic(signature, edit);
        return Some(format!(
            "`{example}` is legal, but orders memory accesses in another way"
        ));
    }
    other_instructions_help(signature, repairs)
}

/// Returns the help if no change of the modifier keeps the function of the instruction: another operation computes something else, and a
/// predicate is not a number.
fn other_operation_help(modifiers: &[Modifier], repairs: &[Repair]) -> Option<String> {
    let ModifierEdit::Replace(index, _) = repairs.first()?.edit() else {
        return None;
    };
    let modifier = modifiers.get(index)?;
    if modifier.scalar_type() == Some(ScalarType::Pred) {
        let select = ForeignWord::from_text("?")?.instead()?;
        return Some(format!(
            "a predicate is not a number: select one of two numbers with `{select}`, as in `{select}.b32 d, 1, 0, p`"
        ));
    }
    let is_operation = |modifier: Modifier| modifier.class() == ModifierClass::Operation;
    let mut replacements = repairs.iter().filter_map(|repair| repair.edit().modifier());
    (is_operation(*modifier) && replacements.all(is_operation)).then(|| {
        format!(
            "another operation computes something else: perhaps another type or several instructions compute `{modifier}`"
        )
    })
}

/// Returns `true` if a change neither replaces nor removes a memory order, and assumes no scope: with another one, a program is legal and
/// perhaps wrong.
fn keeps_order(modifiers: &[Modifier], edit: ModifierEdit) -> bool {
    let old_class = match edit {
        ModifierEdit::Replace(index, _) | ModifierEdit::Remove(index) => {
            modifiers.get(index).map(|modifier| modifier.class())
        }
        _ => None,
    };
    let new_class = edit.modifier().map(|modifier| modifier.class());
    !matches!(old_class, Some(ModifierClass::Order | ModifierClass::Scope))
        && new_class != Some(ModifierClass::Scope)
}

/// Returns the help if the changes name different instructions, of which none is more likely than the others.
fn other_instructions_help(signature: &Signature<'_>, repairs: &[Repair]) -> Option<String> {
    let modifier = match repairs.first()?.edit() {
        ModifierEdit::Replace(index, _) => signature.modifiers().nth(index)?,
        _ => return None,
    };
    let instructions = signature.opcode()?.instructions();
    let replacements: Vec<Modifier> = repairs
        .iter()
        .filter_map(|repair| repair.edit().modifier())
        .collect();
    let are_names = replacements.iter().all(|replacement| {
        instructions
            .iter()
            .any(|instruction| instruction.words().contains(replacement))
    });
    let completions = replacements
        .iter()
        .filter(|replacement| replacement.text().starts_with(modifier.text()));
    if repairs.len() < 2 || !are_names || completions.count() == 1 {
        return None;
    }
    let mnemonics: Vec<String> = repairs
        .iter()
        .map(|repair| mnemonic(signature, repair.edit()))
        .collect();
    let mnemonics: Vec<&str> = mnemonics.iter().map(String::as_str).collect();
    Some(format!("write {}, or several of them", one_of(&mnemonics)))
}

/// Returns `true` if a change removes a modifier that directly follows itself and is not a type: each of several types belongs to an operand.
fn removes_repetition(modifiers: &[Modifier], edit: ModifierEdit) -> bool {
    let ModifierEdit::Remove(index) = edit else {
        return false;
    };
    let Some(removed) = modifiers.get(index) else {
        return false;
    };
    let previous = index
        .checked_sub(1)
        .and_then(|previous| modifiers.get(previous));
    let next = modifiers.get(index + 1);
    removed.scalar_type().is_none() && (previous == Some(removed) || next == Some(removed))
}

/// Returns the change that is meant, if that is clear: of those with which the operands are legal the only one, or the only one that
/// is usual, or for which operands are declared exactly, or that completes a word.
pub(super) fn best(signature: &Signature<'_>, repairs: &[Repair]) -> Option<ModifierEdit> {
    let legal: Vec<&Repair> = repairs
        .iter()
        .filter(|repair| repair.fits_operands())
        .collect();
    let least_inexact = legal.iter().map(|repair| repair.inexact()).min();
    only_edit(&legal, |_| true)
        .or_else(|| {
            let opcode = signature.opcode()?;
            only_edit(&legal, |repair| {
                let modifier = repair.edit().modifier();
                modifier.is_some_and(|modifier| modifier.is_usual(opcode))
            })
        })
        .or_else(|| only_edit(&legal, |repair| Some(repair.inexact()) == least_inexact))
        .or_else(|| {
            only_edit(&legal, |repair| match repair.edit() {
                ModifierEdit::Replace(index, replacement) => signature
                    .modifiers()
                    .nth(index)
                    .is_some_and(|old| replacement.text().starts_with(old.text())),
                _ => false,
            })
        })
}

/// Returns the edit of the only repair with a property.
fn only_edit(repairs: &[&Repair], has_property: impl Fn(&Repair) -> bool) -> Option<ModifierEdit> {
    let mut matching = repairs.iter().filter(|repair| has_property(repair));
    match (matching.next(), matching.next()) {
        (Some(only), None) => Some(only.edit()),
        _ => None,
    }
}

/// Returns the mnemonic with the modifiers that an instruction without modifiers has by default; `None` if there are no such modifiers.
fn full_mnemonic(signature: &Signature<'_>, edit: ModifierEdit) -> Option<String> {
    let opcode = signature.opcode()?;
    let modifiers = edit.apply(&[]);
    let (_, form, assignment) = ptx_isa::internals::find_form(opcode, &modifiers)?;
    let mut text = String::from(opcode.text());
    for (index, slot) in form.slots().enumerate() {
        let modifier = assignment.word(index).or(slot.default());
        text.push_str(modifier.map_or("", |m| m.text()));
    }
    let is_bare = signature.modifiers().next().is_none();
    (is_bare && text != mnemonic(signature, edit)).then_some(text)
}

/// Adds a change to the fix of a diagnostic.
pub(super) fn fix(text: Text, edit: ModifierEdit) -> Text {
    let part = |index: usize| Part::Modifiers(index as u32, index as u32);
    match edit {
        ModifierEdit::Insert(0, modifier) => text.fix(Part::Opcode, Side::After, modifier.text()),
        ModifierEdit::Insert(index, modifier) => {
            text.fix(part(index - 1), Side::After, modifier.text())
        }
        ModifierEdit::Replace(index, modifier) => {
            text.fix(part(index), Side::Whole, modifier.text())
        }
        ModifierEdit::Remove(index) => text.fix(part(index), Side::Whole, ""),
        _ => text,
    }
}

/// Returns the advice that makes an instruction accept its operands.
pub(super) fn advice(signature: &Signature<'_>, repairs: &[Repair]) -> Option<String> {
    let first = repairs.first()?.edit();
    let modifiers: Vec<Modifier> = signature.modifiers().collect();
    let index = match first {
        ModifierEdit::Replace(index, _) => index,
        edit => return Some(format!("write `{}`", mnemonic(signature, edit))),
    };
    let modifier = modifiers.get(index)?;
    let replacements: Vec<&str> = repairs
        .iter()
        .filter_map(|repair| match repair.edit() {
            ModifierEdit::Replace(other, replacement) if other == index => Some(replacement.text()),
            _ => None,
        })
        .collect();
    Some(format!(
        "write {} instead of `{modifier}`",
        one_of(&replacements)
    ))
}

/// Returns the mnemonic after a change.
pub(super) fn mnemonic(signature: &Signature<'_>, edit: ModifierEdit) -> String {
    let modifiers: Vec<Modifier> = signature.modifiers().collect();
    let mut text = String::from(signature.opcode_text());
    for modifier in edit.apply(&modifiers) {
        text.push_str(modifier.text());
    }
    text
}

fn one_of(words: &[&str]) -> String {
    match words {
        [_] => list(words),
        [first, second] => format!("`{first}` or `{second}`"),
        _ => format!("one of {}", list(words)),
    }
}

/// The modifiers that changes write.
struct Expected {
    words: Vec<&'static str>,
    /// The meaning of the class of several modifiers, if the class is the same for all.
    meaning: Option<&'static str>,
}

impl Expected {
    fn new(signature: &Signature<'_>, repairs: &[Repair]) -> Self {
        let lists_all =
            repairs.len() <= MOST_LISTED || !repairs.first().is_some_and(Repair::fits_operands);
        let modifiers: Vec<Modifier> = repairs
            .iter()
            .filter(|repair| lists_all || repair.fits_operands())
            .filter_map(|repair| repair.edit().modifier())
            .collect();
        let has_name = modifiers.iter().any(|modifier| {
            modifier.class() == ModifierClass::Name
                || signature.opcode().is_some_and(|opcode| {
                    opcode
                        .instructions()
                        .iter()
                        .any(|instruction| instruction.words().contains(modifier))
                })
        });
        let class = modifiers.first().map(|modifier| modifier.class());
        let has_one_class = modifiers
            .iter()
            .all(|modifier| Some(modifier.class()) == class);
        let describes_class = has_one_class && !has_name && modifiers.len() > 1;
        Self {
            words: modifiers.iter().map(|modifier| modifier.text()).collect(),
            meaning: class
                .filter(|_| describes_class)
                .map(|class| class.meaning()),
        }
    }
}

impl core::fmt::Display for Expected {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        if let Some(meaning) = self.meaning {
            write!(f, "the {meaning}, ")?;
        }
        f.write_str(&one_of(&self.words))
    }
}
