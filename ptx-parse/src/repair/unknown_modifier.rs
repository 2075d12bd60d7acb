//! Modifiers that PTX does not know, judged by what the others of the mnemonic leave open.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use ptx_ir::{Diagnostic, Module, SigId, Span};
use ptx_isa::{ForeignWord, Modifier, ModifierEdit, Opcode, Role};

use crate::repair::keyword::{apart, correct, glued, replace, suggestion};
use crate::statement_extent::line_end;
use crate::suggest::{self, Similar};

/// Longest list of modifiers that a message gives.
const MOST_LISTED: usize = 12;

/// The modifiers that may be meant by an unknown one.
#[derive(Clone, Default)]
pub(crate) struct Choices {
    /// With which the mnemonic is one of a form, the most similar ones first.
    legal: Vec<&'static str>,
    /// Whether the first of them is more similar than the others and similar at all.
    similar: bool,
    /// Whether the first one is an example: it is similar, and no other one is as similar.
    likely: bool,
    /// The most similar one of all modifiers.
    nearest: Option<Similar<'static>>,
    /// It is a number, and an instruction without it takes a constant.
    operand: bool,
    /// Whether the word that replaces a word of another language is possible here.
    takes_foreign: bool,
    /// The first of the words that a sentence about a word of another language mentions.
    translated: Option<&'static str>,
    /// Why the word that replaces a word of another language is not enough.
    partial: Option<Partial>,
}

/// Why the word that replaces a word of another language does not make the mnemonic one of a form.
#[derive(Clone)]
enum Partial {
    /// The opcode takes the word, and then lacks one of these modifiers.
    Incomplete {
        word: &'static str,
        missing: Vec<&'static str>,
    },
    /// The opcode does not take the word, which is a type; it takes these ones of the same width.
    SameWidth(Vec<&'static str>),
}

/// The choices that were made, by mnemonic and position.
pub(crate) type KnownChoices = BTreeMap<(SigId, u32), Choices>;

/// A modifier at `word` of a mnemonic, whose opcode is at `start` of the source.
#[derive(Copy, Clone)]
pub(crate) struct UnknownModifier {
    pub(crate) sig: SigId,
    pub(crate) start: usize,
    pub(crate) word: u32,
}

/// The error of an unknown modifier with its help.
pub(crate) fn explain(
    module: &Module,
    known: &mut KnownChoices,
    d: Diagnostic,
    place: UnknownModifier,
) -> Diagnostic {
    let UnknownModifier { sig, start, word } = place;
    let signature = module.signature(sig);
    let words = || signature.words().iter();
    let unknown = words().find(|w| w.start == word);
    let (Some(opcode), Some(unknown)) = (signature.opcode(), unknown) else {
        return d;
    };
    let text = signature.word_text(*unknown);
    if let Some(length) = glued(text) {
        return apart(d, text, length);
    }
    let choices = known.entry((sig, word)).or_insert_with(|| {
        let preceding: Vec<Modifier> = words()
            .filter(|w| w.start < word)
            .filter_map(|w| w.modifier)
            .collect();
        let following: Vec<Modifier> = words()
            .filter(|w| w.start >= word)
            .filter_map(|w| w.modifier)
            .collect();
        Choices::of(opcode, &preceding, &following, text)
    });
    let mnemonic = signature.text().get(..word as usize).unwrap_or_default();
    choices.explain(d, mnemonic, text, first_vector(module.source(), start))
}

impl Choices {
    /// The choices for the word after the modifiers `before`, which `after` follow.
    fn of(opcode: Opcode, before: &[Modifier], after: &[Modifier], word: &str) -> Self {
        let modifiers: Vec<Modifier> = before.iter().chain(after).copied().collect();
        let possible = opcode.completions(&modifiers, before.len());
        let help = ForeignWord::from_text(word).and_then(ForeignWord::help);
        let instead = ForeignWord::from_text(word).and_then(ForeignWord::instead);
        let takes_foreign = instead.is_some_and(|text| possible.iter().any(|m| m.text() == text));
        let partial = instead
            .filter(|_| !takes_foreign)
            .and_then(|text| Modifier::from_text(text.as_bytes()))
            .and_then(|meant| partial(opcode, &modifiers, before.len(), meant, &possible));
        let mut mentioned = help.unwrap_or_default().split('`');
        let is_possible = |text: &&str| possible.iter().any(|m| m.text() == *text);
        let translated = mentioned.find(is_possible);
        let lower = word.to_ascii_lowercase();
        // In upper case, the others may be unknown as well.
        let same = Modifier::from_text(lower.as_bytes());
        let of_case = |text: &&Modifier| text.text().eq_ignore_ascii_case(&lower);
        let same = possible.iter().find(of_case).copied().or(same);
        let word = lower.as_str();
        let mut ranked: Vec<(usize, &'static str)> = possible
            .iter()
            .map(|m| {
                (
                    suggest::edits(word.as_bytes(), m.text().as_bytes()),
                    m.text(),
                )
            })
            .collect();
        ranked.sort_unstable();
        let closest = ranked.first().map_or(usize::MAX, |r| r.0);
        let similar = closest <= suggest::most_edits(word);
        let letters = letters(word);
        // Other numbers are as likely as a mistyped digit.
        let kept = |&(edits, text): &(usize, &str)| {
            similar && edits == closest || !letters.is_empty() && letters == self::letters(text)
        };
        let any = ranked.iter().any(kept);
        let completed = suggest::completion(word, ranked.iter().map(|r| r.1));
        let completed = completed.filter(|_| !similar).map(|c| c.text);
        let legal = ranked.iter().filter(|r| match completed {
            Some(text) => r.1 == text,
            None => !any || kept(r),
        });
        let legal: Vec<&'static str> = legal.map(|r| r.1).collect();
        let other_length = ranked.first().is_some_and(|r| r.1.len() != word.len());
        let ties = ranked.iter().filter(|r| r.0 == closest).count();
        let is_number = word.bytes().skip(1).all(|b| b.is_ascii_digit());
        Self {
            likely: legal.len() == 1 || any && ties == 1,
            legal,
            similar: similar && ties == 1 && (word.len() > 3 || other_length),
            nearest: match same {
                Some(same) => Some(Similar {
                    text: same.text(),
                    sole: true,
                }),
                None => suggest::modifier_of(Some(opcode), word),
            },
            operand: is_number && after.is_empty() && takes_constant(opcode, before),
            takes_foreign,
            translated,
            partial,
        }
    }

    /// The error about the word with its help.
    /// `elements` is the number of elements of the first vector among the operands.
    fn explain(&self, d: Diagnostic, mnemonic: &str, word: &str, elements: usize) -> Diagnostic {
        let span = d.span;
        if self.operand {
            let number = word.trim_start_matches('.');
            let d = d.with_help(format!(
                "an operand follows white space: `{mnemonic} {number}`"
            ));
            return d.with_fix(Span::new(span.start, span.start + 1), " ");
        }
        if ForeignWord::from_text(word).is_some_and(|w| w.help().is_some() || self.takes_foreign) {
            let d = correct(d, word, None);
            return match self.translated.filter(|_| d.fix.is_empty()) {
                Some(text) => {
                    let help = d.help.clone().unwrap_or_default();
                    d.with_help(format!("{help}; for example `{text}`"))
                        .with_fix(span, text)
                }
                None => d,
            };
        }
        match &self.partial {
            Some(Partial::Incomplete { word, missing }) => {
                let missing = quoted(missing);
                return d.with_help(format!(
                    "did you mean `{word}`? It needs one of {missing} as well"
                ));
            }
            Some(Partial::SameWidth(types)) => return d.with_help(list(types)),
            None => {}
        }
        let vector = format!(".v{elements}");
        if let Some(text) = self.legal.iter().find(|m| **m == vector) {
            return d.with_help(list(&self.legal)).with_fix(span, *text);
        }
        let same = self.nearest.filter(|n| n.text.eq_ignore_ascii_case(word));
        match self.legal.as_slice() {
            _ if same.is_some() => replace(d, word, same),
            [only] if self.similar => {
                let d = d.with_help(suggestion(only)).with_fix(span, *only);
                suggest::judged(d, word, only)
            }
            [first, ..] if self.legal.len() <= MOST_LISTED => {
                let d = d.with_help(list(&self.legal));
                if !self.likely {
                    return d;
                }
                // No vector has as many elements.
                let is_length =
                    Modifier::from_text(first.as_bytes()).is_some_and(|m| m.vector_len().is_some());
                if is_length && elements > 0 {
                    d
                } else {
                    d.with_fix(span, *first)
                }
            }
            _ => replace(d, word, self.nearest),
        }
    }
}

/// The letters of a word without its digits.
fn letters(word: &str) -> String {
    word.chars().filter(char::is_ascii_alphabetic).collect()
}

fn list(words: &[&str]) -> String {
    match words {
        [only] => format!("did you mean `{only}`?"),
        _ => format!("did you mean one of {}?", quoted(words)),
    }
}

fn quoted(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|w| format!("`{w}`")).collect();
    words.join(", ")
}

/// The reason why `word`, which is not among the possible ones, is not enough before the modifier of an index.
fn partial(
    opcode: Opcode,
    modifiers: &[Modifier],
    index: usize,
    word: Modifier,
    possible: &[Modifier],
) -> Option<Partial> {
    let changed = ModifierEdit::Insert(index, word).apply(modifiers);
    let missing = opcode.completions(&changed, index + 1);
    let mut forms = opcode.instructions().iter().flat_map(|i| i.forms());
    if !missing.is_empty() && forms.any(|f| f.accepts(word)) {
        return Some(Partial::Incomplete {
            word: word.text(),
            missing: missing.iter().map(|m| m.text()).collect(),
        });
    }
    let width = word.scalar_type()?.bits();
    let types: Vec<&'static str> = possible
        .iter()
        .filter(|m| m.scalar_type().is_some_and(|ty| ty.bits() == width))
        .map(|m| m.text())
        .collect();
    (!types.is_empty()).then_some(Partial::SameWidth(types))
}

/// Whether some form with the modifiers begins with a constant.
fn takes_constant(opcode: Opcode, modifiers: &[Modifier]) -> bool {
    let selected = ptx_isa::find_form(opcode, modifiers);
    let first = selected.and_then(|(_, form, _)| form.operands().first());
    first.is_some_and(|o| matches!(o.role(), Role::Imm | Role::Use))
}

/// The number of elements of the first vector of the statement at `start`, if it is on the same line.
fn first_vector(src: &[u8], start: usize) -> usize {
    let line = &src[start..line_end(src, start)];
    let vector = memchr::memchr(b'{', line).and_then(|open| {
        let close = memchr::memchr(b'}', line)?;
        line.get(open..close)
    });
    let elements = vector.map(|v| v.split(|b| *b == b',').count());
    elements.unwrap_or(0)
}
