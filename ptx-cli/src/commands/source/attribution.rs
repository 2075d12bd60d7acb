//! Source files in their order, each line with the instructions that were made from it.

use std::io::Write;
use std::ops::Range;

use anyhow::Result;

use super::annotated::{Styles, shown_path, title};
use super::files::{SourceFile, Sources};
use super::listing::{Listed, Listing, Place, Row};
use super::schema::{Attribution, BySource, JsonFunction, JsonLine, JsonSource};
use crate::output::Out;
use ptx_report::demangle::display_text;
use ptx_report::source_frames::file_name;
use ptx_report::{SCHEMA, clean};

/// How many lines are shown before and after lines with instructions.
const CONTEXT: u32 = 3;

/// An instruction and a line that it comes from.
pub(super) struct Hit<'l, 'm> {
    file: Option<u32>,
    line: u32,
    function: &'l Listed<'m>,
    row: &'l Row,
    /// Whether the instruction was made from the line itself, not inlined at a call in it.
    is_own: bool,
}

/// The instructions by the lines that they come from, in order.
pub(super) fn hits<'l, 'm>(listing: &'l Listing<'m>) -> Vec<Hit<'l, 'm>> {
    let mut hits = Vec::new();
    for function in &listing.functions {
        for row in function.instructions() {
            let mut chain = listing.chain(row);
            let mut is_own = true;
            while let Some((place, calls)) = chain.split_last() {
                let (file, line) = (place.file, place.line);
                // A recursive call that is inlined counts once.
                let deeper = listing.chain(row).get(chain.len()..).unwrap_or_default();
                if !deeper.iter().any(|d| (d.file, d.line) == (file, line)) {
                    hits.push(Hit {
                        file,
                        line,
                        function,
                        row,
                        is_own,
                    });
                }
                (chain, is_own) = (calls, false);
            }
            let intermediate = listing.intermediate(row).iter();
            hits.extend(intermediate.map(|place| Hit {
                file: place.file,
                line: place.line,
                function,
                row,
                is_own: true,
            }));
        }
    }
    hits.sort_by_key(|hit| (hit.file, hit.line));
    hits
}

/// The hits of each file.
fn files<'h, 'l, 'm>(hits: &'h [Hit<'l, 'm>]) -> impl Iterator<Item = &'h [Hit<'l, 'm>]> {
    hits.chunk_by(|a, b| a.file == b.file)
}

/// The hits of each line of a file.
fn lines<'h, 'l, 'm>(file: &'h [Hit<'l, 'm>]) -> impl Iterator<Item = (u32, &'h [Hit<'l, 'm>])> {
    let lines = file.chunk_by(|a, b| a.line == b.line);
    lines.filter_map(|hits| Some((hits.first()?.line, hits)))
}

/// How many instructions were made from a line, and how many were inlined at calls in it.
fn counts(hits: &[Hit<'_, '_>]) -> (usize, usize) {
    let own = hits.iter().filter(|hit| hit.is_own).count();
    (own, hits.len() - own)
}

/// Writes the lines with instructions and those around them.
pub(super) fn write(
    listing: &Listing<'_>,
    hits: &[Hit<'_, '_>],
    only_counts: bool,
    sources: &mut Sources<'_>,
    out: &mut Out,
) -> Result<()> {
    let styles = Styles::new();
    for hits in files(hits) {
        let path = hits.first().and_then(|hit| listing.path(hit.file));
        let source = path.and_then(|path| sources.get(path));
        let source = source.as_deref();
        writeln!(out, "{}", styles.title.apply_to(shown_path(path, source)))?;
        writeln!(out, " Instr. Inlined    Line")?;
        let mut next = 1;
        for (line, hits) in lines(hits) {
            context(source, next, line, out)?;
            let (own, inlined) = counts(hits);
            let count = |n: usize| if n == 0 { String::new() } else { n.to_string() };
            let text = source.and_then(|s| s.line(line)).unwrap_or_default();
            let text = styles.source.apply_to(clean(text));
            writeln!(
                out,
                "{:>7} {:>7} {line:>7}  {text}",
                count(own),
                count(inlined)
            )?;
            if !only_counts {
                instructions(listing, hits, &styles, out)?;
            }
            next = line.saturating_add(1);
        }
        context(source, next, next.saturating_add(CONTEXT), out)?;
        writeln!(out)?;
    }
    Ok(())
}

/// Writes lines without instructions: those near the first and the last one, which are about the lines around them.
fn context(source: Option<&SourceFile>, from: u32, to: u32, out: &mut Out) -> Result<()> {
    let Some(source) = source else {
        return Ok(());
    };
    let skipped = match to.saturating_sub(from) {
        gap if from == 1 && gap > CONTEXT => 1..to - CONTEXT,
        gap if gap > 2 * CONTEXT + 1 => from + CONTEXT..to - CONTEXT,
        _ => to..to,
    };
    let mut shown = |lines: Range<u32>| {
        let mut lines = source.lines(lines);
        lines.try_for_each(|(line, text)| writeln!(out, "{:16}{line:>7}  {}", "", clean(text)))
    };
    shown(from..skipped.start.max(from))?;
    Ok(shown(skipped.end..to)?)
}

/// Writes the instructions that were made from a line, with their functions and the calls at which they were inlined.
fn instructions(
    listing: &Listing<'_>,
    hits: &[Hit<'_, '_>],
    styles: &Styles,
    out: &mut Out,
) -> Result<()> {
    let mut last: Option<(&str, &[Place])> = None;
    for hit in hits.iter().filter(|hit| hit.is_own) {
        let calls = listing.chain(hit.row).split_last();
        let calls = calls.map(|(_, calls)| calls).unwrap_or_default();
        let place = (hit.function.name, calls);
        if last != Some(place) {
            let at = match calls {
                [] => String::new(),
                [first, more @ ..] => {
                    let path = listing.path(first.file).unwrap_or("?");
                    let path = file_name(path);
                    let through = match more.len() {
                        0 => String::new(),
                        more => format!(" through {} calls", more + 1),
                    };
                    format!(", inlined at {path}:{}{through}", first.line)
                }
            };
            writeln!(out, "{:25}{}{at}", "", title(hit.function))?;
            last = Some(place);
        }
        let number = styles.number.apply_to(format!("{:>33}", hit.row.line));
        writeln!(out, "{number}  {}", display_text(&listing.text(hit.row)))?;
    }
    Ok(())
}

pub(super) fn json<'a>(
    file: &'a str,
    listing: &Listing<'a>,
    hits: &[Hit<'_, 'a>],
    only_counts: bool,
    sources: &mut Sources<'_>,
) -> BySource<'a> {
    let functions = |hits: &[Hit<'_, 'a>]| {
        let own: Vec<&Hit<'_, 'a>> = hits.iter().filter(|hit| hit.is_own).collect();
        let functions = own.chunk_by(|a, b| std::ptr::eq(a.function, b.function));
        let function = |hits: &[&Hit<'_, 'a>]| {
            let rows = hits.iter().map(|hit| hit.row);
            Some(JsonFunction::new(listing, hits.first()?.function, rows))
        };
        functions.filter_map(function).collect()
    };
    let one = |hits: &[Hit<'_, 'a>]| {
        let path = hits.first().and_then(|hit| listing.path(hit.file));
        let source = path.and_then(|path| sources.get(path));
        let line = |(line, hits)| {
            let (own, inlined) = counts(hits);
            Attribution {
                line: JsonLine::new(source.as_deref(), line),
                own,
                inlined,
                functions: (!only_counts).then(|| functions(hits)),
            }
        };
        JsonSource::new(path, source.as_deref(), lines(hits).map(line).collect())
    };
    BySource {
        schema: SCHEMA,
        file,
        sources: files(hits).map(one).collect(),
    }
}
