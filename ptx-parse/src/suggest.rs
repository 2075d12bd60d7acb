//! The nearest keyword of PTX to a misspelled one.

use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Ordering;
use ptx_ir::Diagnostic;
use ptx_isa::{
    Directive, InstQuery, Modifier, ModifierEdit, Opcode, PtxVersion, ScalarType, Target,
    TargetSet, Violation, find_form, operand_count,
};

/// The nearest opcode to the first word of a mnemonic: one with a form of its modifiers, else one that takes its modifiers, if
/// one is near.
#[must_use]
pub fn opcode(mnemonic: &str) -> Option<&'static str> {
    opcode_of(mnemonic, None).map(|s| s.text)
}

/// [`opcode`] of an instruction with this many operands, if that is known.
pub(crate) fn opcode_of(mnemonic: &str, operands: Option<usize>) -> Option<Similar<'static>> {
    // A mnemonic with modifiers and without operands is perhaps not written to its end.
    let operands = operands.filter(|count| *count > 0 || !mnemonic.contains('.'));
    let mut words = mnemonic.split('.');
    let word = words.next()?;
    let modifiers = words.filter_map(|w| Modifier::from_text(format!(".{w}").as_bytes()));
    let modifiers: Vec<Modifier> = modifiers.collect();
    let has_form = |opcode: &&Opcode| has_form(**opcode, &modifiers, operands);
    let takes = |opcode: &&Opcode| {
        let known = |m: &Modifier| {
            let mut instructions = opcode.instructions().iter();
            instructions.any(|i| i.words().contains(m) || i.forms().iter().any(|f| f.accepts(*m)))
        };
        modifiers.iter().all(known)
    };
    let near = |opcode: &&&Opcode| nearest(word, [opcode.text()].into_iter()).is_some();
    let near: Vec<&Opcode> = Opcode::ALL.iter().filter(|o| near(&o)).collect();
    let near = || near.iter().copied();
    if let Some(legal) = nearest(word, near().filter(has_form).map(|o| o.text())) {
        return Some(legal);
    }
    // Short words of a statement are often words of other languages.
    if operands.is_some() && word.len() < SHORTEST_CERTAIN {
        return None;
    }
    let found = nearest(word, near().filter(takes).map(|o| o.text()))
        .or_else(|| nearest(word, near().map(|o| o.text())))?;
    let sole = false;
    Some(Similar { sole, ..found })
}

/// Whether a form of an opcode takes these modifiers and, if it is known, as many operands.
pub(crate) fn has_form(opcode: Opcode, modifiers: &[Modifier], operands: Option<usize>) -> bool {
    find_form(opcode, modifiers).is_some_and(|(instruction, ..)| {
        let rest = modifiers.get(instruction.words().len()..);
        let mut forms = instruction.forms().iter();
        forms.any(|f| {
            let (least, most) = operand_count(f);
            let taken = rest.is_some_and(|r| f.match_lenient(r).is_some());
            taken && operands.is_none_or(|n| (least..=most).contains(&n))
        })
    })
}

/// The legal mnemonic that an opcode makes of some modifiers.
pub(crate) enum LegalMnemonic {
    /// The opcode with the modifiers, perhaps with the most usual one of those of which one is missing.
    Written(String),
    /// One of several modifiers is missing.
    Incomplete,
    /// No form takes the modifiers and as many operands, as far as they show.
    Unknown,
}

impl LegalMnemonic {
    /// Of an instruction with this many operands.
    pub(crate) fn of(opcode: Opcode, modifiers: &[Modifier], operands: usize) -> Self {
        let spelled = |modifiers: &[Modifier]| {
            let words = modifiers.iter().map(|m| m.text());
            Self::Written(core::iter::once(opcode.text()).chain(words).collect())
        };
        if is_complete(opcode, modifiers, operands) {
            return spelled(modifiers);
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
            Some((_, changed)) => spelled(changed),
            None if insertions.is_empty() => Self::Unknown,
            None => Self::Incomplete,
        }
    }
}

/// Whether a documented form takes all of the modifiers and as many operands, and no modifier is missing.
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

/// The nearest modifier, its dot included: one that the opcode takes, if one is near.
#[must_use]
pub fn modifier(opcode: Option<Opcode>, word: &str) -> Option<&'static str> {
    modifier_of(opcode, word).map(|s| s.text)
}

/// [`modifier`], and whether it is the only one that is as near.
pub(crate) fn modifier_of(opcode: Option<Opcode>, word: &str) -> Option<Similar<'static>> {
    let forms = opcode
        .into_iter()
        .flat_map(|o| o.instructions())
        .flat_map(|i| i.forms());
    let own = forms.flat_map(|f| f.accepted()).map(|m| m.text());
    nearest(word, own.clone())
        .or_else(|| completion(word, own))
        .or_else(|| nearest(word, Modifier::ALL.iter().map(|m| m.text())))
}

/// The only one of these words that begins with a word of at least three letters.
pub(crate) fn completion<'a>(
    word: &str,
    words: impl Iterator<Item = &'a str>,
) -> Option<Similar<'a>> {
    const SHORTEST: usize = ".abc".len();
    let mut longer = words.filter(|m| m.len() > word.len() && m.starts_with(word));
    let text = longer.next().filter(|_| word.len() >= SHORTEST)?;
    // One that continues with `::` is a variant of a shorter one.
    let part = |text: &str| text.find("::").unwrap_or(text.len());
    let same = |other: &str| other.get(..part(other)) == text.get(..part(text));
    let sole = true;
    longer.all(same).then_some(Similar { text, sole })
}

/// The nearest directive, its dot included.
#[must_use]
pub fn directive(word: &str) -> Option<&'static str> {
    directive_of(word).map(|s| s.text)
}

/// [`directive`], and whether it is the only one that is as near.
pub(crate) fn directive_of(word: &str) -> Option<Similar<'static>> {
    nearest(word, Directive::ALL.iter().map(|d| d.text()))
}

/// The nearest type that registers, variables or parameters can have, its dot included.
pub(crate) fn ty(word: &str) -> Option<Similar<'static>> {
    let mut types: Vec<ScalarType> = ScalarType::ALL.to_vec();
    types.retain(|t| t.is_register_type() || t.is_variable_type() || t.is_parameter_type());
    nearest(word, types.iter().map(|t| t.text()))
}

/// The target that a word most likely names: of the same number, else the nearest one.
pub(crate) fn target(word: &str) -> Option<Similar<'static>> {
    let number = word.trim_start_matches(|c: char| !c.is_ascii_digit());
    let digits = number.trim_end_matches(|c: char| !c.is_ascii_digit());
    let number = number.get(..digits.len() + 1).unwrap_or(number);
    let named = |digits| Target::from_text(format!("sm_{digits}").as_bytes());
    let sole = true;
    match named(number).or_else(|| named(digits)) {
        Some(target) => Some(Similar {
            text: target.text(),
            sole,
        }),
        // Of equally similar ones, that with the nearest number.
        None => {
            let number: u32 = digits.parse().unwrap_or(0);
            let of = |name: &str| -> u32 {
                let digits = name.bytes().filter(u8::is_ascii_digit);
                digits.fold(0, |n, digit| n * 10 + u32::from(digit - b'0'))
            };
            let targets = Target::ALL.iter().map(|t| t.text());
            let targets = targets.map(|name| (name, number.abs_diff(of(name))));
            nearest_of(word, targets).map(|(similar, _)| similar)
        }
    }
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
    nearest(word, names.into_iter()).map(|s| s.text)
}

/// The candidate with the fewest edits, if that is few enough for its length.
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

/// [`nearest`] of candidates with something attached, which decides between equally near ones.
pub(crate) fn nearest_of<'a, T: Copy + Ord>(
    word: &str,
    candidates: impl Iterator<Item = (&'a str, T)>,
) -> Option<(Similar<'a>, T)> {
    let most = (word.len() / 3).clamp(1, 3);
    let cost = most_edits(word);
    let near = candidates.filter(|(c, _)| c.len().abs_diff(word.len()) <= most);
    let measured = near.map(|c| (edits(word.as_bytes(), c.0.as_bytes()), c));
    let found = measured.filter(|&(d, _)| d <= cost);
    // The first letter is seldom wrong.
    let first = |c: &str| c.bytes().next() != word.bytes().next();
    let ranked = found.map(|(d, (c, rest))| ((d, rest, first(c)), c));
    let mut best: Option<((usize, T, bool), Similar<'a>)> = None;
    for (rank, text) in ranked {
        let order = best.map_or(Ordering::Less, |(first, s)| {
            rank.cmp(&first).then(text.cmp(s.text))
        });
        let tied = best.is_some_and(|(first, s)| first == rank && s.text != text);
        match &mut best {
            Some((_, similar)) if tied && order.is_gt() => similar.sole = false,
            _ if order.is_lt() => best = Some((rank, Similar { text, sole: !tied })),
            _ => {}
        }
    }
    best.map(|((_, rest, _), similar)| (similar, rest))
}

/// The greatest cost of the edits to a similar word.
pub(crate) fn most_edits(word: &str) -> usize {
    match word.len() {
        ..3 => INSERT,
        len => (len / 3).clamp(1, 3) * REPLACE,
    }
}

/// The costs of edits: of letters of other case, of a missing or additional letter or two swapped ones, of the letter of a
/// key beside, of another letter.
const CASE: usize = 1;
const INSERT: usize = 2;
const BESIDE: usize = 2;
const REPLACE: usize = 3;

/// Shorter words are often words of other languages, and one letter makes another word of them.
const SHORTEST_CERTAIN: usize = 5;

/// Marks the fix of a diagnostic, which writes `text` for `found`, if nothing else can be meant.
pub(crate) fn judged(d: Diagnostic, found: &str, text: &str) -> Diagnostic {
    if is_certain(found, text) {
        d.machine_applicable()
    } else {
        d
    }
}

/// Whether only `text` can be meant by `found`: it is the same word in other case or without its dot, or a long word with one
/// mistyped letter inside, and no other word of PTX is as near.
fn is_certain(found: &str, text: &str) -> bool {
    let bare = text.strip_prefix('.').unwrap_or(text);
    let word = found.strip_prefix('.').unwrap_or(found);
    if word.eq_ignore_ascii_case(bare) {
        return true;
    }
    let other = |c: &char| !c.is_ascii_alphabetic();
    let (a, b) = (word.as_bytes(), bare.as_bytes());
    if bare.len() < SHORTEST_CERTAIN
        || !word.chars().filter(other).eq(bare.chars().filter(other))
        || (a.first(), a.last()) != (b.first(), b.last())
        || edits(a, b) > INSERT
    {
        return false;
    }
    let opcodes = Opcode::ALL.iter().map(|o| o.text());
    let modifiers = Modifier::ALL.iter().map(|m| m.text());
    let directives = Directive::ALL.iter().map(|d| d.text());
    let all = opcodes.chain(modifiers).chain(directives);
    let mut all = all.map(|text| text.strip_prefix('.').unwrap_or(text));
    !all.any(|other| other != bare && edits(a, other.as_bytes()) <= 2 * INSERT)
}

/// The place of each character on a keyboard; those of keys that are next to each other differ by one.
const KEYS: [u8; 256] = {
    let mut keys = [0; 256];
    let rows = b"1234567890  qwertyuiop  asdfghjkl  zxcvbnm";
    let mut place = 0;
    while place < rows.len() {
        keys[rows[place] as usize] = place as u8 + 1;
        place += 1;
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
                _ if beside(x, y) => BESIDE,
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
