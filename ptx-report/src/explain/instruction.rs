//! Finds the forms of an opcode or a mnemonic.

use std::borrow::Cow;

use ptx_isa::{Form, Instruction, Modifier, Opcode, SlotAssignment, find_instruction};
use ptx_parse::suggest;

use super::entry::{Entry, EntryKind};
use super::form;

/// A form and, for a complete mnemonic, its modifiers by slot.
type Found = (&'static Form, Option<SlotAssignment>);

/// What an opcode or a mnemonic is; a list of instructions if none has this name, but longer ones have.
pub(super) enum Answer {
    Instruction(Box<Entry>),
    Names(Vec<&'static Instruction>),
}

/// Finds an instruction, or says which one may be meant.
pub(super) fn find(text: &str) -> Result<Answer, String> {
    let (opcode, modifiers) = words(text)?;
    let begins = |i: &&Instruction| i.words().starts_with(&modifiers) && i.name() != text;
    let longer: Vec<&Instruction> = opcode.instructions().iter().filter(begins).collect();
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
    let rest = modifiers
        .get(instruction.words().len()..)
        .unwrap_or_default();
    let mut found = forms(instruction, rest);
    if found.is_empty() {
        return Err(format!(
            "`{}` has no form with {}; `ptxkit explain {0}` shows its forms",
            instruction.name(),
            list(rest)
        ));
    }
    let mut examples = instruction.examples().to_vec();
    if rest.is_empty() {
        // The first example is of the most common form.
        let common = examples.first().and_then(|e| forms_of(instruction, e));
        let first = common.and_then(|forms| forms.first().map(|(form, _)| *form));
        found.sort_by_key(|(form, _)| !first.is_some_and(|f| std::ptr::eq(f, *form)));
    } else {
        let is_found = |form: &Form| found.iter().any(|(f, _)| std::ptr::eq(*f, form));
        examples.retain(|e| {
            let of = forms_of(instruction, e).unwrap_or_default();
            of.iter().any(|(form, _)| is_found(form))
        });
        // Those with the same modifiers are first.
        examples.sort_by_cached_key(|example| {
            let has = |m: &&Modifier| example.contains(m.text());
            rest.len() - rest.iter().filter(has).count()
        });
    }
    Ok(Answer::Instruction(Box::new(entry(
        instruction,
        text,
        &found,
        examples,
        longer.iter().map(|i| i.name()).collect(),
    ))))
}

fn entry(
    instruction: &'static Instruction,
    text: &str,
    found: &[Found],
    examples: Vec<&'static str>,
    see_also: Vec<&'static str>,
) -> Entry {
    let mut own = found.iter().map(|(form, _)| form.summary());
    let first = own.next().flatten();
    // A sentence that all forms have is not repeated.
    let shared = first.filter(|_| own.all(|other| other == first));
    let mut entry = Entry::new(
        EntryKind::Instruction,
        text,
        shared.unwrap_or(instruction.summary()),
    );
    entry.examples = examples.into_iter().map(Cow::Borrowed).collect();
    entry.pitfalls = instruction.pitfalls();
    entry.see_also = see_also;
    let details = |(form, chosen): &Found| {
        let mut details = form::details(instruction, form, chosen.as_ref());
        details.summary = details.summary.filter(|_| shared.is_none());
        details
    };
    entry.forms = found.iter().map(details).collect();
    entry
}

/// The forms that an example of an instruction may have.
fn forms_of(instruction: &'static Instruction, example: &str) -> Option<Vec<Found>> {
    let mut mnemonics = example.split([' ', '\n', '\t', ';']);
    let mnemonic = mnemonics.find(|word| {
        let rest = word.strip_prefix(instruction.name());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    })?;
    let (_, modifiers) = words(mnemonic).ok()?;
    Some(forms(
        instruction,
        modifiers.get(instruction.words().len()..)?,
    ))
}

/// The opcode and the modifiers of a text, or an error message.
pub(super) fn words(text: &str) -> Result<(Opcode, Vec<Modifier>), String> {
    let (first, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let known = |nearest: Option<&str>| match nearest {
        Some(nearest) => format!("; did you mean `{nearest}`?"),
        None => String::new(),
    };
    let opcode = Opcode::from_text(first.as_bytes()).ok_or_else(|| {
        format!(
            "unknown instruction `{first}`{}",
            known(suggest::opcode(first))
        )
    })?;
    let modifier = |word: &str| {
        let word = format!(".{word}");
        Modifier::from_text(word.as_bytes()).ok_or_else(|| {
            let nearest = suggest::modifier(Some(opcode), &word);
            format!("unknown modifier `{word}`{}", known(nearest))
        })
    };
    let rest = rest.split('.').skip(1).map(modifier);
    Ok((opcode, rest.collect::<Result<_, _>>()?))
}

/// All forms of an opcode; with modifiers, those that take them, or, if more are required, those that have them.
fn forms(instruction: &'static Instruction, rest: &[Modifier]) -> Vec<Found> {
    let all = instruction.forms().iter().copied();
    if rest.is_empty() {
        return all.map(|f| (f, None)).collect();
    }
    let strict = all
        .clone()
        .filter_map(|f| Some((f, Some(f.match_modifiers(rest)?))));
    let lenient = all
        .clone()
        .filter_map(|f| Some((f, Some(f.match_lenient(rest)?))));
    let knowing = all.filter(|f| rest.iter().all(|&m| f.accepts(m)));
    let has_row = |form: &Form, chosen: &Option<SlotAssignment>| {
        chosen
            .as_ref()
            .is_none_or(|c| form.tables().iter().all(|t| t.row(c).is_some()))
    };
    let mut found: Vec<Found> = strict.collect();
    // What no table lists is another form's, if there is one.
    if found.iter().any(|(form, chosen)| has_row(form, chosen)) {
        found.retain(|(form, chosen)| has_row(form, chosen));
    }
    if found.is_empty() {
        found = lenient.collect();
    }
    if found.is_empty() {
        found = knowing.map(|f| (f, None)).collect();
    }
    found
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
                let forms = forms_of(instruction, example).unwrap_or_default();
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
