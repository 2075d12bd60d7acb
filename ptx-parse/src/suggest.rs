//! Suggests the keyword that is nearest to a misspelled one.

use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Ordering;
use ptx_ir::Diagnostic;
use ptx_isa::internals::{InstQuery, ModifierEdit, TargetSet, Violation, find_form, operand_count};
use ptx_isa::{Directive, Modifier, Opcode, PtxVersion, ScalarType, Target};

/// The opcode that is nearest to the first word of a mnemonic. Near opcodes that have a form with all modifiers of the mnemonic
/// come first, then those that take each of its modifiers, then all others.
#[must_use]
pub fn opcode(mnemonic: &str) -> Option<&'static str> {
    opcode_of(mnemonic, None).map(|similar| similar.text)
}

/// [`opcode`] of an instruction, whose number of `operands` may be known.
pub(crate) fn opcode_of(mnemonic: &str, operands: Option<usize>) -> Option<Similar<'static>> {
    // The operands of a mnemonic with modifiers may not be written yet.
    let operands = operands.filter(|count| *count > 0 || !mnemonic.contains('.'));
    let mut words = mnemonic.split('.');
    let word = words.next()?;
    let modifiers: Vec<Modifier> = words
        .filter_map(|word| Modifier::from_text(format!(".{word}").as_bytes()))
        .collect();
    let near: Vec<Opcode> = Opcode::ALL
        .iter()
        .copied()
        .filter(|opcode| nearest(word, [opcode.text()].into_iter()).is_some())
        .collect();
    let with_form = near
        .iter()
        .filter(|opcode| has_form(**opcode, &modifiers, operands))
        .map(|opcode| opcode.text());
    if let Some(legal) = nearest(word, with_form) {
        return Some(legal);
    }
    // Short words of a statement are often words of other languages.
    if operands.is_some() && word.len() < SHORTEST_CERTAIN {
        return None;
    }
    let with_modifiers = near
        .iter()
        .filter(|opcode| modifiers.iter().all(|m| takes_modifier(**opcode, *m)))
        .map(|opcode| opcode.text());
    let similar = nearest(word, with_modifiers)
        .or_else(|| nearest(word, near.iter().map(|opcode| opcode.text())))?;
    Some(Similar {
        sole: false,
        ..similar
    })
}

/// Whether an instruction of an opcode takes a modifier.
fn takes_modifier(opcode: Opcode, modifier: Modifier) -> bool {
    opcode.instructions().iter().any(|instruction| {
        instruction.words().contains(&modifier)
            || instruction
                .forms()
                .iter()
                .any(|form| form.accepts(modifier))
    })
}

/// Whether a form of an opcode takes these modifiers and this number of `operands`, if it is known.
fn has_form(opcode: Opcode, modifiers: &[Modifier], operands: Option<usize>) -> bool {
    find_form(opcode, modifiers).is_some_and(|(instruction, ..)| {
        let choices = modifiers.get(instruction.words().len()..);
        instruction.forms().iter().any(|form| {
            let (least, most) = operand_count(form);
            let takes_choices = choices.is_some_and(|c| form.match_lenient(c).is_some());
            takes_choices && operands.is_none_or(|n| (least..=most).contains(&n))
        })
    })
}

/// The legal mnemonic with an opcode and some modifiers.
pub(crate) enum LegalMnemonic {
    /// The opcode with the modifiers. If one of several modifiers is missing, the usual one is added.
    Written(String),
    /// One of several modifiers is missing, and none is usual.
    Incomplete,
    /// No form takes the modifiers and the number of operands.
    Unknown,
}

impl LegalMnemonic {
    /// The legal mnemonic of an instruction with this number of operands.
    pub(crate) fn new(opcode: Opcode, modifiers: &[Modifier], operands: usize) -> Self {
        let written = |modifiers: &[Modifier]| {
            let words = modifiers.iter().map(|m| m.text());
            Self::Written(core::iter::once(opcode.text()).chain(words).collect())
        };
        if is_complete(opcode, modifiers, operands) {
            return written(modifiers);
        }
        let insertions: Vec<(Modifier, Vec<Modifier>)> = InstQuery::new(opcode, modifiers, &[])
            .repairs(PtxVersion::CURRENT, None)
            .iter()
            .filter_map(|repair| match repair.edit() {
                ModifierEdit::Insert(_, modifier) => {
                    Some((modifier, repair.edit().apply(modifiers)))
                }
                _ => None,
            })
            .filter(|(_, changed)| is_complete(opcode, changed, operands))
            .collect();
        let usual = insertions
            .iter()
            .find(|(m, _)| m.is_usual(opcode))
            .or_else(|| insertions.iter().find(|(m, _)| *m == Modifier::Rn));
        match usual {
            Some((_, changed)) => written(changed),
            None if insertions.is_empty() => Self::Unknown,
            None => Self::Incomplete,
        }
    }
}

/// Whether a documented form takes all of the modifiers and the number of operands, and no modifier is missing.
fn is_complete(opcode: Opcode, modifiers: &[Modifier], operands: usize) -> bool {
    InstQuery::new(opcode, modifiers, &[])
        .candidates()
        .filter(|form| !form.form().is_undocumented() && form.redundant().next().is_none())
        .filter(|form| form.targets(PtxVersion::CURRENT) != TargetSet::NONE)
        .any(|form| {
            let (least, most) = operand_count(form.form());
            let mut violations = form.violations().as_slice().iter();
            (least..=most).contains(&operands)
                && violations.all(|v| matches!(v, Violation::Operand(..) | Violation::Count(..)))
        })
}

/// The nearest modifier, its dot included. Modifiers that the opcode takes come first.
#[must_use]
pub fn modifier(opcode: Option<Opcode>, word: &str) -> Option<&'static str> {
    modifier_of(opcode, word).map(|similar| similar.text)
}

/// [`modifier`], and whether it is the only one that is as near.
pub(crate) fn modifier_of(opcode: Option<Opcode>, word: &str) -> Option<Similar<'static>> {
    let accepted = opcode
        .into_iter()
        .flat_map(|opcode| opcode.instructions())
        .flat_map(|instruction| instruction.forms())
        .flat_map(|form| form.accepted())
        .map(|modifier| modifier.text());
    nearest(word, accepted.clone())
        .or_else(|| completion(word, accepted))
        .or_else(|| nearest(word, Modifier::ALL.iter().map(|m| m.text())))
}

/// The word among `words` that begins with `word`, which has at least three letters. None if several words do.
pub(crate) fn completion<'a>(
    word: &str,
    words: impl Iterator<Item = &'a str>,
) -> Option<Similar<'a>> {
    const SHORTEST: usize = ".abc".len();
    let mut completions = words.filter(|text| text.len() > word.len() && text.starts_with(word));
    let text = completions.next().filter(|_| word.len() >= SHORTEST)?;
    let are_variants = completions.all(|other| without_variant(other) == without_variant(text));
    are_variants.then_some(Similar { text, sole: true })
}

/// The part of a modifier before `::`, which the variants of a modifier share.
fn without_variant(modifier: &str) -> &str {
    modifier.split("::").next().unwrap_or(modifier)
}

/// The nearest directive, its dot included.
#[must_use]
pub fn directive(word: &str) -> Option<&'static str> {
    directive_of(word).map(|similar| similar.text)
}

/// [`directive`], and whether it is the only one that is as near.
pub(crate) fn directive_of(word: &str) -> Option<Similar<'static>> {
    nearest(word, Directive::ALL.iter().map(|d| d.text()))
}

/// The nearest type that registers, variables or parameters can have, its dot included.
pub(crate) fn ty(word: &str) -> Option<Similar<'static>> {
    let types = ScalarType::ALL
        .iter()
        .filter(|ty| ty.is_register_type() || ty.is_variable_type() || ty.is_parameter_type())
        .map(|ty| ty.text());
    nearest(word, types)
}

/// The target that a word most likely means: the one with the same number, or else the nearest one. Among equally near targets,
/// the one with the nearest number.
pub(crate) fn target(word: &str) -> Option<Similar<'static>> {
    let suffix = word.trim_start_matches(|c: char| !c.is_ascii_digit());
    let digits = suffix.trim_end_matches(|c: char| !c.is_ascii_digit());
    // The number may have a letter after it, as in `sm_90a`.
    let with_letter = suffix.get(..digits.len() + 1).unwrap_or(suffix);
    let numbered = [with_letter, digits]
        .into_iter()
        .find_map(|number| Target::from_text(format!("sm_{number}").as_bytes()));
    if let Some(target) = numbered {
        return Some(Similar {
            text: target.text(),
            sole: true,
        });
    }
    let number: u32 = digits.parse().unwrap_or(0);
    let targets = Target::ALL
        .iter()
        .map(|target| target.text())
        .map(|name| (name, number.abs_diff(number_in(name))));
    nearest_of(word, targets).map(|(similar, _)| similar)
}

/// The number that the digits of a name are.
fn number_in(name: &str) -> u32 {
    name.bytes()
        .filter(u8::is_ascii_digit)
        .fold(0, |number, digit| number * 10 + u32::from(digit - b'0'))
}

/// The nearest of these names.
///
/// ```
/// let names = ["_Z4axpyfPfS_", "reduce"];
/// assert_eq!(ptx_parse::suggest::name("redcue", names), Some("reduce"));
/// assert_eq!(ptx_parse::suggest::name("scan", names), None);
/// ```
#[must_use]
pub fn name<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    nearest(word, names.into_iter()).map(|similar| similar.text)
}

/// The candidate with the least cost of edits, if the cost is low enough for the length of the word.
fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<Similar<'a>> {
    nearest_of(word, candidates.map(|c| (c, ()))).map(|(similar, ())| similar)
}

/// A word that another one is similar to.
#[derive(Copy, Clone)]
pub(crate) struct Similar<'a> {
    pub(crate) text: &'a str,
    /// Whether no other word is equally similar.
    pub(crate) sole: bool,
}

/// [`nearest`] of candidates with a rank, the least of which is preferred among equally near candidates.
pub(crate) fn nearest_of<'a, T: Copy + Ord>(
    word: &str,
    candidates: impl Iterator<Item = (&'a str, T)>,
) -> Option<(Similar<'a>, T)> {
    let most_length_difference = (word.len() / 3).clamp(1, 3);
    let most_cost = most_edits(word);
    let mut best: Option<((usize, T, bool), Similar<'a>)> = None;
    for (text, rank) in candidates {
        if text.len().abs_diff(word.len()) > most_length_difference {
            continue;
        }
        let cost = edits(word.as_bytes(), text.as_bytes());
        if cost > most_cost {
            continue;
        }
        // The first letter is seldom wrong.
        let has_other_initial = text.bytes().next() != word.bytes().next();
        let key = (cost, rank, has_other_initial);
        let order = best.map_or(Ordering::Less, |(best_key, similar)| {
            key.cmp(&best_key).then(text.cmp(similar.text))
        });
        let is_tied =
            best.is_some_and(|(best_key, similar)| best_key == key && similar.text != text);
        match &mut best {
            Some((_, similar)) if is_tied && order.is_gt() => similar.sole = false,
            _ if order.is_lt() => {
                let sole = !is_tied;
                best = Some((key, Similar { text, sole }));
            }
            _ => {}
        }
    }
    best.map(|((_, rank, _), similar)| (similar, rank))
}

/// The maximum cost of the edits between similar words.
pub(crate) fn most_edits(word: &str) -> usize {
    match word.len() {
        ..3 => INSERT,
        len => (len / 3).clamp(1, 3) * REPLACE,
    }
}

/// The cost of a letter in the other case.
const CASE: usize = 1;
/// The cost of a missing or additional letter, or of two swapped letters.
const INSERT: usize = 2;
/// The cost of a letter whose key is next to the right one.
const BESIDE: usize = 2;
/// The cost of another letter.
const REPLACE: usize = 3;

/// The length of the shortest words whose correction can be certain. Shorter ones are often words of other languages, and differ
/// in one letter from other words.
const SHORTEST_CERTAIN: usize = 5;

/// Marks the edit of a diagnostic, which writes `text` for `word`, as machine-applicable if `word` can mean nothing else.
pub(crate) fn judged(diagnostic: Diagnostic, word: &str, text: &str) -> Diagnostic {
    if is_certain(word, text) {
        diagnostic.machine_applicable()
    } else {
        diagnostic
    }
}

/// Whether `word` can only mean the keyword `text`: it is the keyword in other case or without its dot, or a long word with one
/// mistyped letter inside, and no other keyword is as near.
fn is_certain(word: &str, text: &str) -> bool {
    let keyword = without_dot(text);
    let word = without_dot(word);
    if word.eq_ignore_ascii_case(keyword) {
        return true;
    }
    let is_other_than_letter = |c: &char| !c.is_ascii_alphabetic();
    let have_other_digits = !word
        .chars()
        .filter(is_other_than_letter)
        .eq(keyword.chars().filter(is_other_than_letter));
    let (a, b) = (word.as_bytes(), keyword.as_bytes());
    if keyword.len() < SHORTEST_CERTAIN
        || have_other_digits
        || (a.first(), a.last()) != (b.first(), b.last())
        || edits(a, b) > INSERT
    {
        return false;
    }
    let opcodes = Opcode::ALL.iter().map(|opcode| opcode.text());
    let modifiers = Modifier::ALL.iter().map(|modifier| modifier.text());
    let directives = Directive::ALL.iter().map(|directive| directive.text());
    !opcodes
        .chain(modifiers)
        .chain(directives)
        .map(without_dot)
        .any(|other| other != keyword && edits(a, other.as_bytes()) <= 2 * INSERT)
}

fn without_dot(word: &str) -> &str {
    word.strip_prefix('.').unwrap_or(word)
}

/// The position of each character on a keyboard, + 1; 0 for other characters. Neighboring keys have neighboring positions.
const KEYS: [u8; 256] = {
    let mut keys = [0; 256];
    let rows = b"1234567890  qwertyuiop  asdfghjkl  zxcvbnm";
    let mut position = 0;
    while position < rows.len() {
        keys[rows[position] as usize] = position as u8 + 1;
        position += 1;
    }
    keys[b' ' as usize] = 0;
    keys
};

/// Whether the keys of two letters are next to each other.
fn beside(a: u8, b: u8) -> bool {
    let (a, b) = (KEYS[usize::from(a)], KEYS[usize::from(b)]);
    a != 0 && b != 0 && a.abs_diff(b) == 1
}

/// The cost of the edits between two words.
pub(crate) fn edits(a: &[u8], b: &[u8]) -> usize {
    if a.eq_ignore_ascii_case(b) {
        return CASE;
    }
    let (a, b) = without_common_parts(a, b);
    distance(a, b)
}

/// Two words without their common prefix and suffix. Mangled names of C++ are long.
fn without_common_parts<'a>(a: &'a [u8], b: &'a [u8]) -> (&'a [u8], &'a [u8]) {
    let prefix_len = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[prefix_len..], &b[prefix_len..]);
    let suffix_len = a
        .iter()
        .rev()
        .zip(b.iter().rev())
        .take_while(|(x, y)| x == y)
        .count();
    (&a[..a.len() - suffix_len], &b[..b.len() - suffix_len])
}

/// The length of the longest words that are compared, without their common parts, in bytes.
const LONGEST: usize = 48;

/// The weighted Levenshtein distance, in which a swap of neighboring letters is one edit. Only the last three rows of the
/// matrix are kept.
fn distance(a: &[u8], b: &[u8]) -> usize {
    if a.len() > LONGEST || b.len() > LONGEST {
        return usize::MAX;
    }
    let mut rows = [[0usize; LONGEST + 1]; 3];
    for (j, cell) in rows[0].iter_mut().enumerate() {
        *cell = j * INSERT;
    }
    for i in 1..=a.len() {
        let (row, previous, second_previous) = (i % 3, (i + 2) % 3, (i + 1) % 3);
        rows[row][0] = i * INSERT;
        for j in 1..=b.len() {
            let (x, y) = (a[i - 1], b[j - 1]);
            let replace_cost = match x {
                _ if x == y => 0,
                _ if x.eq_ignore_ascii_case(&y) => CASE,
                _ if beside(x, y) => BESIDE,
                _ => REPLACE,
            };
            let mut best = (rows[previous][j - 1] + replace_cost)
                .min(rows[previous][j] + INSERT)
                .min(rows[row][j - 1] + INSERT);
            if i > 1 && j > 1 && x == b[j - 2] && a[i - 2] == y {
                best = best.min(rows[second_previous][j - 2] + INSERT);
            }
            rows[row][j] = best;
        }
    }
    rows[a.len() % 3][b.len()]
}
