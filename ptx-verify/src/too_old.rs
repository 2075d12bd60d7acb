//! One error for everything that a newer `.version` or another `.target` would make legal.

use alloc::string::String;
use alloc::vec::Vec;
use ptx_ir::raw::query::Environment;
use ptx_ir::{Code, Diagnostic, Module, Severity, Span};
use ptx_isa::{Directive, PtxVersion, Target};

use crate::availability::Availability;
use crate::requires::{Requirements, requires};

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
    let (mut index, mut has_merged) = (0, false);
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
        has_merged |= is_merged;
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
    // The message of an error about the header is not about the features that need another one.
    let causes = if has_merged && !shows_places {
        Causes::new(&requirements, environment, target, version)
    } else {
        Causes::default()
    };
    let advice = advice(environment, target, version, &causes);
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

/// The features that are the reasons for another header, if they are known.
#[derive(Default)]
struct Causes<'r> {
    target: Option<&'r str>,
    version: Option<&'r str>,
}

impl<'r> Causes<'r> {
    fn new(
        requirements: &'r Requirements,
        environment: Environment,
        target: Target,
        version: PtxVersion,
    ) -> Self {
        let first = |needs_it: &dyn Fn(&Availability) -> bool| {
            let mut reasons = requirements.reasons().iter();
            let reason = reasons.find(|reason| needs_it(reason.availability()))?;
            Some(reason.what())
        };
        let current = environment.target();
        Self {
            target: first(&|availability| {
                current.is_some_and(|current| availability.lowest(current).is_none())
            }),
            // A target has a first version, whatever the features need.
            version: first(&|availability| availability.lowest(target) == Some(version))
                .filter(|_| version > target.min_version()),
        }
    }
}

/// Returns the help with the directives to write in the header, and the features that need them.
fn advice(
    environment: Environment,
    target: Target,
    version: PtxVersion,
    causes: &Causes<'_>,
) -> String {
    let mut changes = Vec::new();
    if Some(target) != environment.target() {
        changes.push((format!("`.target {target}`"), causes.target));
    }
    if version != environment.version() {
        changes.push((format!("`.version {version}`"), causes.version));
    }
    let texts: Vec<String> = match changes.as_slice() {
        [(target, cause), (version, other)] if cause == other => {
            let both = format!("{target} and {version}");
            vec![with_cause(both, *cause)]
        }
        changes => changes
            .iter()
            .map(|(change, cause)| with_cause(change.clone(), *cause))
            .collect(),
    };
    let separator = if texts.iter().any(|text| text.contains(',')) {
        ", and "
    } else {
        " and "
    };
    format!("write {}", texts.join(separator))
}

fn with_cause(change: String, cause: Option<&str>) -> String {
    match cause {
        Some(cause) => format!("{change}, which `{cause}` requires"),
        None => change,
    }
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
