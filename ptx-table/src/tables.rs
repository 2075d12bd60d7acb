//! The wanted tables while files are read.

use arrow_schema::SchemaRef;
use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_ir::facts::{FunctionFacts, ModuleFacts};
use ptx_ir::{FuncId, Limits, Module, SourceText};
use ptx_report::basic_blocks::BasicBlocks;
use ptx_report::function_stats;
use ptx_report::requirements::Report;

use crate::batch::Batches;
use crate::column::Rows;
use crate::context::{File, InFunction};
use crate::input::Content;
use crate::output::Output;
use crate::rows::blocks::{self, Blocks};
use crate::rows::diagnostics::{self, Diagnostics, Finding};
use crate::rows::functions::{self, Functions};
use crate::rows::instructions::Instructions;
use crate::rows::lints::{self, Lints};
use crate::rows::loops::{self, Loops};
use crate::rows::memory::{self, Memory};
use crate::rows::modules::{Modules, Parsed};
use crate::rows::requirements::{self, Requirements};
use crate::table::TableName;

/// Instructions whose rows are made together.
const CHUNK: usize = 1 << 10;

/// The source whose functions one thread reads at a time, in bytes. It depends on nothing else where batches end, so that they
/// are the same with any number of threads.
const PART: usize = 1 << 20;

/// The rows of the wanted tables that are not in a batch yet.
#[derive(Default)]
pub(crate) struct Tables {
    /// The tables with a row for each statement or block.
    of_statements: Vec<(TableName, SchemaRef)>,
    most_rows: usize,
    instructions: Option<Batches<Instructions>>,
    memory: Option<Batches<Memory>>,
    blocks: Option<Batches<Blocks>>,
    loops: Option<Batches<Loops>>,
    functions: Option<Batches<Functions>>,
    modules: Option<Batches<Modules>>,
    diagnostics: Option<Batches<Diagnostics>>,
    lints: Option<Batches<Lints>>,
    requirements: Option<Batches<Requirements>>,
}

impl Tables {
    pub(crate) fn new(wanted: &[(TableName, SchemaRef)], rows: usize) -> Self {
        let of_statements = wanted
            .iter()
            .filter(|(table, _)| Self::is_of_statements(*table));
        let mut tables = Self {
            of_statements: of_statements.cloned().collect(),
            most_rows: rows,
            ..Self::default()
        };
        for (table, schema) in wanted {
            let schema = SchemaRef::clone(schema);
            match table {
                TableName::Instructions => tables.instructions = Some(Batches::new(schema, rows)),
                TableName::Memory => tables.memory = Some(Batches::new(schema, rows)),
                TableName::Blocks => tables.blocks = Some(Batches::new(schema, rows)),
                TableName::Loops => tables.loops = Some(Batches::new(schema, rows)),
                TableName::Functions => tables.functions = Some(Batches::new(schema, rows)),
                TableName::Modules => tables.modules = Some(Batches::new(schema, rows)),
                TableName::Diagnostics => tables.diagnostics = Some(Batches::new(schema, rows)),
                TableName::Lints => tables.lints = Some(Batches::new(schema, rows)),
                TableName::Requirements => tables.requirements = Some(Batches::new(schema, rows)),
            }
        }
        tables
    }

    fn is_of_statements(table: TableName) -> bool {
        use TableName::{Blocks, Instructions, Memory};
        matches!(table, Instructions | Memory | Blocks)
    }

    /// Adds the rows of a module, or of a file that cannot be read.
    pub(crate) fn add(&mut self, content: Content, out: &mut dyn Output) {
        match content {
            Content::Module(name, source) => self.module(&name, source, out),
            Content::Unreadable(name, code, message) => {
                if let Some(batches) = &mut self.diagnostics {
                    let row = Finding::unreadable(&name, code, &message);
                    batches.extend(&[row], &mut |batch| {
                        out.batch(TableName::Diagnostics, batch)
                    });
                }
            }
        }
    }

    /// The rows that are left.
    pub(crate) fn finish(&mut self, out: &mut dyn Output) {
        self.finish_statements(out);
        rest(&mut self.loops, TableName::Loops, out);
        rest(&mut self.functions, TableName::Functions, out);
        rest(&mut self.modules, TableName::Modules, out);
        rest(&mut self.diagnostics, TableName::Diagnostics, out);
        rest(&mut self.lints, TableName::Lints, out);
        rest(&mut self.requirements, TableName::Requirements, out);
    }

    fn finish_statements(&mut self, out: &mut dyn Output) {
        rest(&mut self.instructions, TableName::Instructions, out);
        rest(&mut self.memory, TableName::Memory, out);
        rest(&mut self.blocks, TableName::Blocks, out);
    }

    fn module(&mut self, name: &str, source: SourceText, out: &mut dyn Output) {
        let parsed = ptx_parse::parse_shared(source, &Limits::default());
        let module = &parsed.module;
        if let Some(batches) = &mut self.modules {
            let row = Parsed {
                file: name,
                module,
                version: module.header().version.map(|v| v.to_string()),
                diagnostics: &parsed.diagnostics,
            };
            batches.extend(&[row], &mut |batch| out.batch(TableName::Modules, batch));
        }
        self.statements(name, module, out);
        self.statistics(name, module, out);
        if let Some(batches) = &mut self.requirements {
            let needs = ptx_verify::requires(module);
            let report = Report::new(name, module, &needs, None);
            let rows = requirements::of(&report);
            batches.extend(&rows, &mut |batch| {
                out.batch(TableName::Requirements, batch)
            });
        }
        if let Some(batches) = &mut self.lints {
            let file = File::new(name, module);
            let rows = lints::of(&file);
            batches.extend(&rows, &mut |batch| out.batch(TableName::Lints, batch));
        }
        if let Some(batches) = &mut self.diagnostics {
            let found = diagnostics::check(module, parsed.diagnostics);
            if !found.is_empty() {
                let file = File::new(name, module);
                let rows = diagnostics::of(&file, &found);
                batches.extend(&rows, &mut |batch| out.batch(TableName::Diagnostics, batch));
            }
        }
    }

    /// Instructions, memory accesses and blocks. Those of a large module are made by several threads.
    fn statements(&mut self, name: &str, module: &Module, out: &mut dyn Output) {
        if self.of_statements.is_empty() {
            return;
        }
        let facts = ModuleFacts::new(module);
        let file = File::new(name, module);
        let all = module
            .definitions()
            .filter_map(|(id, ..)| Some((id, facts.function(id)?)));
        let all: Vec<(FuncId, FunctionFacts<'_>)> = all.collect();
        if module.source().len() < 2 * PART {
            return self.functions(&file, &all, out);
        }
        let parts = parts(&all);
        self.finish_statements(out);
        out.parts(parts.len(), &|part, out| {
            let mut tables = Self::new(&self.of_statements, self.most_rows);
            tables.functions(&file, parts[part], out);
            tables.finish_statements(out);
        });
    }

    fn functions(
        &mut self,
        file: &File<'_>,
        functions: &[(FuncId, FunctionFacts<'_>)],
        out: &mut dyn Output,
    ) {
        let module = file.module;
        for &(id, facts) in functions {
            let Some(function) = module.functions().get(id) else {
                continue;
            };
            let of = InFunction::new(file, id, function, facts);
            if let Some(batches) = &mut self.blocks {
                let analysis: &FunctionAnalysis = of.analysis();
                let basic = BasicBlocks::new(module, of.body, analysis);
                let rows = blocks::of(&of, &basic);
                batches.extend(&rows, &mut |batch| out.batch(TableName::Blocks, batch));
            }
            if self.instructions.is_none() && self.memory.is_none() {
                continue;
            }
            of.instructions(CHUNK, &mut |rows| {
                if let Some(batches) = &mut self.memory {
                    let rows = memory::of(rows);
                    batches.extend(&rows, &mut |batch| out.batch(TableName::Memory, batch));
                }
                if let Some(batches) = &mut self.instructions {
                    batches.extend(rows, &mut |batch| out.batch(TableName::Instructions, batch));
                }
            });
        }
    }

    /// Functions and loops.
    fn statistics(&mut self, name: &str, module: &Module, out: &mut dyn Output) {
        if self.functions.is_none() && self.loops.is_none() {
            return;
        }
        let needs_values = self.loops.as_ref().is_some_and(Batches::has_requested);
        let known = needs_values.then(|| (File::new(name, module), ModuleFacts::new(module)));
        let definitions = module.definitions();
        for ((id, function, _), of) in definitions.zip(function_stats::of(module, |_| true)) {
            let analyzed = known.as_ref().and_then(|(file, facts)| {
                Some(InFunction::new(file, id, function, facts.function(id)?))
            });
            if let Some(batches) = &mut self.loops {
                let row = |l| loops::InFile {
                    file: name,
                    function: &of,
                    of: l,
                    analyzed: analyzed.as_ref(),
                };
                let rows: Vec<_> = of.loop_list.iter().map(row).collect();
                batches.extend(&rows, &mut |batch| out.batch(TableName::Loops, batch));
            }
            if let Some(batches) = &mut self.functions {
                let row = functions::InFile { file: name, of };
                batches.extend(&[row], &mut |batch| out.batch(TableName::Functions, batch));
            }
        }
    }
}

fn rest<T: Rows>(of: &mut Option<Batches<T>>, table: TableName, out: &mut dyn Output) {
    if let Some(batch) = of.as_mut().and_then(Batches::rest) {
        out.batch(table, batch);
    }
}

/// Divides functions into parts of at least `PART` bytes, but for the last one.
fn parts<'a, 'm>(
    mut functions: &'a [(FuncId, FunctionFacts<'m>)],
) -> Vec<&'a [(FuncId, FunctionFacts<'m>)]> {
    let mut parts = Vec::new();
    while !functions.is_empty() {
        let mut bytes = 0;
        let is_inside = |(_, facts): &&(FuncId, FunctionFacts<'_>)| {
            let is_inside = bytes < PART;
            bytes += facts.body().end() as usize;
            is_inside
        };
        let (part, rest) = functions.split_at(functions.iter().take_while(is_inside).count());
        parts.push(part);
        functions = rest;
    }
    parts
}
