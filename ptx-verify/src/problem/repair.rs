//! Changes of a modifier that make an instruction legal, as text.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use ptx_ir::{Code, Signature};
use ptx_isa::{ForeignWord, Modifier, ModifierClass, ModifierEdit, Repair, Rule, ScalarType};

use super::instruction::{Named, list};
use super::{Side, Text};
use crate::location::Part;

/// The number of modifiers that are listed although the operands are not legal with all of them.
const MOST_LISTED: usize = 8;

/// The message about modifiers that each of the changes makes legal. All are of one kind and, unless they insert, of one
/// modifier.
pub(super) fn text(
    signature: &Signature<'_>,
    repairs: &[Repair],
    rule: Option<(Named, &'static Rule)>,
) -> Text {
    let op = signature.text();
    let modifiers: Vec<Modifier> = signature.modifiers().collect();
    let Some(first) = repairs.first() else {
        return Text::error(Code::Combination, format!("invalid form of `{op}`"));
    };
    let expected = Expected::of(signature, repairs);
    let (code, message) = match first.edit() {
        ModifierEdit::Insert(..) => (
            Code::MissingModifier,
            format!("missing modifier of `{op}`: expected {expected}"),
        ),
        ModifierEdit::Replace(index, _) => {
            let found = modifiers.get(index).map_or("", |m| m.text());
            let message = format!("expected {expected} in `{op}`, found `{found}`");
            (Code::WrongModifier, message)
        }
        ModifierEdit::Remove(index) => {
            let found = modifiers.get(index).copied();
            let text = found.map_or("", |m| m.text());
            let earlier = modifiers.get(..index).unwrap_or_default();
            let message = match found.is_some_and(|m| earlier.contains(&m)) {
                true => format!("duplicate modifier `{text}` in `{op}`"),
                false if rule.is_some() => format!("`{text}` cannot be used in `{op}`"),
                false => format!("`{op}` does not take the modifier `{text}` here"),
            };
            (Code::WrongModifier, message)
        }
        _ => (Code::Combination, format!("invalid form of `{op}`")),
    };
    // Each of the modifiers that a rule is about may be the mistake.
    if let Some((form, rule)) = rule {
        let broken = ptx_isa::describe::rule_kind(form.form, rule.kind());
        let text = Text::error(Code::Combination, message).help(broken.to_string());
        return match first.fits_operands() && keeps_order(&modifiers, first.edit()) {
            true => fix(text, first.edit()),
            false => text,
        };
    }
    let text = Text::error(code, message);
    // The narrowest scope is not an example: with it, a program is legal and perhaps wrong.
    let is_scope = |r: &Repair| {
        let class = r.edit().modifier().map(|m| m.class());
        class == Some(ModifierClass::Scope)
    };
    if repairs.len() > 1 && repairs.iter().all(is_scope) {
        let advice = "choose the scope of the threads that have to observe the memory accesses";
        let widest = repairs.last().map_or(first.edit(), Repair::edit);
        return text.help(match in_full(signature, widest) {
            Some(full) => format!(
                "{advice}; `{}` is short for `{full}`",
                mnemonic(signature, widest)
            ),
            None => advice.into(),
        });
    }
    let best = best(signature, repairs);
    match without_edit(signature, repairs, best) {
        Some(help) => text.help(help),
        None => suggested(text, signature, repairs, best),
    }
}

/// A message with the best change, or with the first one as an example.
fn suggested(
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
            match repeats(&modifiers, edit) {
                true => text.machine_applicable(),
                false => text,
            }
        }
        Some(edit) => fix(text.help(format!("for example `{example}`")), edit),
        None => {
            let help = match in_full(signature, first.edit()) {
                Some(full) => format!("for example `{example}`, short for `{full}`"),
                None => format!("for example `{example}`"),
            };
            match first.fits_operands() {
                true => fix(text.help(help), first.edit()),
                false => text.help(help),
            }
        }
    }
}

/// The replacement of the beginning of a mnemonic up to the changed modifier, where no single instruction is meant.
fn sequence(signature: &Signature<'_>, edit: ModifierEdit) -> Option<&'static str> {
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

/// The help where each change makes another program of the instruction, so that none is suggested.
fn without_edit(
    signature: &Signature<'_>,
    repairs: &[Repair],
    best: Option<ModifierEdit>,
) -> Option<String> {
    let modifiers: Vec<Modifier> = signature.modifiers().collect();
    let edit = best.unwrap_or(repairs.first()?.edit());
    let other_order = || {
        let example = mnemonic(signature, edit);
        let keeps = keeps_order(&modifiers, edit);
        (!keeps).then(|| format!("`{example}` is legal, but orders memory accesses in another way"))
    };
    sequence(signature, repairs.first()?.edit())
        .map(String::from)
        .or_else(|| other_function(&modifiers, repairs))
        .or_else(other_order)
        .or_else(|| other_instructions(signature, repairs))
}

/// The help where no change of the modifier keeps what the instruction does: another operation computes something else, and a
/// predicate is not a number.
fn other_function(modifiers: &[Modifier], repairs: &[Repair]) -> Option<String> {
    let ModifierEdit::Replace(index, _) = repairs.first()?.edit() else {
        return None;
    };
    let found = modifiers.get(index)?;
    if found.scalar_type() == Some(ScalarType::Pred) {
        let select = ForeignWord::from_text("?")?.instead()?;
        return Some(format!(
            "a predicate is not a number: select one of two numbers with `{select}`, as in `{select}.b32 d, 1, 0, p`"
        ));
    }
    let is_operation = |m: Modifier| m.class() == ModifierClass::Operation;
    let mut others = repairs.iter().filter_map(|r| r.edit().modifier());
    (is_operation(*found) && others.all(is_operation)).then(|| {
        format!(
            "another operation computes something else: perhaps another type or several instructions compute `{found}`"
        )
    })
}

/// Whether a change neither replaces nor removes a memory order, and assumes no scope: with another one, a program is legal and
/// perhaps wrong.
fn keeps_order(modifiers: &[Modifier], edit: ModifierEdit) -> bool {
    let is_order = |m: &Modifier| matches!(m.class(), ModifierClass::Order | ModifierClass::Scope);
    let old = match edit {
        ModifierEdit::Replace(index, _) | ModifierEdit::Remove(index) => modifiers.get(index),
        _ => None,
    };
    let assumed = edit.modifier().map(|m| m.class());
    !old.is_some_and(is_order) && assumed != Some(ModifierClass::Scope)
}

/// The help where the changes name different instructions, of which none is more likely than the others.
fn other_instructions(signature: &Signature<'_>, repairs: &[Repair]) -> Option<String> {
    let found = match repairs.first()?.edit() {
        ModifierEdit::Replace(index, _) => signature.modifiers().nth(index)?,
        _ => return None,
    };
    let names = signature.opcode()?.instructions().iter();
    let new = repairs.iter().filter_map(|r| r.edit().modifier());
    let is_name = |m: &Modifier| names.clone().any(|i| i.words().contains(m));
    let completed = new.clone().filter(|m| m.text().starts_with(found.text()));
    if repairs.len() < 2 || !new.clone().all(|m| is_name(&m)) || completed.count() == 1 {
        return None;
    }
    let all: Vec<String> = repairs
        .iter()
        .map(|r| mnemonic(signature, r.edit()))
        .collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    Some(format!("write {}, or several of them", one_of(&all)))
}

/// Whether a change removes a modifier that directly follows itself and is not a type: of several types, each has its operand.
fn repeats(modifiers: &[Modifier], edit: ModifierEdit) -> bool {
    let ModifierEdit::Remove(index) = edit else {
        return false;
    };
    let at = |i: Option<usize>| i.and_then(|i| modifiers.get(i));
    let removed = at(Some(index));
    let beside = [at(index.checked_sub(1)), at(index.checked_add(1))];
    removed.is_some_and(|m| m.scalar_type().is_none()) && beside.contains(&removed)
}

/// The change that is meant, if that is clear: of those with which the operands are legal the only one, or the only one that
/// is usual, or for which operands are declared exactly, or that completes a word.
pub(super) fn best(signature: &Signature<'_>, repairs: &[Repair]) -> Option<ModifierEdit> {
    let fitting = repairs.iter().filter(|r| r.fits_operands());
    let least = fitting.clone().map(|r| r.inexact()).min();
    let usual = |r: &&Repair| {
        let (modifier, opcode) = (r.edit().modifier(), signature.opcode());
        modifier.zip(opcode).is_some_and(|(m, o)| m.is_usual(o))
    };
    let exact = |r: &&Repair| Some(r.inexact()) == least;
    let completes = |r: &&Repair| match r.edit() {
        ModifierEdit::Replace(index, modifier) => {
            let found = signature.modifiers().nth(index);
            found.is_some_and(|m| modifier.text().starts_with(m.text()))
        }
        _ => false,
    };
    let only = |all: &mut dyn Iterator<Item = &Repair>| match (all.next(), all.next()) {
        (Some(only), None) => Some(only.edit()),
        _ => None,
    };
    only(&mut fitting.clone())
        .or_else(|| only(&mut fitting.clone().filter(usual)))
        .or_else(|| only(&mut fitting.clone().filter(exact)))
        .or_else(|| only(&mut fitting.filter(completes)))
}

/// The mnemonic with the modifiers that an instruction without any has by default.
fn in_full(signature: &Signature<'_>, edit: ModifierEdit) -> Option<String> {
    let opcode = signature.opcode()?;
    let modifiers = edit.apply(&[]);
    let (_, form, assignment) = ptx_isa::find_form(opcode, &modifiers)?;
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

/// The advice that makes an instruction accept its operands.
pub(super) fn advice(signature: &Signature<'_>, repairs: &[Repair]) -> Option<String> {
    let first = repairs.first()?.edit();
    let modifiers: Vec<Modifier> = signature.modifiers().collect();
    let index = match first {
        ModifierEdit::Replace(index, _) => index,
        edit => return Some(format!("write `{}`", mnemonic(signature, edit))),
    };
    let found = modifiers.get(index)?;
    let instead = repairs.iter().filter_map(|r| match r.edit() {
        ModifierEdit::Replace(i, modifier) if i == index => Some(modifier.text()),
        _ => None,
    });
    let instead: Vec<&str> = instead.collect();
    Some(format!("write {} instead of `{found}`", one_of(&instead)))
}

/// The mnemonic after a change.
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
    /// The class of the modifiers, if it is the same for all.
    meaning: Option<&'static str>,
}

impl Expected {
    fn of(signature: &Signature<'_>, repairs: &[Repair]) -> Self {
        let fits = repairs.first().is_some_and(Repair::fits_operands);
        let listed = |r: &&Repair| repairs.len() <= MOST_LISTED || !fits || r.fits_operands();
        let modifiers = repairs.iter().filter(listed);
        let modifiers: Vec<Modifier> = modifiers.filter_map(|r| r.edit().modifier()).collect();
        let opcode = signature.opcode();
        let mut names = opcode.into_iter().flat_map(|o| o.instructions());
        let is_name = names.any(|i| modifiers.iter().any(|m| i.words().contains(m)))
            || modifiers.iter().any(|m| m.class() == ModifierClass::Name);
        let class = modifiers.first().map(|m| m.class());
        let same = modifiers.iter().all(|m| Some(m.class()) == class);
        let meaning = class.filter(|_| same && !is_name && modifiers.len() > 1);
        Self {
            words: modifiers.iter().map(|m| m.text()).collect(),
            meaning: meaning.map(|c| c.meaning()),
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
