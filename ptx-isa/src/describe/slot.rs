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
        let mut unwritten = list;
        while let Some((first, tail)) = unwritten.split_first() {
            if let Some(run) = first_run(unwritten) {
                let Run {
                    prefix,
                    low,
                    high,
                    step,
                    suffix,
                    len,
                } = run;
                if step == 1 {
                    all.add(format_args!("{prefix}{{{low}..{high}}}{suffix}"))?;
                } else {
                    all.add(format_args!(
                        "{prefix}{{{low}..{high} step {step}}}{suffix}"
                    ))?;
                }
                unwritten = unwritten.get(len..).unwrap_or(&[]);
            } else {
                all.add(format_args!("{first}"))?;
                unwritten = tail;
            }
        }
        Ok(())
    })
}

/// Modifiers that differ in one number, which increases in equal steps.
struct Run {
    prefix: &'static str,
    low: u32,
    high: u32,
    step: u32,
    suffix: &'static str,
    len: usize,
}

/// The minimum length of a run that is written as a range.
const MIN_RUN_LEN: usize = 6;

/// The run at the beginning of a list, if it is long enough.
fn first_run(list: &[Modifier]) -> Option<Run> {
    let (first, second) = (list.first()?.text(), list.get(1)?.text());
    let (prefix, _) = first.split_at(number_start(first, second)?);
    let (low, suffix) = split_number(first, prefix)?;
    let (next, _) = split_number(second, prefix)?;
    let step = next.checked_sub(low).filter(|&s| s > 0)?;
    let len = (0..)
        .zip(list)
        .take_while(|(i, word)| split_number(word.text(), prefix) == Some((low + step * i, suffix)))
        .count();
    (len >= MIN_RUN_LEN).then(|| Run {
        prefix,
        low,
        high: low + step * (len as u32 - 1),
        step,
        suffix,
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

/// The number after a prefix, and the text after the number.
fn split_number(word: &'static str, prefix: &str) -> Option<(u32, &'static str)> {
    let number = word.strip_prefix(prefix)?;
    let end = number
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(number.len());
    let (digits, suffix) = number.split_at(end);
    if digits.starts_with('0') && digits.len() > 1 {
        return None;
    }
    Some((digits.parse().ok()?, suffix))
}
