//! The analyses of modules and functions that lints use. Each is computed when it is first used.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cell::OnceCell;
use core::cmp::Ordering;

use ptx_analysis::asynchrony::{Certainty, Violation};
use ptx_analysis::calls::CallGraph;
use ptx_analysis::cfg::{BlockId, Cfg};
use ptx_analysis::dead_code::LiveCode;
use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_analysis::incremental::EvaluationLimit;
use ptx_analysis::internals::IncrementalUniformity;
use ptx_analysis::memory_access::Accesses;
use ptx_analysis::module_analysis::ModuleAnalysis;
use ptx_analysis::provenance::CallSummaries;
use ptx_analysis::source_lines::{InlineAssembly, SourceLines};
use ptx_analysis::ssa::{Ssa, ValueId};
use ptx_analysis::threads::{Evaluated, ThreadValues, reaching};
use ptx_analysis::uniformity::FunctionUniformity;
use ptx_analysis::values::{Values, VariableRef};
use ptx_ir::facts::{Callees, Facts, FunctionFacts, ModuleFacts, RegisterComponent, Space};
use ptx_ir::{
    Binding, Body, Diagnostic, EntityId as _, FuncId, FunctionKind, InstId, MemoryLayout, Module,
    Operand, Span, Statement, StmtId, SymbolId, SymbolKind,
};
use ptx_isa::{Action, Directive, StateSpace, TargetOption};

use crate::declarations::symbol_name;
use crate::divergence::{Divergence, varying_values};
use crate::module_properties::{
    ModuleUses, SharedVariables, is_unoptimized, stack_address_conversions,
};
use crate::{Finding, Lint, whole_warps};

/// The information that the enabled lints need. Everything else that lints use is computed on first use.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Needs {
    /// The likely divergence of values and branches.
    pub(crate) divergence: bool,
    /// The functions that reference each shared variable, and the functions that are never called.
    pub(crate) uses: bool,
    /// Whether the module was optimized.
    pub(crate) optimization: bool,
}

/// The analyses of a module.
#[derive(Debug)]
pub(crate) struct ModuleContext<'m> {
    analyses: ModuleAnalysis<'m>,
    lines: SourceLines<'m>,
    is_for_debugger: bool,
    shared: SharedResults,
}

/// Results that lints of all functions of a module use. They depend on all functions.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedResults {
    pub(crate) summaries: Arc<CallSummaries>,
    /// The module was not optimized.
    pub(crate) is_unoptimized: bool,
    /// By the id of a function: it contains a barrier for all threads of the CTA, or calls such a function. Missing entries are `false`.
    pub(crate) waits_at_barrier: Vec<bool>,
    pub(crate) uses: Arc<ModuleUses>,
}

impl<'m> ModuleContext<'m> {
    pub(crate) fn new(facts: &'m ModuleFacts<'m>, needs: Needs) -> Self {
        let analyses = ModuleAnalysis::new(facts);
        let module = facts.module();
        let functions: Vec<FunctionFacts<'_>> = module
            .definitions()
            .filter_map(|(id, ..)| facts.function(id))
            .collect();
        let mut shared = SharedResults {
            summaries: Arc::clone(analyses.summaries()),
            ..SharedResults::default()
        };
        if needs.divergence {
            let waiting = functions
                .iter()
                .filter(|function| has_cta_barrier(**function));
            shared.waits_at_barrier =
                reaching_functions(analyses.calls(), waiting.map(|function| function.id()));
        }
        if needs.uses {
            let variables = SharedVariables::new(module);
            let references: Vec<_> = functions
                .iter()
                .map(|function| (function.id(), variables.referenced_by(*function)))
                .collect();
            shared.uses = Arc::new(ModuleUses::new(module, variables, references));
        }
        if needs.optimization {
            let conversions = stack_address_conversions(module);
            shared.is_unoptimized = functions
                .iter()
                .any(|function| is_unoptimized(*function, &conversions));
        }
        Self::with_shared_results(analyses, shared)
    }

    /// Creates a context from results that were computed before.
    pub(crate) fn with_shared_results(analyses: ModuleAnalysis<'m>, shared: SharedResults) -> Self {
        Self {
            lines: SourceLines::new(analyses.module()),
            is_for_debugger: analyses.module().has_target_option(TargetOption::Debug),
            analyses,
            shared,
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
    /// The uniformity of arguments, results and calls that functions pass to each other.
    driver: IncrementalUniformity,
    /// By function id: the uniformity of the functions that call or are called. The driver evaluated them.
    connected: Vec<Option<FunctionUniformity>>,
}

impl LikelyDivergence {
    /// Evaluates the functions that call or are called; `None` if no enabled lint needs it.
    pub(crate) fn new(module: &ModuleAnalysis<'_>, needs: Needs) -> Option<Self> {
        if !needs.divergence {
            return None;
        }
        let mut driver = IncrementalUniformity::optimistic();
        driver.enter_all(module);
        driver.update(module, &mut EvaluationLimit::unlimited());
        let mut connected = vec![None; module.module().functions().len()];
        for (id, ..) in module.module().definitions() {
            if !module.is_alone(id) {
                connected[id.index()] = module
                    .function(id)
                    .and_then(|function| driver.take(&function, module.calls()));
            }
        }
        Some(Self { driver, connected })
    }

    /// Returns the uniformity of a function. A kernel that calls no function is evaluated.
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

/// Returns `true` if a function contains a barrier for all threads of the CTA.
pub(crate) fn has_cta_barrier(function: FunctionFacts<'_>) -> bool {
    function.body().insts().any(|(inst, _)| {
        let facts = function.inst(inst);
        let is_barrier = matches!(
            facts.action(),
            Some(Action::BarrierSync | Action::BarrierReduce)
        );
        is_barrier && !crate::divergence::is_counted(&facts)
    })
}

/// Returns by function id whether a function is in `functions` or may call one of them. Missing entries are `false`.
pub(crate) fn reaching_functions(
    calls: &CallGraph,
    functions: impl Iterator<Item = FuncId>,
) -> Vec<bool> {
    let ids = calls.reaching(functions);
    let mut is_reaching = vec![false; ids.last().map_or(0, |id| id.index() + 1)];
    for id in ids {
        is_reaching[id.index()] = true;
    }
    is_reaching
}

/// The analyses of a function.
pub(crate) struct FunctionContext<'a> {
    module: &'a ModuleContext<'a>,
    analysis: FunctionAnalysis<'a>,
    /// `None` if no enabled lint needs divergence.
    likely: Option<&'a FunctionUniformity>,
    divergence: OnceCell<Option<Divergence>>,
    /// The values of sample threads, and for each block the set of the sample threads that reach it.
    threads: OnceCell<Option<(Evaluated, Vec<u128>)>>,
    varying: OnceCell<Option<Vec<bool>>>,
    has_local: OnceCell<bool>,
    inline_assembly: OnceCell<InlineAssembly>,
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
            analysis: function.with_calls(&module.shared.summaries),
            likely,
            divergence: OnceCell::new(),
            threads: OnceCell::new(),
            varying: OnceCell::new(),
            has_local: OnceCell::new(),
            inline_assembly: OnceCell::new(),
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

    /// The assembly statements of the function.
    pub(crate) fn inline_assembly(&self) -> &InlineAssembly {
        self.inline_assembly
            .get_or_init(|| self.module.lines.function(self.body()).inline_assembly())
    }

    /// Returns `true` if the module is compiled for debugging, without optimizations.
    pub(crate) fn is_for_debugger(&self) -> bool {
        self.module.is_for_debugger
    }

    /// Returns the shared variables of the module that only launches of this function access. The lint must declare `Need::Uses`.
    pub(crate) fn unshared_variables(&self) -> Vec<SymbolId> {
        let uses = &self.module.shared.uses;
        uses.shared()
            .referenced_by(self.facts())
            .into_iter()
            .filter(|symbol| uses.is_only_user(self.module(), self.id(), *symbol))
            .collect()
    }

    /// Returns `true` if the function is neither called nor visible to other modules. The lint must declare `Need::Uses`.
    pub(crate) fn is_uncalled(&self) -> bool {
        let uses = &self.module.shared.uses;
        uses.is_uncalled(self.module(), self.calls(), self.id())
    }

    /// Returns `true` if the module was not optimized. The lint must declare `Need::Optimization`.
    pub(crate) fn is_unoptimized(&self) -> bool {
        self.module.shared.is_unoptimized
    }

    /// The values of registers in SSA form; `None` if the function has too many.
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

    /// The likely uniformity of values and guards. The lint must declare `Need::Divergence`, otherwise it is `None`.
    pub(crate) fn likely(&self) -> Option<&'a FunctionUniformity> {
        self.likely
    }

    /// By value id: there is a reason for the value to differ between the threads of a CTA. The lint must declare `Need::Divergence`.
    pub(crate) fn varying(&self) -> Option<&[bool]> {
        self.varying
            .get_or_init(|| {
                let (ssa, likely) = (self.ssa()?, self.likely()?);
                Some(varying_values(self.facts(), ssa, likely, self.has_local()))
            })
            .as_deref()
    }

    /// Returns `true` if the function has variables in local memory.
    pub(crate) fn has_local(&self) -> bool {
        *self.has_local.get_or_init(|| {
            let mut variables = self.body().vars().values();
            variables.any(|v| v.space.base() == StateSpace::Local)
        })
    }

    /// The branches on which blocks are control dependent. The lint must declare `Need::Divergence`.
    pub(crate) fn divergence(&self) -> Option<&Divergence> {
        self.divergence
            .get_or_init(|| {
                let mut divergence = Divergence::new(self.facts(), self.cfg(), self.likely()?);
                divergence.refine(&whole_warps::warp_uniform_branches(self, &divergence));
                Some(divergence)
            })
            .as_ref()
    }

    /// Values in the sample threads, and for each block the set of the sample threads that reach it: bit `i` is for thread `i`. `None` as for
    /// [`ssa`](Self::ssa).
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

    /// Returns `true` if a direct call may reach a barrier for all threads of the CTA.
    pub(crate) fn callee_waits(&self, callees: &Callees<'_>) -> bool {
        let Callees::Function(symbol) = callees else {
            return false;
        };
        match self.module().symbols().get(*symbol).map(|s| s.kind) {
            Some(SymbolKind::Function(id)) => {
                self.module.shared.waits_at_barrier.get(id.index()) == Some(&true)
            }
            _ => false,
        }
    }

    /// Returns `true` if the function accesses shared memory.
    pub(crate) fn has_shared(&self) -> bool {
        self.accesses().map(Accesses::all).unwrap_or_default().iter().any(|access| {
        matches!(access.space, Space::State(space) if space.base() == StateSpace::Shared)
    })
    }

    /// The facts of the instruction of a statement; `None` for other statements.
    pub(crate) fn inst_at(&self, stmt: StmtId) -> Option<Facts<'a>> {
        match self.body().statement(stmt)? {
            Statement::Inst(inst) => Some(self.facts().inst(inst)),
            _ => None,
        }
    }

    /// The last instruction of a block.
    pub(crate) fn last_instruction(&self, block: BlockId) -> Option<(StmtId, Facts<'a>)> {
        let block = self.cfg().block(block)?;
        let (stmt, inst) = block.insts(self.body()).next_back()?;
        Some((stmt, self.facts().inst(inst)))
    }

    /// The statements of a block after one of its statements; none for a statement outside of blocks.
    pub(crate) fn later_in_block(
        &self,
        stmt: StmtId,
    ) -> impl Iterator<Item = (StmtId, Statement)> + 'a {
        let body = self.body();
        self.cfg()
            .of_statement(stmt)
            .and_then(|id| self.cfg().block(id))
            .map(|block| body.range(stmt, block.end).skip(1))
            .into_iter()
            .flatten()
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
        declarations.decls.iter().find_map(|(id, declaration)| {
            let mut declarators = declarations.declarators(id).iter();
            declaration.layout(declarators.find(|d| d.binding == binding)?, pool)
        })
    }

    /// The name of a variable, and the span of its declaration if that is in the function.
    pub(crate) fn name_and_declaration(
        &self,
        variable: VariableRef,
    ) -> Option<(Cow<'a, str>, Option<Span>)> {
        let module = self.module();
        Some(match variable {
            VariableRef::Local(id) => {
                let var = self.body().vars().get(id)?;
                (
                    Cow::Borrowed(module.name(var.name)),
                    var.stmt.map(|stmt| self.span(stmt)),
                )
            }
            VariableRef::Module(symbol) => (symbol_name(module, symbol), None),
        })
    }

    /// The first argument of a directive of the function.
    pub(crate) fn directive(&self, directive: Directive) -> Option<u64> {
        let value = *self.directive_arguments(directive)?.first()?;
        u64::try_from(self.module().pool().integer(value)?).ok()
    }

    /// The arguments of a directive of the function.
    pub(crate) fn directive_arguments(&self, wanted: Directive) -> Option<&'a [Operand]> {
        let module = self.module();
        let directives = module.functions().get(self.id())?.interface.directives;
        let directive = directives
            .of(module.interface_directives())
            .iter()
            .find(|directive| directive.directive == wanted)?;
        Some(module.pool().slice(directive.args))
    }

    /// Returns `true` if the function is a kernel.
    pub(crate) fn is_kernel(&self) -> bool {
        let function = self.module().functions().get(self.id());
        function.is_some_and(|function| function.kind == FunctionKind::Entry)
    }

    /// The value of an integer literal.
    pub(crate) fn integer(&self, operand: Operand) -> Option<i64> {
        self.body().pool().integer(operand)
    }

    /// The value of an integer literal, or of a register that always has the same value at the statement.
    pub(crate) fn constant(&self, stmt: StmtId, operand: Operand) -> Option<i64> {
        self.integer(operand).or_else(|| {
            let value = self.read(stmt, operand)?;
            let number = self.values()?.interval(value).single()?;
            i64::try_from(number).ok()
        })
    }

    /// The SSA value that a statement reads from a register.
    pub(crate) fn read_place(&self, stmt: StmtId, place: RegisterComponent) -> Option<ValueId> {
        let variable = self.analysis.variables().of(place).single()?;
        self.ssa()?.read(stmt, variable)
    }

    /// The SSA value that a statement reads from an operand.
    pub(crate) fn read(&self, stmt: StmtId, operand: Operand) -> Option<ValueId> {
        let place = self.inst_at(stmt)?.place(operand)?;
        self.read_place(stmt, place)
    }

    /// The reachable instructions, in the order of the statements.
    pub(crate) fn instructions(&self) -> impl Iterator<Item = Reached<'a>> {
        let (facts, analysis) = (self.facts(), self.analysis());
        analysis
            .cfg()
            .blocks()
            .filter(|(id, _)| analysis.is_reachable(*id))
            .flat_map(move |(_, block)| facts.body().range(block.first, block.end))
            .filter_map(move |(stmt, statement)| match statement {
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
        inst.map_or("", |inst| self.module().signature(inst.sig).text())
    }

    /// Creates a finding at a statement.
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
