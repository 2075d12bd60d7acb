//! The nearest keyword of PTX to a misspelled one.

use alloc::format;
use alloc::vec::Vec;
use ptx_isa::{Directive, Modifier, Opcode};

/// The nearest opcode to the first word of a mnemonic: one that takes its modifiers, if one is near.
#[must_use]
pub fn opcode(mnemonic: &str) -> Option<&'static str> {
    let mut words = mnemonic.split('.');
    let word = words.next()?;
    let modifiers = words.filter_map(|w| Modifier::from_text(format!(".{w}").as_bytes()));
    let modifiers: Vec<Modifier> = modifiers.collect();
    let takes = |opcode: &&Opcode| {
        let known = |m: &Modifier| {
            let mut instructions = opcode.instructions().iter();
            instructions.any(|i| i.words().contains(m) || i.forms().iter().any(|f| f.accepts(*m)))
        };
        modifiers.iter().all(known)
    };
    let taking = Opcode::ALL.iter().filter(takes).map(|o| o.text());
    nearest(word, taking).or_else(|| nearest(word, Opcode::ALL.iter().map(|o| o.text())))
}

/// The nearest modifier, its dot included: one that the opcode takes, if one is near.
#[must_use]
pub fn modifier(opcode: Option<Opcode>, word: &str) -> Option<&'static str> {
    let forms = opcode
        .into_iter()
        .flat_map(|o| o.instructions())
        .flat_map(|i| i.forms());
    let own = forms.flat_map(|f| f.accepted()).map(|m| m.text());
    let longer = own
        .clone()
        .find(|m| m.strip_prefix(word).is_some_and(|r| r.starts_with("::")));
    nearest(word, own)
        .or(longer)
        .or_else(|| nearest(word, Modifier::ALL.iter().map(|m| m.text())))
}

/// The nearest directive, its dot included.
#[must_use]
pub fn directive(word: &str) -> Option<&'static str> {
    nearest(word, Directive::ALL.iter().map(|d| d.text()))
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
    nearest(word, names.into_iter())
}

/// The candidate with the fewest edits, if that is few enough for its length.
fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    nearest_of(word, candidates.map(|c| (c, ()))).map(|(c, ())| c)
}

/// [`nearest`] of candidates with something attached, which decides between equally near ones.
pub(crate) fn nearest_of<'a, T: Copy + Ord>(
    word: &str,
    candidates: impl Iterator<Item = (&'a str, T)>,
) -> Option<(&'a str, T)> {
    let most = (word.len() / 3).clamp(1, 3);
    let cost = if word.len() < 3 {
        INSERT
    } else {
        most * REPLACE
    };
    let near = candidates.filter(|(c, _)| c.len().abs_diff(word.len()) <= most);
    let measured = near.map(|c| (edits(word.as_bytes(), c.0.as_bytes()), c));
    let found = measured.filter(|&(d, _)| d <= cost);
    // The first letter is seldom wrong.
    let first = |c: &str| c.bytes().next() != word.bytes().next();
    let nearest = found.min_by_key(|&(d, (c, rest))| (d, rest, first(c), c));
    nearest.map(|(_, candidate)| candidate)
}

/// The costs of edits: of letters of other case, of a missing or additional letter or two swapped ones, of another letter.
const CASE: usize = 1;
const INSERT: usize = 2;
const REPLACE: usize = 3;

/// The cost of the edits between two words.
fn edits(a: &[u8], b: &[u8]) -> usize {
    if a.eq_ignore_ascii_case(b) {
        return CASE;
    }
    let (a, b) = different(a, b);
    distance(a, b)
}

/// Two words without their common prefix and suffix; names of C++ are long.
fn different<'a>(a: &'a [u8], b: &'a [u8]) -> (&'a [u8], &'a [u8]) {
    let pairs = a.iter().zip(b);
    let start = pairs.take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[start..], &b[start..]);
    let pairs = a.iter().rev().zip(b.iter().rev());
    let end = pairs.take_while(|(x, y)| x == y).count();
    (&a[..a.len() - end], &b[..b.len() - end])
}

/// Longest difference that is compared.
const LONGEST: usize = 48;

/// The weighted Levenshtein distance; a swap of neighbors is one edit.
fn distance(a: &[u8], b: &[u8]) -> usize {
    if a.len() > LONGEST || b.len() > LONGEST {
        return usize::MAX;
    }
    let mut rows = [[0usize; LONGEST + 1]; 3];
    for (j, cell) in rows[0].iter_mut().enumerate() {
        *cell = j * INSERT;
    }
    for i in 1..=a.len() {
        let (now, last, before) = (i % 3, (i + 2) % 3, (i + 1) % 3);
        rows[now][0] = i * INSERT;
        for j in 1..=b.len() {
            let (x, y) = (a[i - 1], b[j - 1]);
            let change = match x {
                _ if x == y => 0,
                _ if x.eq_ignore_ascii_case(&y) => CASE,
                _ => REPLACE,
            };
            let mut best = (rows[last][j - 1] + change)
                .min(rows[last][j] + INSERT)
                .min(rows[now][j - 1] + INSERT);
            if i > 1 && j > 1 && x == b[j - 2] && a[i - 2] == y {
                best = best.min(rows[before][j - 2] + INSERT);
            }
            rows[now][j] = best;
        }
    }
    rows[a.len() % 3][b.len()]
}
