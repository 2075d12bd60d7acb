//! One error for everything that a newer `.version` or another `.target` would make legal.

use alloc::string::String;
use alloc::vec::Vec;
use ptx_ir::raw::query::Environment;
use ptx_ir::{Code, Diagnostic, Module, Severity, Span};
use ptx_isa::{Directive, PtxVersion, Target};

use crate::availability::Availability;
use crate::requires::requires;

fn is_too_old(diagnostic: &Diagnostic) -> bool {
    diagnostic.severity == Severity::Error
        && matches!(
            diagnostic.code,
            Code::Unavailable | Code::DirectiveFloor | Code::TargetVersion
        )
}

/// Merges these errors into the first one, which gets the places and messages of the others, and a help with a header for which the module is legal.
/// Expects diagnostics in the order of the source; linear in the module if there is such an error.
pub(crate) fn merge(module: &Module, environment: Environment, diagnostics: &mut Vec<Diagnostic>) {
    let Some(first) = diagnostics.iter().position(is_too_old) else {
        return;
    };
    // An error about the header is not at the places that need a newer one.
    let shows_places = diagnostics
        .get(first)
        .is_some_and(|diagnostic| diagnostic.code != Code::TargetVersion);
    let mut places: Vec<(Span, Option<String>)> = Vec::new();
    let mut index = 0;
    diagnostics.retain_mut(|diagnostic| {
        index += 1;
        let is_merged = index > first + 1 && is_too_old(diagnostic);
        if is_merged && shows_places {
            let repeats = diagnostic.take_repeats();
            let message = core::mem::take(&mut diagnostic.message);
            places.push((diagnostic.span, Some(message.clone())));
            places.extend(
                repeats
                    .into_iter()
                    .map(|(span, text)| (span, text.or_else(|| Some(message.clone())))),
            );
        }
        !is_merged
    });
    let Some(merged) = diagnostics.get_mut(first) else {
        return;
    };
    let repeats = merged.take_repeats();
    merged.set_repeats(repeats.into_iter().chain(places));
    let requirements = requires(module);
    let Some((target, version)) = nearest(requirements.module(), environment) else {
        return;
    };
    let advice = advice(environment, target, version);
    if !merged.fix.is_empty() {
        let help = merged.help.take().unwrap_or_default();
        merged.help = Some(format!("{advice}; {help}"));
        return;
    }
    merged.help = Some(advice);
    // The module may be checked for another target than that of its header.
    if environment == Environment::of(module)
        && !module.is_edited()
        && let Some(tokens) = HeaderTokens::new(module)
    {
        if version != environment.version() {
            merged.add_fix([(tokens.version, format!("{version}"))]);
        }
        if Some(target) != environment.target() {
            merged.add_fix([(tokens.target, target.text().into())]);
        }
    }
}

/// Returns the nearest available target, and the version that is needed there: the target of the environment if it is available in another version,
/// otherwise one of the same architecture, otherwise the next newer one.
pub(crate) fn nearest(
    availability: &Availability,
    environment: Environment,
) -> Option<(Target, PtxVersion)> {
    let current = environment.target()?;
    let (target, version) = availability.pairs().min_by_key(|(target, version)| {
        let is_older = target.number() < current.number();
        (
            is_older,
            *target != current,
            target.number(),
            target.arch(),
            *version,
        )
    })?;
    Some((target, version.max(environment.version())))
}

/// Returns the help with the directives to write in the header.
pub(crate) fn advice(environment: Environment, target: Target, version: PtxVersion) -> String {
    let mut changes = Vec::new();
    if Some(target) != environment.target() {
        changes.push(format!("`.target {target}`"));
    }
    if version != environment.version() {
        changes.push(format!("`.version {version}`"));
    }
    format!("write {}", changes.join(" and "))
}

/// The tokens of the header that another version and target replace.
struct HeaderTokens {
    version: Span,
    target: Span,
}

impl HeaderTokens {
    fn new(module: &Module) -> Option<Self> {
        let (_, version) = module.header_value(Directive::Version)?;
        let (_, target) = module.header_value(Directive::Target)?;
        Some(Self {
            version: version?,
            target: target?,
        })
    }
}
