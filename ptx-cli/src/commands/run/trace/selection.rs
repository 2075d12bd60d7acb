//! The selection of the steps that a trace shows: `block:0,thread:0-31,function:NAME,lines:10-20`.

use std::ops::RangeInclusive;
use std::str::FromStr;

use anyhow::{Result, bail};
use ptx_ir::{FuncId, Module};
use ptx_report::clean;
use ptx_report::demangle::FunctionPattern;
use ptx_vm::StepPlace;

/// Selected threads of a CTA, or selected CTAs of a grid.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Indices {
    All,
    /// A range of numbers, in the order of `x`, then `y`, then `z`.
    Numbers(RangeInclusive<u64>),
    /// The index in each dimension.
    Index([u32; 3]),
}

/// The steps that are shown.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selection {
    blocks: Vec<Indices>,
    threads: Vec<Indices>,
    functions: Vec<FunctionPattern>,
    lines: Vec<RangeInclusive<u32>>,
}

const FORMS: &str = "expected `block:N`, `thread:N`, `warp:N`, `function:NAME` or `lines:N-N`, separated by commas; N is a number, a range such as `0-31`, an index such as `2.0.1`, or `all`";

impl FromStr for Selection {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let error = || format!("{FORMS}; found `{}`", clean(text));
        let mut selection = Self::default();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let (kind, value) = part.split_once(':').ok_or_else(error)?;
            match kind {
                "block" => selection.blocks.push(value.parse().map_err(|()| error())?),
                "thread" => selection.threads.push(value.parse().map_err(|()| error())?),
                "warp" => {
                    let warps = range(value).ok_or_else(error)?;
                    let end = warps.end().saturating_mul(32).saturating_add(31);
                    let threads = warps.start().saturating_mul(32)..=end;
                    selection.threads.push(Indices::Numbers(threads));
                }
                "function" => selection.functions.push(FunctionPattern::new(value)),
                "lines" => {
                    let lines = range(value).ok_or_else(error)?;
                    let line = |n: &u64| u32::try_from(*n).map_err(|_| error());
                    selection
                        .lines
                        .push(line(lines.start())?..=line(lines.end())?);
                }
                _ => return Err(error()),
            }
        }
        Ok(selection)
    }
}

impl FromStr for Indices {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        if text == "all" {
            return Ok(Self::All);
        }
        if !text.contains('.') {
            return range(text).map(Self::Numbers).ok_or(());
        }
        let mut index = [0; 3];
        for (dimension, part) in text.split('.').enumerate() {
            *index.get_mut(dimension).ok_or(())? = part.parse().map_err(|_| ())?;
        }
        Ok(Self::Index(index))
    }
}

/// `5` or `5-7`
fn range(text: &str) -> Option<RangeInclusive<u64>> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (first.parse().ok()?, last.parse().ok()?);
    (first <= last).then_some(first..=last)
}

impl Indices {
    fn contains(&self, index: [u32; 3], sizes: [u32; 3]) -> bool {
        match self {
            Self::All => true,
            Self::Index(selected) => *selected == index,
            Self::Numbers(numbers) => numbers.contains(&number(index, sizes)),
        }
    }
}

/// The number of an index, in the order of `x`, then `y`, then `z`.
fn number(index: [u32; 3], sizes: [u32; 3]) -> u64 {
    let ([x, y, z], [width, height, _]) = (index.map(u64::from), sizes.map(u64::from));
    let row = z.saturating_mul(height).saturating_add(y);
    row.saturating_mul(width).saturating_add(x)
}

/// The index of a thread of a CTA.
pub(super) const fn thread(number: u32, [x, y, _]: [u32; 3]) -> [u32; 3] {
    [number % x, number / x % y, number / x / y]
}

/// A selection for launches of a module.
#[derive(Debug)]
pub(super) struct Selected<'s> {
    selection: &'s Selection,
    /// The selected functions; `None` for all functions.
    functions: Option<Vec<FuncId>>,
}

impl Selection {
    /// Finds the functions that the selection names.
    pub(super) fn within(&self, module: &Module) -> Result<Selected<'_>> {
        let mut functions = Vec::new();
        for pattern in &self.functions {
            let names = module.definitions().map(|(_, f, _)| module.name(f.name));
            let selected = pattern.select(names)?;
            if selected.is_empty() {
                bail!("there is no function `{pattern}` to trace");
            }
            functions.extend(selected.iter().filter_map(|name| module.function(name)));
        }
        Ok(Selected {
            selection: self,
            functions: (!self.functions.is_empty()).then_some(functions),
        })
    }
}

impl Selected<'_> {
    /// Whether lines are selected.
    pub(super) fn has_lines(&self) -> bool {
        !self.selection.lines.is_empty()
    }

    /// Whether steps at a PTX line are shown.
    pub(super) fn has_line(&self, line: u32) -> bool {
        self.selection
            .lines
            .iter()
            .any(|lines| lines.contains(&line))
    }

    /// The lanes of a step that are shown. By default, only the first thread of the first CTA of each grid is shown.
    pub(super) fn lanes(&self, place: &StepPlace) -> u32 {
        let (blocks, threads) = (place.grid.blocks, place.grid.threads);
        let is_selected = |selected: &[Indices], index, sizes| {
            if selected.is_empty() {
                number(index, sizes) == 0
            } else {
                selected
                    .iter()
                    .any(|indices| indices.contains(index, sizes))
            }
        };
        if !is_selected(&self.selection.blocks, place.block, blocks) {
            return 0;
        }
        let functions = self.functions.as_ref();
        if functions.is_some_and(|functions| !functions.contains(&place.function)) {
            return 0;
        }
        (0..32)
            .filter(|lane| {
                let index = thread(place.first_thread + lane, threads);
                place.mask >> lane & 1 == 1 && is_selected(&self.selection.threads, index, threads)
            })
            .fold(0, |lanes, lane| lanes | 1 << lane)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_selections() {
        let selection: Selection = "block:1-3,block:2.0.1,thread:all,warp:2,lines:7"
            .parse()
            .unwrap();
        let blocks = [Indices::Numbers(1..=3), Indices::Index([2, 0, 1])];
        assert_eq!(selection.blocks, blocks);
        assert_eq!(selection.threads, [Indices::All, Indices::Numbers(64..=95)]);
        assert_eq!(selection.lines, [7..=7]);
        for wrong in [
            "block",
            "block:x",
            "block:3-1",
            "thread:0.0.0.0",
            "lines:99999999999",
            "a:1",
        ] {
            let error = wrong.parse::<Selection>().unwrap_err();
            assert!(error.starts_with("expected `block:N`"), "{wrong}: {error}");
        }
    }

    #[test]
    fn numbers_of_indices() {
        let sizes = [4, 3, 2];
        for n in 0..24 {
            assert_eq!(number(thread(n, sizes), sizes), u64::from(n));
        }
    }
}
