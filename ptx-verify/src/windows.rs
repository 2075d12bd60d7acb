//! Checks a module of which only some bodies have their tables at a time.

use alloc::vec::Vec;

use ptx_ir::raw::{self, RawModule};
use ptx_ir::{Body, Diagnostic, FuncId, Module, parallel};
use ptx_isa::Directive;

use crate::Options;
use crate::codegen_limits::{agreeing, reads_statements, with_uses};
use crate::incremental::{concerns_module, of_functions, of_module};
use crate::instruction::Instructions;
use crate::uses::{BodyUses, Uses};

/// Finds out whether a module that is parsed in windows has any diagnostics.
///
/// Bodies are checked when only the declarations before the end of their window are known. Declarations after it make no difference in a module
/// without diagnostics: they must agree with those before them.
#[derive(Debug)]
pub struct WindowChecker {
    options: Options,
    uses: Uses,
}

impl WindowChecker {
    /// Has checked nothing so far.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self {
            options,
            uses: Uses::default(),
        }
    }

    /// Checks the bodies of some functions, and removes the tables of those that no other rule looks at. Gives whether there are no diagnostics.
    pub fn window(&mut self, module: &mut Module, functions: &[FuncId]) -> bool {
        let environment = self.options.environment(module);
        let instructions = Instructions::new(module);
        let agreeing = agreeing(module);
        let checked = |id: FuncId, body: &Body, found: Vec<Diagnostic>| {
            let is_needed = concerns_module(body) || reads_statements(body, &agreeing);
            (id, found.is_empty(), is_needed, BodyUses::new(body))
        };
        let all = of_functions(module, functions, environment, &instructions, &checked);
        let mut is_legal = true;
        for (id, is_body_legal, is_needed, uses) in all {
            is_legal &= is_body_legal;
            self.uses.set(id, uses);
            let body = module.functions().get(id).and_then(|f| f.body);
            let body = body.filter(|_| !is_needed);
            if let Some(body) = body.and_then(|id| module.bodies_mut().get_mut(id)) {
                raw::drop_tables(body);
            }
        }
        is_legal
    }

    /// The other diagnostics of the module after its last window, including those of [`codegen_limits`](crate::codegen_limits). `None` if the header is
    /// of a kind for which they may not be all.
    #[must_use]
    pub fn finish(self, module: &Module) -> Option<Vec<Diagnostic>> {
        // Further options of the target may come after bodies.
        let targets = module.directives().values();
        let targets = targets.filter(|d| d.directive == Directive::Target);
        if targets.count() != 1 {
            return None;
        }
        let environment = self.options.environment(module);
        let (mut found, later) = parallel::join(
            || of_module(module, environment),
            || with_uses(module, &self.uses),
        );
        found.extend(later);
        Some(found)
    }
}
