//! The builders of the requested tables, to which the rows of files are added.

use arrow_schema::SchemaRef;
use ptx_ir::facts::{FunctionFacts, ModuleFacts};
use ptx_ir::{FuncId, Limits, Module, SourceText};
use ptx_report::basic_blocks::BasicBlocks;
use ptx_report::function_stats;
use ptx_report::requirements::Report;

use crate::batch::BatchBuilder;
use crate::column::Table;
use crate::context::{File, FunctionContext};
use crate::input::Content;
use crate::output::Output;
use crate::rows::blocks::{self, Blocks};
use crate::rows::diagnostics::{self, DiagnosticRow, Diagnostics};
use crate::rows::functions::{FunctionRow, Functions};
use crate::rows::instructions::Instructions;
use crate::rows::lints::{self, Lints};
use crate::rows::loops::{LoopRow, Loops};
use crate::rows::memory::{self, Memory};
use crate::rows::modules::{ModuleRow, Modules};
use crate::rows::requirements::{self, Requirements};
use crate::table::TableName;

/// The number of instructions whose rows are added together.
const CHUNK: usize = 1 << 10;

/// The minimum size of the parts of a large module that threads read at the same time, in bytes. The division into parts, and so the size of batches,
/// depends only on the module, so that the batches are the same for any number of threads.
const PART: usize = 1 << 20;

/// The builders of the requested tables; `None` for other tables.
#[derive(Default)]
pub(crate) struct TableBuilders {
    /// The requested tables with a row for each statement or block. Their rows in a large module are computed on several threads.
    body_tables: Vec<(TableName, SchemaRef)>,
    max_rows: usize,
    instructions: Option<BatchBuilder<Instructions>>,
    memory: Option<BatchBuilder<Memory>>,
    blocks: Option<BatchBuilder<Blocks>>,
    loops: Option<BatchBuilder<Loops>>,
    functions: Option<BatchBuilder<Functions>>,
    modules: Option<BatchBuilder<Modules>>,
    diagnostics: Option<BatchBuilder<Diagnostics>>,
    lints: Option<BatchBuilder<Lints>>,
    requirements: Option<BatchBuilder<Requirements>>,
}

impl TableBuilders {
    /// Creates builders of tables with these schemas, whose batches have at most `max_rows` rows.
    pub(crate) fn new(requested: &[(TableName, SchemaRef)], max_rows: usize) -> Self {
        let mut builders = Self {
            max_rows,
            ..Self::default()
        };
        for (table, schema) in requested {
            if let TableName::Instructions | TableName::Memory | TableName::Blocks = table {
                let schema = SchemaRef::clone(schema);
                builders.body_tables.push((*table, schema));
            }
            match table {
                TableName::Instructions => {
                    builders.instructions = builder(*table, schema, max_rows)
                }
                TableName::Memory => builders.memory = builder(*table, schema, max_rows),
                TableName::Blocks => builders.blocks = builder(*table, schema, max_rows),
                TableName::Loops => builders.loops = builder(*table, schema, max_rows),
                TableName::Functions => builders.functions = builder(*table, schema, max_rows),
                TableName::Modules => builders.modules = builder(*table, schema, max_rows),
                TableName::Diagnostics => builders.diagnostics = builder(*table, schema, max_rows),
                TableName::Lints => builders.lints = builder(*table, schema, max_rows),
                TableName::Requirements => {
                    builders.requirements = builder(*table, schema, max_rows)
                }
            }
        }
        builders
    }

    /// Adds the rows of a module, or of a file that cannot be read.
    pub(crate) fn add(&mut self, content: Content, output: &mut dyn Output) {
        match content {
            Content::Module { name, source } => self.add_module(&name, source, output),
            Content::Unreadable(unreadable) => {
                if let Some(builder) = &mut self.diagnostics {
                    builder.extend(&[DiagnosticRow::unreadable(&unreadable)], output);
                }
            }
        }
    }

    /// Passes the rows that are not in a batch yet to `output`.
    pub(crate) fn flush(&mut self, output: &mut dyn Output) {
        self.flush_body_tables(output);
        flush(&mut self.loops, output);
        flush(&mut self.functions, output);
        flush(&mut self.modules, output);
        flush(&mut self.diagnostics, output);
        flush(&mut self.lints, output);
        flush(&mut self.requirements, output);
    }

    fn flush_body_tables(&mut self, output: &mut dyn Output) {
        flush(&mut self.instructions, output);
        flush(&mut self.memory, output);
        flush(&mut self.blocks, output);
    }

    fn add_module(&mut self, name: &str, source: SourceText, output: &mut dyn Output) {
        let parsed = ptx_parse::parse_with(source, &Limits::default());
        let module = &parsed.module;
        if let Some(builder) = &mut self.modules {
            let row = ModuleRow {
                file: name,
                module,
                version: module.header().version.map(|v| v.to_string()),
                diagnostics: &parsed.diagnostics,
            };
            builder.extend(&[row], output);
        }
        self.add_bodies(name, module, output);
        self.add_statistics(name, module, output);
        if let Some(builder) = &mut self.requirements {
            let requirements = ptx_verify::requires(module);
            let report = Report::new(name, module, &requirements, None);
            builder.extend(&requirements::rows(&report), output);
        }
        if let Some(builder) = &mut self.lints {
            builder.extend(&lints::rows(&File::new(name, module)), output);
        }
        if let Some(builder) = &mut self.diagnostics {
            let diagnostics = diagnostics::check(module, parsed.diagnostics);
            if !diagnostics.is_empty() {
                let file = File::new(name, module);
                builder.extend(&diagnostics::rows(&file, &diagnostics), output);
            }
        }
    }

    /// Adds the instructions, memory accesses and blocks of all bodies, for a large module on several threads.
    fn add_bodies(&mut self, name: &str, module: &Module, output: &mut dyn Output) {
        if self.body_tables.is_empty() {
            return;
        }
        let facts = ModuleFacts::new(module);
        let file = File::new(name, module);
        let functions: Vec<(FuncId, FunctionFacts<'_>)> = module
            .definitions()
            .filter_map(|(id, _, _)| Some((id, facts.function(id)?)))
            .collect();
        if module.source().len() < 2 * PART {
            return self.add_functions(&file, &functions, output);
        }
        let parts = parts(&functions);
        self.flush_body_tables(output);
        output.parts(parts.len(), &|index, output| {
            let mut builders = Self::new(&self.body_tables, self.max_rows);
            builders.add_functions(&file, parts[index], output);
            builders.flush_body_tables(output);
        });
    }

    fn add_functions(
        &mut self,
        file: &File<'_>,
        functions: &[(FuncId, FunctionFacts<'_>)],
        output: &mut dyn Output,
    ) {
        let module = file.module;
        for &(id, facts) in functions {
            let Some(function) = module.functions().get(id) else {
                continue;
            };
            let context = FunctionContext::new(file, id, function, facts);
            if let Some(builder) = &mut self.blocks {
                let basic_blocks = BasicBlocks::new(&context.analysis);
                builder.extend(&blocks::rows(&context, &basic_blocks), output);
            }
            if self.instructions.is_none() && self.memory.is_none() {
                continue;
            }
            context.visit_instructions(CHUNK, &mut |instructions| {
                if let Some(builder) = &mut self.memory {
                    builder.extend(&memory::rows(instructions), output);
                }
                if let Some(builder) = &mut self.instructions {
                    builder.extend(instructions, output);
                }
            });
        }
    }

    /// Adds the functions and loops of a module.
    fn add_statistics(&mut self, name: &str, module: &Module, output: &mut dyn Output) {
        if self.functions.is_none() && self.loops.is_none() {
            return;
        }
        let needs_values = self.loops.as_ref().is_some_and(BatchBuilder::has_requested);
        let file_and_facts =
            needs_values.then(|| (File::new(name, module), ModuleFacts::new(module)));
        let statistics = function_stats::collect(module, |_| true);
        for ((id, function, _), statistics) in module.definitions().zip(statistics) {
            if let Some(builder) = &mut self.loops {
                let context = file_and_facts.as_ref().and_then(|(file, facts)| {
                    let facts = facts.function(id)?;
                    Some(FunctionContext::new(file, id, function, facts))
                });
                let rows: Vec<LoopRow<'_>> = statistics
                    .loop_list
                    .iter()
                    .map(|loop_statistics| LoopRow {
                        file: name,
                        function: &statistics,
                        statistics: loop_statistics,
                        context: context.as_ref(),
                    })
                    .collect();
                builder.extend(&rows, output);
            }
            if let Some(builder) = &mut self.functions {
                let row = FunctionRow {
                    file: name,
                    statistics,
                };
                builder.extend(&[row], output);
            }
        }
    }
}

fn builder<T: Table>(
    table: TableName,
    schema: &SchemaRef,
    max_rows: usize,
) -> Option<BatchBuilder<T>> {
    Some(BatchBuilder::new(table, SchemaRef::clone(schema), max_rows))
}

fn flush<T: Table>(builder: &mut Option<BatchBuilder<T>>, output: &mut dyn Output) {
    if let Some(builder) = builder {
        builder.flush(output);
    }
}

/// Divides functions into parts of at least [`PART`] bytes. The last part may be smaller.
fn parts<'a, 'm>(
    functions: &'a [(FuncId, FunctionFacts<'m>)],
) -> Vec<&'a [(FuncId, FunctionFacts<'m>)]> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut bytes = 0;
    for (index, (_, facts)) in functions.iter().enumerate() {
        bytes += facts.body().end() as usize;
        if bytes >= PART {
            parts.push(&functions[start..=index]);
            (start, bytes) = (index + 1, 0);
        }
    }
    if start < functions.len() {
        parts.push(&functions[start..]);
    }
    parts
}
