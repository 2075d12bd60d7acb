//! The owner of the analyses of a module: of each function, and of what functions pass to each other.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use once_cell::race::OnceBox;
use ptx_ir::facts::ModuleFacts;
use ptx_ir::{EntityId as _, FuncId, FunctionKind, Module};
use ptx_isa::StateSpace;

use crate::calls::CallGraph;
use crate::function_analysis::{FunctionAnalysis, SavedAnalysis};
use crate::provenance::CallSummaries;
use crate::uniformity::ModuleUniformity;

/// The analyses of a module, each computed when it is first asked for.
///
/// ```
/// use ptx_analysis::module_analysis::ModuleAnalysis;
/// use ptx_ir::facts::ModuleFacts;
/// use ptx_isa::StateSpace;
///
/// let text = b".version 8.0\n.target sm_80\n.address_size 64\n.shared .b32 s[64];\n\
///     .func get(.param .b64 a) { .reg .b64 %a; .reg .b32 %r; ld.param.b64 %a, [a]; ld.b32 %r, [%a+4]; ret; }\n\
///     .entry k() { .reg .b64 %a; .param .b64 x; mov.u64 %a, s; cvta.shared.u64 %a, %a; st.param.b64 [x], %a; call get, (x); ret; }\n";
/// let module = ptx_parse::parse(text).module;
/// let facts = ModuleFacts::new(&module);
/// let analysis = ModuleAnalysis::new(&facts);
/// let get = analysis.function(module.function("get").unwrap()).unwrap();
/// let get = get.with_calls(analysis.summaries());
/// let (load, _) = get.body().statements().nth(3).unwrap();
/// assert_eq!(get.provenance()?.access(load, 0).unwrap().space, Some(StateSpace::Shared));
/// # Ok::<(), ptx_analysis::AnalysisError>(())
/// ```
#[derive(Debug)]
pub struct ModuleAnalysis<'m> {
    facts: &'m ModuleFacts<'m>,
    calls: Arc<CallGraph>,
    /// The results of the functions that are kept, by id.
    functions: Vec<OnceBox<SavedAnalysis>>,
    summaries: OnceBox<Arc<CallSummaries>>,
    uniformity: OnceBox<ModuleUniformity>,
}

impl<'m> ModuleAnalysis<'m> {
    /// Analyzes a module; computes only the call graph.
    #[must_use]
    pub fn new(facts: &'m ModuleFacts<'m>) -> Self {
        Self::with_call_graph(facts, Arc::new(CallGraph::new(facts)))
    }

    /// Analyzes a module whose call graph is known.
    #[doc(hidden)]
    #[must_use]
    pub fn with_call_graph(facts: &'m ModuleFacts<'m>, calls: Arc<CallGraph>) -> Self {
        let count = facts.module().functions().len();
        Self {
            facts,
            calls,
            functions: (0..count).map(|_| OnceBox::new()).collect(),
            summaries: OnceBox::new(),
            uniformity: OnceBox::new(),
        }
    }

    ptx_isa::getters! {
        /// The facts about the instructions.
        facts: &'m ModuleFacts<'m> = facts;
        /// The calls.
        calls: &Arc<CallGraph> = &calls;
    }

    /// The module.
    #[must_use]
    pub fn module(&self) -> &'m Module {
        self.facts.module()
    }

    /// The analyses of a function; `None` if it has no body, or if the facts do not include it.
    ///
    /// The results are kept for functions that call or are called, since those of others depend on them, and for functions with variables in local
    /// memory. The results of other functions live as long as the returned value and its clones, so that the memory is limited while the functions of a
    /// large module are analyzed one after the other.
    #[must_use]
    pub fn function(&self, id: FuncId) -> Option<FunctionAnalysis<'m>> {
        let facts = self.facts.function(id)?;
        let Some(cell) = self.functions.get(id.index()).filter(|_| self.is_kept(id)) else {
            return Some(FunctionAnalysis::new(facts));
        };
        let saved = cell.get_or_init(|| Box::new(FunctionAnalysis::new(facts).save()));
        FunctionAnalysis::resume(facts, saved).ok()
    }

    /// Returns whether the results of a function are kept.
    fn is_kept(&self, id: FuncId) -> bool {
        let body = self.module().body(id);
        let mut variables = body.into_iter().flat_map(|body| body.vars().values());
        !self.is_alone(id) || variables.any(|variable| variable.space.base() == StateSpace::Local)
    }

    /// Returns whether a function is a kernel that calls no function.
    #[doc(hidden)]
    #[must_use]
    pub fn is_alone(&self, id: FuncId) -> bool {
        let kind = self.module().functions().get(id).map(|f| f.kind);
        kind == Some(FunctionKind::Entry) && self.calls.calls_of(id).next().is_none()
    }

    /// The addresses that functions pass to each other through calls: for [`FunctionAnalysis::with_calls`].
    #[must_use]
    pub fn summaries(&self) -> &Arc<CallSummaries> {
        self.summaries
            .get_or_init(|| Box::new(CallSummaries::of_module(self)))
    }

    /// The uniformity of all functions.
    #[must_use]
    pub fn uniformity(&self) -> &ModuleUniformity {
        self.uniformity
            .get_or_init(|| Box::new(ModuleUniformity::of_module(self)))
    }
}
