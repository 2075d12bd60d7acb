//! Checks bodies one after another while their module is parsed, each of which is dropped afterwards.

use alloc::vec::Vec;

use hashbrown::HashSet;
use ptx_ir::{Body, Diagnostic, FuncId, Module, parallel};
use ptx_isa::Directive;

use crate::Options;
use crate::alias::has_alias;
use crate::codegen_limits::{Agreeing, mixed_in, with_uses};
use crate::context::Context;
use crate::debug::{has_inlined_code, inlined_places_in};
use crate::incremental::{of_body, of_module};
use crate::instruction::Instructions;
use crate::memory::has_constants;
use crate::uses::{BodyUses, Uses};

/// Finds out whether a module has any diagnostics whose bodies are only known one at a time.
///
/// A body is checked when only the declarations before it are known. Those after it make no difference in a module without diagnostics: they must agree
/// with those before them.
#[derive(Debug)]
pub struct BodyChecker {
    options: Options,
    instructions: Option<Instructions>,
    agreeing: Agreeing,
    uses: Vec<(FuncId, BodyUses)>,
}

impl BodyChecker {
    /// Has checked nothing so far.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self {
            options,
            instructions: None,
            agreeing: Agreeing::default(),
            uses: Vec::new(),
        }
    }

    /// Checks the body of a function. All calls are for one module, which may get declarations and mnemonics between the calls.
    /// Returns whether there are no diagnostics, and the body does not concern other bodies by an `.alias`, constants or
    /// `inlined_at` of their places.
    pub fn check(&mut self, module: &Module, function: FuncId, body: &Body) -> bool {
        let environment = self.options.environment(module);
        let instructions = match &mut self.instructions {
            Some(instructions) => {
                instructions.update_mnemonics(module);
                instructions.names_mut().extend_symbols(module);
                instructions
            }
            none => none.insert(Instructions::new(module)),
        };
        let diagnostics = of_body(module, environment, instructions, function, body);
        self.uses.push((function, BodyUses::new(body)));
        diagnostics.is_empty() && !has_alias(body) && !has_constants(body) && {
            let mut context = Context::new(module, environment);
            self.agreeing.extend(module);
            if let Some(function) = module.functions().get(function) {
                mixed_in(&mut context, function, body, &self.agreeing);
            }
            if has_inlined_code(body) {
                inlined_places_in(&mut context, body, &mut HashSet::new());
            }
            context.problems() == 0
        }
    }

    /// The other diagnostics of the module whose bodies were checked, by one or more checkers, including those of
    /// [`codegen_limits`](crate::codegen_limits). `None` if the header is of a kind for which they may not be all.
    #[must_use]
    pub fn finish(
        checkers: Vec<Self>,
        options: Options,
        module: &Module,
    ) -> Option<Vec<Diagnostic>> {
        // Further options of the target may come after bodies.
        let targets = module.directives().values();
        let targets = targets.filter(|d| d.directive == Directive::Target);
        if targets.count() != 1 {
            return None;
        }
        let mut uses = Uses::default();
        for (function, of_body) in checkers.into_iter().flat_map(|c| c.uses) {
            uses.set(function, of_body);
        }
        let environment = options.environment(module);
        let (mut found, later) = parallel::join(
            || of_module(module, environment),
            || with_uses(module, &uses),
        );
        found.extend(later);
        Some(found)
    }
}
