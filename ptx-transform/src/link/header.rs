//! Merges the headers of modules. Manual 11.1.

use alloc::string::ToString;
use alloc::vec::Vec;

use ptx_ir::raw::TextPatches;
use ptx_ir::{Code, Diagnostic, Module, Severity, Span};
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
fn spans(module: &Module, directive: Directive) -> impl Iterator<Item = Span> + '_ {
    module
        .items()
        .filter(move |(_, item)| module.directive(*item) == Some(directive))
        .map(|(id, _)| module.span(id))
}

/// The span of a directive, or the start of the text.
fn first_span(module: &Module, directive: Directive) -> Span {
    spans(module, directive).next().unwrap_or_default()
}

/// Merges the headers. If they are incompatible, adds the reasons to `diagnostics`.
pub(super) fn unite(modules: &[&Module], diagnostics: &mut Vec<LinkDiagnostic>) -> Option<Header> {
    let version = modules.iter().filter_map(|m| m.header().version).max()?;
    let target = target(modules, diagnostics);
    address_sizes(modules, diagnostics);
    let debug = modules
        .iter()
        .any(|m| m.has_target_option(TargetOption::Debug));
    for option in [TargetOption::TexmodeIndependent, TargetOption::MapF64ToF32] {
        let with = modules.iter().position(|m| m.has_target_option(option));
        let without = modules.iter().position(|m| !m.has_target_option(option));
        if let (Some(with), Some(without)) = (with, without)
            && let (Some(a), Some(b)) = (modules.get(with), modules.get(without))
        {
            let message =
                format!("this module has the target option `{option}`, and another one does not");
            let span = first_span(a, Directive::Target);
            let difference = Diagnostic::error(Code::DifferentOptions, span, message);
            let other_span = first_span(b, Directive::Target);
            diagnostics.push(about(with, difference).with(without, other_span, "this one"));
        }
    }
    let min_version = target.map_or(version, Target::min_version);
    let header = Header {
        version: version.max(min_version),
        target,
        debug,
    };
    for (input, module) in modules.iter().enumerate() {
        header.check(input, module, diagnostics);
    }
    Some(header)
}

/// The lowest target that supports all modules.
fn target(modules: &[&Module], diagnostics: &mut Vec<LinkDiagnostic>) -> Option<Target> {
    let targets: Vec<Target> = modules.iter().filter_map(|m| m.header().target).collect();
    let (mut input, mut highest) = (0, modules.first()?.header().target?);
    for (i, module) in modules.iter().enumerate() {
        let Some(target) = module.header().target else {
            continue;
        };
        if target.implies(highest) {
            (input, highest) = (i, target);
        }
    }
    if targets.iter().all(|t| highest.implies(*t)) {
        return Some(highest);
    }
    // Otherwise there may be one that supports both a family and a newer architecture.
    let common: Vec<Target> = Target::ALL
        .iter()
        .copied()
        .filter(|candidate| targets.iter().all(|t| candidate.implies(*t)))
        .collect();
    if let Some(lowest) = common
        .iter()
        .copied()
        .find(|candidate| common.iter().all(|target| target.implies(*candidate)))
    {
        return Some(lowest);
    }
    let unsupported = modules.iter().position(|m| {
        m.header()
            .target
            .is_some_and(|target| !highest.implies(target))
    });
    if let Some(unsupported) = unsupported
        && let (Some(a), Some(b)) = (modules.get(input), modules.get(unsupported))
        && let Some(second) = b.header().target
    {
        let message = format!("no target supports both `{highest}` and `{second}`");
        let span = first_span(a, Directive::Target);
        let conflict = Diagnostic::error(Code::DifferentTargets, span, message);
        diagnostics.push(about(input, conflict).with(
            unsupported,
            first_span(b, Directive::Target),
            format!("`{second}` here"),
        ));
    }
    None
}

fn address_sizes(modules: &[&Module], diagnostics: &mut Vec<LinkDiagnostic>) {
    let address_size = |m: &Module| m.header().address_size.unwrap_or(32);
    let Some((first, later_modules)) = modules.split_first() else {
        return;
    };
    for (input, module) in (1..).zip(later_modules) {
        let (a, b) = (address_size(first), address_size(module));
        if a != b {
            let message =
                format!("addresses have {b} bits in this module and {a} bits in another one");
            let span = first_span(module, Directive::AddressSize);
            let difference = Diagnostic::error(Code::DifferentAddressSizes, span, message);
            diagnostics.push(about(input, difference).with(
                0,
                first_span(first, Directive::AddressSize),
                format!("{a} bits here"),
            ));
        }
    }
}

impl Header {
    /// Reports errors that the module has under this header and not under its old one.
    fn check(&self, input: usize, module: &Module, diagnostics: &mut Vec<LinkDiagnostic>) {
        let is_unchanged =
            module.header().version == Some(self.version) && module.header().target == self.target;
        if is_unchanged || self.target.is_none() {
            return;
        }
        let options = Options::default()
            .with_version(self.version)
            .with_target(self.target);
        let header: Vec<Span> = [Directive::Version, Directive::Target]
            .into_iter()
            .flat_map(|d| spans(module, d))
            .collect();
        for d in ptx_verify::verify(module, &options) {
            let is_in_old_header = header
                .iter()
                .any(|h| h.start <= d.span.start && d.span.start < h.end);
            if d.severity == Severity::Error && !is_in_old_header {
                diagnostics.push(about(input, d));
            }
        }
    }

    /// Writes version and target to the first module.
    pub(super) fn write(&self, module: &Module, patches: &mut TextPatches) {
        let mut write_value = |directive, new: &str| {
            let old_span = module.header_value(directive).and_then(|(_, span)| span);
            if let Some(span) = old_span.filter(|s| s.of(module.source()) != new.as_bytes()) {
                patches.replace(span, new);
            }
        };
        write_value(Directive::Version, &self.version.to_string());
        if let Some(target) = self.target.filter(|t| module.header().target != Some(*t)) {
            write_value(Directive::Target, target.text());
        }
    }

    /// Sets the option `debug` of the first module, if one of the modules has it and the result has debug information.
    pub(super) fn write_debug(
        &self,
        module: &Module,
        has_debug_info: bool,
        patches: &mut TextPatches,
    ) {
        let last = spans(module, Directive::Target).last().unwrap_or_default();
        let option = crate::debug::target_option(module.source(), last);
        match (self.debug && has_debug_info, option) {
            (true, None) => patches.insert(last.end, ", debug"),
            (false, Some(span)) => patches.remove(span),
            _ => {}
        }
    }
}
