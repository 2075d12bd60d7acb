//! PTX in its order with the source lines before the instructions.

use std::io::Write;

use anyhow::Result;
use ptx_ir::FunctionKind;

use super::files::{SourceFile, Sources};
use super::listing::{Kind, Listed, Listing, Place, Row};
use super::schema::{File, JsonFunction, JsonLine, JsonSource};
use crate::output::{self, Out};
use ptx_report::demangle::display_name;
use ptx_report::{SCHEMA, clean};

/// `Kernel scal<float>(float*, int)`
pub(in crate::commands) fn title(function: &Listed<'_>) -> String {
    let kind = match function.function.kind {
        FunctionKind::Entry => "Kernel",
        FunctionKind::Func => "Function",
    };
    format!("{kind} {}", display_name(function.name))
}

/// The styles of the output.
pub(in crate::commands) struct Styles {
    pub(in crate::commands) title: console::Style,
    pub(in crate::commands) source: console::Style,
    pub(in crate::commands) number: console::Style,
}

impl Styles {
    pub(in crate::commands) fn new() -> Self {
        let style = console::Style::new().force_styling(output::is_colored());
        Self {
            title: style.clone().bold(),
            source: style.clone().cyan(),
            number: style.dim(),
        }
    }
}

/// Writes the chosen functions. Of inlined calls, those that differ from the last ones are written.
pub(in crate::commands) fn write(
    listing: &Listing<'_>,
    sources: &mut Sources<'_>,
    out: &mut Out,
) -> Result<()> {
    let styles = Styles::new();
    for function in &listing.functions {
        writeln!(out, "{}\n", styles.title.apply_to(title(function)))?;
        let mut headings = Headings::default();
        for row in &function.statements {
            headings.write(listing, row, sources, out)?;
            let number = styles.number.apply_to(format!("{:>8}", row.line));
            let indent = if row.kind == Kind::Label { 1 } else { 4 };
            let text = listing.text(row);
            writeln!(out, "{number}{:indent$}{}", "", clean(&text))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// The source lines before the instructions of a function.
#[derive(Default)]
pub(in crate::commands) struct Headings<'l> {
    last: &'l [Place],
    last_intermediate: &'l [Place],
}

impl<'l> Headings<'l> {
    /// Writes the source lines of an instruction that differ from those of the last one.
    pub(in crate::commands) fn write(
        &mut self,
        listing: &'l Listing<'_>,
        row: &Row,
        sources: &mut Sources<'_>,
        out: &mut Out,
    ) -> Result<()> {
        if row.kind != Kind::Instruction {
            return Ok(());
        }
        let style = Styles::new().source;
        let mut write_place = |depth: usize, place: Place| {
            let text = style.apply_to(source_line(listing, sources, place));
            writeln!(out, "{:depth$}{text}", "", depth = 2 * depth)
        };
        let (chain, intermediate) = (listing.chain(row), listing.intermediate(row));
        if chain != self.last {
            let common = self
                .last
                .iter()
                .zip(chain)
                .take_while(|(last, place)| last.is_same_line(**place))
                .count();
            if common < self.last.len() || common < chain.len() {
                let first = common.min(chain.len().saturating_sub(1));
                for (depth, place) in chain.iter().enumerate().skip(first) {
                    write_place(depth, *place)?;
                }
            }
            (self.last, self.last_intermediate) = (chain, &[]);
        }
        if intermediate != self.last_intermediate {
            let depth = chain.len();
            intermediate
                .iter()
                .try_for_each(|place| write_place(depth, *place))?;
            self.last_intermediate = intermediate;
        }
        Ok(())
    }
}

/// The path at which a source was found, else its path in the module.
pub(in crate::commands) fn display_path(path: Option<&str>, source: Option<&SourceFile>) -> String {
    let path = source
        .and_then(|source| source.path.as_ref())
        .map(|path| path.to_string_lossy())
        .or(path.map(Into::into));
    clean(path.as_deref().unwrap_or("?")).into_owned()
}

/// `src/a.cu:41: in copy(float*): *to = *from;`
fn source_line(listing: &Listing<'_>, sources: &mut Sources<'_>, place: Place) -> String {
    let path = listing.path(place.file);
    let source = path.and_then(|path| sources.get(path));
    let path = display_path(path, source.as_deref());
    let mut text = format!("{path}:{}:", place.line);
    if let Some(name) = listing.inlined(place) {
        text += " in ";
        text += name;
        text.push(':');
    }
    if let Some(line) = source.as_ref().and_then(|source| source.line(place.line)) {
        text.push(' ');
        text += &clean(line.trim_start());
    }
    text
}

pub(in crate::commands) fn json<'a>(
    file: &'a str,
    listing: &Listing<'a>,
    sources: &mut Sources<'_>,
) -> File<'a> {
    let mut places = Vec::new();
    let mut functions = Vec::new();
    for function in &listing.functions {
        let row_places = function
            .instructions()
            .flat_map(|row| [listing.chain(row), listing.intermediate(row)]);
        places.extend(row_places.flatten().map(|place| (place.file, place.line)));
        functions.push(JsonFunction::new(
            listing,
            function,
            function.instructions(),
        ));
    }
    places.sort_unstable();
    places.dedup();
    let sources = places
        .chunk_by(|(file, _), (next, _)| file == next)
        .map(|places| {
            let path = places.first().and_then(|(file, _)| listing.path(*file));
            let source = path.and_then(|path| sources.get(path));
            let lines = places
                .iter()
                .map(|(_, line)| JsonLine::new(source.as_deref(), *line))
                .collect();
            JsonSource::new(path, source.as_deref(), lines)
        })
        .collect();
    File {
        schema: SCHEMA,
        file,
        functions,
        sources,
    }
}
