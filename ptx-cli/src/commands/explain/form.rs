//! The description of one form of an instruction.

use std::io::{self, Write};

use ptx_isa::describe::{self, Topic};
use ptx_isa::{Form, Instruction, SlotAssignment};

/// Writes a form; for a mnemonic, only the lines that concern its modifiers.
pub(super) fn write(
    out: &mut impl Write,
    instruction: &Instruction,
    form: &Form,
    chosen: Option<&SlotAssignment>,
) -> io::Result<()> {
    let (name, syntax) = (instruction.name(), form.syntax());
    let attached = syntax.is_empty() || syntax.starts_with(['.', '{']);
    writeln!(out, "{name}{}{syntax}", if attached { "" } else { " " })?;
    let whence = if form.is_undocumented() {
        "; undocumented"
    } else {
        ""
    };
    writeln!(
        out,
        "  section {} of the PTX ISA manual{whence}",
        form.section()
    )?;
    for (topic, lines) in topics(instruction, form, chosen) {
        match &lines[..] {
            [one] => writeln!(out, "  {}: {one}", topic.title())?,
            _ => {
                writeln!(out, "  {}:", topic.title())?;
                for line in lines {
                    writeln!(out, "    {line}")?;
                }
            }
        }
    }
    for table in form.tables() {
        writeln!(out, "  legal combinations:")?;
        for line in describe::table(form, table, chosen).to_string().lines() {
            writeln!(out, "    {line}")?;
        }
    }
    Ok(())
}

/// The lines about a form, grouped.
fn topics(
    instruction: &Instruction,
    form: &Form,
    chosen: Option<&SlotAssignment>,
) -> Vec<(Topic, Vec<String>)> {
    let mut all: Vec<(Topic, String)> = Vec::new();
    if !instruction.since().is_empty() {
        all.push((
            Topic::Since,
            describe::floors(instruction.since()).to_string(),
        ));
    }
    let kept = describe::each_fact(form, chosen, &mut |topic, line| {
        // The backquotes are for documents.
        all.push((topic, line.to_string().replace('`', "")));
        Ok(())
    });
    debug_assert!(kept.is_ok(), "a list takes everything");
    all.sort_by_key(|&(topic, _)| topic);
    let groups = all.chunk_by(|(a, _), (b, _)| a == b);
    groups
        .filter_map(|group| Some((group.first()?.0, group)))
        .map(|(topic, group)| (topic, group.iter().map(|(_, l)| l.clone()).collect()))
        .collect()
}
