//! Aliases of functions. Manual 11.6.5.

use hashbrown::{HashMap, HashSet};
use ptx_ir::{
    Body, FuncId, FunctionKind, Linkage, Module, NameId, Operand, Span, Statement, Symbol,
    SymbolKind,
};
use ptx_isa::Directive;

use crate::context::Context;
use crate::directive::available;
use crate::location::{Location, Part};
use crate::problem::redeclaration::RedeclarationProblem;
use crate::prototype;

/// The declarations against which the aliases of a module are checked.
pub(crate) struct Aliases {
    /// The offset of the first body of each function; empty in a module without aliases.
    bodies: HashMap<NameId, u32>,
    /// The functions that are aliases so far.
    declared: HashSet<FuncId>,
}

impl Aliases {
    pub(crate) fn new(module: &Module) -> Self {
        let mut bodies = HashMap::new();
        let has_module_alias = module
            .directives()
            .values()
            .any(|stmt| stmt.directive == Directive::Alias);
        if has_module_alias || module.bodies().values().any(has_alias) {
            for (_, function, body) in module.definitions() {
                let first = bodies.entry(function.name).or_insert(body.base());
                *first = body.base().min(*first);
            }
        }
        Self {
            bodies,
            declared: HashSet::new(),
        }
    }

    /// Checks the aliases in a body.
    pub(crate) fn check_body(&mut self, context: &mut Context<'_>, body: &Body) {
        if !has_alias(body) {
            return;
        }
        for (id, statement) in body.statements() {
            if let Statement::Directive(directive) = statement
                && let Some(stmt) = body.directives().get(directive)
                && stmt.directive == Directive::Alias
            {
                self.check(context, body.source_span(id), body.pool().slice(stmt.args));
            }
        }
    }

    /// Checks one `.alias`.
    pub(crate) fn check(&mut self, context: &mut Context<'_>, span: Span, args: &[Operand]) {
        let [alias, aliasee] = args else { return };
        available(context, Directive::Alias, Location::exact(span));
        let special = args
            .iter()
            .position(|operand| matches!(operand, Operand::Special(_)));
        if let Some(index) = special {
            let location = Location::part(span, Part::Operand(index as u32));
            context.report(location, RedeclarationProblem::AliasOfSpecial);
            return;
        }
        let module = context.module;
        let symbol = |operand: &Operand| module.symbols().get(operand.symbol()?).copied();
        let (Some(alias), Some(aliasee)) = (symbol(alias), symbol(aliasee)) else {
            return;
        };
        let alias_location = Location::name(span, alias.name);
        if alias.name == aliasee.name {
            let problem = RedeclarationProblem::AliasOfItself(alias.name);
            context.report(alias_location, problem);
            return;
        }
        let aliasee_location = Location::name(span, aliasee.name);
        let SymbolKind::Function(aliasee_id) = aliasee.kind else {
            let problem = RedeclarationProblem::AliasOfVariable(aliasee.name);
            context.report(aliasee_location, problem);
            return;
        };
        let SymbolKind::Function(alias_id) = alias.kind else {
            let problem = RedeclarationProblem::AliasIsVariable(alias.name);
            context.report(alias_location, problem);
            return;
        };
        if let Some(problem) = wrong_aliasee(module, aliasee, aliasee_id) {
            context.report(aliasee_location, problem);
        } else if let Some(problem) = self.wrong_alias(module, alias_id, aliasee_id, span) {
            context.report(alias_location, problem);
        }
        self.declared.insert(alias_id);
    }

    /// Returns the problem of the declaration of an alias in a directive at `span`.
    fn wrong_alias(
        &self,
        module: &Module,
        alias_id: FuncId,
        aliasee_id: FuncId,
        span: Span,
    ) -> Option<RedeclarationProblem> {
        let alias = module.functions().get(alias_id)?;
        let is_defined = self
            .bodies
            .get(&alias.name)
            .is_some_and(|body_start| *body_start < span.start);
        if is_defined {
            return Some(RedeclarationProblem::AliasIsDefined(alias.name));
        }
        if self.declared.contains(&alias_id) {
            return Some(RedeclarationProblem::AliasTwice(alias.name));
        }
        if alias.kind == FunctionKind::Entry {
            return Some(RedeclarationProblem::AliasOfKernel(alias.name));
        }
        let aliasee = module.functions().get(aliasee_id)?;
        if prototype::is_noreturn(module, &alias.interface)
            != prototype::is_noreturn(module, &aliasee.interface)
        {
            return Some(RedeclarationProblem::AliasNoreturn(
                alias.name,
                aliasee.name,
            ));
        }
        let difference = prototype::difference(module, &aliasee.interface, &alias.interface)?;
        Some(RedeclarationProblem::AliasPrototype(
            alias.name,
            aliasee.name,
            difference,
        ))
    }
}

/// Returns `true` if a body has an `.alias`.
pub(crate) fn has_alias(body: &Body) -> bool {
    body.directives()
        .values()
        .any(|stmt| stmt.directive == Directive::Alias)
}

/// Returns the problem of a function as the aliasee.
fn wrong_aliasee(module: &Module, aliasee: Symbol, id: FuncId) -> Option<RedeclarationProblem> {
    let function = module.functions().get(id)?;
    if function.kind == FunctionKind::Entry {
        return Some(RedeclarationProblem::AliasOfKernel(aliasee.name));
    }
    match function.linkage {
        Some(linkage @ (Linkage::Weak | Linkage::Extern)) => {
            Some(RedeclarationProblem::AliasOfLinkage(aliasee.name, linkage))
        }
        _ => None,
    }
}
