//! Checks bodies one after another while their module is parsed, each of which is dropped afterwards.

use alloc::vec::Vec;

use hashbrown::HashSet;
use ptx_ir::raw::parallel;
use ptx_ir::{Body, Diagnostic, FuncId, Module};
use ptx_isa::Directive;

use crate::Options;
use crate::alias::has_alias;
use crate::codegen_limits::{AgreeingModifiers, check_modifiers, codegen_limits_with};
use crate::context::Context;
use crate::debug::{check_inlined_places_in, has_inlined_code};
use crate::incremental::{body_diagnostics, module_diagnostics};
use crate::instruction::Instructions;
use crate::memory::has_constants;
use crate::uses::{BodyUses, Uses};

/// Finds out whether a module has any diagnostics whose bodies are only known one at a time.
///
/// A body is checked with the declarations before it. Later declarations make no difference in a module without diagnostics: they must agree
/// with the earlier ones.
#[derive(Debug)]
pub struct BodyChecker {
    options: Options,
    /// `None` before the first body.
    instructions: Option<Instructions>,
    agreeing: AgreeingModifiers,
    uses: Vec<(FuncId, BodyUses)>,
}

impl BodyChecker {
    /// Creates a checker that has checked no body.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self {
            options,
            instructions: None,
            agreeing: AgreeingModifiers::default(),
            uses: Vec::new(),
        }
    }

    /// Checks the body of a function. All calls are for one module; declarations and mnemonics may be added to it between the calls.
    /// Returns `true` if there are no diagnostics, and the body does not concern other bodies by an `.alias`, constants or
    /// `inlined_at` with their source lines.
    pub fn check(&mut self, module: &Module, function: FuncId, body: &Body) -> bool {
        let environment = self.options.environment(module);
        let instructions = match &mut self.instructions {
            Some(instructions) => {
                instructions.update_mnemonics(module);
                instructions.names_mut().extend_symbols(module);
                instructions
            }
            instructions => instructions.insert(Instructions::new(module)),
        };
        let diagnostics = body_diagnostics(module, environment, instructions, function, body);
        self.uses.push((function, BodyUses::new(body)));
        diagnostics.is_empty() && !has_alias(body) && !has_constants(body) && {
            let mut context = Context::new(module, environment);
            self.agreeing.extend(module);
            if let Some(function) = module.functions().get(function) {
                check_modifiers(&mut context, function, body, &self.agreeing);
            }
            if has_inlined_code(body) {
                check_inlined_places_in(&mut context, body, &mut HashSet::new());
            }
            context.problems() == 0
        }
    }

    /// Returns the other diagnostics of the module whose bodies were checked, by one or more checkers, including those of
    /// [`codegen_limits`](crate::codegen_limits). Returns `None` if the module has not exactly one `.target`: the bodies may then have been checked for
    /// other options.
    #[must_use]
    pub fn finish(
        checkers: Vec<Self>,
        options: Options,
        module: &Module,
    ) -> Option<Vec<Diagnostic>> {
        // Further options of the target may come after bodies.
        let targets = module
            .directives()
            .values()
            .filter(|stmt| stmt.directive == Directive::Target);
        if targets.count() != 1 {
            return None;
        }
        let mut uses = Uses::default();
        for (function, body_uses) in checkers.into_iter().flat_map(|checker| checker.uses) {
            uses.set(function, body_uses);
        }
        let environment = options.environment(module);
        let (mut diagnostics, limits) = parallel::join(
            || module_diagnostics(module, environment),
            || codegen_limits_with(module, &uses),
        );
        diagnostics.extend(limits);
        Some(diagnostics)
    }
}
