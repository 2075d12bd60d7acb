//! One error for everything that a newer `.version` or another `.target` would make legal.

use alloc::string::String;
use alloc::vec::Vec;
use ptx_ir::query::Environment;
use ptx_ir::{Code, Diagnostic, Module, Severity, Span};
use ptx_isa::{PtxVersion, Target};

use crate::availability::Availability;
use crate::requires::requires;
use crate::retarget::header_tokens;

fn is_too_old(diagnostic: &Diagnostic) -> bool {
    let code = matches!(
        diagnostic.code,
        Code::Unavailable | Code::DirectiveFloor | Code::TargetVersion
    );
    code && diagnostic.severity == Severity::Error
}

/// Keeps the first of these errors, with the places and messages of the others, and says which header has all that the module uses.
/// Expects diagnostics in the order of the source; linear in the module if there is such an error.
pub(crate) fn merge(module: &Module, environment: Environment, found: &mut Vec<Diagnostic>) {
    let Some(first) = found.iter().position(is_too_old) else {
        return;
    };
    // An error about the header is not at the places that need a newer one.
    let shows_places = found
        .get(first)
        .is_some_and(|d| d.code != Code::TargetVersion);
    let mut places: Vec<(Span, Option<String>)> = Vec::new();
    let mut index = 0;
    found.retain_mut(|d| {
        index += 1;
        let again = index > first + 1 && is_too_old(d);
        if again && shows_places {
            let repeats = d.take_repeats();
            let message = core::mem::take(&mut d.message);
            let all = |own: Option<String>| own.or_else(|| Some(message.clone()));
            places.push((d.span, all(None)));
            places.extend(repeats.into_iter().map(|(span, own)| (span, all(own))));
        }
        !again
    });
    let Some(head) = found.get_mut(first) else {
        return;
    };
    let own = head.take_repeats();
    head.set_repeats(own.into_iter().chain(places));
    let needs = requires(module);
    let Some((target, version)) = nearest(needs.module(), environment) else {
        return;
    };
    let advice = advice(environment, target, version);
    if !head.fix.is_empty() {
        let help = head.help.take().unwrap_or_default();
        head.help = Some(format!("{advice}; {help}"));
        return;
    }
    head.help = Some(advice);
    // Another target than that of the header may have been asked about.
    if environment == Environment::of(module)
        && !module.is_edited()
        && let Some((number, name)) = header_tokens(module)
    {
        if version != environment.version() {
            head.add_fix([(number, format!("{version}"))]);
        }
        if Some(target) != environment.target() {
            head.add_fix([(name, target.text().into())]);
        }
    }
}

/// The nearest target that has something, and the version that is needed there. The target of the environment if it has it
/// in another version, else one of the same architecture, else the next newer one.
pub(crate) fn nearest(of: &Availability, environment: Environment) -> Option<(Target, PtxVersion)> {
    let own = environment.target()?;
    let (target, version) = of.pairs().min_by_key(|(target, version)| {
        let other = target.number() < own.number();
        (
            other,
            *target != own,
            target.number(),
            target.arch(),
            *version,
        )
    })?;
    Some((target, version.max(environment.version())))
}

/// The replacement of the value in the header.
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
