//! The analysis as one JSON object per file; the fields are described in `JSON.md`.
//!
//! Written byte by byte, without a serializer: most of the output is lists of names, each of which is converted to JSON
//! once.

use std::collections::HashMap;
use std::io::Write as _;
use std::sync::Arc;

use anyhow::Result;
use ptx_analysis::cfg::{Block, BlockId};
use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_analysis::pressure::CLASSES;
use ptx_analysis::provenance::CallSummaries;
use ptx_analysis::source_lines::SourceLines;
use ptx_analysis::uniformity::{FunctionUniformity, ModuleUniformity};
use ptx_ir::facts::{FunctionFacts, ModuleFacts};
use ptx_ir::{Body, FuncId, Item, LineIndex, Module, Statement, StmtId};

use super::{uniform, values};
use crate::functions::Chosen;
use crate::select::Selection;
use ptx_report::basic_blocks::BasicBlocks;
use ptx_report::demangle::{demangle, shown};
use ptx_report::facts_json::FactsWriter;
use ptx_report::function_values::FunctionValues;
use ptx_report::json_text::{comma, number, optional, string, word};
use ptx_report::register_names::RegisterNames;
use ptx_report::source_frames::{FrameParts, JsonLines};
use ptx_report::{SCHEMA, labels};

/// What is written.
pub(super) struct Options<'a> {
    pub(super) insts: bool,
    pub(super) functions: &'a Chosen,
    /// `None` for all keys.
    pub(super) fields: Option<&'a Selection>,
}

/// Appends the object of a file, and a newline. Returns a warning for each list that was left out.
pub(super) fn write(
    file: &str,
    module: &Module,
    options: &Options<'_>,
    out: &mut Vec<u8>,
) -> Result<Vec<String>> {
    let mut warnings = Vec::new();
    let facts = ModuleFacts::of(module, |id| options.functions.contains(id));
    let uniformity = uniformity(module, &facts, options.functions);
    let calls = options.insts.then(|| Arc::new(CallSummaries::new(&facts)));
    let lines = LineIndex::new(module.source());
    let source_lines = SourceLines::new(module);
    let mut frame_parts = FrameParts::default();
    let _ = write!(out, "{{\"schema\":{SCHEMA},\"file\":");
    string(out, file);
    out.extend_from_slice(b",\"functions\":[");
    let starts = module.items().filter_map(|(item, what)| match what {
        Item::Function(id) => Some((id, module.span(item).start)),
        _ => None,
    });
    let starts: HashMap<FuncId, u32> = starts.collect();
    let mut first = true;
    let chosen = |id: &FuncId| options.functions.contains(*id);
    for (id, declared, _) in module.definitions().filter(|(id, ..)| chosen(id)) {
        let Some(function) = facts.function(id) else {
            continue;
        };
        comma(out, &mut first);
        let analysis = FunctionAnalysis::new(function);
        let analysis = match &calls {
            Some(calls) => analysis.with_calls(calls),
            None => analysis,
        };
        let blocks = BasicBlocks::new(&analysis);
        let mut warn = |what: &str| {
            let name = shown(module.name(declared.name));
            warnings.push(format!(
                "{file}: {name}: the lists of {what} are too long, written as null"
            ));
        };
        if !blocks.has_live_lists() {
            warn("live registers");
        }
        if !blocks.has_dispatch_successors() {
            warn("successors of jumps through shared tables");
        }
        let from = out.len();
        Writer {
            module,
            blocks,
            facts: function,
            body: function.body(),
            effects: FactsWriter::new(module, function.body()),
            values: (options.insts || !analysis.loops().is_empty())
                .then(|| FunctionValues::new(&analysis))
                .flatten(),
            uniformity: uniformity.function(id),
            analysis: &analysis,
            lines: &lines,
            source_lines: &source_lines,
            frame_parts: &mut frame_parts,
            out,
        }
        .function(id, starts.get(&id).copied(), options.insts);
        if let Some(fields) = options.fields {
            fields.filter_text(out, from, &["functions"])?;
        }
    }
    out.extend_from_slice(b"]}\n");
    Ok(warnings)
}

/// The uniformity of the chosen functions, which depends on those that they call and are called by.
fn uniformity(module: &Module, facts: &ModuleFacts<'_>, functions: &Chosen) -> ModuleUniformity {
    let wanted = |id| functions.contains(id);
    match functions.is_all() {
        true => ModuleUniformity::new(facts),
        false => ModuleUniformity::of(&ModuleFacts::new(module), wanted),
    }
}

struct Writer<'a> {
    module: &'a Module,
    facts: FunctionFacts<'a>,
    body: &'a Body,
    analysis: &'a FunctionAnalysis<'a>,
    /// `None` where nothing is asked about them.
    values: Option<FunctionValues<'a>>,
    uniformity: Option<&'a FunctionUniformity>,
    blocks: BasicBlocks<'a>,
    effects: FactsWriter<'a>,
    lines: &'a LineIndex,
    source_lines: &'a SourceLines<'a>,
    frame_parts: &'a mut FrameParts,
    out: &'a mut Vec<u8>,
}

impl<'a> Writer<'a> {
    fn text(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    fn line(&self, offset: u32) -> u32 {
        self.lines.position(offset).line
    }

    fn function(&mut self, id: FuncId, start: Option<u32>, insts: bool) {
        let Some(function) = self.module.functions().get(id) else {
            return;
        };
        self.text("{\"name\":");
        let name = self.module.name(function.name);
        string(self.out, name);
        self.text(",\"demangled\":");
        optional(self.out, demangle(name).as_deref());
        self.text(",\"kind\":\"");
        self.text(labels::kind(function.kind));
        let start = start.unwrap_or(self.body.base());
        let _ = write!(
            self.out,
            "\",\"line\":{},\"entry\":0,\"blocks\":[",
            self.line(start)
        );
        let analysis = self.analysis;
        let blocks = || analysis.cfg().blocks().filter(|(_, b)| !b.is_dispatch);
        let mut first = true;
        for (id, block) in blocks() {
            comma(self.out, &mut first);
            self.block(id, block);
        }
        self.text("],\"pressure\":");
        self.pressure();
        if insts {
            self.text(",\"insts\":[");
            let mut first = true;
            let mut lines = JsonLines::new(self.source_lines.function(self.body));
            for (id, block) in blocks() {
                self.insts(id, block, &mut lines, &mut first);
            }
            self.text("]");
        }
        self.text("}");
    }

    fn block(&mut self, id: BlockId, block: &Block) {
        let _ = write!(self.out, "{{\"id\":{},\"label\":", id.as_u32());
        optional(self.out, self.blocks.label(block));
        let (first, last) = self.blocks.lines(block, self.lines);
        let _ = write!(self.out, ",\"first_line\":{first},\"last_line\":{last}");
        self.successors(id);
        let exits = self.blocks.exits(id);
        let reachable = self.analysis.is_reachable(id);
        let _ = write!(
            self.out,
            ",\"exits\":{exits},\"unknown\":{},\"reachable\":{reachable},\"idom\":",
            block.unknown
        );
        self.id_or_null(self.blocks.idom(id));
        self.text(",\"ipdom\":");
        self.id_or_null(self.blocks.ipdom(id));
        self.text(",\"loop_header\":");
        self.id_or_null(self.blocks.loop_header(id));
        let depth = self.analysis.loops().depth(id);
        let _ = write!(self.out, ",\"loop_depth\":{depth}");
        let (known, names) = (self.values, self.effects.names());
        values::trip_count(known, self.analysis, names, id, self.out);
        uniform::block(self.uniformity, id, self.out);
        self.registers(id);
        self.text("}");
    }

    /// The lists of registers of a block.
    fn registers(&mut self, id: BlockId) {
        let summary = self.analysis.summary();
        let names = self.effects.names();
        let out = &mut *self.out;
        names_of(out, "uses", names, summary.uses(id).iter().copied());
        names_of(out, "kills", names, summary.kills(id).iter().copied());
        names_of(out, "defs", names, summary.defs(id).iter().copied());
        let returned = self.blocks.returned(id);
        names_of(out, "returned", names, returned.iter().copied());
        if self.blocks.has_live_lists() {
            let liveness = self.analysis.liveness();
            names_of(out, "live_in", names, liveness.live_in(id));
            names_of(out, "live_out", names, liveness.live_out(id));
        } else {
            self.text(",\"live_in\":null,\"live_out\":null");
        }
    }

    fn id_or_null(&mut self, id: Option<BlockId>) {
        match id {
            Some(id) => number(self.out, id.as_u32()),
            None => self.text("null"),
        }
    }

    /// The ids of the blocks that may follow.
    fn successors(&mut self, id: BlockId) {
        self.text(",\"succ\":[");
        let (start, out) = (self.out.len() - 1, &mut *self.out);
        let mut first = true;
        let are_few = self.blocks.successors(id, &mut |to| {
            comma(out, &mut first);
            number(out, to);
        });
        if are_few {
            self.text("]");
        } else {
            self.out.truncate(start);
            self.text("null");
        }
    }

    fn pressure(&mut self) {
        let pressure = self.analysis.pressure();
        let _ = write!(self.out, "{{\"max_b32_units\":{},\"line\":", pressure.units);
        match pressure.at {
            Some(stmt) => {
                let line = self.line(self.body.source_span(stmt).start);
                number(self.out, line);
            }
            None => self.text("null"),
        }
        self.text(",\"by_class\":{");
        for (nth, (class, most)) in CLASSES.iter().zip(pressure.by_class).enumerate() {
            if nth > 0 {
                self.out.push(b',');
            }
            let name = labels::class(*class);
            let _ = write!(self.out, "\"{name}\":{most}");
        }
        self.text("}}");
    }

    /// The last fields of an instruction.
    fn source(&mut self, lines: &mut JsonLines<'_, '_>, stmt: StmtId) {
        lines.write(stmt, self.frame_parts, self.out);
        self.text("}");
    }

    fn insts(
        &mut self,
        id: BlockId,
        block: &Block,
        lines: &mut JsonLines<'_, '_>,
        first: &mut bool,
    ) {
        let body = self.body;
        for (stmt, statement) in body.range(block.first, block.end) {
            let line = self.line(self.body.source_span(stmt).start);
            match statement {
                Statement::Inst(inst) => {
                    comma(self.out, first);
                    let _ = write!(
                        self.out,
                        "{{\"line\":{line},\"block\":{},\"mnemonic\":",
                        id.as_u32()
                    );
                    let facts = self.facts.inst(inst);
                    let signature = self.body.inst(inst).map(|i| self.module.signature(i.sig));
                    string(self.out, signature.map_or("", |s| s.text()));
                    self.text(",\"guard\":");
                    self.effects.guard(&facts, self.out);
                    self.effects.effects(&facts, self.out);
                    let (known, names) = (self.values, self.effects.names());
                    values::inst(known, names, stmt, self.out);
                    uniform::inst(self.uniformity, names, stmt, self.out);
                    self.source(lines, stmt);
                }
                Statement::Opaque(opaque) => {
                    comma(self.out, first);
                    let _ = write!(
                        self.out,
                        "{{\"line\":{line},\"block\":{},\"mnemonic\":null,\"guard\":null",
                        id.as_u32()
                    );
                    let mentions = self.facts.opaque(opaque);
                    self.effects.unknown(mentions, self.out);
                    let (known, names) = (self.values, self.effects.names());
                    values::inst(known, names, stmt, self.out);
                    uniform::inst(self.uniformity, names, stmt, self.out);
                    self.source(lines, stmt);
                }
                _ => {}
            }
        }
    }
}

fn names_of(
    out: &mut Vec<u8>,
    key: &str,
    names: &RegisterNames,
    variables: impl IntoIterator<Item = u32>,
) {
    let _ = write!(out, ",\"{key}\":[");
    let mut first = true;
    for variable in variables {
        comma(out, &mut first);
        word(out, names.get(variable));
    }
    out.push(b']');
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use ptx_edit::EditModule as _;
    use ptx_ir::Operand;

    use super::*;

    #[test]
    fn inserted_statements_are_in_their_block() {
        let text =
            ".version 8.0\n.target sm_80\n.entry k() { .reg .b32 r;\nmov.b32 r, 1;\nret; }\n";
        let mut module = ptx_parse::parse_str(text).module;
        let id = module.definitions().map(|(id, ..)| id).next().unwrap();
        let body = module.body(id).unwrap();
        let is_inst = |(_, s): &(StmtId, Statement)| matches!(s, Statement::Inst(_));
        let (first, _) = body.statements().find(is_inst).unwrap();
        let mut editor = module.edit(id).unwrap();
        let inserted = editor.inst("bar.sync", &[Operand::Small(0)]).unwrap();
        editor.insert_before(first, inserted).unwrap();
        let mut out = Vec::new();
        let options = Options {
            insts: true,
            functions: &crate::functions::Chosen::all(),
            fields: None,
        };
        write("", &module, &options, &mut out).unwrap();
        let object: Value = serde_json::from_slice(&out).unwrap();
        let insts = object["functions"][0]["insts"].as_array().unwrap();
        let mnemonics: Vec<_> = insts.iter().map(|i| &i["mnemonic"]).collect();
        assert_eq!(mnemonics, ["bar.sync", "mov.b32", "ret"]);
    }
}
