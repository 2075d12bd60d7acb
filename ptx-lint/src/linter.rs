//! Lints modules and functions.

use alloc::vec::Vec;

use ptx_analysis::function_analysis::map_functions;
use ptx_ir::FuncId;
use ptx_ir::facts::{FunctionFacts, ModuleFacts};

use crate::context::{FunctionContext, ModuleContext};
use crate::inline::Contexts;
use crate::{Finding, LintOptions};

/// Reports what lints find in all functions of a module, in the order of the source.
#[must_use]
pub fn lint(facts: &ModuleFacts<'_>, options: &LintOptions) -> Vec<Finding> {
    let linter = Linter::new(facts, options);
    let found = map_functions(facts, |id, of| linter.examine(id, of));
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
        of.map_or(Vec::new(), |of| self.examine(id, of))
    }

    fn examine(&self, id: FuncId, of: FunctionFacts<'_>) -> Vec<Finding> {
        let context = FunctionContext::new(&self.module, id, of);
        let mut found = Vec::new();
        for lint in &self.options.lints {
            if !self.contexts.replaces(id, *lint) {
                lint.check(&context, &mut found);
            }
        }
        for finding in self.contexts.found(id) {
            let is_known = |f: &Finding| f.lint == finding.lint && f.stmt == finding.stmt;
            if !found.iter().any(is_known) {
                found.push(finding.clone());
            }
        }
        found.retain(|f| f.certainty >= self.options.certainty);
        found.sort_by_key(|f| f.diagnostic.span.start);
        found
    }
}
