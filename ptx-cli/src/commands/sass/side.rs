//! The functions of a module with their machine code.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

use ptx_ir::{FuncId, Item, LineIndex, Module};
use ptx_report::clean;
use ptx_report::function_stats::{self, FunctionStats};
use ptx_report::sass::{AssemblerMessage, SassFunction, SassInstruction};

use super::super::source::listing::{Kind, Listed, Listing};
use crate::assembler::Assembled;

/// The chosen functions of a module.
pub(super) struct Side<'a> {
    module: &'a Module,
    pub(super) listing: &'a Listing<'a>,
    lines: LineIndex,
    pub(super) functions: Vec<SideFunction<'a>>,
    pub(super) messages: &'a [AssemblerMessage],
}

/// A function with its machine code.
pub(super) struct SideFunction<'a> {
    pub(super) listed: &'a Listed<'a>,
    /// The lines of the function in the file.
    pub(super) lines: Range<u32>,
    /// Resources and facts about the machine code.
    pub(super) stats: FunctionStats,
    /// The function, and for a kernel its copies of device functions. Empty for functions of which the cubin has no code.
    pub(super) parts: Vec<&'a SassFunction>,
}

impl<'a> Side<'a> {
    pub(super) fn new(
        module: &'a Module,
        listing: &'a Listing<'a>,
        assembled: &'a Assembled,
    ) -> Self {
        let names: HashSet<&str> = listing.functions.iter().map(|f| f.name).collect();
        let mut stats = function_stats::collect(module, |id| {
            let function = module.functions().get(id);
            function.is_some_and(|f| names.contains(module.name(f.name)))
        });
        assembled.apply(module, stats.iter_mut());
        let functions = listing.functions.iter().zip(stats);
        let lines = LineIndex::new(module.source());
        let line_of = |offset| lines.position(offset).line;
        let ranges: HashMap<FuncId, Range<u32>> = module
            .items()
            .filter_map(|(item, content)| match content {
                Item::Function(id) => {
                    let span = module.span(item);
                    Some((id, line_of(span.start)..line_of(span.end) + 1))
                }
                _ => None,
            })
            .collect();
        let range = |name: &str| {
            module
                .function(name)
                .and_then(|id| ranges.get(&id).cloned())
        };
        Self {
            module,
            listing,
            functions: functions
                .map(|(listed, stats)| SideFunction {
                    listed,
                    lines: range(listed.name).unwrap_or_default(),
                    stats,
                    parts: assembled
                        .disassembly
                        .iter()
                        .flat_map(|disassembly| disassembly.parts(listed.name))
                        .collect(),
                })
                .collect(),
            messages: &assembled.compiled.messages,
            lines,
        }
    }

    /// The text of a line of the PTX file, for lines that are not statements of the function.
    pub(super) fn line_text(&self, line: u32) -> String {
        let source = self.module.source();
        let span = self.lines.line_span(line, source.len() as u32);
        let text = String::from_utf8_lossy(span.of(source));
        clean(&text.split_whitespace().collect::<Vec<_>>().join(" ")).into_owned()
    }
}

impl<'a> SideFunction<'a> {
    /// The machine instructions by their PTX lines, in the order of their addresses, without those that only fill the section.
    pub(super) fn by_line(&self) -> BTreeMap<Option<u32>, Vec<&'a SassInstruction>> {
        let mut lines: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for instruction in self.parts.iter().flat_map(|part| part.executable()) {
            lines.entry(instruction.line).or_default().push(instruction);
        }
        lines
    }

    /// The PTX lines with instructions of the function.
    pub(super) fn instruction_lines(&self) -> HashSet<u32> {
        let rows = self.listed.statements.iter();
        rows.filter(|row| row.kind == Kind::Instruction)
            .map(|row| row.line)
            .collect()
    }
}
