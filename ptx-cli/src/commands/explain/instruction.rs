//! Finds the forms of an opcode or a mnemonic.

use std::io::Write;

use anyhow::Result;
use ptx_isa::{Form, Instruction, Modifier, Opcode, SlotAssignment, find_instruction};
use ptx_parse::suggest;

use super::form;
use crate::output::{self, Out, Status};
use crate::render::clean;

/// Describes an instruction; for an unknown one, suggests similar names.
pub(super) fn explain(out: &mut Out, text: &str) -> Result<Status> {
    match answer(out, text)? {
        Ok(()) => {
            out.flush()?;
            Ok(Status::Ok)
        }
        Err(message) => {
            output::note(format_args!("ptxkit: {}", clean(&message)));
            Ok(Status::UsageError)
        }
    }
}

/// A form and, for a complete mnemonic, its modifiers by slot.
type Found = (&'static Form, Option<SlotAssignment>);

fn answer(out: &mut impl Write, text: &str) -> Result<Result<(), String>> {
    let (opcode, modifiers) = match words(text) {
        Ok(words) => words,
        Err(message) => return Ok(Err(message)),
    };
    let begins = |i: &&Instruction| i.words().starts_with(&modifiers);
    let longer: Vec<&str> = opcode
        .instructions()
        .iter()
        .filter(begins)
        .map(|i| i.name())
        .filter(|&name| name != text)
        .collect();
    let Some(instruction) = find_instruction(opcode, &modifiers) else {
        if longer.is_empty() {
            let names: Vec<&str> = opcode.instructions().iter().map(|i| i.name()).collect();
            return Ok(Err(format!(
                "no instruction begins with `{text}`; there are {}",
                names.join(", ")
            )));
        }
        for name in longer {
            writeln!(out, "{name}")?;
        }
        return Ok(Ok(()));
    };
    let rest = modifiers
        .get(instruction.words().len()..)
        .unwrap_or_default();
    let found = forms(instruction, rest);
    if found.is_empty() {
        return Ok(Err(format!(
            "`{}` has no form with {}; `ptxkit explain {0}` shows its forms",
            instruction.name(),
            list(rest)
        )));
    }
    for (i, (form, chosen)) in found.iter().enumerate() {
        if i > 0 {
            writeln!(out)?;
        }
        form::write(out, instruction, form, chosen.as_ref())?;
    }
    if !longer.is_empty() {
        writeln!(out, "\nsee also: {}", longer.join(", "))?;
    }
    Ok(Ok(()))
}

/// The opcode and the modifiers of a text, or an error message.
fn words(text: &str) -> Result<(Opcode, Vec<Modifier>), String> {
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
    use super::*;

    fn said(text: &str) -> Result<String, String> {
        let mut out = Vec::new();
        answer(&mut out, text)
            .unwrap()
            .map(|()| String::from_utf8(out).unwrap())
    }

    #[test]
    fn every_instruction_is_explained() {
        for instruction in Instruction::ALL {
            let text = said(instruction.name()).unwrap();
            let form = instruction.forms().first().unwrap();
            assert!(text.contains(form.syntax()), "{}", instruction.name());
        }
        for opcode in Opcode::ALL {
            assert!(!said(opcode.text()).unwrap().is_empty(), "{opcode}");
        }
    }

    #[test]
    fn a_mnemonic_shows_only_what_takes_it() {
        let text = said("add.rn.ftz.f32").unwrap();
        assert_eq!(
            text.lines().next(),
            Some("add{.rnd}{.ftz}{.sat}.f32 d, a, b")
        );
        for line in [
            ".rnd: .rn .rz .rm .rp, default .rn, given: .rn",
            ".ftz: given",
        ] {
            assert!(text.contains(line), "{text}");
        }
        assert!(!text.contains(".u16x2"), "{text}");
        assert!(said("add").unwrap().len() > 2 * text.len());
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
            assert_eq!(said(text), Err(message.to_string()));
        }
    }
}
