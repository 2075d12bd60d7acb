//! Merges the headers of modules. Manual 11.1.

use alloc::string::ToString;
use alloc::vec::Vec;

use ptx_ir::{Code, Diagnostic, Module, Severity, Span, TextPatches};
use ptx_isa::{Directive, PtxVersion, Target, TargetOption};
use ptx_verify::Options;

use super::diagnostic::{LinkDiagnostic, about};

/// The header of the result.
pub(super) struct Header {
    version: PtxVersion,
    target: Option<Target>,
    /// Whether one of the modules has the option `debug`.
    debug: bool,
}

/// The spans of a directive.
fn places(module: &Module, directive: Directive) -> impl Iterator<Item = Span> + '_ {
    let all = module
        .items()
        .filter(move |(_, item)| module.directive(*item) == Some(directive));
    all.map(|(id, _)| module.span(id))
}

/// The span of a directive, or the start of the text.
fn place(module: &Module, directive: Directive) -> Span {
    places(module, directive).next().unwrap_or_default()
}

/// The merged header, or why the headers are incompatible.
pub(super) fn unite(modules: &[&Module], found: &mut Vec<LinkDiagnostic>) -> Option<Header> {
    let versions = modules.iter().filter_map(|m| m.header().version);
    let version = versions.max()?;
    let target = target(modules, found);
    address_sizes(modules, found);
    let debug = modules
        .iter()
        .any(|m| m.has_target_option(TargetOption::Debug));
    for option in [TargetOption::TexmodeIndependent, TargetOption::MapF64ToF32] {
        let has = |m: &&Module| m.has_target_option(option);
        let (with, without) = (
            modules.iter().position(has),
            modules.iter().position(|m| !has(m)),
        );
        if let (Some(with), Some(without)) = (with, without)
            && let (Some(a), Some(b)) = (modules.get(with), modules.get(without))
        {
            let message =
                format!("this module has the target option `{option}`, and another one does not");
            let (at, other) = (place(a, Directive::Target), place(b, Directive::Target));
            let d = Diagnostic::error(Code::DifferentOptions, at, message);
            found.push(about(with, d).with(without, other, "this one"));
        }
    }
    let floor = target.map_or(version, Target::min_version);
    let header = Header {
        version: version.max(floor),
        target,
        debug,
    };
    for (input, module) in modules.iter().enumerate() {
        header.check(input, module, found);
    }
    Some(header)
}

/// The lowest target that supports all modules.
fn target(modules: &[&Module], found: &mut Vec<LinkDiagnostic>) -> Option<Target> {
    let targets = || modules.iter().filter_map(|m| m.header().target);
    let (mut input, mut highest) = (0, modules.first()?.header().target?);
    for (i, module) in modules.iter().enumerate() {
        let Some(target) = module.header().target else {
            continue;
        };
        if target.implies(highest) {
            (input, highest) = (i, target);
        }
    }
    if targets().all(|t| highest.implies(t)) {
        return Some(highest);
    }
    // Otherwise there may be one that supports both a family and a newer architecture.
    let all = Target::ALL.iter().copied();
    let having: Vec<Target> = all.filter(|c| targets().all(|t| c.implies(t))).collect();
    let mut least = having.iter().copied();
    if let Some(least) = least.find(|c| having.iter().all(|other| other.implies(*c))) {
        return Some(least);
    }
    let other = modules.iter().position(|m| {
        let target = m.header().target;
        target.is_some_and(|t| !highest.implies(t))
    });
    if let Some(other) = other
        && let (Some(a), Some(b)) = (modules.get(input), modules.get(other))
        && let Some(second) = b.header().target
    {
        let message = format!("no target supports both `{highest}` and `{second}`");
        let at = place(a, Directive::Target);
        let d = Diagnostic::error(Code::DifferentTargets, at, message);
        let at = place(b, Directive::Target);
        found.push(about(input, d).with(other, at, format!("`{second}` here")));
    }
    None
}

fn address_sizes(modules: &[&Module], found: &mut Vec<LinkDiagnostic>) {
    let size = |m: &Module| m.header().address_size.unwrap_or(32);
    let Some((first, rest)) = modules.split_first() else {
        return;
    };
    for (i, module) in (1..).zip(rest) {
        let (a, b) = (size(first), size(module));
        if a != b {
            let message =
                format!("addresses have {b} bits in this module and {a} bits in another one");
            let at = place(module, Directive::AddressSize);
            let d = Diagnostic::error(Code::DifferentAddressSizes, at, message);
            let at = place(first, Directive::AddressSize);
            found.push(about(i, d).with(0, at, format!("{a} bits here")));
        }
    }
}

impl Header {
    /// Diagnostics for what is illegal under this header.
    fn check(&self, input: usize, module: &Module, found: &mut Vec<LinkDiagnostic>) {
        let own = (module.header().version, module.header().target);
        if own == (Some(self.version), self.target) || self.target.is_none() {
            return;
        }
        let options = Options::default()
            .with_version(self.version)
            .with_target(self.target);
        let header: Vec<Span> = [Directive::Version, Directive::Target]
            .into_iter()
            .flat_map(|d| places(module, d))
            .collect();
        for d in ptx_verify::verify(module, &options) {
            let old = header
                .iter()
                .any(|h| h.start <= d.span.start && d.span.start < h.end);
            if d.severity == Severity::Error && !old {
                found.push(about(input, d));
            }
        }
    }

    /// Writes version and target to the first module.
    pub(super) fn write(&self, module: &Module, patches: &mut TextPatches) {
        let mut value = |directive, new: &str| {
            let place = module.header_value(directive).and_then(|(_, place)| place);
            if let Some(span) = place.filter(|s| s.of(module.source()) != new.as_bytes()) {
                patches.replace(span, new);
            }
        };
        value(Directive::Version, &self.version.to_string());
        if let Some(target) = self.target.filter(|t| module.header().target != Some(*t)) {
            value(Directive::Target, target.text());
        }
    }

    /// Sets the option `debug` of the first module, if one of the modules has it and the result has debug information.
    pub(super) fn write_debug(
        &self,
        module: &Module,
        has_debug_info: bool,
        patches: &mut TextPatches,
    ) {
        let last = places(module, Directive::Target).last().unwrap_or_default();
        let option = crate::debug::target_option(module.source(), last);
        match (self.debug && has_debug_info, option) {
            (true, None) => patches.insert(last.end, ", debug"),
            (false, Some(at)) => patches.remove(at),
            _ => {}
        }
    }
}
