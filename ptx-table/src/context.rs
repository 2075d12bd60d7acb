//! The analyses of a file, a function and an instruction, from which rows are computed. Analyses are made when they are first used.

use std::borrow::Cow;
use std::rc::Rc;
use std::sync::OnceLock;

use ptx_analysis::cfg::{BlockId, Cfg};
use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_analysis::source_lines::{FunctionLines, SourceLines};
use ptx_analysis::uniformity::{FunctionUniformity, ModuleUniformity, Uniformity};
use ptx_ir::facts::{Facts, FunctionFacts, Mentions, ModuleFacts, RegUse};
use ptx_ir::raw::LineCursor;
use ptx_ir::{
    Body, FuncId, Function, InstId, LineIndex, Module, Signature, Span, Statement, StmtId,
};
use ptx_report::clean;
use ptx_report::function_values::FunctionValues;
use ptx_report::instruction_facts::FactNames;

use crate::column::TextSink;

/// A module with its name.
pub(crate) struct File<'m> {
    pub(crate) name: &'m str,
    pub(crate) module: &'m Module,
    /// The source, if all of it is UTF-8.
    text: Option<&'m str>,
    pub(crate) lines: LineIndex,
    pub(crate) source_lines: SourceLines<'m>,
    /// The texts of the mnemonics, indexed by signature.
    mnemonics: Vec<Mnemonic<'m>>,
    uniformity: OnceLock<ModuleUniformity>,
}

/// The texts of a mnemonic.
struct Mnemonic<'m> {
    text: &'m str,
    opcode: &'m str,
    /// The modifiers without dots.
    modifiers: Vec<&'m str>,
}

impl<'m> File<'m> {
    pub(crate) fn new(name: &'m str, module: &'m Module) -> Self {
        Self {
            name,
            module,
            text: str::from_utf8(module.source()).ok(),
            lines: LineIndex::new(module.source()),
            source_lines: SourceLines::new(module),
            mnemonics: module
                .signatures()
                .ids()
                .map(|sig| Mnemonic::new(module.signature(sig)))
                .collect(),
            uniformity: OnceLock::new(),
        }
    }

    fn uniformity(&self, id: FuncId) -> Option<&FunctionUniformity> {
        self.uniformity
            .get_or_init(|| ModuleUniformity::new(&ModuleFacts::new(self.module)))
            .function(id)
    }
}

impl<'m> Mnemonic<'m> {
    fn new(signature: Signature<'m>) -> Self {
        Self {
            text: signature.text(),
            opcode: signature.opcode_text(),
            modifiers: signature
                .words()
                .iter()
                .map(|word| signature.word_text(*word).trim_start_matches('.'))
                .collect(),
        }
    }
}

/// A function with a body.
pub(crate) struct FunctionContext<'f> {
    pub(crate) file: &'f File<'f>,
    pub(crate) id: FuncId,
    pub(crate) name: Cow<'f, str>,
    pub(crate) body: &'f Body,
    pub(crate) facts: FunctionFacts<'f>,
    pub(crate) names: FactNames<'f>,
    pub(crate) analysis: FunctionAnalysis<'f>,
}

impl<'f> FunctionContext<'f> {
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
            names: FactNames::new(module, body),
            analysis: FunctionAnalysis::new(facts),
        }
    }

    /// The values of the function; `None` if it has too many phis for the analysis.
    pub(crate) fn values(&self) -> Option<FunctionValues<'_>> {
        FunctionValues::new(&self.analysis)
    }

    /// The largest group of threads of which either all or none execute a block.
    pub(crate) fn uniform_block(&self, block: BlockId) -> Option<&'static str> {
        Some(self.file.uniformity(self.id)?.block(block).name())
    }

    pub(crate) fn cfg(&self) -> &Cfg {
        self.analysis.cfg()
    }

    /// The id of the header of the innermost loop of a block; `None` for a loop through the dispatch block of indirect jumps, which has no text.
    pub(crate) fn loop_header(&self, block: BlockId) -> Option<u32> {
        let header = self.analysis.loops().header(block)?;
        let is_dispatch = self.cfg().block(header).is_some_and(|b| b.is_dispatch);
        (!is_dispatch).then_some(header.as_u32())
    }

    /// Calls `visit` with chunks of at most `max_len` instructions, in the order of the text.
    pub(crate) fn visit_instructions(
        &self,
        max_len: usize,
        visit: &mut dyn FnMut(&[Instruction<'_>]),
    ) {
        let mut chunk = Vec::with_capacity(max_len.min(self.body.statement_table().len()));
        let mut lines = LineCursor::new(&self.file.lines, self.file.module.source());
        let mut sources = SourceCursor::new(self.file.source_lines.function(self.body));
        for (block, basic_block) in self.cfg().blocks().filter(|(_, b)| !b.is_dispatch) {
            for (stmt, statement) in self.body.range(basic_block.first, basic_block.end) {
                let kind = match statement {
                    Statement::Inst(id) => InstructionKind::Known {
                        id,
                        facts: self.facts.inst(id),
                    },
                    Statement::Opaque(id) => InstructionKind::Opaque(self.facts.opaque(id)),
                    _ => continue,
                };
                let span = self.body.source_span(stmt);
                let position = lines.position(span.start);
                chunk.push(Instruction {
                    function: self,
                    stmt,
                    kind,
                    span,
                    line: position.line,
                    column: position.column,
                    block,
                    source: sources.source_line(stmt),
                    inline_asm: sources.lines.is_inline_asm(stmt),
                });
                if chunk.len() >= max_len {
                    visit(&chunk);
                    chunk.clear();
                }
            }
        }
        visit(&chunk);
    }
}

/// An instruction, or a statement of a function that was not recognized.
pub(crate) struct Instruction<'f> {
    pub(crate) function: &'f FunctionContext<'f>,
    pub(crate) stmt: StmtId,
    kind: InstructionKind<'f>,
    pub(crate) span: Span,
    pub(crate) line: u32,
    pub(crate) column: u32,
    pub(crate) block: BlockId,
    /// The innermost source line.
    pub(crate) source: Option<Rc<SourceLine>>,
    pub(crate) inline_asm: bool,
}

enum InstructionKind<'f> {
    Known {
        id: InstId,
        facts: Facts<'f>,
    },
    /// A statement that was not recognized: the registers that it mentions.
    Opaque(Mentions<'f>),
}

impl<'f> Instruction<'f> {
    /// The facts of an instruction; `None` if it was not recognized.
    pub(crate) fn facts(&self) -> Option<&Facts<'f>> {
        match &self.kind {
            InstructionKind::Known { facts, .. } => Some(facts),
            InstructionKind::Opaque(_) => None,
        }
    }

    fn mnemonic_texts(&self) -> Option<&'f Mnemonic<'f>> {
        let InstructionKind::Known { id, .. } = self.kind else {
            return None;
        };
        let signature = self.function.body.inst(id)?.sig;
        self.function
            .file
            .mnemonics
            .get(signature.as_u32() as usize)
    }

    /// The largest group of threads in which all registers that it writes have the same values; `None` if it writes none.
    pub(crate) fn uniform(&self) -> Option<&'static str> {
        let uniformity = self.function.file.uniformity(self.function.id)?;
        let level = uniformity
            .defs(self.stmt)
            .iter()
            .map(|def| def.uniformity)
            .reduce(Uniformity::join)?;
        Some(level.name())
    }

    /// Writes the affine forms of the registers that it writes.
    pub(crate) fn affine(&self, sink: TextSink<'_>) -> bool {
        let Some(values) = self.function.values() else {
            return false;
        };
        let names = self.function.names.registers();
        let text = values.text(names);
        for (register, form) in values.forms(self.stmt) {
            sink(&format!("{} = {}", names.get(register), text.form(&form)));
        }
        true
    }

    pub(crate) fn mnemonic(&self) -> Option<&'f str> {
        Some(self.mnemonic_texts()?.text)
    }

    pub(crate) fn opcode(&self) -> Option<&'f str> {
        Some(self.mnemonic_texts()?.opcode)
    }

    /// Writes the modifiers without dots.
    pub(crate) fn modifiers(&self, sink: TextSink<'_>) -> bool {
        let Some(mnemonic) = self.mnemonic_texts() else {
            return false;
        };
        for modifier in &mnemonic.modifiers {
            sink(modifier);
        }
        true
    }

    /// Writes the registers whose use `is_selected`, each once.
    pub(crate) fn registers(
        &self,
        is_selected: impl Fn(&RegUse) -> bool,
        sink: TextSink<'_>,
    ) -> bool {
        let mentions = match &self.kind {
            InstructionKind::Known { facts, .. } => facts.registers(),
            InstructionKind::Opaque(mentions) => mentions.clone(),
        };
        self.function
            .names
            .each_register(mentions, is_selected, sink);
        true
    }

    /// The text of the instruction.
    pub(crate) fn text(&self) -> Cow<'f, str> {
        let file = self.function.file;
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

/// Finds the source lines of successive statements. Statements with the same location share their source line.
struct SourceCursor<'l, 'm> {
    lines: FunctionLines<'l, 'm>,
    last_place: Option<u32>,
    last_line: Option<Rc<SourceLine>>,
}

impl<'l, 'm> SourceCursor<'l, 'm> {
    fn new(lines: FunctionLines<'l, 'm>) -> Self {
        Self {
            lines,
            last_place: None,
            last_line: None,
        }
    }

    fn source_line(&mut self, stmt: StmtId) -> Option<Rc<SourceLine>> {
        let place = self.lines.place(stmt);
        if place != self.last_place {
            let innermost = self.lines.frames(stmt).next();
            self.last_place = place;
            self.last_line = innermost.map(|frame| {
                Rc::new(SourceLine {
                    file: frame.file.map(|file| clean(&file).into_owned()),
                    line: frame.line,
                    column: frame.column,
                    function: frame.function.map(|name| clean(&name).into_owned()),
                })
            });
        }
        self.last_line.clone()
    }
}
