//! The nearest keyword of PTX to a misspelled one.

use ptx_isa::{Directive, Modifier, Opcode};

/// The nearest opcode.
#[must_use]
pub fn opcode(word: &str) -> Option<&'static str> {
    nearest(word, Opcode::ALL.iter().map(|o| o.text()))
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
    let most = (word.len() / 3).clamp(1, 3);
    candidates
        .filter(|c| c.len().abs_diff(word.len()) <= most)
        .map(|c| (different(word.as_bytes(), c.as_bytes()), c))
        .map(|((a, b), c)| (distance(a, b), c))
        .filter(|&(d, _)| d <= most)
        .min()
        .map(|(_, c)| c)
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

/// The Levenshtein distance; a swap of neighbors is one edit.
fn distance(a: &[u8], b: &[u8]) -> usize {
    if a.len() > LONGEST || b.len() > LONGEST {
        return usize::MAX;
    }
    let mut rows = [[0usize; LONGEST + 1]; 3];
    for (j, cell) in rows[0].iter_mut().enumerate() {
        *cell = j;
    }
    for i in 1..=a.len() {
        let (now, last, before) = (i % 3, (i + 2) % 3, (i + 1) % 3);
        rows[now][0] = i;
        for j in 1..=b.len() {
            let change = (a[i - 1] != b[j - 1]) as usize;
            let mut best = (rows[last][j - 1] + change)
                .min(rows[last][j] + 1)
                .min(rows[now][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[before][j - 2] + 1);
            }
            rows[now][j] = best;
        }
    }
    rows[a.len() % 3][b.len()]
}
