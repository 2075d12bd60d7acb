//! Which modifiers may follow those that are written so far, in their order.

use ptx_isa::{Form, Instruction, Modifier, Opcode, Slot};

/// The modifiers that may come next, with those of the most common forms first.
pub(super) fn next(
    opcode: Opcode,
    before: &[Modifier],
    exists: impl Fn(&[ptx_isa::Since]) -> bool,
) -> Vec<Modifier> {
    let mut found = Vec::new();
    for instruction in opcode.instructions().iter().filter(|i| exists(i.since())) {
        of_instruction(instruction, before, &exists, &mut found);
    }
    let mut seen = vec![false; Modifier::COUNT];
    found.retain(|m: &Modifier| {
        let seen = seen.get_mut(m.index());
        seen.is_some_and(|seen| !std::mem::replace(seen, true))
    });
    found
}

fn of_instruction(
    instruction: &Instruction,
    before: &[Modifier],
    exists: impl Fn(&[ptx_isa::Since]) -> bool,
    found: &mut Vec<Modifier>,
) {
    let words = instruction.words();
    match before.strip_prefix(words) {
        Some(rest) => {
            for form in instruction.forms().iter().filter(|f| exists(f.since())) {
                of_form(form, rest, found);
            }
        }
        // Its name is not complete.
        None if words.starts_with(before) => found.extend(words.get(before.len())),
        None => {}
    }
}

/// Follows the modifiers through the slots in all ways.
fn of_form(form: &Form, before: &[Modifier], found: &mut Vec<Modifier>) {
    let slots: Vec<&Slot> = form.slots().collect();
    // For each number of modifiers, whether the slots up to each one can hold them.
    let mut reached = vec![vec![false; slots.len() + 1]; before.len() + 1];
    let mut partial: Vec<Modifier> = Vec::new();
    for (written, rest) in (0..=before.len()).map(|n| (n, before.get(n..).unwrap_or_default())) {
        for i in 0..=slots.len() {
            let skipped = i > 0 && slots[i - 1].is_optional() && reached[written][i - 1];
            reached[written][i] |= skipped || (written, i) == (0, 0);
            let (true, Some(slot)) = (reached[written][i], slots.get(i)) else {
                continue;
            };
            if rest.first().is_some_and(|m| slot.words().contains(*m)) {
                reached[written + 1][i + 1] = true;
            }
            for sequence in slot.sequences() {
                if rest.starts_with(sequence) && !sequence.is_empty() {
                    reached[written + sequence.len()][i + 1] = true;
                } else if sequence.starts_with(rest) {
                    partial.extend(sequence.get(rest.len()));
                }
            }
            if rest.is_empty() {
                found.extend(slot.words().as_slice());
            }
        }
    }
    found.extend(partial);
}
