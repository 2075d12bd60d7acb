//! Source files in their order, each line with the instructions that were made from it.

use std::io::Write;
use std::ops::Range;
use std::ptr;

use anyhow::Result;

use super::annotated::{Styles, display_path, title};
use super::files::{SourceFile, Sources};
use super::listing::{Listed, Listing, Place, Row};
use super::schema::{Attribution, BySource, JsonFunction, JsonLine, JsonSource};
use crate::output::Out;
use ptx_report::source_frames::file_name;
use ptx_report::{SCHEMA, clean};

/// The number of lines that are shown before and after lines with instructions.
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
                // A recursive call that is inlined counts once.
                let inner = listing.chain(row).get(chain.len()..).unwrap_or_default();
                if !inner
                    .iter()
                    .any(|inner| inner.file == place.file && inner.line == place.line)
                {
                    hits.push(Hit {
                        file: place.file,
                        line: place.line,
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
    hits.chunk_by(|hit, next| hit.file == next.file)
}

/// The hits of each line of a file.
fn lines<'h, 'l, 'm>(file: &'h [Hit<'l, 'm>]) -> impl Iterator<Item = (u32, &'h [Hit<'l, 'm>])> {
    file.chunk_by(|hit, next| hit.line == next.line)
        .filter_map(|hits| Some((hits.first()?.line, hits)))
}

/// The number of instructions that were made from a line, and of those that were inlined at calls in it.
fn counts(hits: &[Hit<'_, '_>]) -> (usize, usize) {
    let direct = hits.iter().filter(|hit| hit.is_own).count();
    (direct, hits.len() - direct)
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
        writeln!(out, "{}", styles.title.apply_to(display_path(path, source)))?;
        writeln!(out, " Instr. Inlined    Line")?;
        let mut next = 1;
        for (line, hits) in lines(hits) {
            context(source, next, line, out)?;
            let (direct, inlined) = counts(hits);
            let text = source
                .and_then(|source| source.line(line))
                .unwrap_or_default();
            let text = styles.source.apply_to(clean(text));
            writeln!(
                out,
                "{:>7} {:>7} {line:>7}  {text}",
                nonzero(direct),
                nonzero(inlined)
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

/// The number as text, empty for zero.
fn nonzero(number: usize) -> String {
    if number == 0 {
        String::new()
    } else {
        number.to_string()
    }
}

/// Writes those lines without instructions that are near the first and the last one.
fn context(source: Option<&SourceFile>, from: u32, to: u32, out: &mut Out) -> Result<()> {
    let Some(source) = source else {
        return Ok(());
    };
    let skipped = match to.saturating_sub(from) {
        gap if from == 1 && gap > CONTEXT => 1..to - CONTEXT,
        gap if gap > 2 * CONTEXT + 1 => from + CONTEXT..to - CONTEXT,
        _ => to..to,
    };
    source_lines(source, from..skipped.start.max(from), out)?;
    source_lines(source, skipped.end..to, out)
}

fn source_lines(source: &SourceFile, lines: Range<u32>, out: &mut Out) -> Result<()> {
    for (line, text) in source.lines(lines) {
        writeln!(out, "{:16}{line:>7}  {}", "", clean(text))?;
    }
    Ok(())
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
            let call = match calls {
                [] => String::new(),
                [first, inner @ ..] => {
                    let path = file_name(listing.path(first.file).unwrap_or("?"));
                    let through = match inner.len() {
                        0 => String::new(),
                        count => format!(" through {} calls", count + 1),
                    };
                    format!(", inlined at {path}:{}{through}", first.line)
                }
            };
            writeln!(out, "{:25}{}{call}", "", title(hit.function))?;
            last = Some(place);
        }
        let number = styles.number.apply_to(format!("{:>33}", hit.row.line));
        writeln!(out, "{number}  {}", clean(&listing.text(hit.row)))?;
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
    let sources = files(hits)
        .map(|hits| {
            let path = hits.first().and_then(|hit| listing.path(hit.file));
            let source = path.and_then(|path| sources.get(path));
            let attributions = lines(hits)
                .map(|(line, hits)| {
                    let (direct, inlined) = counts(hits);
                    Attribution {
                        line: JsonLine::new(source.as_deref(), line),
                        own: direct,
                        inlined,
                        functions: (!only_counts).then(|| own_functions(listing, hits)),
                    }
                })
                .collect();
            JsonSource::new(path, source.as_deref(), attributions)
        })
        .collect();
    BySource {
        schema: SCHEMA,
        file,
        sources,
    }
}

/// The functions with the instructions that were made from a line.
fn own_functions<'a>(listing: &Listing<'a>, hits: &[Hit<'_, 'a>]) -> Vec<JsonFunction<'a>> {
    let own_hits: Vec<&Hit<'_, 'a>> = hits.iter().filter(|hit| hit.is_own).collect();
    own_hits
        .chunk_by(|hit, next| ptr::eq(hit.function, next.function))
        .filter_map(|hits| {
            let rows = hits.iter().map(|hit| hit.row);
            Some(JsonFunction::new(listing, hits.first()?.function, rows))
        })
        .collect()
}
