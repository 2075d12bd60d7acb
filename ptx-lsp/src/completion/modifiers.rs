//! The modifiers that may follow the written ones, in the order of the forms of an instruction.

use ptx_isa::internals::Slot;
use ptx_isa::{Form, Instruction, Modifier, Opcode, Since};

/// The modifiers that may come next. Those of the most common forms come first, and each modifier appears once.
pub(super) fn next_modifiers(
    opcode: Opcode,
    written: &[Modifier],
    is_met: impl Fn(&[Since]) -> bool,
) -> Vec<Modifier> {
    let mut next = Vec::new();
    for instruction in opcode.instructions() {
        if is_met(instruction.since()) {
            add_instruction(instruction, written, &is_met, &mut next);
        }
    }
    let mut is_listed = vec![false; Modifier::COUNT];
    next.retain(|modifier| {
        let is_listed = is_listed.get_mut(modifier.index());
        is_listed.is_some_and(|is_listed| !std::mem::replace(is_listed, true))
    });
    next
}

fn add_instruction(
    instruction: &Instruction,
    written: &[Modifier],
    is_met: impl Fn(&[Since]) -> bool,
    next: &mut Vec<Modifier>,
) {
    let name = instruction.words();
    if let Some(modifiers) = written.strip_prefix(name) {
        for form in instruction.forms().iter().filter(|f| is_met(f.since())) {
            add_form(form, modifiers, next);
        }
    } else if name.starts_with(written) {
        // The name of the instruction is not complete.
        next.extend(name.get(written.len()));
    }
}

/// Adds the modifiers that may follow `written` in a form.
///
/// Modifiers may fill the slots of a form in several ways, because slots are optional. `reached[m][s]` is set if the first `m` modifiers can fill some of
/// the first `s` slots such that only optional slots are left empty. The table is filled row by row; the cost is the number of modifiers times the
/// number of slots.
fn add_form(form: &Form, written: &[Modifier], next: &mut Vec<Modifier>) {
    let slots: Vec<&Slot> = form.slots().collect();
    let mut reached = vec![vec![false; slots.len() + 1]; written.len() + 1];
    reached[0][0] = true;
    // The continuations of sequences of modifiers of which some are written. They come after single modifiers.
    let mut continuations: Vec<Modifier> = Vec::new();
    for modifier_count in 0..=written.len() {
        let remaining = written.get(modifier_count..).unwrap_or_default();
        for slot_count in 0..=slots.len() {
            if slot_count > 0
                && slots[slot_count - 1].is_optional()
                && reached[modifier_count][slot_count - 1]
            {
                reached[modifier_count][slot_count] = true;
            }
            let Some(slot) = slots.get(slot_count) else {
                continue;
            };
            if !reached[modifier_count][slot_count] {
                continue;
            }
            if remaining.first().is_some_and(|m| slot.words().contains(*m)) {
                reached[modifier_count + 1][slot_count + 1] = true;
            }
            for sequence in slot.sequences() {
                if remaining.starts_with(sequence) && !sequence.is_empty() {
                    reached[modifier_count + sequence.len()][slot_count + 1] = true;
                } else if sequence.starts_with(remaining) {
                    continuations.extend(sequence.get(remaining.len()));
                }
            }
            if remaining.is_empty() {
                next.extend(slot.words().as_slice());
            }
        }
    }
    next.extend(continuations);
}
