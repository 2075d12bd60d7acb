//! Explanations of instructions, other keywords and diagnostics, from the tables.

mod entry;
mod form;
mod instruction;
mod smt;
mod text;
mod word;

use ptx_ir::Code;

pub use self::entry::{Details, Entry, EntryKind};
use self::instruction::Answer;
pub use self::smt::script as smt_script;
pub use self::text::{Extent, text};
use crate::generated::pages::PAGES;

/// All codes of diagnostics with their titles.
#[must_use]
pub fn codes() -> Vec<Entry> {
    let all = Code::ALL.iter();
    all.map(|&code| diagnostic(code, None)).collect()
}

/// The possible meanings of a text.
/// # Errors
///
/// Nothing has this name; the message suggests similar names.
pub fn find(text: &str) -> Result<Vec<Entry>, String> {
    if let Some(number) = number(text) {
        let known = Code::ALL.iter().find(|c| u64::from(c.number()) == number);
        return match (known, nearest(number)) {
            (Some(&code), _) => Ok(vec![diagnostic(code, page(code))]),
            (None, Some(code)) => Err(format!(
                "unknown code {text}; did you mean {code}: {}?",
                code.title()
            )),
            (None, None) => Err(format!("unknown code {text}")),
        };
    }
    if let Some(code) = named(text) {
        return Ok(vec![diagnostic(code, page(code))]);
    }
    let words = word::entries(text);
    if !words.is_empty() {
        return Ok(words);
    }
    if text.starts_with(['.', '%', '@']) {
        return Err(match word::nearest(text) {
            Some(nearest) => format!("unknown word `{text}`; did you mean `{nearest}`?"),
            None => format!("unknown word `{text}`"),
        });
    }
    match instruction::find(text) {
        Ok(Answer::Instruction(entry)) => Ok(vec![*entry]),
        Ok(Answer::Names(names)) => {
            let names = names.into_iter();
            Ok(names
                .map(|i| Entry::new(EntryKind::Instruction, i.name(), i.summary()))
                .collect())
        }
        Err(message) => {
            // A directive, type or special register without its first character.
            let marked = [".", "%"].map(|mark| word::entries(&format!("{mark}{text}")));
            let marked: Vec<Entry> = marked.into_iter().flatten().collect();
            if marked.is_empty() {
                Err(message)
            } else {
                Ok(marked)
            }
        }
    }
}

/// The code with a name such as `shared-race`, which is that of a lint or of a warning.
fn named(text: &str) -> Option<Code> {
    let plain = |t: &str| t.replace(['-', '_'], "").to_ascii_lowercase();
    let several = text.contains(['-', '_']);
    let same = |code: &&Code| plain(code.name()) == plain(text);
    let code = Code::ALL.iter().copied().find(|code| same(&code))?;
    // A word of PTX may have the name of a code, such as `trap`.
    (several || text == code.name()).then_some(code)
}

/// A code with its title, or with its page.
fn diagnostic(code: Code, page: Option<&'static str>) -> Entry {
    let mut entry = Entry::new(EntryKind::Diagnostic, code.to_string(), code.title());
    entry.page = page;
    entry
}

/// The page of a diagnostic: when it is reported, and how to fix the code.
#[must_use]
pub fn page(code: Code) -> Option<&'static str> {
    let name = code.to_string();
    let page = PAGES.iter().find(|(of, _)| *of == name);
    page.map(|(_, text)| *text)
}

/// The number in a text such as `PTX0104`, `ptx104` or `0104`.
fn number(text: &str) -> Option<u64> {
    let digits = match text.get(..3) {
        Some(prefix) if prefix.eq_ignore_ascii_case("ptx") => &text[3..],
        _ => text,
    };
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    plain.then(|| digits.parse().unwrap_or(u64::MAX))
}

fn nearest(number: u64) -> Option<Code> {
    let distance = |code: &Code| u64::from(code.number()).abs_diff(number);
    Code::ALL.iter().copied().min_by_key(distance)
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
        assert_eq!(nearest(0), Code::ALL.first().copied());
        assert_eq!(nearest(u64::MAX), Code::ALL.last().copied());
        assert_eq!(nearest(104), Some(Code::UnknownOpcode));
    }
}
