//! Explanations of instructions, other keywords and diagnostics, from the tables.

mod entry;
mod instruction;
mod smt;
mod text;
mod word;

use ptx_ir::Code;
use ptx_isa::Opcode;

pub use self::entry::{Details, Entry, EntryKind};
use self::instruction::Answer;
pub(crate) use self::instruction::words;
pub use self::smt::script as smt_script;
pub use self::text::{Extent, text};
use crate::generated::pages::PAGES;

/// All codes of diagnostics with their titles.
#[must_use]
pub fn codes() -> Vec<Entry> {
    Code::ALL
        .iter()
        .map(|&code| diagnostic(code, None))
        .collect()
}

/// Everything that can be explained: instructions and codes of diagnostics, without details, and the other keywords.
#[must_use]
pub fn all() -> Vec<Entry> {
    let instructions = Opcode::ALL
        .iter()
        .flat_map(|opcode| opcode.instructions())
        .map(|i| Entry::new(EntryKind::Instruction, i.name(), i.summary()));
    instructions.chain(word::all()).chain(codes()).collect()
}

/// The possible meanings of a text.
///
/// # Errors
///
/// Nothing has this name; the message suggests similar names.
pub fn find(text: &str) -> Result<Vec<Entry>, String> {
    if let Some(number) = number(text) {
        let code = Code::ALL
            .iter()
            .find(|code| u64::from(code.number()) == number);
        return match (code, nearest_code(number)) {
            (Some(&code), _) => Ok(vec![diagnostic(code, page(code))]),
            (None, Some(code)) => Err(format!(
                "unknown code {text}; did you mean {code}: {}?",
                code.title()
            )),
            (None, None) => Err(format!("unknown code {text}")),
        };
    }
    if let Some(code) = code_with_name(text) {
        return Ok(vec![diagnostic(code, page(code))]);
    }
    let words = word::entries(text);
    if !words.is_empty() {
        return Ok(words);
    }
    let hints = word::hint(text);
    if !hints.is_empty() {
        return Ok(hints);
    }
    if text.starts_with(['.', '%', '@']) {
        return Err(match word::nearest(text) {
            Some(nearest) => format!("unknown word `{text}`; did you mean `{nearest}`?"),
            None => format!("unknown word `{text}`"),
        });
    }
    match instruction::find(text) {
        Ok(Answer::Instruction(entry)) => Ok(vec![*entry]),
        Ok(Answer::Names(instructions)) => Ok(instructions
            .into_iter()
            .map(|i| Entry::new(EntryKind::Instruction, i.name(), i.summary()))
            .collect()),
        Err(message) => {
            // A directive, type or special register may be named without its first character.
            let entries: Vec<Entry> = [".", "%"]
                .iter()
                .flat_map(|prefix| word::entries(&format!("{prefix}{text}")))
                .collect();
            if entries.is_empty() {
                Err(message)
            } else {
                Ok(entries)
            }
        }
    }
}

/// The code of the lint or the warning with a name such as `shared-race`.
fn code_with_name(text: &str) -> Option<Code> {
    let is_compound = text.contains(['-', '_']);
    let code = Code::ALL
        .iter()
        .copied()
        .find(|code| has_name(*code, text))?;
    // A word of PTX may have the name of a code, such as `trap`.
    (is_compound || text == code.name()).then_some(code)
}

/// Whether a text is the name of a code, apart from hyphens, underscores and case.
pub(crate) fn has_name(code: Code, text: &str) -> bool {
    let text = text.replace(['-', '_'], "");
    code.name().eq_ignore_ascii_case(&text)
}

/// A code with its title, or with its page.
fn diagnostic(code: Code, page: Option<&'static str>) -> Entry {
    let mut entry = Entry::new(EntryKind::Diagnostic, code.to_string(), code.title());
    entry.page = page;
    entry
}

/// The page of a diagnostic, which states when it is reported, and how to fix the code.
#[must_use]
pub fn page(code: Code) -> Option<&'static str> {
    let name = code.to_string();
    PAGES
        .iter()
        .find(|(page_name, _)| *page_name == name)
        .map(|(_, text)| *text)
}

/// The number in a text such as `PTX0104`, `ptx104` or `0104`.
fn number(text: &str) -> Option<u64> {
    let digits = match text.get(..3) {
        Some(prefix) if prefix.eq_ignore_ascii_case("ptx") => &text[3..],
        _ => text,
    };
    let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| digits.parse().unwrap_or(u64::MAX))
}

/// The code with the nearest number.
fn nearest_code(number: u64) -> Option<Code> {
    Code::ALL
        .iter()
        .copied()
        .min_by_key(|code| u64::from(code.number()).abs_diff(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_a_code() {
        for text in ["PTX0104", "ptx0104", "0104", "104"] {
            assert_eq!(number(text), Some(104), "{text}");
        }
        for text in ["", "PTX", "PTX-1", "x", "É4"] {
            assert_eq!(number(text), None, "{text}");
        }
    }

    #[test]
    fn the_nearest_code() {
        assert_eq!(nearest_code(0), Code::ALL.first().copied());
        assert_eq!(nearest_code(u64::MAX), Code::ALL.last().copied());
        assert_eq!(nearest_code(104), Some(Code::UnknownOpcode));
    }
}
