//! The analysis as one JSON object per file; the fields are described in `JSON.md`.
//!
//! Written byte by byte, without a serializer: most of the output is lists of names, each of which is converted to JSON
//! once.

use std::collections::HashMap;
use std::io::Write as _;

use anyhow::Result;
use ptx_analysis::cfg::{Block, BlockId, Cfg};
use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_analysis::pressure::CLASSES;
use ptx_analysis::source_lines::SourceLines;
use ptx_ir::facts::{FunctionFacts, ModuleFacts};
use ptx_ir::{Body, EntityId, FuncId, Item, LineIndex, Module, Statement, StmtId};

use crate::functions::Chosen;
use crate::select::Selection;
use ptx_report::demangle::{demangle, shown};
use ptx_report::facts_json::FactsWriter;
use ptx_report::json_text::{comma, number, optional, string, word};
use ptx_report::live_lists::{list_entries, live_lists_fit};
use ptx_report::register_names::RegisterNames;
use ptx_report::source_frames::{InlinedNames, JsonLines};
use ptx_report::{SCHEMA, labels};

/// Which lists of a function are written.
struct Limits {
    live_lists: bool,
    /// The successors of jumps through shared tables.
    successors: bool,
}

impl Limits {
    fn of(analysis: &FunctionAnalysis, statements: usize) -> Self {
        let limit = list_entries(statements);
        let cfg = analysis.cfg();
        let dispatch = cfg.blocks().filter(|(_, b)| b.is_dispatch);
        let edges = dispatch.map(|(id, _)| {
            let (into, out) = (cfg.predecessors(id).len(), cfg.successors(id).len());
            (into as u64).saturating_mul(out as u64)
        });
        Self {
            live_lists: live_lists_fit(analysis, statements),
            successors: edges.fold(0, u64::saturating_add) <= limit,
        }
    }
}

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
    let lines = LineIndex::new(module.source());
    let source_lines = SourceLines::new(module);
    let mut names = InlinedNames::default();
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
        let limits = Limits::of(&analysis, function.body().statement_table().len());
        let mut warn = |what: &str| {
            let name = shown(module.name(declared.name));
            warnings.push(format!(
                "{file}: {name}: the lists of {what} are too long, written as null"
            ));
        };
        if !limits.live_lists {
            warn("live registers");
        }
        if !limits.successors {
            warn("successors of jumps through shared tables");
        }
        let from = out.len();
        Writer {
            module,
            limits,
            dispatches: dispatches(analysis.cfg()),
            facts: function,
            body: function.body(),
            effects: FactsWriter::new(module, function.body()),
            analysis,
            lines: &lines,
            source_lines: &source_lines,
            inlined: &mut names,
            seen: Vec::new(),
            stamp: 0,
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

/// The dispatch blocks that control may enter from each dispatch block, that block first.
fn dispatches(cfg: &Cfg) -> HashMap<BlockId, Vec<BlockId>> {
    let is_dispatch = |id: BlockId| cfg.block(id).is_some_and(|b| b.is_dispatch);
    let all = cfg.blocks().filter(|(_, b)| b.is_dispatch);
    // Only that of all labels is entered from others.
    let next = |id| cfg.successors(id).iter().copied().find(|&b| is_dispatch(b));
    all.map(|(id, _)| (id, std::iter::once(id).chain(next(id)).collect()))
        .collect()
}

struct Writer<'a> {
    module: &'a Module,
    facts: FunctionFacts<'a>,
    body: &'a Body,
    analysis: FunctionAnalysis,
    effects: FactsWriter<'a>,
    lines: &'a LineIndex,
    source_lines: &'a SourceLines<'a>,
    inlined: &'a mut InlinedNames,
    limits: Limits,
    dispatches: HashMap<BlockId, Vec<BlockId>>,
    /// For each block the last list that it was added to.
    seen: Vec<u32>,
    stamp: u32,
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
        let blocks: Vec<(BlockId, Block)> =
            self.analysis.cfg().blocks().map(|(i, b)| (i, *b)).collect();
        let mut first = true;
        for (id, block) in blocks.iter().filter(|(_, b)| !b.is_dispatch) {
            comma(self.out, &mut first);
            self.block(*id, block);
        }
        self.text("],\"pressure\":");
        self.pressure();
        if insts {
            self.text(",\"insts\":[");
            let mut first = true;
            let mut lines = JsonLines::new(self.source_lines.function(self.body));
            for (id, block) in blocks.iter().filter(|(_, b)| !b.is_dispatch) {
                self.insts(*id, block, &mut lines, &mut first);
            }
            self.text("]");
        }
        self.text("}");
    }

    fn block(&mut self, id: BlockId, block: &Block) {
        let _ = write!(self.out, "{{\"id\":{},\"label\":", id.as_u32());
        let label = block.label.and_then(|l| self.body.labels().get(l));
        optional(self.out, label.map(|l| self.module.name(l.name)));
        let (first, last) = self.block_lines(block);
        let _ = write!(self.out, ",\"first_line\":{first},\"last_line\":{last}");
        let dispatch = self.dispatch_after(id);
        self.successors(id, &dispatch);
        let cfg = self.analysis.cfg();
        let mut through = dispatch.iter().filter_map(|&d| cfg.block(d));
        let exits = block.exits || through.any(|b| b.exits);
        let reachable = self.analysis.is_reachable(id);
        let _ = write!(
            self.out,
            ",\"exits\":{exits},\"unknown\":{},\"reachable\":{reachable},\"idom\":",
            block.unknown
        );
        let idom = self.above(id, FunctionAnalysis::idom);
        self.id_or_null(idom);
        self.text(",\"ipdom\":");
        let ipdom = self.above(id, FunctionAnalysis::ipdom);
        self.id_or_null(ipdom.filter(|_| reachable));
        self.text(",\"loop_header\":");
        let header = self.analysis.loops().header(id);
        self.id_or_null(header.filter(|&h| !self.is_dispatch(h)));
        let depth = self.analysis.loops().depth(id);
        let _ = write!(self.out, ",\"loop_depth\":{depth}");
        self.registers(id, &dispatch);
        self.text("}");
    }

    /// The lists of registers of a block.
    fn registers(&mut self, id: BlockId, dispatch: &[BlockId]) {
        let summary = self.analysis.summary();
        let names = self.effects.names();
        let out = &mut *self.out;
        names_of(out, "uses", names, summary.uses(id).iter().copied());
        names_of(out, "kills", names, summary.kills(id).iter().copied());
        names_of(out, "defs", names, summary.defs(id).iter().copied());
        let returned = std::iter::once(&id).chain(dispatch);
        let mut returned = returned.map(|&b| summary.returned(b));
        let returned = returned.find(|r| !r.is_empty()).unwrap_or_default();
        names_of(out, "returned", names, returned.iter().copied());
        if self.limits.live_lists {
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

    /// The nearest dominator or post-dominator that is not a dispatch block.
    fn above(
        &self,
        id: BlockId,
        of: impl Fn(&FunctionAnalysis, BlockId) -> Option<BlockId>,
    ) -> Option<BlockId> {
        let mut at = of(&self.analysis, id);
        while let Some(dispatch) = at.filter(|&b| self.is_dispatch(b)) {
            at = of(&self.analysis, dispatch);
        }
        at
    }

    fn is_dispatch(&self, id: BlockId) -> bool {
        self.analysis.cfg().block(id).is_some_and(|b| b.is_dispatch)
    }

    /// The dispatch blocks that control may go through after a block.
    fn dispatch_after(&self, id: BlockId) -> Vec<BlockId> {
        let successors = self.analysis.cfg().successors(id).iter();
        let mut found: Vec<BlockId> = Vec::new();
        for entered in successors.filter_map(|to| self.dispatches.get(to)) {
            for dispatch in entered {
                if !found.contains(dispatch) {
                    found.push(*dispatch);
                }
            }
        }
        found
    }

    /// The ids of the blocks that may follow, each once: those after dispatch blocks instead of these.
    fn successors(&mut self, id: BlockId, dispatch: &[BlockId]) {
        if !self.limits.successors && !dispatch.is_empty() {
            self.text(",\"succ\":null");
            return;
        }
        self.text(",\"succ\":[");
        self.stamp += 1;
        let cfg = self.analysis.cfg();
        self.seen.resize(cfg.len(), 0);
        let mut work = vec![id];
        let mut first = true;
        while let Some(from) = work.pop() {
            for &to in cfg.successors(from) {
                let Some(seen) = self.seen.get_mut(to.index()) else {
                    continue;
                };
                if std::mem::replace(seen, self.stamp) == self.stamp {
                    continue;
                }
                if cfg.block(to).is_some_and(|b| b.is_dispatch) {
                    work.push(to);
                } else {
                    comma(self.out, &mut first);
                    number(self.out, to.as_u32());
                }
            }
        }
        self.text("]");
    }

    /// The lines of the first and of the last statement that does something.
    fn block_lines(&self, block: &Block) -> (u32, u32) {
        let counts = |(stmt, statement): (StmtId, Statement)| match statement {
            Statement::Inst(_) | Statement::Opaque(_) => Some(stmt),
            // The label of a table is not a position in the code.
            Statement::Label(label) => self.analysis.cfg().of_label(label).map(|_| stmt),
            _ => None,
        };
        let statements = || self.body.range(block.first, block.end);
        let first = statements().find_map(counts);
        let last = statements().rev().find_map(counts);
        let base = self.body.base();
        let span = |stmt: Option<StmtId>| match stmt {
            Some(stmt) => self.body.source_span(stmt),
            None => ptx_ir::Span::new(base, base + 1),
        };
        let end = span(last).end.saturating_sub(1);
        (self.line(span(first).start), self.line(end))
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
        lines.write(stmt, self.inlined, self.out);
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
                    self.effects.unknown(&mentions, self.out);
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
