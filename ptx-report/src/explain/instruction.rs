//! The forms of an opcode or a mnemonic, and their descriptions.

use std::borrow::Cow;

use ptx_isa::internals::SlotAssignment;
use ptx_isa::internals::describe::{self, Topic};
use ptx_isa::{Form, Instruction, Modifier, Opcode, find_instruction};
use ptx_parse::suggest;

use super::entry::{Details, Entry, EntryKind};

/// A form that an explanation describes.
struct MatchedForm {
    form: &'static Form,
    /// For a complete mnemonic, its modifiers by slot.
    assignment: Option<SlotAssignment>,
}

impl MatchedForm {
    fn is(&self, form: &Form) -> bool {
        std::ptr::eq(self.form, form)
    }
}

/// The meaning of an opcode or a mnemonic.
pub(super) enum Answer {
    Instruction(Box<Entry>),
    /// No instruction has this name, but instructions with longer names begin with it.
    Names(Vec<&'static Instruction>),
}

/// Finds an instruction. The error message states which instructions may be meant.
pub(super) fn find(text: &str) -> Result<Answer, String> {
    let (opcode, modifiers) = words(text)?;
    let longer: Vec<&Instruction> = opcode
        .instructions()
        .iter()
        .filter(|i| i.words().starts_with(&modifiers) && i.name() != text)
        .collect();
    let Some(instruction) = find_instruction(opcode, &modifiers) else {
        if longer.is_empty() {
            let names: Vec<&str> = opcode.instructions().iter().map(|i| i.name()).collect();
            return Err(format!(
                "no instruction begins with `{text}`; there are {}",
                names.join(", ")
            ));
        }
        return Ok(Answer::Names(longer));
    };
    let slot_modifiers = modifiers
        .get(instruction.words().len()..)
        .unwrap_or_default();
    let mut forms = matching_forms(instruction, slot_modifiers);
    if forms.is_empty() {
        return Err(format!(
            "`{}` has no form with {}; `ptxkit explain {0}` shows its forms",
            instruction.name(),
            list(slot_modifiers)
        ));
    }
    let mut examples = instruction.examples().to_vec();
    if slot_modifiers.is_empty() {
        // The first example is of the most common form.
        let common = examples
            .first()
            .and_then(|example| forms_of_example(instruction, example)?.into_iter().next());
        forms.sort_by_key(|form| !common.as_ref().is_some_and(|c| c.is(form.form)));
    } else {
        examples.retain(|example| {
            forms_of_example(instruction, example)
                .unwrap_or_default()
                .iter()
                .any(|of_example| forms.iter().any(|form| form.is(of_example.form)))
        });
        // Examples with the same modifiers are first.
        examples.sort_by_cached_key(|example| {
            slot_modifiers
                .iter()
                .filter(|modifier| !example.contains(modifier.text()))
                .count()
        });
    }
    Ok(Answer::Instruction(Box::new(entry(
        instruction,
        text,
        &forms,
        examples,
        longer.iter().map(|i| i.name()).collect(),
    ))))
}

fn entry(
    instruction: &'static Instruction,
    text: &str,
    forms: &[MatchedForm],
    examples: Vec<&'static str>,
    see_also: Vec<&'static str>,
) -> Entry {
    // A sentence that all forms have is not repeated.
    let first = forms.first().and_then(|matched| matched.form.summary());
    let shared = first.filter(|_| forms.iter().all(|matched| matched.form.summary() == first));
    let mut entry = Entry::new(
        EntryKind::Instruction,
        text,
        shared.unwrap_or(instruction.summary()),
    );
    entry.examples = examples.into_iter().map(Cow::Borrowed).collect();
    entry.pitfalls = instruction.pitfalls();
    entry.see_also = see_also;
    entry.forms = forms
        .iter()
        .map(|matched| {
            let mut details = details(instruction, matched);
            details.summary = details.summary.filter(|_| shared.is_none());
            details
        })
        .collect();
    entry
}

/// Describes a form. For a mnemonic, only the facts that concern its modifiers are listed.
fn details(instruction: &Instruction, matched: &MatchedForm) -> Details {
    let (form, assignment) = (matched.form, matched.assignment.as_ref());
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
    let result = describe::each_fact(form, assignment, &mut |topic, line| {
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
    debug_assert!(result.is_ok(), "the sink returns no error");
    details.tables = form
        .tables()
        .iter()
        .map(|table| {
            let text = describe::table(form, table, assignment).to_string();
            text.lines().map(str::to_owned).collect()
        })
        .collect();
    details
}

/// The forms that an example of an instruction may have.
fn forms_of_example(instruction: &'static Instruction, example: &str) -> Option<Vec<MatchedForm>> {
    let mnemonic = example.split([' ', '\n', '\t', ';']).find(|word| {
        let suffix = word.strip_prefix(instruction.name());
        suffix.is_some_and(|suffix| suffix.is_empty() || suffix.starts_with('.'))
    })?;
    let (_, modifiers) = words(mnemonic).ok()?;
    Some(matching_forms(
        instruction,
        modifiers.get(instruction.words().len()..)?,
    ))
}

/// The opcode and the modifiers of a text, or an error message.
pub(crate) fn words(text: &str) -> Result<(Opcode, Vec<Modifier>), String> {
    let (opcode_text, suffix) = text.split_at(text.find('.').unwrap_or(text.len()));
    let question = |nearest: Option<&str>| match nearest {
        Some(nearest) => format!("; did you mean `{nearest}`?"),
        None => String::new(),
    };
    let opcode = Opcode::from_text(opcode_text.as_bytes()).ok_or_else(|| {
        format!(
            "unknown instruction `{opcode_text}`{}",
            question(suggest::opcode(opcode_text))
        )
    })?;
    let modifiers = suffix
        .split('.')
        .skip(1)
        .map(|word| {
            let word = format!(".{word}");
            Modifier::from_text(word.as_bytes()).ok_or_else(|| {
                let nearest = suggest::modifier(Some(opcode), &word);
                format!("unknown modifier `{word}`{}", question(nearest))
            })
        })
        .collect::<Result<_, _>>()?;
    Ok((opcode, modifiers))
}

/// All forms of an instruction; with modifiers, the forms that accept them as a complete mnemonic, or, if there is none, those that accept each of
/// them.
fn matching_forms(instruction: &'static Instruction, modifiers: &[Modifier]) -> Vec<MatchedForm> {
    let forms = instruction.forms().iter().copied();
    let unassigned = |form| MatchedForm {
        form,
        assignment: None,
    };
    if modifiers.is_empty() {
        return forms.map(unassigned).collect();
    }
    let assigned = |form: &'static Form, assignment: Option<SlotAssignment>| {
        assignment.map(|assignment| MatchedForm {
            form,
            assignment: Some(assignment),
        })
    };
    let is_listed = |matched: &MatchedForm| {
        matched.assignment.as_ref().is_none_or(|assignment| {
            let mut tables = matched.form.tables().iter();
            tables.all(|table| table.row(assignment).is_some())
        })
    };
    let mut matched: Vec<MatchedForm> = forms
        .clone()
        .filter_map(|form| assigned(form, form.match_modifiers(modifiers)))
        .collect();
    // A combination that the tables of a form do not list belongs to another form, if one lists it.
    if matched.iter().any(is_listed) {
        matched.retain(is_listed);
    }
    if matched.is_empty() {
        matched = forms
            .clone()
            .filter_map(|form| assigned(form, form.match_lenient(modifiers)))
            .collect();
    }
    if matched.is_empty() {
        matched = forms
            .filter(|form| modifiers.iter().all(|&m| form.accepts(m)))
            .map(unassigned)
            .collect();
    }
    matched
}

fn list(words: &[Modifier]) -> String {
    let words: Vec<String> = words.iter().map(|w| format!("`{w}`")).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::super::text::{Extent, text};
    use super::*;

    fn said(of: &str, extent: Extent) -> Result<String, String> {
        match find(of)? {
            Answer::Instruction(entry) => Ok(text(&entry, extent)),
            Answer::Names(names) => Ok(names.iter().map(|i| i.name()).collect()),
        }
    }

    #[test]
    fn every_instruction_is_explained() {
        for instruction in Instruction::ALL {
            let name = instruction.name();
            let text = said(name, Extent::Full).unwrap();
            for form in instruction.forms() {
                assert!(text.contains(form.syntax()), "{name}");
            }
            let short = said(name, Extent::Screen).unwrap();
            assert!(short.lines().count() <= 42, "{name}: {short}");
            assert!(short.contains("\nexamples:\n"), "{name}: {short}");
        }
        for opcode in Opcode::ALL {
            assert!(
                !said(opcode.text(), Extent::Screen).unwrap().is_empty(),
                "{opcode}"
            );
        }
    }

    #[test]
    fn examples_have_a_form() {
        for instruction in Instruction::ALL {
            for example in instruction.examples() {
                let forms = forms_of_example(instruction, example).unwrap_or_default();
                assert!(!forms.is_empty(), "{example}");
            }
        }
    }

    #[test]
    fn the_common_form_is_first() {
        for (name, syntax) in [
            ("add", "\nadd.type d, a, b\n"),
            ("ld", "\nld{.weak}{.ss}"),
            ("mov", "\nmov.type d, a\n"),
        ] {
            let text = said(name, Extent::Screen).unwrap();
            let first = text.find(syntax).unwrap();
            assert!(first < text.find("other forms").unwrap(), "{text}");
        }
    }

    #[test]
    fn a_mnemonic_shows_only_what_takes_it() {
        let text = said("add.rn.ftz.f32", Extent::Full).unwrap();
        for line in [
            "\nadd{.rnd}{.ftz}{.sat}.f32 d, a, b\n",
            ".rnd: .rn .rz .rm .rp, default .rn, given: .rn",
            ".ftz: given",
            "add.rn.ftz.f32 %f3",
        ] {
            assert!(text.contains(line), "{text}");
        }
        assert!(
            !text.contains(".u16x2") && !text.contains("add.s32"),
            "{text}"
        );
        assert!(said("add", Extent::Full).unwrap().len() > 2 * text.len());
        let text = said("cvt.f32.f16", Extent::Screen).unwrap();
        assert!(text.contains("examples:\n  cvt.f32.f16 %f1"), "{text}");
        let text = said("add.cc.u32", Extent::Screen).unwrap();
        assert!(text.contains("carry flag."), "{text}");
    }

    #[test]
    fn what_is_wrong() {
        for (text, message) in [
            ("addd", "unknown instruction `addd`; did you mean `add`?"),
            (
                "wgmma.mma_asnyc",
                "unknown modifier `.mma_asnyc`; did you mean `.mma_async`?",
            ),
            (
                "add.row",
                "`add` has no form with `.row`; `ptxkit explain add` shows its forms",
            ),
            ("", "unknown instruction ``"),
        ] {
            assert_eq!(said(text, Extent::Screen), Err(message.to_string()));
        }
    }
}
