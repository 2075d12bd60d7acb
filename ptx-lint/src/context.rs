//! The analyses of modules and functions that lints use. Each is computed when it is first used.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cell::OnceCell;
use core::cmp::Ordering;

use ptx_analysis::asynchrony::{Certainty, Violation};
use ptx_analysis::calls::CallGraph;
use ptx_analysis::cfg::Cfg;
use ptx_analysis::dead_code::LiveCode;
use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_analysis::incremental::Budget;
use ptx_analysis::memory_access::Accesses;
use ptx_analysis::module_analysis::ModuleAnalysis;
use ptx_analysis::provenance::CallSummaries;
use ptx_analysis::source_lines::SourceLines;
use ptx_analysis::ssa::{Ssa, ValueId};
use ptx_analysis::threads::{Evaluated, ThreadValues, reaching};
use ptx_analysis::uniformity::{FunctionUniformity, IncrementalUniformity};
use ptx_analysis::values::{Values, VariableRef};
use ptx_ir::facts::{Callees, Facts, FunctionFacts, ModuleFacts, RegLane, Space};
use ptx_ir::{
    Binding, Body, Diagnostic, EntityId as _, FuncId, InstId, MemoryLayout, Module, Operand, Span,
    Statement, StmtId, SymbolId, SymbolKind,
};
use ptx_isa::{Action, StateSpace, TargetOption};

use crate::addresses::varying;
use crate::divergence::Divergence;
use crate::lints::Need;
use crate::module_uses::{ModuleUses, SharedVariables};
use crate::optimized::{is_unoptimized, stack_addresses};
use crate::{Finding, Lint, LintOptions, whole_warps};

/// The analyses of a module.
#[derive(Debug)]
pub(crate) struct ModuleContext<'m> {
    analyses: ModuleAnalysis<'m>,
    lines: SourceLines<'m>,
    is_for_debugger: bool,
    known: Known,
}

/// The analyses that all functions of a module share.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    pub(crate) summaries: Arc<CallSummaries>,
    pub(crate) is_unoptimized: bool,
    /// The functions that contain a barrier for all threads of the CTA, or call such a function.
    pub(crate) waiting: Vec<bool>,
    pub(crate) uses: Arc<ModuleUses>,
}

impl<'m> ModuleContext<'m> {
    pub(crate) fn new(facts: &'m ModuleFacts<'m>, options: &LintOptions) -> Self {
        let analyses = ModuleAnalysis::new(facts);
        let functions = || {
            let definitions = facts.module().definitions();
            definitions.filter_map(|(id, ..)| facts.function(id))
        };
        let known = Known {
            waiting: match options.need(Need::Divergence) {
                true => waiting(
                    analyses.calls(),
                    functions().filter(|f| waits(*f)).map(|f| f.id()),
                ),
                false => Vec::new(),
            },
            summaries: Arc::clone(analyses.summaries()),
            uses: Arc::new(match options.need(Need::Uses) {
                true => {
                    let shared = SharedVariables::new(facts.module());
                    let mentions = functions().map(|f| (f.id(), shared.mentions(f)));
                    let mentions: Vec<_> = mentions.collect();
                    ModuleUses::new(facts.module(), shared, mentions)
                }
                false => ModuleUses::default(),
            }),
            is_unoptimized: options.need(Need::Optimization) && {
                let stack_addresses = stack_addresses(facts.module());
                functions().any(|f| is_unoptimized(f, &stack_addresses))
            },
        };
        Self::with(analyses, known)
    }

    /// The same from analyses that were computed before.
    pub(crate) fn with(analyses: ModuleAnalysis<'m>, known: Known) -> Self {
        Self {
            lines: SourceLines::new(analyses.module()),
            is_for_debugger: analyses.module().has_target_option(TargetOption::Debug),
            analyses,
            known,
        }
    }

    pub(crate) fn analyses(&self) -> &ModuleAnalysis<'m> {
        &self.analyses
    }

    pub(crate) fn calls(&self) -> &CallGraph {
        self.analyses.calls()
    }
}

/// The likely divergence of values in the functions of a module.
#[derive(Debug)]
pub(crate) struct LikelyDivergence {
    /// What functions pass to each other.
    driver: IncrementalUniformity,
    /// The functions that call or are called, by id. The driver evaluated them.
    connected: Vec<Option<FunctionUniformity>>,
}

impl LikelyDivergence {
    /// Evaluates the functions that call or are called; `None` if no enabled lint needs it.
    pub(crate) fn new(module: &ModuleAnalysis<'_>, options: &LintOptions) -> Option<Self> {
        if !options.need(Need::Divergence) {
            return None;
        }
        let mut driver = IncrementalUniformity::optimistic();
        driver.enter_all(module);
        driver.update(module, &mut Budget::unlimited());
        let mut connected = vec![None; module.module().functions().len()];
        for (id, ..) in module.module().definitions() {
            if !module.is_alone(id) {
                let function = module.function(id);
                connected[id.index()] =
                    function.and_then(|function| driver.take(&function, module.calls()));
            }
        }
        Some(Self { driver, connected })
    }

    /// The uniformity of a function. Evaluates a kernel that calls no function.
    pub(crate) fn function(
        &self,
        function: &FunctionAnalysis<'_>,
        calls: &CallGraph,
    ) -> Cow<'_, FunctionUniformity> {
        match self.connected.get(function.id().index()) {
            Some(Some(uniformity)) => Cow::Borrowed(uniformity),
            _ => Cow::Owned(self.driver.evaluate(function, calls)),
        }
    }
}

/// Whether a function waits at a barrier for all threads of the CTA.
pub(crate) fn waits(of: FunctionFacts<'_>) -> bool {
    let waits = |inst| {
        let f = of.inst(inst);
        let is_barrier = matches!(
            f.action(),
            Some(Action::BarrierSync | Action::BarrierReduce)
        );
        is_barrier && !crate::divergence::is_counted(&f)
    };
    of.body().insts().any(|(inst, _)| waits(inst))
}

/// Some functions, and those that call one of them.
pub(crate) fn waiting(calls: &CallGraph, of: impl Iterator<Item = FuncId>) -> Vec<bool> {
    let all = calls.reaching(of);
    let mut found = vec![false; all.last().map_or(0, |id| id.index() + 1)];
    for id in all {
        found[id.index()] = true;
    }
    found
}

/// The analyses of a function.
pub(crate) struct FunctionContext<'a> {
    module: &'a ModuleContext<'a>,
    analysis: FunctionAnalysis<'a>,
    likely: Option<&'a FunctionUniformity>,
    divergence: OnceCell<Option<Divergence>>,
    threads: OnceCell<Option<(Evaluated, Vec<u128>)>>,
    varying: OnceCell<Option<Vec<bool>>>,
    has_local: OnceCell<bool>,
}

/// A reachable instruction.
#[derive(Copy, Clone)]
pub(crate) struct Reached<'a> {
    pub(crate) stmt: StmtId,
    pub(crate) inst: InstId,
    pub(crate) facts: Facts<'a>,
}

impl<'a> FunctionContext<'a> {
    pub(crate) fn new(
        module: &'a ModuleContext<'a>,
        function: &FunctionAnalysis<'a>,
        likely: Option<&'a FunctionUniformity>,
    ) -> Self {
        Self {
            module,
            analysis: function.with_calls(&module.known.summaries),
            likely,
            divergence: OnceCell::new(),
            threads: OnceCell::new(),
            varying: OnceCell::new(),
            has_local: OnceCell::new(),
        }
    }

    pub(crate) fn id(&self) -> FuncId {
        self.analysis.id()
    }

    pub(crate) fn module(&self) -> &'a Module {
        self.analysis.module()
    }

    pub(crate) fn facts(&self) -> FunctionFacts<'a> {
        self.analysis.facts()
    }

    pub(crate) fn body(&self) -> &'a Body {
        self.analysis.body()
    }

    pub(crate) fn analysis(&self) -> &FunctionAnalysis<'a> {
        &self.analysis
    }

    pub(crate) fn cfg(&self) -> &Cfg {
        self.analysis.cfg()
    }

    /// The calls of the module.
    pub(crate) fn calls(&self) -> &'a CallGraph {
        self.module.calls()
    }

    /// The source lines of the module.
    pub(crate) fn source_lines(&self) -> &'a SourceLines<'a> {
        &self.module.lines
    }

    /// Whether the module is compiled for debugging, without optimizations.
    pub(crate) fn is_for_debugger(&self) -> bool {
        self.module.is_for_debugger
    }

    /// The shared variables of the module that only launches of this function access: only for `dead-code`.
    pub(crate) fn own_shared(&self) -> Vec<SymbolId> {
        let uses = &self.module.known.uses;
        let mentioned = uses.shared().mentions(self.facts()).into_iter();
        let own = mentioned.filter(|s| uses.is_own(self.module(), self.id(), *s));
        own.collect()
    }

    /// Whether the function is neither called nor visible to other modules: only for `dead-code`.
    pub(crate) fn is_uncalled(&self) -> bool {
        self.module
            .known
            .uses
            .is_uncalled(self.module(), self.calls(), self.id())
    }

    /// Whether the module was not optimized: only for `generic-space` and `dead-code`.
    pub(crate) fn is_unoptimized(&self) -> bool {
        self.module.known.is_unoptimized
    }

    /// The values of registers; `None` if the function has too many.
    pub(crate) fn ssa(&self) -> Option<&Ssa> {
        self.analysis.ssa().ok()
    }

    /// The live instructions; `None` as for [`ssa`](Self::ssa).
    pub(crate) fn live_code(&self) -> Option<&LiveCode> {
        self.analysis.live_code().ok()
    }

    /// Affine forms, intervals and alignment; `None` as for [`ssa`](Self::ssa).
    pub(crate) fn values(&self) -> Option<&Values> {
        self.analysis.values().ok()
    }

    /// The reachable memory accesses; `None` as for [`ssa`](Self::ssa).
    pub(crate) fn accesses(&self) -> Option<&Accesses> {
        self.analysis.accesses().ok()
    }

    /// Violations of the protocols of asynchronous operations.
    pub(crate) fn violations(&self) -> &[Violation] {
        self.analysis.violations()
    }

    /// Likely divergence: for lints that need [`Need::Divergence`].
    pub(crate) fn likely(&self) -> Option<&'a FunctionUniformity> {
        self.likely
    }

    /// Of each value, whether it may differ between the threads of a CTA, likewise.
    pub(crate) fn varying(&self) -> Option<&[bool]> {
        let new = || Some(varying(self, self.ssa()?, self.likely()?));
        self.varying.get_or_init(new).as_deref()
    }

    /// Whether the function has variables in local memory.
    pub(crate) fn has_local(&self) -> bool {
        *self.has_local.get_or_init(|| {
            let mut variables = self.body().vars().values();
            variables.any(|v| v.space.base() == StateSpace::Local)
        })
    }

    /// The branches on which blocks are control dependent, likewise.
    pub(crate) fn divergence(&self) -> Option<&Divergence> {
        let new = || {
            let mut divergence = Divergence::new(self.facts(), self.cfg(), self.likely()?);
            divergence.refine(&whole_warps::branches(self, &divergence));
            Some(divergence)
        };
        self.divergence.get_or_init(new).as_ref()
    }

    /// Values in individual threads, and for each block the sample threads that reach it; `None` as for [`ssa`](Self::ssa).
    pub(crate) fn threads(&self) -> Option<(ThreadValues<'_>, &[u128])> {
        let evaluated = self.threads.get_or_init(|| {
            let mut threads = ThreadValues::new(&self.analysis).ok()?;
            let sets = reaching(&self.analysis, &mut threads);
            Some((threads.into_evaluated(), sets))
        });
        let (evaluated, sets) = evaluated.as_ref()?;
        let threads = ThreadValues::resume(&self.analysis, evaluated).ok()?;
        Some((threads, sets))
    }

    /// Whether a call may reach a function that waits at a barrier for all threads of the CTA.
    pub(crate) fn waits(&self, callees: &Callees<'_>) -> bool {
        let Callees::Function(symbol) = callees else {
            return false;
        };
        let symbol = self.module().symbols().get(*symbol);
        match symbol.map(|s| s.kind) {
            Some(SymbolKind::Function(id)) => {
                self.module.known.waiting.get(id.index()) == Some(&true)
            }
            _ => false,
        }
    }

    /// Whether the function accesses shared memory.
    pub(crate) fn has_shared(&self) -> bool {
        let all = self.accesses().map(Accesses::all).unwrap_or_default();
        let is_shared = |space| matches!(space, Space::State(s) if s.base() == StateSpace::Shared);
        all.iter().any(|access| is_shared(access.space))
    }

    /// The facts of the instruction of a statement.
    pub(crate) fn inst_at(&self, stmt: StmtId) -> Option<Facts<'a>> {
        match self.body().statement(stmt)? {
            Statement::Inst(inst) => Some(self.facts().inst(inst)),
            _ => None,
        }
    }

    /// The size and alignment of a variable.
    pub(crate) fn layout(&self, variable: VariableRef) -> Option<MemoryLayout> {
        let (declarations, pool, binding) = match variable {
            VariableRef::Local(id) => {
                let body = self.body();
                (body.declarations(), body.pool(), Binding::Var(id))
            }
            VariableRef::Module(id) => {
                let module = self.module();
                (module.declarations(), module.pool(), Binding::Symbol(id))
            }
        };
        let mut decls = declarations.decls.iter();
        decls.find_map(|(id, decl)| {
            let mut declarators = declarations.declarators(id).iter();
            decl.layout(declarators.find(|d| d.binding == binding)?, pool)
        })
    }

    /// The value of an integer operand.
    pub(crate) fn integer(&self, operand: Operand) -> Option<i64> {
        self.body().pool().integer(operand)
    }

    /// The value of an integer operand of a statement, or of a register that always has the same value there.
    pub(crate) fn constant(&self, stmt: StmtId, operand: Operand) -> Option<i64> {
        let of_register = || {
            let value = self.read(stmt, operand)?;
            let number = self.values()?.interval(value).single()?;
            i64::try_from(number).ok()
        };
        self.integer(operand).or_else(of_register)
    }

    /// The SSA value that a statement reads from a register.
    pub(crate) fn read_place(&self, stmt: StmtId, place: RegLane) -> Option<ValueId> {
        let mut variables = self.analysis.variables().of(place);
        match (variables.next(), variables.next()) {
            (Some(variable), None) => self.ssa()?.read(stmt, variable),
            _ => None,
        }
    }

    /// The SSA value that a statement reads from an operand.
    pub(crate) fn read(&self, stmt: StmtId, operand: Operand) -> Option<ValueId> {
        let place = self.inst_at(stmt)?.place(operand)?;
        self.read_place(stmt, place)
    }

    /// The reachable instructions, in the order of the statements.
    pub(crate) fn instructions(&self) -> impl Iterator<Item = Reached<'a>> {
        let (facts, analysis) = (self.facts(), self.analysis());
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

    /// The order of two statements in the text.
    pub(crate) fn order(&self, first: StmtId, second: StmtId) -> Ordering {
        if first == second {
            Ordering::Equal
        } else if self.body().precedes(first, second) {
            Ordering::Less
        } else {
            Ordering::Greater
        }
    }

    /// The span of a statement.
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
            function: self.id(),
            stmt,
            degree: None,
            declaration: None,
            places: Vec::new(),
            diagnostic: Diagnostic::warning(lint.code(), self.span(stmt), message),
        }
    }
}
