//! The analyses from which the rows of a file and of a function are computed.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::rc::Rc;
use std::sync::OnceLock;

use ptx_analysis::cfg::{BlockId, Cfg};
use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_analysis::graph::{Dominators, Loops};
use ptx_analysis::source_lines::{FunctionLines, SourceLines};
use ptx_analysis::uniformity::{FunctionUniformity, ModuleUniformity, Uniformity};
use ptx_ir::facts::{Facts, FunctionFacts, Mentions, ModuleFacts, RegUse};
use ptx_ir::{
    Body, FuncId, Function, InstId, LineCursor, LineIndex, Module, Signature, Span, Statement,
    StmtId,
};
use ptx_report::clean;
use ptx_report::facts_json::FactsWriter;
use ptx_report::function_values::FunctionValues;

use crate::column::Texts;

/// A module with its name.
pub(crate) struct File<'m> {
    pub(crate) name: &'m str,
    pub(crate) module: &'m Module,
    /// The source, if all of it is UTF-8.
    text: Option<&'m str>,
    pub(crate) lines: LineIndex,
    pub(crate) source_lines: SourceLines<'m>,
    /// By signature.
    mnemonics: Vec<Mnemonic<'m>>,
    uniformity: OnceLock<ModuleUniformity>,
}

/// The texts of a mnemonic.
struct Mnemonic<'m> {
    text: &'m str,
    opcode: &'m str,
    /// Without their dots.
    modifiers: Vec<&'m str>,
}

impl<'m> File<'m> {
    pub(crate) fn new(name: &'m str, module: &'m Module) -> Self {
        let sigs = module.signatures().ids();
        Self {
            name,
            module,
            text: str::from_utf8(module.source()).ok(),
            lines: LineIndex::new(module.source()),
            source_lines: SourceLines::new(module),
            mnemonics: sigs
                .map(|sig| Mnemonic::new(module.signature(sig)))
                .collect(),
            uniformity: OnceLock::new(),
        }
    }

    /// In which threads values are the same.
    fn uniformity(&self, id: FuncId) -> Option<&FunctionUniformity> {
        let new = || ModuleUniformity::new(&ModuleFacts::new(self.module));
        self.uniformity.get_or_init(new).function(id)
    }
}

impl<'m> Mnemonic<'m> {
    fn new(signature: Signature<'m>) -> Self {
        let modifiers = signature.words().iter();
        let modifiers = modifiers.map(|word| signature.word_text(*word).trim_start_matches('.'));
        Self {
            text: signature.text(),
            opcode: signature.opcode_text(),
            modifiers: modifiers.collect(),
        }
    }
}

/// A function with a body.
pub(crate) struct InFunction<'f> {
    pub(crate) file: &'f File<'f>,
    pub(crate) id: FuncId,
    pub(crate) name: Cow<'f, str>,
    pub(crate) body: &'f Body,
    pub(crate) facts: FunctionFacts<'f>,
    pub(crate) names: FactsWriter<'f>,
    graph: OnceCell<Graph>,
    analysis: OnceCell<FunctionAnalysis>,
    values: OnceCell<Option<FunctionValues>>,
}

/// The graph and its loops, without the other analyses.
struct Graph {
    cfg: Cfg,
    dominators: Dominators<BlockId>,
    loops: Loops<BlockId>,
}

impl<'f> InFunction<'f> {
    pub(crate) fn new(
        file: &'f File<'f>,
        id: FuncId,
        function: &'f Function,
        facts: FunctionFacts<'f>,
    ) -> Self {
        let (module, body) = (file.module, facts.body());
        Self {
            file,
            id,
            name: clean(module.name(function.name)),
            body,
            facts,
            names: FactsWriter::new(module, body),
            graph: OnceCell::new(),
            analysis: OnceCell::new(),
            values: OnceCell::new(),
        }
    }

    /// The values of the function.
    pub(crate) fn values(&self) -> Option<&FunctionValues> {
        let new = || FunctionValues::new(self.facts, self.analysis());
        self.values.get_or_init(new).as_ref()
    }

    /// The largest group of threads that all execute a block or all do not.
    pub(crate) fn uniform_block(&self, block: BlockId) -> Option<&'static str> {
        Some(self.file.uniformity(self.id)?.block(block).name())
    }

    /// All analyses of the function.
    pub(crate) fn analysis(&self) -> &FunctionAnalysis {
        let new = || FunctionAnalysis::new(self.facts);
        self.analysis.get_or_init(new)
    }

    fn graph(&self) -> &Graph {
        self.graph.get_or_init(|| {
            let cfg = Cfg::new(self.facts);
            let dominators = Dominators::new(&cfg);
            let loops = Loops::natural(&cfg, &dominators);
            Graph {
                cfg,
                dominators,
                loops,
            }
        })
    }

    pub(crate) fn cfg(&self) -> &Cfg {
        match self.analysis.get() {
            Some(analysis) => analysis.cfg(),
            None => &self.graph().cfg,
        }
    }

    pub(crate) fn loops(&self) -> &Loops<BlockId> {
        match self.analysis.get() {
            Some(analysis) => analysis.loops(),
            None => &self.graph().loops,
        }
    }

    pub(crate) fn is_reachable(&self, block: BlockId) -> bool {
        match self.analysis.get() {
            Some(analysis) => analysis.is_reachable(block),
            None => self.graph().dominators.is_reachable(block),
        }
    }

    /// The header of the innermost loop of a block.
    pub(crate) fn loop_header(&self, block: BlockId) -> Option<u32> {
        let header = self.loops().header(block)?;
        let is_dispatch = self.cfg().block(header).is_some_and(|b| b.is_dispatch);
        (!is_dispatch).then_some(header.as_u32())
    }

    /// Calls `work` with runs of consecutive instructions, in the order of the text.
    pub(crate) fn instructions(&self, most: usize, work: &mut dyn FnMut(&[Instruction<'_>])) {
        let mut rows = Vec::with_capacity(most.min(self.body.statement_table().len()));
        let mut lines = LineCursor::new(&self.file.lines, self.file.module.source());
        let mut sources = Sources::new(self.file.source_lines.function(self.body));
        for (block, basic) in self.cfg().blocks().filter(|(_, b)| !b.is_dispatch) {
            for (stmt, statement) in self.body.range(basic.first, basic.end) {
                let (inst, facts) = match statement {
                    Statement::Inst(inst) => (Some(inst), Some(self.facts.inst(inst))),
                    Statement::Opaque(_) => (None, None),
                    _ => continue,
                };
                let span = self.body.source_span(stmt);
                let at = lines.position(span.start);
                rows.push(Instruction {
                    of: self,
                    inst,
                    stmt,
                    facts,
                    mentions: match statement {
                        Statement::Opaque(opaque) => Some(self.facts.opaque(opaque)),
                        _ => None,
                    },
                    span,
                    line: at.line,
                    column: at.column,
                    block,
                    source: sources.of(stmt),
                    inline_asm: sources.lines.is_inline_asm(stmt),
                });
                if rows.len() >= most {
                    work(&rows);
                    rows.clear();
                }
            }
        }
        work(&rows);
    }
}

/// An instruction, or a statement of a function that was not recognized.
pub(crate) struct Instruction<'f> {
    pub(crate) of: &'f InFunction<'f>,
    pub(crate) inst: Option<InstId>,
    pub(crate) stmt: StmtId,
    /// `None` if it was not recognized.
    pub(crate) facts: Option<Facts<'f>>,
    /// The registers that it mentions, if it was not recognized.
    mentions: Option<Mentions<'f>>,
    pub(crate) span: Span,
    pub(crate) line: u32,
    pub(crate) column: u32,
    pub(crate) block: BlockId,
    pub(crate) source: Option<Rc<SourceLine>>,
    pub(crate) inline_asm: bool,
}

impl<'f> Instruction<'f> {
    fn texts(&self) -> Option<&'f Mnemonic<'f>> {
        let inst = self.of.body.inst(self.inst?)?;
        self.of.file.mnemonics.get(inst.sig.as_u32() as usize)
    }

    /// The largest group of threads in which all registers that it writes are the same.
    pub(crate) fn uniform(&self) -> Option<&'static str> {
        let uniformity = self.of.file.uniformity(self.of.id)?;
        let defs = uniformity.defs(self.stmt).iter().map(|d| d.uniformity);
        Some(defs.reduce(Uniformity::join)?.name())
    }

    /// The registers that it writes and that are sums of multiples of symbols.
    pub(crate) fn affine(&self, each: Texts<'_>) -> bool {
        let Some(values) = self.of.values() else {
            return false;
        };
        let names = self.of.names.names();
        let text = values.text(self.of.facts, names);
        for (register, form) in values.forms(self.stmt) {
            each(&format!("{} = {}", names.get(register), text.form(&form)));
        }
        true
    }

    pub(crate) fn mnemonic(&self) -> Option<&'f str> {
        Some(self.texts()?.text)
    }

    pub(crate) fn opcode(&self) -> Option<&'f str> {
        Some(self.texts()?.opcode)
    }

    /// The modifiers without their dots.
    pub(crate) fn modifiers(&self, each: Texts<'_>) -> bool {
        let texts = self.texts();
        let modifiers = texts.iter().flat_map(|texts| &texts.modifiers);
        modifiers.for_each(|modifier| each(modifier));
        texts.is_some()
    }

    /// Its registers that `belong`, each once.
    pub(crate) fn registers(&self, belong: impl Fn(&RegUse) -> bool, each: Texts<'_>) -> bool {
        let mentions = match (&self.facts, &self.mentions) {
            (Some(facts), _) => facts.registers(),
            (None, Some(mentions)) => mentions.clone(),
            (None, None) => return true,
        };
        self.of.names.each_register(mentions, belong, each);
        true
    }

    /// Its text.
    pub(crate) fn text(&self) -> Cow<'f, str> {
        let file = self.of.file;
        let (start, end) = (self.span.start as usize, self.span.end as usize);
        match file.text.and_then(|text| text.get(start..end)) {
            Some(text) => Cow::Borrowed(text),
            None => String::from_utf8_lossy(self.span.of(file.module.source())),
        }
    }
}

/// The innermost source line of an instruction.
pub(crate) struct SourceLine {
    pub(crate) file: Option<String>,
    pub(crate) line: u32,
    pub(crate) column: u32,
    pub(crate) function: Option<String>,
}

/// The source lines of successive statements.
struct Sources<'l, 'm> {
    lines: FunctionLines<'l, 'm>,
    /// The place of the last statement, and its line.
    last: (Option<u32>, Option<Rc<SourceLine>>),
}

impl<'l, 'm> Sources<'l, 'm> {
    fn new(lines: FunctionLines<'l, 'm>) -> Self {
        Self {
            lines,
            last: (None, None),
        }
    }

    fn of(&mut self, stmt: StmtId) -> Option<Rc<SourceLine>> {
        let place = self.lines.place(stmt);
        if place != self.last.0 {
            let frame = self.lines.frames(stmt).next().map(|frame| SourceLine {
                file: frame.file.map(|file| clean(&file).into_owned()),
                line: frame.line,
                column: frame.column,
                function: frame.function.map(|name| clean(&name).into_owned()),
            });
            self.last = (place, frame.map(Rc::new));
        }
        self.last.1.clone()
    }
}
