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
    /// The names that are aliases so far.
    seen: HashSet<FuncId>,
}

impl Aliases {
    pub(crate) fn new(module: &Module) -> Self {
        let mut bodies = HashMap::new();
        let mut directives = module.directives().values();
        let of_module = directives.any(|d| d.directive == Directive::Alias);
        if of_module || module.bodies().values().any(has_alias) {
            for (_, function, body) in module.definitions() {
                let first = bodies.entry(function.name).or_insert(body.base());
                *first = body.base().min(*first);
            }
        }
        Self {
            bodies,
            seen: HashSet::new(),
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
        if let Some(nth) = args.iter().position(|o| matches!(o, Operand::Special(_))) {
            let location = Location::part(span, Part::Operand(nth as u32));
            context.report(location, RedeclarationProblem::AliasOfSpecial);
            return;
        }
        let module = context.module;
        let symbol = |o: &Operand| match o {
            Operand::Symbol(id) => module.symbols().get(*id).copied(),
            _ => None,
        };
        let (Some(alias), Some(aliasee)) = (symbol(alias), symbol(aliasee)) else {
            return;
        };
        let at_alias = Location::name(span, alias.name);
        if alias.name == aliasee.name {
            context.report(at_alias, RedeclarationProblem::AliasOfItself(alias.name));
            return;
        }
        let at_aliasee = Location::name(span, aliasee.name);
        let SymbolKind::Function(target) = aliasee.kind else {
            let problem = RedeclarationProblem::AliasOfVariable(aliasee.name);
            context.report(at_aliasee, problem);
            return;
        };
        let SymbolKind::Function(declaration) = alias.kind else {
            let problem = RedeclarationProblem::AliasIsVariable(alias.name);
            context.report(at_alias, problem);
            return;
        };
        let of_target = wrong_target(module, aliasee, target).map(|p| (at_aliasee, p));
        let problem = of_target.or_else(|| {
            let names = (alias.name, aliasee.name);
            let problem = self.wrong_alias(module, names, declaration, target, span)?;
            Some((at_alias, problem))
        });
        self.seen.insert(declaration);
        if let Some((location, problem)) = problem {
            context.report(location, problem);
        }
    }

    fn wrong_alias(
        &self,
        module: &Module,
        (alias, aliasee): (NameId, NameId),
        declaration: FuncId,
        target: FuncId,
        span: Span,
    ) -> Option<RedeclarationProblem> {
        let defined = self.bodies.get(&alias).is_some_and(|b| *b < span.start);
        if defined {
            return Some(RedeclarationProblem::AliasIsDefined(alias));
        }
        if self.seen.contains(&declaration) {
            return Some(RedeclarationProblem::AliasTwice(alias));
        }
        let declared = module.functions().get(declaration)?;
        if declared.kind == FunctionKind::Entry {
            return Some(RedeclarationProblem::AliasOfKernel(alias));
        }
        let own = &declared.interface;
        let other = &module.functions().get(target)?.interface;
        if prototype::is_noreturn(module, own) != prototype::is_noreturn(module, other) {
            return Some(RedeclarationProblem::AliasNoreturn(alias, aliasee));
        }
        let difference = prototype::difference(module, other, own)?;
        Some(RedeclarationProblem::AliasPrototype(
            alias, aliasee, difference,
        ))
    }
}

/// Whether a body has an `.alias`.
pub(crate) fn has_alias(body: &Body) -> bool {
    let mut all = body.directives().values();
    all.any(|d| d.directive == Directive::Alias)
}

fn wrong_target(module: &Module, aliasee: Symbol, target: FuncId) -> Option<RedeclarationProblem> {
    let function = module.functions().get(target)?;
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
