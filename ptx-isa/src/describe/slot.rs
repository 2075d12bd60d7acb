//! Lists of modifiers, long runs as ranges: `.m64n{8..256 step 8}k16`.

use core::fmt::Display;

use super::Phrases;
use crate::{Modifier, Slot};

/// The alternatives of a slot: single modifiers, then sequences.
#[must_use]
pub fn alternatives(slot: &Slot) -> impl Display {
    super::from_fn(move |f| {
        let singles = slot.words().as_slice();
        write!(f, "{}", words(singles))?;
        for (i, sequence) in slot.sequences().iter().enumerate() {
            if i > 0 || !singles.is_empty() {
                f.write_str(" ")?;
            }
            sequence.iter().try_for_each(|w| write!(f, "{w}"))?;
        }
        Ok(())
    })
}

/// Modifiers separated by spaces.
#[must_use]
pub fn words(list: &[Modifier]) -> impl Display {
    super::from_fn(move |f| {
        let mut all = Phrases::new(f, " ");
        let mut rest = list;
        while let Some((first, tail)) = rest.split_first() {
            match run(rest) {
                Some(run) => {
                    let Run {
                        before,
                        low,
                        high,
                        step,
                        after,
                        len,
                    } = run;
                    if step == 1 {
                        all.add(format_args!("{before}{{{low}..{high}}}{after}"))?;
                    } else {
                        all.add(format_args!("{before}{{{low}..{high} step {step}}}{after}"))?;
                    }
                    rest = rest.get(len..).unwrap_or(&[]);
                }
                None => {
                    all.add(format_args!("{first}"))?;
                    rest = tail;
                }
            }
        }
        Ok(())
    })
}

/// Modifiers that differ in one number, which increases in equal steps.
struct Run {
    before: &'static str,
    low: u32,
    high: u32,
    step: u32,
    after: &'static str,
    len: usize,
}

/// The minimum length of a run that is written as a range.
const LONG: usize = 6;

fn run(list: &[Modifier]) -> Option<Run> {
    let (first, second) = (list.first()?.text(), list.get(1)?.text());
    let (before, _) = first.split_at(number_start(first, second)?);
    let (low, after) = number(first, before)?;
    let (next, _) = number(second, before)?;
    let step = next.checked_sub(low).filter(|&s| s > 0)?;
    let goes_on = |(i, word): (usize, &Modifier)| {
        let wanted = (low + step * i as u32, after);
        number(word.text(), before) == Some(wanted)
    };
    let len = list
        .iter()
        .enumerate()
        .take_while(|&each| goes_on(each))
        .count();
    (len >= LONG).then(|| Run {
        before,
        low,
        high: low + step * (len as u32 - 1),
        step,
        after,
        len,
    })
}

/// The offset of the number in which two texts differ.
fn number_start(first: &str, second: &str) -> Option<usize> {
    let differs = first
        .bytes()
        .zip(second.bytes())
        .position(|(a, b)| a != b)?;
    let head = first.get(..differs)?;
    Some(head.trim_end_matches(|c: char| c.is_ascii_digit()).len())
}

/// The number after a prefix, and the rest.
fn number(word: &'static str, before: &str) -> Option<(u32, &'static str)> {
    let rest = word.strip_prefix(before)?;
    let end = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    let (digits, after) = rest.split_at(end);
    if digits.starts_with('0') && digits.len() > 1 {
        return None;
    }
    Some((digits.parse().ok()?, after))
}
