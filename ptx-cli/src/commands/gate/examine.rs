//! What is wrong in a file.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::Path;

use anyhow::Result;
use memchr::memmem;
use ptx_ir::{Code, Diagnostic, FuncId, FunctionKind, Item, Module, Severity, Span, Statement};
use ptx_isa::Target;

use super::rules::{self, Bound, Denied, Limit, Section};
use crate::commands::check::diagnose::{Checked, Found, details};
use crate::functions::{Chosen, Functions};
use crate::input::Source;
use crate::metrics::Unit;
use crate::ptxas;
use crate::query::visit;
use crate::render::json::Measured;
use ptx_report::clean;
use ptx_report::function_stats::{self, OfFunction};
use ptx_report::warnings::Allowed;

/// What files are examined for.
pub(super) struct Gate<'a> {
    pub(super) sections: &'a [Section],
    pub(super) functions: &'a Functions,
    pub(super) ptxas: Option<Ptxas<'a>>,
}

/// How machine code is made.
pub(super) struct Ptxas<'a> {
    pub(super) path: &'a Path,
    pub(super) target: Option<Target>,
}

/// A diagnostic, and if it is about a limit the function and its value.
type Finding = (Diagnostic, Option<(String, Measured)>);

/// What was found in a file.
pub(super) struct Examined {
    pub(super) checked: Checked,
    pub(super) chosen: Chosen,
    /// For each section whether there is a function that it is about.
    pub(super) matched: Vec<bool>,
    /// Why there are no figures of ptxas.
    pub(super) refusal: Option<String>,
}

impl Gate<'_> {
    /// Compares the functions of a file with the rules. A file with errors has only these.
    ///
    /// # Errors
    ///
    /// ptxas cannot be started.
    pub(super) fn examine(&self, source: Source) -> Result<Examined> {
        let parsed = ptx_parse::parse_with(source.bytes.clone(), &Default::default());
        let (module, has_errors) = (parsed.module, parsed.diagnostics.iter().any(is_error));
        let chosen = self.functions.choose(&module);
        let about = About::new(self.sections, self.functions, &module, &chosen);
        let mut findings: Vec<Finding> = Vec::new();
        let (mut mistakes, mut refusal) = (Vec::new(), None);
        if has_errors {
            let errors = parsed.diagnostics.into_iter().filter(is_error);
            findings = errors.map(|d| (d, None)).collect();
        } else {
            refusal = self.limits(&module, &source, &about, &mut findings)?;
            self.denied(&module, &source.name, &about, &mut findings);
            findings.sort_by_key(|(d, _)| d.span.start);
            if !findings.is_empty() {
                let allowed = Allowed::new(&module);
                findings.retain_mut(|(d, _)| allowed.keeps(d));
                mistakes = allowed.mistakes;
            }
            let all = findings.iter_mut();
            all.for_each(|(d, _)| d.severity = Severity::Error);
        }
        let (diagnostics, limits): (Vec<_>, Vec<_>) = findings.into_iter().unzip();
        let mut details = details(&module, &diagnostics);
        for (detail, limit) in details.iter_mut().zip(limits) {
            if let Some((function, measured)) = limit {
                detail.place.function = Some(clean(&function).into_owned());
                detail.measured = Some(measured);
            }
        }
        Ok(Examined {
            matched: about.matched,
            checked: Checked {
                source,
                fixed: None,
                found: Found {
                    diagnostics,
                    details,
                    mistakes,
                },
            },
            chosen,
            refusal,
        })
    }

    /// Compares metrics with limits; returns why there are no figures of ptxas.
    fn limits(
        &self,
        module: &Module,
        source: &Source,
        about: &About,
        found: &mut Vec<Finding>,
    ) -> Result<Option<String>> {
        let limited: Vec<(FuncId, Vec<&Limit>)> = about
            .functions
            .iter()
            .map(|(id, sections)| (*id, rules::limits(self.of(sections.limits.iter()))))
            .filter(|(_, limits)| !limits.is_empty())
            .collect();
        if limited.is_empty() {
            return Ok(None);
        }
        let is_limited = |id| limited.binary_search_by_key(&id, |(id, _)| *id).is_ok();
        let mut functions = function_stats::of(module, is_limited);
        if let Some(ptxas) = &self.ptxas {
            let Some(target) = ptxas.target.or(module.header().target) else {
                return Ok(Some("the module has no target".to_owned()));
            };
            match ptxas::compile(ptxas.path, target.text(), &source.bytes)? {
                Ok(mut figures) => functions
                    .iter_mut()
                    .for_each(|f| f.ptxas = figures.remove(&f.name)),
                Err(refusal) => return Ok(Some(refusal)),
            }
        }
        for ((id, limits), function) in limited.iter().zip(&functions) {
            let span = name_span(module, *id);
            found.extend(
                limits
                    .iter()
                    .filter_map(|limit| exceeded(limit, function, span)),
            );
        }
        Ok(None)
    }

    /// Looks for denied instructions.
    fn denied(&self, module: &Module, file: &str, about: &About, found: &mut Vec<Finding>) {
        let rules = |id| {
            let at = about.functions.binary_search_by_key(&id, |(id, _)| *id);
            let sections = at.ok().and_then(|at| about.functions.get(at));
            let sections = sections.into_iter().flat_map(|(_, of)| &of.denied);
            self.of(sections).flat_map(|section| &section.denied)
        };
        let is_wanted = |id| rules(id).next().is_some();
        if !about.functions.iter().any(|(id, _)| is_wanted(*id)) {
            return;
        }
        visit(file, module, is_wanted, |function| {
            for denied in rules(function.id) {
                denied.query.enter(function);
                for (stmt, statement) in function.body.statements() {
                    if let Statement::Inst(inst) = statement
                        && denied.query.holds(&function.site(stmt, inst))
                    {
                        let mnemonic = function.body.inst(inst);
                        let mnemonic = mnemonic.map_or("", |i| module.signature(i.sig).text());
                        let span = function.body.source_span(stmt);
                        found.push((is_denied(denied, mnemonic, function.name(), span), None));
                    }
                }
            }
            ControlFlow::Continue(())
        });
    }

    fn of<'s>(
        &'s self,
        indices: impl Iterator<Item = &'s usize>,
    ) -> impl Iterator<Item = &'s Section> {
        indices.filter_map(|index| self.sections.get(*index))
    }
}

/// Which sections are about which functions.
struct About {
    functions: Vec<(FuncId, OfSections)>,
    matched: Vec<bool>,
}

/// The sections about a function.
#[derive(Default)]
struct OfSections {
    limits: Vec<usize>,
    denied: Vec<usize>,
}

impl About {
    fn new(sections: &[Section], functions: &Functions, module: &Module, chosen: &Chosen) -> Self {
        let definitions: Vec<_> = module.definitions().collect();
        let names = || definitions.iter().map(|(_, f, _)| module.name(f.name));
        let is_chosen = |id| chosen.contains(id);
        let mut about: Vec<_> = definitions
            .iter()
            .map(|(id, ..)| (*id, OfSections::default()))
            .collect();
        let mut matched = Vec::new();
        for (index, section) in sections.iter().enumerate() {
            let wanted = section.function.as_ref();
            let wanted: Option<HashSet<&str>> =
                wanted.map(|w| w.matching(names()).into_iter().collect());
            let mut any = false;
            for ((id, function, _), (_, of)) in definitions.iter().zip(&mut about) {
                let is_kernel = function.kind == FunctionKind::Entry;
                let (limits, denied) = match &wanted {
                    Some(names) => {
                        let is_meant = names.contains(module.name(function.name));
                        any |= is_meant;
                        (is_meant, is_meant)
                    }
                    None => (is_kernel || !functions.is_empty(), true),
                };
                if !is_chosen(*id) {
                    continue;
                }
                any |= limits;
                of.limits.extend(limits.then_some(index));
                of.denied.extend(denied.then_some(index));
            }
            matched.push(any);
        }
        about.retain(|(id, _)| is_chosen(*id));
        Self {
            functions: about,
            matched,
        }
    }
}

fn is_error(diagnostic: &Diagnostic) -> bool {
    diagnostic.severity == Severity::Error
}

/// A value that a limit excludes.
fn exceeded(limit: &Limit, function: &OfFunction, span: Span) -> Option<Finding> {
    let amount = &limit.amount;
    let metric = &amount.metric;
    let kind = if function.is_kernel() {
        "kernel"
    } else {
        "function"
    };
    let what = format!("`{metric}` of {kind} `{}`", function.name);
    let (unit, name) = match metric.unit() {
        Unit::Count => ("", "count"),
        Unit::Bytes => (" bytes", "bytes"),
    };
    let (code, bound) = match limit.bound {
        Bound::Max => (Code::AboveLimit, "at most"),
        Bound::Min => (Code::BelowLimit, "at least"),
    };
    let value = metric.value(function);
    let message = match value {
        None => format!("{what} is unknown, expected {bound} {}{unit}", amount.value),
        Some(value) => {
            let is_legal = match limit.bound {
                Bound::Max => value <= amount.value,
                Bound::Min => value >= amount.value,
            };
            if is_legal {
                return None;
            }
            format!("{what} is {value}{unit}, expected {bound} {}", amount.value)
        }
    };
    let help = format!("the limit comes from {}", limit.place);
    let measured = Measured {
        metric: metric.to_string(),
        value,
        limit: amount.value,
        unit: name,
    };
    let diagnostic = Diagnostic::warning(code, span, message).with_help(help);
    Some((diagnostic, Some((function.name.clone(), measured))))
}

fn is_denied(denied: &Denied, mnemonic: &str, function: &str, span: Span) -> Diagnostic {
    let message = format!("`{}` in `{}` is denied", clean(mnemonic), clean(function));
    let help = format!(
        "the rule `{}` comes from {}",
        clean(&denied.text),
        denied.place
    );
    Diagnostic::warning(Code::DeniedInstruction, span, message).with_help(help)
}

/// Where the name of a function is in its header.
fn name_span(module: &Module, id: FuncId) -> Span {
    let item = module
        .items()
        .find(|(_, item)| matches!(item, Item::Function(of) if *of == id));
    let Some(item) = item.map(|(item, _)| module.span(item)) else {
        return Span::default();
    };
    let name = module.functions().get(id).map(|f| module.name(f.name));
    let name = name.unwrap_or_default().as_bytes();
    let is_word =
        |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_alphanumeric() || b"_$".contains(b));
    let text = item.of(module.source());
    let mut places = memmem::find_iter(text, name);
    let at = places.find(|at| {
        let before = at.checked_sub(1).and_then(|i| text.get(i));
        !is_word(before) && !is_word(text.get(at + name.len()))
    });
    let start = item.start + at.unwrap_or_default() as u32;
    Span::new(start, start + name.len() as u32)
}
