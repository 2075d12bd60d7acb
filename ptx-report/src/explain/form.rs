//! The description of one form of an instruction.

use ptx_isa::describe::{self, Topic};
use ptx_isa::{Form, Instruction, SlotAssignment};

use super::entry::Details;

/// What there is to say about a form; for a mnemonic, only what concerns its modifiers.
pub(super) fn details(
    instruction: &Instruction,
    form: &Form,
    chosen: Option<&SlotAssignment>,
) -> Details {
    let (name, syntax) = (instruction.name(), form.syntax());
    let attached = syntax.is_empty() || syntax.starts_with(['.', '{']);
    let mut details = Details {
        syntax: format!("{name}{}{syntax}", if attached { "" } else { " " }),
        section: form.section(),
        undocumented: form.is_undocumented(),
        summary: form.summary(),
        ..Details::default()
    };
    if !instruction.since().is_empty() {
        let floors = describe::floors(instruction.since());
        details.since.push(floors.to_string());
    }
    let kept = describe::each_fact(form, chosen, &mut |topic, line| {
        let list = match topic {
            Topic::Modifiers => &mut details.modifiers,
            Topic::Operands => &mut details.operands,
            Topic::Rules => &mut details.rules,
            Topic::Since => &mut details.since,
            Topic::Computes => &mut details.computes,
            Topic::Effects => &mut details.effects,
            Topic::Differs => &mut details.differences,
            _ => &mut details.notes,
        };
        // The backquotes are for documents.
        list.push(line.to_string().replace('`', ""));
        Ok(())
    });
    debug_assert!(kept.is_ok(), "a list takes everything");
    let tables = form.tables().iter().map(|table| {
        let text = describe::table(form, table, chosen).to_string();
        text.lines().map(str::to_owned).collect()
    });
    details.tables = tables.collect();
    details
}
