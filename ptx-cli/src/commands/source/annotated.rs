//! PTX in its order with the source lines before the instructions.

use std::io::Write;

use anyhow::Result;
use ptx_ir::FunctionKind;

use super::files::{SourceFile, Sources};
use super::listing::{Kind, Listed, Listing, Place};
use super::schema::{File, JsonFunction, JsonLine, JsonSource};
use crate::output::{self, Out};
use ptx_report::demangle::{display_name, display_text};
use ptx_report::{SCHEMA, clean};

/// `Kernel scal<float>(float*, int)`
pub(super) fn title(function: &Listed<'_>) -> String {
    let kind = match function.function.kind {
        FunctionKind::Entry => "Kernel",
        FunctionKind::Func => "Function",
    };
    format!("{kind} {}", display_name(function.name))
}

/// Styles of the output.
pub(super) struct Styles {
    pub(super) title: console::Style,
    pub(super) source: console::Style,
    pub(super) number: console::Style,
}

impl Styles {
    pub(super) fn new() -> Self {
        let style = || console::Style::new().force_styling(output::is_colored());
        Self {
            title: style().bold(),
            source: style().cyan(),
            number: style().dim(),
        }
    }
}

/// Writes the chosen functions. Of calls that were inlined, those that differ from the last ones are written.
pub(super) fn write(listing: &Listing<'_>, sources: &mut Sources<'_>, out: &mut Out) -> Result<()> {
    let styles = Styles::new();
    for function in &listing.functions {
        writeln!(out, "{}\n", styles.title.apply_to(title(function)))?;
        let (mut last, mut last_intermediate): (&[Place], &[Place]) = (&[], &[]);
        for row in &function.statements {
            let mut shown = |depth: usize, place: Place| {
                let text = styles.source.apply_to(source_line(listing, sources, place));
                writeln!(out, "{:depth$}{text}", "", depth = 2 * depth)
            };
            let (chain, intermediate) = (listing.chain(row), listing.intermediate(row));
            let is_instruction = row.kind == Kind::Instruction;
            if is_instruction && chain != last {
                let same = last
                    .iter()
                    .zip(chain)
                    .take_while(|(a, b)| a.is_same_line(**b));
                let same = same.count();
                let is_new = same < last.len() || same < chain.len();
                let from = same.min(chain.len().saturating_sub(1));
                for (depth, place) in chain.iter().enumerate().skip(from).filter(|_| is_new) {
                    shown(depth, *place)?;
                }
                (last, last_intermediate) = (chain, &[]);
            }
            if is_instruction && intermediate != last_intermediate {
                let depth = chain.len();
                intermediate
                    .iter()
                    .try_for_each(|place| shown(depth, *place))?;
                last_intermediate = intermediate;
            }
            let number = styles.number.apply_to(format!("{:>8}", row.line));
            let indent = if row.kind == Kind::Label { 1 } else { 4 };
            let text = listing.text(row);
            writeln!(out, "{number}{:indent$}{}", "", display_text(&text))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Where a source was found, else its path in the module.
pub(super) fn shown_path(path: Option<&str>, source: Option<&SourceFile>) -> String {
    let found = source.and_then(|source| source.path.as_ref());
    let path = found
        .map(|found| found.to_string_lossy())
        .or(path.map(Into::into));
    clean(path.as_deref().unwrap_or("?")).into_owned()
}

/// `src/a.cu:41: in copy(float*): *to = *from;`
fn source_line(listing: &Listing<'_>, sources: &mut Sources<'_>, place: Place) -> String {
    let path = listing.path(place.file);
    let source = path.and_then(|path| sources.get(path));
    let path = shown_path(path, source.as_deref());
    let mut text = format!("{path}:{}:", place.line);
    if let Some(name) = listing.inlined(place) {
        text += " in ";
        text += name;
        text.push(':');
    }
    if let Some(line) = source.as_ref().and_then(|s| s.line(place.line)) {
        text.push(' ');
        text += &clean(line.trim_start());
    }
    text
}

pub(super) fn json<'a>(
    file: &'a str,
    listing: &Listing<'a>,
    sources: &mut Sources<'_>,
) -> File<'a> {
    let mut places = Vec::new();
    let mut functions = Vec::new();
    for function in &listing.functions {
        let rows = function.instructions();
        let of_row = rows.flat_map(|row| [listing.chain(row), listing.intermediate(row)]);
        places.extend(of_row.flatten().map(|place| (place.file, place.line)));
        functions.push(JsonFunction::new(
            listing,
            function,
            function.instructions(),
        ));
    }
    places.sort_unstable();
    places.dedup();
    let files = places.chunk_by(|(a, _), (b, _)| a == b);
    let source = |places: &[(Option<u32>, u32)]| {
        let path = places.first().and_then(|(file, _)| listing.path(*file));
        let source = path.and_then(|path| sources.get(path));
        let lines = places
            .iter()
            .map(|(_, line)| JsonLine::new(source.as_deref(), *line));
        JsonSource::new(path, source.as_deref(), lines.collect())
    };
    File {
        schema: SCHEMA,
        file,
        functions,
        sources: files.map(source).collect(),
    }
}
