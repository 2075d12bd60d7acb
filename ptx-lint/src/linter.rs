//! Lints modules and functions.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use ptx_analysis::function_analysis::{FunctionAnalysis, map_functions};
use ptx_analysis::memory_access::Accesses;
use ptx_analysis::ssa::Ssa;
use ptx_analysis::values::Values;
use ptx_ir::facts::{FunctionFacts, ModuleFacts};
use ptx_ir::{FuncId, StmtId};

use crate::context::{FunctionContext, Given, ModuleContext};
use crate::inline::Contexts;
use crate::{Finding, Lint, LintOptions};

/// Reports what lints find in all functions of a module, in the order of the source.
#[must_use]
pub fn lint(facts: &ModuleFacts<'_>, options: &LintOptions) -> Vec<Finding> {
    let linter = Linter::new(facts, options);
    let found = map_functions(facts, |id, of| linter.examine(id, of, None));
    let mut found: Vec<Finding> = found.into_iter().flatten().collect();
    found.sort_by_key(|f| f.diagnostic.span.start);
    found
}

/// Lints one function of a module after the other.
///
/// ```
/// use ptx_ir::facts::ModuleFacts;
/// use ptx_lint::{Linter, LintOptions};
///
/// let text = b".version 8.0\n.target sm_80\n.address_size 64\n.entry k() { .reg .b32 a; mov.u32 a, %tid.x; ret; }\n.entry l() { ret; }";
/// let module = ptx_parse::parse(text).module;
/// let facts = ModuleFacts::new(&module);
/// let options = LintOptions::default();
/// let linter = Linter::new(&facts, &options);
/// let count = |name| linter.function(module.function(name).unwrap()).len();
/// assert_eq!((count("k"), count("l")), (1, 0));
/// ```
#[derive(Debug)]
pub struct Linter<'m> {
    module: ModuleContext<'m>,
    contexts: Contexts,
    options: &'m LintOptions,
}

impl<'m> Linter<'m> {
    /// Examines what the functions have in common.
    #[must_use]
    pub fn new(facts: &'m ModuleFacts<'m>, options: &'m LintOptions) -> Self {
        let module = ModuleContext::new(facts, options);
        Self {
            contexts: Contexts::new(facts, module.calls(), options),
            module,
            options,
        }
    }

    /// Reports what lints find in a function, in the order of its statements.
    #[must_use]
    pub fn function(&self, id: FuncId) -> Vec<Finding> {
        let of = self.module.facts().function(id);
        of.map_or(Vec::new(), |of| self.examine(id, of, None))
    }

    /// The same with analyses of the function that the caller made already, the values of its registers and its accesses among them unless there are
    /// too many. What functions give to each other need not be known of the accesses.
    #[must_use]
    pub fn function_with(
        &self,
        id: FuncId,
        analysis: &FunctionAnalysis,
        values: Option<(&Ssa, &Values, &Accesses)>,
    ) -> Vec<Finding> {
        let of = self.module.facts().function(id);
        let given = Given { analysis, values };
        of.map_or(Vec::new(), |of| self.examine(id, of, Some(given)))
    }

    fn examine(&self, id: FuncId, of: FunctionFacts<'_>, given: Option<Given<'_>>) -> Vec<Finding> {
        let context = FunctionContext::new(&self.module, id, of, given);
        let mut found = Vec::new();
        for lint in &self.options.lints {
            if !self.contexts.replaces(id, *lint) {
                lint.check(&context, &mut found);
            }
        }
        let others = self.contexts.found(id);
        if !others.is_empty() {
            let known: BTreeSet<(Lint, StmtId)> = found.iter().map(|f| (f.lint, f.stmt)).collect();
            let is_new = |f: &&Finding| !known.contains(&(f.lint, f.stmt));
            found.extend(others.iter().filter(is_new).cloned());
        }
        found.retain(|f| f.certainty >= self.options.certainty);
        found.sort_by_key(|f| f.diagnostic.span.start);
        found
    }
}
