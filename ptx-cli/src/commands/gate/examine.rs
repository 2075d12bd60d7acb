//! The findings of the gate in a file: limits that functions exceed, and denied instructions.

use std::collections::HashSet;
use std::ops::ControlFlow;

use anyhow::Result;
use memchr::memmem;
use ptx_ir::{Code, Diagnostic, FuncId, FunctionKind, Item, Module, Severity, Span, Statement};

use super::rules::{self, Bound, Denied, Limit, Section};
use crate::assembler::{Assembler, Depth};
use crate::commands::check::diagnose::{Checked, FileDiagnostics, details};
use crate::functions::{Chosen, Functions};
use crate::input::Source;
use crate::metrics::Unit;
use crate::query::visit;
use crate::render::json::Measured;
use ptx_report::clean;
use ptx_report::function_stats::{self, FunctionStats};
use ptx_report::occupancy::LaunchSizes;
use ptx_report::warnings::Allowed;

/// The rules that files are compared with.
pub(super) struct Gate<'a> {
    pub(super) sections: &'a [Section],
    pub(super) functions: &'a Functions,
    pub(super) assembler: &'a Assembler,
    pub(super) launch: LaunchSizes,
}

/// A finding of the gate.
struct Finding {
    diagnostic: Diagnostic,
    /// For a limit, the name of the function and the value that the limit excludes.
    measured: Option<(String, Measured)>,
}

/// The result for a file.
pub(super) struct Examined {
    pub(super) checked: Checked,
    /// For each section, whether it applies to a function.
    pub(super) matched: Vec<bool>,
    /// The reason why there are no metrics of ptxas.
    pub(super) refusal: Option<String>,
}

impl Gate<'_> {
    /// Compares the functions of a file with the rules. For a file with errors, only the errors are reported.
    ///
    /// # Errors
    ///
    /// ptxas cannot be started.
    pub(super) fn examine(&self, source: Source) -> Result<Examined> {
        let parsed = ptx_parse::parse_with(source.bytes.clone(), &Default::default());
        let (module, has_errors) = (parsed.module, parsed.diagnostics.iter().any(is_error));
        let chosen = self.functions.choose(&module);
        let applicable = ApplicableSections::new(self.sections, self.functions, &module, &chosen);
        let mut findings: Vec<Finding> = Vec::new();
        let (mut mistakes, mut refusal) = (Vec::new(), None);
        if has_errors {
            findings.extend(
                parsed
                    .diagnostics
                    .into_iter()
                    .filter(is_error)
                    .map(|diagnostic| Finding {
                        diagnostic,
                        measured: None,
                    }),
            );
        } else {
            refusal = self.check_limits(&module, &applicable, &mut findings)?;
            self.check_denied(&module, &source.name, &applicable, &mut findings);
            findings.sort_by_key(|finding| finding.diagnostic.span.start);
            if !findings.is_empty() {
                let allowed = Allowed::new(&module);
                findings.retain_mut(|finding| allowed.keeps(&mut finding.diagnostic));
                mistakes = allowed.mistakes;
            }
            for finding in &mut findings {
                finding.diagnostic.severity = Severity::Error;
            }
        }
        let (diagnostics, measured): (Vec<_>, Vec<_>) = findings
            .into_iter()
            .map(|finding| (finding.diagnostic, finding.measured))
            .unzip();
        let mut details = details(&module, &diagnostics);
        for (detail, measured) in details.iter_mut().zip(measured) {
            if let Some((function, measured)) = measured {
                detail.place.function = Some(clean(&function).into_owned());
                detail.measured = Some(measured);
            }
        }
        Ok(Examined {
            matched: applicable.matched,
            checked: Checked {
                source,
                fixed: None,
                results: FileDiagnostics {
                    diagnostics,
                    details,
                    mistakes,
                },
                chosen,
            },
            refusal,
        })
    }

    /// Compares metrics with limits. Returns the reason why there are no metrics of ptxas.
    fn check_limits(
        &self,
        module: &Module,
        applicable: &ApplicableSections,
        findings: &mut Vec<Finding>,
    ) -> Result<Option<String>> {
        let limited: Vec<(FuncId, Vec<&Limit>)> = applicable
            .functions
            .iter()
            .map(|(id, sections)| (*id, rules::limits(self.sections(&sections.limits))))
            .filter(|(_, limits)| !limits.is_empty())
            .collect();
        if limited.is_empty() {
            return Ok(None);
        }
        let is_limited = |id| limited.binary_search_by_key(&id, |(id, _)| *id).is_ok();
        let mut functions = function_stats::collect(module, is_limited);
        if self.assembler.ptxas.is_some() {
            let mut metrics = limited.iter().flat_map(|(_, limits)| limits);
            let depth = match metrics.any(|limit| limit.amount.metric.needs_sass()) {
                true => Depth::Code,
                false => Depth::Report,
            };
            let measured = self
                .assembler
                .measure(module, functions.iter_mut(), depth)?;
            if let Err(refusal) = measured {
                return Ok(Some(refusal));
            }
        }
        if let Some(target) = module.header().target {
            for function in &mut functions {
                function.set_launch(target.text(), self.launch);
            }
        }
        for ((id, limits), function) in limited.iter().zip(&functions) {
            let span = name_span(module, *id);
            findings.extend(
                limits
                    .iter()
                    .filter_map(|limit| exceeded_limit(limit, function, span)),
            );
        }
        Ok(None)
    }

    /// Finds denied instructions.
    fn check_denied(
        &self,
        module: &Module,
        file: &str,
        applicable: &ApplicableSections,
        findings: &mut Vec<Finding>,
    ) {
        let rules = |id| {
            let sections = match applicable.of_function(id) {
                Some(sections) => &sections.denied[..],
                None => &[],
            };
            self.sections(sections).flat_map(|section| &section.denied)
        };
        let has_rules = |id| rules(id).next().is_some();
        if !applicable.functions.iter().any(|(id, _)| has_rules(*id)) {
            return;
        }
        visit(file, module, has_rules, |function| {
            for denied in rules(function.id) {
                denied.query.enter(function);
                for (stmt, statement) in function.body.statements() {
                    if let Statement::Inst(inst) = statement
                        && denied.query.holds(&function.site(stmt, inst))
                    {
                        let signature = function.body.inst(inst).map(|i| module.signature(i.sig));
                        let mnemonic = signature.map_or("", |signature| signature.text());
                        let span = function.body.source_span(stmt);
                        findings.push(Finding {
                            diagnostic: denial(denied, mnemonic, function.name(), span),
                            measured: None,
                        });
                    }
                }
            }
            ControlFlow::Continue(())
        });
    }

    fn sections<'s>(&'s self, indices: &'s [usize]) -> impl Iterator<Item = &'s Section> {
        indices.iter().filter_map(|index| self.sections.get(*index))
    }
}

/// The sections that apply to the functions of a file.
struct ApplicableSections {
    /// The selected functions in ascending order.
    functions: Vec<(FuncId, FunctionSections)>,
    /// For each section, whether it applies to a function.
    matched: Vec<bool>,
}

/// The indices of the sections that apply to a function.
#[derive(Default)]
struct FunctionSections {
    /// The sections whose limits apply.
    limits: Vec<usize>,
    /// The sections whose denied instructions apply.
    denied: Vec<usize>,
}

impl ApplicableSections {
    fn new(sections: &[Section], functions: &Functions, module: &Module, chosen: &Chosen) -> Self {
        let definitions: Vec<_> = module.definitions().collect();
        let mut applicable: Vec<_> = definitions
            .iter()
            .map(|(id, ..)| (*id, FunctionSections::default()))
            .collect();
        let mut matched = Vec::new();
        for (index, section) in sections.iter().enumerate() {
            let section_functions: Option<HashSet<&str>> =
                section.function.as_ref().map(|pattern| {
                    let names = definitions.iter().map(|(_, f, _)| module.name(f.name));
                    pattern.matching(names).into_iter().collect()
                });
            let mut is_matched = false;
            for ((id, function, _), (_, indices)) in definitions.iter().zip(&mut applicable) {
                let is_kernel = function.kind == FunctionKind::Entry;
                let (limits, denied) = match &section_functions {
                    Some(names) => {
                        let is_named = names.contains(module.name(function.name));
                        is_matched |= is_named;
                        (is_named, is_named)
                    }
                    None => (is_kernel || !functions.is_empty(), true),
                };
                if !chosen.contains(*id) {
                    continue;
                }
                is_matched |= limits;
                indices.limits.extend(limits.then_some(index));
                indices.denied.extend(denied.then_some(index));
            }
            matched.push(is_matched);
        }
        applicable.retain(|(id, _)| chosen.contains(*id));
        Self {
            functions: applicable,
            matched,
        }
    }

    fn of_function(&self, id: FuncId) -> Option<&FunctionSections> {
        let index = self.functions.binary_search_by_key(&id, |(id, _)| *id);
        let (_, sections) = self.functions.get(index.ok()?)?;
        Some(sections)
    }
}

fn is_error(diagnostic: &Diagnostic) -> bool {
    diagnostic.severity == Severity::Error
}

/// The finding for a value that a limit excludes; `None` for other values.
fn exceeded_limit(limit: &Limit, function: &FunctionStats, span: Span) -> Option<Finding> {
    let amount = &limit.amount;
    let metric = &amount.metric;
    let kind = if function.is_kernel() {
        "kernel"
    } else {
        "function"
    };
    let name = &amount.written_name;
    let subject = format!("`{name}` of {kind} `{}`", function.name);
    let (unit_suffix, unit) = match metric.unit() {
        Unit::Count => ("", "count"),
        Unit::Bytes => (" bytes", "bytes"),
    };
    let (code, bound) = match limit.bound {
        Bound::Max => (Code::AboveLimit, "at most"),
        Bound::Min => (Code::BelowLimit, "at least"),
    };
    let value = metric.value(function);
    let message = match value {
        None => format!(
            "{subject} is unknown, expected {bound} {}{unit_suffix}",
            amount.value
        ),
        Some(value) => {
            let is_legal = match limit.bound {
                Bound::Max => value <= amount.value,
                Bound::Min => value >= amount.value,
            };
            if is_legal {
                return None;
            }
            format!(
                "{subject} is {value}{unit_suffix}, expected {bound} {}",
                amount.value
            )
        }
    };
    let help = format!("the limit comes from {}", limit.place);
    let measured = Measured {
        metric: metric.to_string(),
        value,
        limit: amount.value,
        unit,
    };
    Some(Finding {
        diagnostic: Diagnostic::warning(code, span, message).with_help(help),
        measured: Some((function.name.clone(), measured)),
    })
}

/// The diagnostic for a denied instruction.
fn denial(denied: &Denied, mnemonic: &str, function: &str, span: Span) -> Diagnostic {
    let message = format!("`{}` in `{}` is denied", clean(mnemonic), clean(function));
    let help = format!(
        "the rule `{}` comes from {}",
        clean(&denied.text),
        denied.place
    );
    Diagnostic::warning(Code::DeniedInstruction, span, message).with_help(help)
}

/// The span of the name of a function in its header.
fn name_span(module: &Module, id: FuncId) -> Span {
    let item = module
        .items()
        .find(|(_, item)| matches!(item, Item::Function(function) if *function == id));
    let Some((item, _)) = item else {
        return Span::default();
    };
    let header = module.span(item);
    let name = match module.functions().get(id) {
        Some(function) => module.name(function.name).as_bytes(),
        None => b"",
    };
    let is_word =
        |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_alphanumeric() || b"_$".contains(b));
    let text = header.of(module.source());
    let offset = memmem::find_iter(text, name).find(|offset| {
        let previous = offset.checked_sub(1).and_then(|i| text.get(i));
        !is_word(previous) && !is_word(text.get(offset + name.len()))
    });
    let start = header.start + offset.unwrap_or_default() as u32;
    Span::new(start, start + name.len() as u32)
}
