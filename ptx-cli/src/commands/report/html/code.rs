//! The text of a function in the page: source lines, PTX and machine code beside each other.

use std::collections::HashMap;

use ptx_ir::Module;
use ptx_report::clean;
use ptx_report::demangle::short_text;
use ptx_report::sass::Disassembly;
use serde::Serialize;

use super::super::profile::{LineCounts, Profile};
use crate::commands::source::files::{Search, Sources};
use crate::commands::source::listing::{Kind, Listed, Listing, Place};
use crate::functions::Chosen;

/// The largest number of PTX lines of a function, and of all functions of a file, that the page shows.
const MAX_LINES: usize = 3000;
const MAX_LINES_OF_FILE: usize = 20_000;
/// The largest number of machine instructions that are shown beside a PTX line.
const MAX_INSTRUCTIONS: usize = 40;

/// The lines of a function.
#[derive(Default, Serialize)]
pub(in super::super) struct Code {
    lines: Vec<Line>,
    /// The number of lines of the whole function.
    all: usize,
    sources: Vec<SourceLine>,
    /// Whether machine code is shown.
    has_machine_code: bool,
    /// Whether counts of executions are shown.
    has_counts: bool,
}

#[derive(Serialize)]
struct Line {
    line: u32,
    text: String,
    is_label: bool,
    /// The index of its innermost source line.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<usize>,
    /// The machine instructions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sass: Vec<String>,
    /// The number of machine instructions, if not all of them are listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    all_sass: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    counts: Option<LineCounts>,
}

/// A source line.
#[derive(Serialize)]
struct SourceLine {
    /// `a.cu:11`
    place: String,
    text: Option<String>,
}

/// The code of the chosen functions of a module, in their order.
pub(in super::super) fn of_module(
    module: &Module,
    chosen: &Chosen,
    file: Option<&std::path::Path>,
    disassembly: Option<&Disassembly>,
    profile: &Profile,
) -> Vec<Code> {
    let mut listing = Listing::new(module, chosen);
    let search = Search::default();
    let mut sources = Sources::new(&search);
    sources.enter(file, std::mem::take(&mut listing.embedded));
    let mut remaining = MAX_LINES_OF_FILE;
    let functions = listing.functions.iter();
    functions
        .map(|function| {
            let code = Code::new(
                &listing,
                function,
                &mut sources,
                disassembly,
                profile,
                remaining,
            );
            remaining -= code.lines.len();
            code
        })
        .collect()
}

impl Code {
    fn new(
        listing: &Listing<'_>,
        function: &Listed<'_>,
        sources: &mut Sources<'_>,
        disassembly: Option<&Disassembly>,
        profile: &Profile,
        max_lines: usize,
    ) -> Self {
        // The name of a function is the prefix of the names of its parameters.
        let prefix = format!("{}_", function.name);
        let shown = |text: &str| clean(&short_text(&text.replace(&prefix, ""))).into_owned();
        let mut machine_code = disassembly
            .map(|disassembly| disassembly.by_line(function.name))
            .unwrap_or_default();
        let counts = profile.of_function(function.name);
        let mut code = Self {
            all: function.statements.len(),
            has_machine_code: !machine_code.is_empty(),
            has_counts: counts.is_some(),
            ..Self::default()
        };
        let mut indices: HashMap<(Option<u32>, u32), usize> = HashMap::new();
        for row in function.statements.iter().take(max_lines.min(MAX_LINES)) {
            let place = listing.chain(row).last().copied();
            let is_instruction = row.kind == Kind::Instruction;
            let source = place.filter(|_| is_instruction).map(|place| {
                let key = (place.file, place.line);
                *indices.entry(key).or_insert_with(|| {
                    code.sources.push(source_line(listing, place, sources));
                    code.sources.len() - 1
                })
            });
            let mut sass = match is_instruction {
                true => machine_code.remove(&row.line).unwrap_or_default(),
                false => Vec::new(),
            };
            let all_sass = (sass.len() > MAX_INSTRUCTIONS).then_some(sass.len());
            sass.truncate(MAX_INSTRUCTIONS);
            let sass = sass.into_iter().map(|instruction| {
                let text = shown(&instruction.text());
                format!("{:04x}  {text}", instruction.address)
            });
            code.lines.push(Line {
                line: row.line,
                text: shown(&listing.text(row)),
                is_label: row.kind == Kind::Label,
                source,
                sass: sass.collect(),
                all_sass,
                counts: counts
                    .and_then(|counts| counts.get(&row.line))
                    .filter(|_| is_instruction)
                    .copied(),
            });
        }
        code
    }
}

fn source_line(listing: &Listing<'_>, place: Place, sources: &mut Sources<'_>) -> SourceLine {
    let path = listing.path(place.file);
    let source = path.and_then(|path| sources.get(path));
    let name = path.map(ptx_report::source_frames::file_name);
    let text = source.as_ref().and_then(|source| source.line(place.line));
    SourceLine {
        place: format!("{}:{}", name.as_deref().unwrap_or("?"), place.line),
        text: text.map(|text| clean(text.trim()).into_owned()),
    }
}
