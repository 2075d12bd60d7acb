//! The wanted tables while files are read.

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};
use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_ir::facts::ModuleFacts;
use ptx_ir::{Limits, Module, SourceText};
use ptx_report::basic_blocks::BasicBlocks;
use ptx_report::function_stats;
use ptx_report::requirements::Report;

use crate::batch::Batches;
use crate::context::{File, InFunction};
use crate::input::Content;
use crate::rows::blocks::{self, Blocks};
use crate::rows::diagnostics::{self, Diagnostics, Finding};
use crate::rows::functions::{self, Functions};
use crate::rows::instructions::Instructions;
use crate::rows::loops::{self, Loops};
use crate::rows::memory::{self, Memory};
use crate::rows::modules::{Modules, Parsed};
use crate::rows::requirements::{self, Requirements};
use crate::table::TableName;

/// Instructions whose rows are made together.
const CHUNK: usize = 1 << 10;

/// Gets the batches.
pub(crate) type Out<'o> = &'o mut dyn FnMut(TableName, Result<RecordBatch, ArrowError>);

/// The rows of the wanted tables that are not in a batch yet.
#[derive(Default)]
pub(crate) struct Tables {
    instructions: Option<Batches<Instructions>>,
    memory: Option<Batches<Memory>>,
    blocks: Option<Batches<Blocks>>,
    loops: Option<Batches<Loops>>,
    functions: Option<Batches<Functions>>,
    modules: Option<Batches<Modules>>,
    diagnostics: Option<Batches<Diagnostics>>,
    requirements: Option<Batches<Requirements>>,
}

impl Tables {
    pub(crate) fn new(wanted: &[(TableName, SchemaRef)], rows: usize) -> Self {
        let mut tables = Self::default();
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
                TableName::Requirements => tables.requirements = Some(Batches::new(schema, rows)),
            }
        }
        tables
    }

    /// Adds the rows of a module, or of a file that cannot be read.
    pub(crate) fn add(&mut self, content: Content, out: Out<'_>) {
        match content {
            Content::Module(name, source) => self.module(&name, source, out),
            Content::Unreadable(name, code, message) => {
                if let Some(batches) = &mut self.diagnostics {
                    let row = Finding::unreadable(&name, code, &message);
                    batches.extend(&[row], &mut |batch| out(TableName::Diagnostics, batch));
                }
            }
        }
    }

    /// The rows that are left.
    pub(crate) fn finish(&mut self, out: Out<'_>) {
        fn rest<T: crate::column::Rows>(
            of: &mut Option<Batches<T>>,
            table: TableName,
            out: Out<'_>,
        ) {
            if let Some(batch) = of.as_mut().and_then(Batches::rest) {
                out(table, batch);
            }
        }
        rest(&mut self.instructions, TableName::Instructions, out);
        rest(&mut self.memory, TableName::Memory, out);
        rest(&mut self.blocks, TableName::Blocks, out);
        rest(&mut self.loops, TableName::Loops, out);
        rest(&mut self.functions, TableName::Functions, out);
        rest(&mut self.modules, TableName::Modules, out);
        rest(&mut self.diagnostics, TableName::Diagnostics, out);
        rest(&mut self.requirements, TableName::Requirements, out);
    }

    fn module(&mut self, name: &str, source: SourceText, out: Out<'_>) {
        let parsed = ptx_parse::parse_shared(source, &Limits::default());
        let module = &parsed.module;
        if let Some(batches) = &mut self.modules {
            let row = Parsed {
                file: name,
                module,
                version: module.header().version.map(|v| v.to_string()),
                diagnostics: &parsed.diagnostics,
            };
            batches.extend(&[row], &mut |batch| out(TableName::Modules, batch));
        }
        self.statements(name, module, out);
        self.statistics(name, module, out);
        if let Some(batches) = &mut self.requirements {
            let needs = ptx_verify::requires(module);
            let report = Report::new(name, module, &needs, None);
            let rows = requirements::of(&report);
            batches.extend(&rows, &mut |batch| out(TableName::Requirements, batch));
        }
        if let Some(batches) = &mut self.diagnostics {
            let found = diagnostics::check(module, parsed.diagnostics);
            if !found.is_empty() {
                let file = File::new(name, module);
                let rows = diagnostics::of(&file, &found);
                batches.extend(&rows, &mut |batch| out(TableName::Diagnostics, batch));
            }
        }
    }

    /// Instructions, memory accesses and blocks.
    fn statements(&mut self, name: &str, module: &Module, out: Out<'_>) {
        let of_instructions = self.instructions.is_some() || self.memory.is_some();
        if !of_instructions && self.blocks.is_none() {
            return;
        }
        let facts = ModuleFacts::new(module);
        let file = File::new(name, module);
        for (id, function, _) in module.definitions() {
            let Some(facts) = facts.function(id) else {
                continue;
            };
            let of = InFunction::new(&file, id, function, facts);
            if let Some(batches) = &mut self.blocks {
                let analysis: &FunctionAnalysis = of.analysis();
                let basic = BasicBlocks::new(module, of.body, analysis);
                let rows = blocks::of(&of, &basic);
                batches.extend(&rows, &mut |batch| out(TableName::Blocks, batch));
            }
            if !of_instructions {
                continue;
            }
            of.instructions(CHUNK, &mut |rows| {
                if let Some(batches) = &mut self.memory {
                    let rows = memory::of(rows);
                    batches.extend(&rows, &mut |batch| out(TableName::Memory, batch));
                }
                if let Some(batches) = &mut self.instructions {
                    batches.extend(rows, &mut |batch| out(TableName::Instructions, batch));
                }
            });
        }
    }

    /// Functions and loops.
    fn statistics(&mut self, name: &str, module: &Module, out: Out<'_>) {
        if self.functions.is_none() && self.loops.is_none() {
            return;
        }
        for of in function_stats::of(module, |_| true) {
            if let Some(batches) = &mut self.loops {
                let row = |l| loops::InFile {
                    file: name,
                    function: &of,
                    of: l,
                };
                let rows: Vec<_> = of.loop_list.iter().map(row).collect();
                batches.extend(&rows, &mut |batch| out(TableName::Loops, batch));
            }
            if let Some(batches) = &mut self.functions {
                let row = functions::InFile { file: name, of };
                batches.extend(&[row], &mut |batch| out(TableName::Functions, batch));
            }
        }
    }
}
