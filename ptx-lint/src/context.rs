//! What lints ask about modules and functions; analyses are made when the first lint asks.

use alloc::string::String;
use alloc::vec::Vec;
use core::cell::OnceCell;

use ptx_analysis::asynchrony::{Certainty, Violation, violations};
use ptx_analysis::calls::CallGraph;
use ptx_analysis::cfg::Cfg;
use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_analysis::memory_access::Accesses;
use ptx_analysis::provenance::{CallSummaries, FunctionProvenance};
use ptx_analysis::source_lines::SourceLines;
use ptx_analysis::ssa::Ssa;
use ptx_analysis::uniformity::{FunctionUniformity, ModuleUniformity};
use ptx_analysis::values::Values;
use ptx_ir::facts::{Facts, FunctionFacts, ModuleFacts};
use ptx_ir::{Body, Diagnostic, FuncId, InstId, Module, Operand, Span, Statement, StmtId};
use ptx_isa::{Directive, TargetOption};

use crate::optimized::is_unoptimized;
use crate::{Finding, Lint, Options};

/// What is known of a module.
#[derive(Debug)]
pub(crate) struct ModuleContext<'m> {
    facts: &'m ModuleFacts<'m>,
    calls: CallGraph,
    summaries: CallSummaries,
    lines: SourceLines<'m>,
    is_for_debugger: bool,
    is_unoptimized: bool,
    /// Only if a lint needs it.
    uniformity: Option<ModuleUniformity>,
}

impl<'m> ModuleContext<'m> {
    pub(crate) fn new(facts: &'m ModuleFacts<'m>, options: &Options) -> Self {
        let divergence = options.lints.iter().any(|lint| lint.needs_uniformity());
        Self {
            facts,
            calls: CallGraph::new(facts),
            summaries: CallSummaries::new(facts),
            lines: SourceLines::new(facts.module()),
            is_for_debugger: is_for_debugger(facts.module()),
            is_unoptimized: options.lints.contains(&Lint::GenericSpace) && is_unoptimized(facts),
            uniformity: divergence.then(|| ModuleUniformity::new(facts)),
        }
    }

    pub(crate) fn facts(&self) -> &'m ModuleFacts<'m> {
        self.facts
    }
}

/// Whether `.target` has the option for debuggers.
fn is_for_debugger(module: &Module) -> bool {
    let targets = module.directives().values();
    let targets = targets.filter(|d| d.directive == Directive::Target);
    let mut words = targets.flat_map(|d| module.pool().slice(d.args));
    words.any(|word| match word {
        Operand::Name(id) => {
            TargetOption::from_text(module.name_bytes(*id)) == Some(TargetOption::Debug)
        }
        _ => false,
    })
}

/// What is known of a function.
pub(crate) struct FunctionContext<'a> {
    module: &'a ModuleContext<'a>,
    id: FuncId,
    facts: FunctionFacts<'a>,
    analysis: FunctionAnalysis,
    ssa: OnceCell<Option<Ssa>>,
    values: OnceCell<Option<Values>>,
    accesses: OnceCell<Option<Accesses>>,
    violations: OnceCell<Vec<Violation>>,
}

/// An instruction that control reaches.
#[derive(Copy, Clone)]
pub(crate) struct Reached<'a> {
    pub(crate) stmt: StmtId,
    pub(crate) inst: InstId,
    pub(crate) facts: Facts<'a>,
}

#[allow(dead_code, reason = "each lint uses a part of it")]
impl<'a> FunctionContext<'a> {
    pub(crate) fn new(module: &'a ModuleContext<'a>, id: FuncId, facts: FunctionFacts<'a>) -> Self {
        Self {
            module,
            id,
            facts,
            analysis: FunctionAnalysis::new(facts),
            ssa: OnceCell::new(),
            values: OnceCell::new(),
            accesses: OnceCell::new(),
            violations: OnceCell::new(),
        }
    }

    pub(crate) fn id(&self) -> FuncId {
        self.id
    }

    pub(crate) fn module(&self) -> &'a Module {
        self.facts.module()
    }

    pub(crate) fn module_facts(&self) -> &'a ModuleFacts<'a> {
        self.module.facts
    }

    pub(crate) fn facts(&self) -> FunctionFacts<'a> {
        self.facts
    }

    pub(crate) fn body(&self) -> &'a Body {
        self.facts.body()
    }

    pub(crate) fn analysis(&self) -> &FunctionAnalysis {
        &self.analysis
    }

    pub(crate) fn cfg(&self) -> &Cfg {
        self.analysis.cfg()
    }

    /// The calls of the module.
    pub(crate) fn calls(&self) -> &'a CallGraph {
        &self.module.calls
    }

    /// The source lines of the module.
    pub(crate) fn source_lines(&self) -> &'a SourceLines<'a> {
        &self.module.lines
    }

    /// Whether the module is to be debugged, so that nothing in it is optimized.
    pub(crate) fn is_for_debugger(&self) -> bool {
        self.module.is_for_debugger
    }

    /// Whether no compiler optimized the module: only for `generic-space`.
    pub(crate) fn is_unoptimized(&self) -> bool {
        self.module.is_unoptimized
    }

    /// The values of registers; `None` if the function has too many.
    pub(crate) fn ssa(&self) -> Option<&Ssa> {
        let new = || {
            let (of, variables) = (&self.analysis, self.analysis.variables());
            Ssa::new(self.facts, of.cfg(), of.dominators(), variables).ok()
        };
        self.ssa.get_or_init(new).as_ref()
    }

    /// Affine forms, intervals and alignment; `None` as for [`ssa`](Self::ssa).
    pub(crate) fn values(&self) -> Option<&Values> {
        let new = || Some(Values::new(self.facts, &self.analysis, self.ssa()?));
        self.values.get_or_init(new).as_ref()
    }

    /// The accesses to memory that control reaches; `None` as for [`ssa`](Self::ssa).
    pub(crate) fn accesses(&self) -> Option<&Accesses> {
        let new = || {
            let (ssa, values) = (self.ssa()?, self.values()?);
            let (of, calls) = (&self.analysis, Some(&self.module.summaries));
            let provenance = FunctionProvenance::new(self.facts, of, ssa, calls);
            Some(Accesses::with_provenance(
                self.facts,
                of,
                (ssa, values),
                &provenance,
            ))
        };
        self.accesses.get_or_init(new).as_ref()
    }

    /// What breaks the protocols of asynchronous operations.
    pub(crate) fn violations(&self) -> &[Violation] {
        let new = || violations(self.facts, &self.analysis);
        self.violations.get_or_init(new)
    }

    /// In which threads registers, blocks and branches are the same: for lints with [`Lint::needs_uniformity`].
    pub(crate) fn uniformity(&self) -> Option<&'a FunctionUniformity> {
        self.module.uniformity.as_ref()?.function(self.id)
    }

    /// The instructions that control reaches, in the order of the statements.
    pub(crate) fn instructions(&self) -> impl Iterator<Item = Reached<'a>> {
        let (facts, analysis) = (self.facts, &self.analysis);
        let blocks = analysis.cfg().blocks();
        let reached = blocks.filter(|(id, _)| analysis.is_reachable(*id));
        let statements = reached.flat_map(move |(_, b)| facts.body().range(b.first, b.end));
        statements.filter_map(move |(stmt, statement)| match statement {
            Statement::Inst(inst) => Some(Reached {
                stmt,
                inst,
                facts: facts.inst(inst),
            }),
            _ => None,
        })
    }

    /// Where a statement is in the source.
    pub(crate) fn span(&self, stmt: StmtId) -> Span {
        self.body().source_span(stmt)
    }

    /// The opcode and modifiers of an instruction, as they are written.
    pub(crate) fn mnemonic(&self, inst: InstId) -> &'a str {
        let inst = self.body().inst(inst);
        inst.map_or("", |i| self.module().signature(i.sig).text())
    }

    /// A finding at a statement.
    pub(crate) fn finding(
        &self,
        lint: Lint,
        certainty: Certainty,
        stmt: StmtId,
        message: impl Into<String>,
    ) -> Finding {
        Finding {
            lint,
            certainty,
            function: self.id,
            stmt,
            degree: None,
            diagnostic: Diagnostic::warning(lint.code(), self.span(stmt), message),
        }
    }
}
