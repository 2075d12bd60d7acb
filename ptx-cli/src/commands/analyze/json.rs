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
use ptx_analysis::reg_lanes::Variables;
use ptx_analysis::source_lines::{FunctionLines, SourceLines};
use ptx_ir::facts::{Facts, FunctionFacts, Mentions, ModuleFacts, RegUse};
use ptx_ir::{Body, EntityId, FuncId, Item, LineIndex, Module, Operand, Statement, StmtId};
use ptx_isa::Modifier;

use crate::demangle::{demangle, shown};
use crate::functions::Chosen;
use crate::render::source_lines::frames;
use crate::render::{SCHEMA, labels, register_names};
use crate::select::Selection;

/// How many entries the lists of a function may have that can be quadratic in its size, and how many more for each
/// statement. Real functions need less than 20 for each statement.
const LIST_ENTRIES: u64 = 1 << 20;
const LIST_ENTRIES_PER_STATEMENT: u64 = 64;

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

fn list_entries(statements: usize) -> u64 {
    LIST_ENTRIES + LIST_ENTRIES_PER_STATEMENT * statements as u64
}

/// Whether the registers that are live at the ends of all blocks are few enough to be listed.
pub(crate) fn live_lists_fit(analysis: &FunctionAnalysis, statements: usize) -> bool {
    analysis.liveness().total() <= list_entries(statements)
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
            names: names(module, function.body(), analysis.variables()),
            analysis,
            lines: &lines,
            source_lines: &source_lines,
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

/// The name of every variable as a JSON string.
fn names(module: &Module, body: &Body, variables: &Variables) -> Vec<Vec<u8>> {
    let names = register_names::of(module, body, variables);
    let json = |name: &String| serde_json::to_vec(name).unwrap_or_else(|_| b"\"\"".to_vec());
    names.iter().map(json).collect()
}

fn comma(out: &mut Vec<u8>, first: &mut bool) {
    if !std::mem::replace(first, false) {
        out.push(b',');
    }
}

fn string(out: &mut Vec<u8>, text: &str) {
    if serde_json::to_writer(&mut *out, text).is_err() {
        out.extend_from_slice(b"\"\"");
    }
}

/// Writes a number; faster than formatting it.
fn number(out: &mut Vec<u8>, value: u32) {
    let mut digits = [0; 10];
    let mut at = digits.len();
    let mut rest = value;
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

struct Writer<'a> {
    module: &'a Module,
    facts: FunctionFacts<'a>,
    body: &'a Body,
    analysis: FunctionAnalysis,
    names: Vec<Vec<u8>>,
    lines: &'a LineIndex,
    source_lines: &'a SourceLines<'a>,
    limits: Limits,
    dispatches: HashMap<BlockId, Vec<BlockId>>,
    /// For each variable or block the last list that it was added to.
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
        match demangle(name) {
            Some(name) => string(self.out, &name),
            None => self.text("null"),
        }
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
            let lines = self.source_lines.function(self.body);
            for (id, block) in blocks.iter().filter(|(_, b)| !b.is_dispatch) {
                self.insts(*id, block, &lines, &mut first);
            }
            self.text("]");
        }
        self.text("}");
    }

    fn block(&mut self, id: BlockId, block: &Block) {
        let _ = write!(self.out, "{{\"id\":{},\"label\":", id.as_u32());
        let label = block.label.and_then(|l| self.body.labels().get(l));
        match label {
            Some(label) => string(self.out, self.module.name(label.name)),
            None => self.text("null"),
        }
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
        let names = &self.names;
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
        self.seen.resize(cfg.len().max(self.names.len()), 0);
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
    fn source(&mut self, lines: &FunctionLines<'_, '_>, stmt: StmtId) {
        self.text(",\"source\":");
        if serde_json::to_writer(&mut *self.out, &frames(lines, stmt)).is_err() {
            self.text("[]");
        }
        let _ = write!(self.out, ",\"inline_asm\":{}}}", lines.is_inline_asm(stmt));
    }

    fn insts(
        &mut self,
        id: BlockId,
        block: &Block,
        lines: &FunctionLines<'_, '_>,
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
                    self.guard(&facts);
                    self.mentions(&facts.registers());
                    self.text(",\"memory\":[");
                    self.memory(&facts);
                    let _ = write!(
                        self.out,
                        "],\"side_effects\":{},\"known\":{}",
                        facts.has_side_effects(),
                        facts.is_known()
                    );
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
                    self.mentions(&mentions);
                    self.text(",\"memory\":[");
                    self.text(ANYTHING);
                    self.text("],\"side_effects\":true,\"known\":false");
                    self.source(lines, stmt);
                }
                _ => {}
            }
        }
    }

    fn guard(&mut self, facts: &Facts<'_>) {
        let Some((place, negated)) = facts.guard_register() else {
            self.text(if facts.guard().is_some() {
                "\"?\""
            } else {
                "null"
            });
            return;
        };
        let variable = self.analysis.variables().of(place).start;
        let name = self
            .names
            .get(variable as usize)
            .map_or(&b"\"\""[..], |n| n);
        if negated {
            self.out.extend_from_slice(b"\"!");
            self.out
                .extend_from_slice(name.get(1..).unwrap_or_default());
        } else {
            self.out.extend_from_slice(name);
        }
    }

    fn mentions(&mut self, mentions: &Mentions<'_>) {
        self.list("reads", mentions, |m| m.usage.reads());
        self.list("writes", mentions, |m| m.usage.writes());
        self.list("cond_writes", mentions, |m| m.usage.may_write());
    }

    /// The names of the mentions that `belong`, each once.
    fn list(&mut self, name: &str, mentions: &Mentions<'_>, belong: impl Fn(&RegUse) -> bool) {
        self.text(",\"");
        self.text(name);
        self.text("\":[");
        self.stamp += 1;
        self.seen
            .resize(self.analysis.cfg().len().max(self.names.len()), 0);
        let mut first = true;
        for mention in mentions.clone().filter(belong) {
            for variable in self.analysis.variables().of(mention.place) {
                let Some(seen) = self.seen.get_mut(variable as usize) else {
                    continue;
                };
                if std::mem::replace(seen, self.stamp) == self.stamp {
                    continue;
                }
                comma(self.out, &mut first);
                if let Some(name) = self.names.get(variable as usize) {
                    self.out.extend_from_slice(name);
                }
            }
        }
        self.text("]");
    }

    fn memory(&mut self, facts: &Facts<'_>) {
        let mut first = true;
        for access in facts.memory() {
            comma(self.out, &mut first);
            self.text("{\"space\":\"");
            self.text(labels::space(access.space));
            self.text("\",\"bytes\":");
            match access.bytes {
                Some(bytes) => {
                    let _ = write!(self.out, "{bytes}");
                }
                None => self.text("null"),
            }
            self.text(",\"access\":\"");
            self.text(labels::access(access.access));
            self.text("\",\"order\":");
            self.word(access.order);
            self.text(",\"scope\":");
            self.word(access.scope);
            self.text(",\"base\":");
            self.base(access.base);
            match access.offset {
                Some(offset) => {
                    let _ = write!(self.out, ",\"offset\":{offset}}}");
                }
                None => self.text(",\"offset\":null}"),
            }
        }
    }

    fn word(&mut self, word: Option<Modifier>) {
        match word {
            Some(word) => string(self.out, word.text().trim_start_matches('.')),
            None => self.text("null"),
        }
    }

    fn base(&mut self, base: Option<Operand>) {
        match base {
            Some(Operand::Reg(register)) => {
                let place = ptx_ir::facts::RegLane {
                    register,
                    lane: None,
                };
                let variable = self.analysis.variables().of(place).start;
                match self.names.get(variable as usize) {
                    Some(name) => self.out.extend_from_slice(name),
                    None => self.text("null"),
                }
            }
            Some(Operand::Symbol(symbol)) => {
                let symbol = self.module.symbols().get(symbol);
                let name = symbol.map(|s| numbered(self.module.name(s.name), s.number));
                string(self.out, &name.unwrap_or_default());
            }
            Some(Operand::Var(var)) => {
                let var = self.body.vars().get(var);
                let name = var.map(|v| numbered(self.module.name(v.name), v.number));
                string(self.out, &name.unwrap_or_default());
            }
            _ => self.text("null"),
        }
    }
}

/// The memory access of a statement that was not recognized.
const ANYTHING: &str = "{\"space\":\"any\",\"bytes\":null,\"access\":\"update\",\"order\":null,\"scope\":null,\"base\":null,\"offset\":null}";

fn numbered(name: &str, number: Option<u32>) -> String {
    match number {
        Some(number) => format!("{name}{number}"),
        None => name.to_owned(),
    }
}

fn names_of(
    out: &mut Vec<u8>,
    key: &str,
    names: &[Vec<u8>],
    variables: impl IntoIterator<Item = u32>,
) {
    let _ = write!(out, ",\"{key}\":[");
    for (nth, variable) in variables.into_iter().enumerate() {
        if nth > 0 {
            out.push(b',');
        }
        if let Some(name) = names.get(variable as usize) {
            out.extend_from_slice(name);
        }
    }
    out.push(b']');
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use ptx_edit::EditModule as _;

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
            functions: &Chosen::all(),
            fields: None,
        };
        write("", &module, &options, &mut out).unwrap();
        let object: Value = serde_json::from_slice(&out).unwrap();
        let insts = object["functions"][0]["insts"].as_array().unwrap();
        let mnemonics: Vec<_> = insts.iter().map(|i| &i["mnemonic"]).collect();
        assert_eq!(mnemonics, ["bar.sync", "mov.b32", "ret"]);
    }
}
