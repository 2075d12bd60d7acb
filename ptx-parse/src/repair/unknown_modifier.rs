//! Repairs of unknown modifiers: the modifiers that are legal beside the others of the mnemonic.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use ptx_ir::{Diagnostic, Module, SigId, Span};
use ptx_isa::internals::{ForeignWord, ModifierEdit};
use ptx_isa::{Modifier, Opcode, Role};

use crate::repair::keyword::{correct, joined_keyword_len, replace, separate, suggestion};
use crate::statement_extent::line_end;
use crate::suggest::{self, Similar};

/// The maximum number of modifiers that a message lists.
const MOST_LISTED: usize = 12;

/// The modifiers that an unknown one may mean.
#[derive(Clone, Default)]
pub(crate) struct Choices {
    /// The modifiers that make the mnemonic legal; the most similar ones first.
    legal: Vec<&'static str>,
    /// Whether the first legal modifier is similar to the unknown one, and no other legal modifier is as similar.
    first_is_similar: bool,
    /// Whether the first legal modifier can be an example: it is the only one, or more similar than the others.
    first_is_example: bool,
    /// The most similar one of all modifiers.
    nearest: Option<Similar<'static>>,
    /// Whether the unknown modifier may be an operand: it is a number, and the instruction without it takes a constant.
    is_operand: bool,
    /// Whether the keyword for a word of another language is legal here.
    accepts_translation: bool,
    /// The first legal modifier that the help about a word of another language mentions.
    mentioned: Option<&'static str>,
    /// The reason why the keyword for a word of another language is not legal here.
    obstacle: Option<Obstacle>,
}

/// The reason why the keyword for a word of another language does not make the mnemonic legal.
#[derive(Clone)]
enum Obstacle {
    /// The opcode takes the keyword, but then needs one of further modifiers.
    Incomplete {
        keyword: &'static str,
        missing: Vec<&'static str>,
    },
    /// The opcode does not take the keyword, which is a type, but these types of the same width.
    SameWidth(Vec<&'static str>),
}

/// A cache of the choices for the word at an offset of a mnemonic.
pub(crate) type KnownChoices = BTreeMap<(SigId, u32), Choices>;

/// An unknown modifier.
#[derive(Copy, Clone)]
pub(crate) struct UnknownModifier {
    pub(crate) sig: SigId,
    /// The offset of the mnemonic in the source.
    pub(crate) start: usize,
    /// The offset of the modifier in the mnemonic.
    pub(crate) word: u32,
}

/// Completes the error of an unknown modifier.
pub(crate) fn explain(
    module: &Module,
    known_choices: &mut KnownChoices,
    error: Diagnostic,
    place: UnknownModifier,
) -> Diagnostic {
    let UnknownModifier { sig, start, word } = place;
    let signature = module.signature(sig);
    let words = || signature.words().iter();
    let unknown = words().find(|w| w.start == word);
    let (Some(opcode), Some(unknown)) = (signature.opcode(), unknown) else {
        return error;
    };
    let text = signature.word_text(*unknown);
    if let Some(length) = joined_keyword_len(text) {
        return separate(error, text, length);
    }
    let choices = known_choices.entry((sig, word)).or_insert_with(|| {
        let preceding: Vec<Modifier> = words()
            .filter(|w| w.start < word)
            .filter_map(|w| w.modifier)
            .collect();
        let following: Vec<Modifier> = words()
            .filter(|w| w.start >= word)
            .filter_map(|w| w.modifier)
            .collect();
        Choices::new(opcode, &preceding, &following, text)
    });
    let mnemonic = signature.text().get(..word as usize).unwrap_or_default();
    choices.explain(error, mnemonic, text, first_vector(module.source(), start))
}

impl Choices {
    /// The choices for `word`, which is between the modifiers `preceding` and `following`.
    fn new(opcode: Opcode, preceding: &[Modifier], following: &[Modifier], word: &str) -> Self {
        let modifiers: Vec<Modifier> = preceding.iter().chain(following).copied().collect();
        let index = preceding.len();
        let possible = opcode.completions(&modifiers, index);
        let is_possible = |text: &str| possible.iter().any(|m| m.text() == text);
        let foreign = ForeignWord::from_text(word);
        let translation = foreign.and_then(ForeignWord::instead);
        let accepts_translation = translation.is_some_and(is_possible);
        let obstacle = translation
            .filter(|_| !accepts_translation)
            .and_then(|text| Modifier::from_text(text.as_bytes()))
            .and_then(|keyword| obstacle(opcode, &modifiers, index, keyword, &possible));
        let mentioned = foreign
            .and_then(ForeignWord::help)
            .and_then(|help| help.split('`').find(|text| is_possible(text)));
        let lower = word.to_ascii_lowercase();
        // If a word is in upper case, the other modifiers may be unknown as well.
        let in_lower_case = possible
            .iter()
            .find(|m| m.text().eq_ignore_ascii_case(&lower))
            .copied()
            .or_else(|| Modifier::from_text(lower.as_bytes()));
        let word = lower.as_str();
        let mut ranked: Vec<(usize, &'static str)> = possible
            .iter()
            .map(|m| {
                let cost = suggest::edits(word.as_bytes(), m.text().as_bytes());
                (cost, m.text())
            })
            .collect();
        ranked.sort_unstable();
        let least_cost = ranked.first().map_or(usize::MAX, |(cost, _)| *cost);
        let is_similar = least_cost <= suggest::most_edits(word);
        let letters = letters(word);
        // Words with the same letters and other digits are as likely as the word with the least cost.
        let is_likely = |cost: usize, text: &str| {
            is_similar && cost == least_cost
                || !letters.is_empty() && letters == self::letters(text)
        };
        let any_likely = ranked.iter().any(|(cost, text)| is_likely(*cost, text));
        let completion = suggest::completion(word, ranked.iter().map(|(_, text)| *text))
            .filter(|_| !is_similar)
            .map(|completion| completion.text);
        let legal: Vec<&'static str> = ranked
            .iter()
            .filter(|(cost, text)| match completion {
                Some(completion) => *text == completion,
                None => !any_likely || is_likely(*cost, text),
            })
            .map(|(_, text)| *text)
            .collect();
        let has_other_length = ranked
            .first()
            .is_some_and(|(_, text)| text.len() != word.len());
        let nearest_count = ranked
            .iter()
            .filter(|(cost, _)| *cost == least_cost)
            .count();
        let is_number = word.bytes().skip(1).all(|b| b.is_ascii_digit());
        Self {
            first_is_example: legal.len() == 1 || any_likely && nearest_count == 1,
            legal,
            first_is_similar: is_similar
                && nearest_count == 1
                && (word.len() > 3 || has_other_length),
            nearest: match in_lower_case {
                Some(modifier) => Some(Similar {
                    text: modifier.text(),
                    sole: true,
                }),
                None => suggest::modifier_of(Some(opcode), word),
            },
            is_operand: is_number && following.is_empty() && takes_constant(opcode, preceding),
            accepts_translation,
            mentioned,
            obstacle,
        }
    }

    /// Completes the error about `word`. `elements` is the number of elements of the first vector among the operands.
    fn explain(
        &self,
        error: Diagnostic,
        mnemonic: &str,
        word: &str,
        elements: usize,
    ) -> Diagnostic {
        let span = error.span;
        if self.is_operand {
            let number = word.trim_start_matches('.');
            return error
                .with_help(format!(
                    "an operand follows white space: `{mnemonic} {number}`"
                ))
                .with_fix(Span::new(span.start, span.start + 1), " ");
        }
        let is_foreign = ForeignWord::from_text(word)
            .is_some_and(|foreign| foreign.help().is_some() || self.accepts_translation);
        if is_foreign {
            let error = correct(error, word, None);
            return match self.mentioned.filter(|_| error.fix.is_empty()) {
                Some(text) => {
                    let help = error.help.clone().unwrap_or_default();
                    error
                        .with_help(format!("{help}; for example `{text}`"))
                        .with_fix(span, text)
                }
                None => error,
            };
        }
        match &self.obstacle {
            Some(Obstacle::Incomplete { keyword, missing }) => {
                let missing = quoted(missing);
                return error.with_help(format!(
                    "did you mean `{keyword}`? It needs one of {missing} as well"
                ));
            }
            Some(Obstacle::SameWidth(types)) => return error.with_help(list(types)),
            None => {}
        }
        let vector = format!(".v{elements}");
        if let Some(text) = self.legal.iter().find(|m| **m == vector) {
            return error.with_help(list(&self.legal)).with_fix(span, *text);
        }
        let in_other_case = self.nearest.filter(|n| n.text.eq_ignore_ascii_case(word));
        match self.legal.as_slice() {
            _ if in_other_case.is_some() => replace(error, word, in_other_case),
            [modifier] if self.first_is_similar => {
                let error = error
                    .with_help(suggestion(modifier))
                    .with_fix(span, *modifier);
                suggest::judged(error, word, modifier)
            }
            [first, ..] if self.legal.len() <= MOST_LISTED => {
                let error = error.with_help(list(&self.legal));
                if !self.first_is_example {
                    return error;
                }
                // A vector length that is not that of the operand is not an example.
                let is_length =
                    Modifier::from_text(first.as_bytes()).is_some_and(|m| m.vector_len().is_some());
                if is_length && elements > 0 {
                    error
                } else {
                    error.with_fix(span, *first)
                }
            }
            _ => replace(error, word, self.nearest),
        }
    }
}

/// The letters of a word, without its digits.
fn letters(word: &str) -> String {
    word.chars().filter(char::is_ascii_alphabetic).collect()
}

fn list(words: &[&str]) -> String {
    match words {
        [word] => format!("did you mean `{word}`?"),
        _ => format!("did you mean one of {}?", quoted(words)),
    }
}

fn quoted(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|w| format!("`{w}`")).collect();
    words.join(", ")
}

/// The reason why `keyword`, which is not among the possible ones, is not legal before the modifier with an index.
fn obstacle(
    opcode: Opcode,
    modifiers: &[Modifier],
    index: usize,
    keyword: Modifier,
    possible: &[Modifier],
) -> Option<Obstacle> {
    let changed = ModifierEdit::Insert(index, keyword).apply(modifiers);
    let missing = opcode.completions(&changed, index + 1);
    let mut forms = opcode.instructions().iter().flat_map(|i| i.forms());
    if !missing.is_empty() && forms.any(|f| f.accepts(keyword)) {
        return Some(Obstacle::Incomplete {
            keyword: keyword.text(),
            missing: missing.iter().map(|m| m.text()).collect(),
        });
    }
    let width = keyword.scalar_type()?.bits();
    let types: Vec<&'static str> = possible
        .iter()
        .filter(|m| m.scalar_type().is_some_and(|ty| ty.bits() == width))
        .map(|m| m.text())
        .collect();
    (!types.is_empty()).then_some(Obstacle::SameWidth(types))
}

/// Whether the first operand of a form with the modifiers can be a constant.
fn takes_constant(opcode: Opcode, modifiers: &[Modifier]) -> bool {
    let selected = ptx_isa::internals::find_form(opcode, modifiers);
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
