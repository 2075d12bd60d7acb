//! The targets and versions that a module requires, and the reasons.

use std::collections::HashMap;

use ptx_ir::{FuncId, FunctionKind, LineIndex, Module, Span};
use ptx_isa::{Arch, PtxVersion, Target};
use ptx_verify::{Availability, Reason, Requirements};
use serde::Serialize;

use crate::SCHEMA;
use crate::current_text::CurrentText;
use crate::demangle::{self, demangle};
use crate::labels::Labeled;

/// A target and the lowest version on it, with the first software that supports the version.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Pair {
    /// `sm_90a`
    pub target: Labeled<Target>,
    /// The PTX version: `7.8`.
    pub ptx: String,
    /// The first CUDA toolkit that supports the version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub toolkit: Option<&'static str>,
    /// The first driver that supports the version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver: Option<&'static str>,
}

impl Pair {
    fn new((target, version): (Target, PtxVersion)) -> Self {
        Self {
            target: Labeled(target),
            ptx: version.to_string(),
            toolkit: version.toolkit(),
            driver: version.driver(),
        }
    }

    /// `sm_80 and newer from PTX 7.0 (CUDA 11.0, driver 450.36)`
    #[must_use]
    pub fn text(&self) -> String {
        let scope = match self.target.arch() {
            Arch::Plain => " and newer",
            Arch::Family => " and newer ones of its family",
            _ => " only",
        };
        let mut text = format!("{}{scope} from PTX {}", self.target, self.ptx);
        let software: Vec<String> = self
            .toolkit
            .map(str::to_owned)
            .into_iter()
            .chain(self.driver.map(|driver| format!("driver {driver}")))
            .collect();
        if !software.is_empty() {
            text += &format!(" ({})", software.join(", "));
        }
        text
    }
}

/// The requirements of a function.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Function<'m> {
    /// Its name in the text.
    pub name: &'m str,
    /// Its name in the source language, if it is mangled.
    pub demangled: Option<String>,
    /// A kernel is an `entry`.
    pub kind: Labeled<FunctionKind>,
    /// The lowest target of each architecture family.
    pub minimal: Vec<Pair>,
    /// The features that make the function illegal on the requested target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocked: Option<Blocked>,
}

/// A feature that is not available everywhere.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Cause {
    /// An instruction with its modifiers, a directive, or another feature.
    pub what: String,
    /// The line of its first use, counted from 1.
    pub line: u32,
    /// The column of its first use, in bytes, counted from 1.
    pub column: u32,
    /// The number of its uses.
    pub count: usize,
    /// The lines of its uses in ascending order, each once.
    pub lines: Vec<u32>,
    /// The lowest target of each architecture family.
    pub minimal: Vec<Pair>,
}

/// An instruction that is not legal in any version on any target.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Illegal {
    /// The line, counted from 1.
    pub line: u32,
    /// The column in bytes, counted from 1.
    pub column: u32,
}

/// The requirements of a module.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Report<'m> {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The file, as the caller named it.
    pub file: &'m str,
    /// The lowest target of each architecture family.
    pub minimal: Vec<Pair>,
    /// Every target where the file is legal.
    pub pairs: Vec<Pair>,
    /// The functions with a body.
    pub functions: Vec<Function<'m>>,
    /// The features that are not available everywhere.
    pub reasons: Vec<Cause>,
    /// The instructions that are not legal in any version on any target. The requirements do not include them.
    pub illegal: Vec<Illegal>,
    /// The features that make the file illegal on the requested target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocked: Option<Blocked>,
}

/// The obstacles to running a module or a function on a target.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Blocked {
    /// `sm_90a`
    pub target: Labeled<Target>,
    /// The lowest PTX version; `None` if it is legal with none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ptx: Option<String>,
    /// The features that are not available there.
    pub reasons: Vec<Cause>,
}

/// The lowest targets of each availability; many functions have the same one.
#[derive(Debug, Default)]
pub struct Minimal<'m>(HashMap<&'m Availability, Vec<(Target, PtxVersion)>>);

impl<'m> Minimal<'m> {
    /// The lowest targets and versions.
    pub fn of(&mut self, availability: &'m Availability) -> Vec<Pair> {
        self.0
            .entry(availability)
            .or_insert_with(|| availability.minimal())
            .iter()
            .copied()
            .map(Pair::new)
            .collect()
    }
}

impl<'m> Report<'m> {
    /// The requirements of a module; with a target, also the obstacles to running the module there. Lines are lines of the source, also of an edited module.
    #[must_use]
    pub fn new(
        file: &'m str,
        module: &'m Module,
        requirements: &'m Requirements,
        target: Option<Target>,
    ) -> Self {
        let lines = LineIndex::new(module.source());
        let mut minimal = Minimal::default();
        let reasons = requirements
            .reasons()
            .iter()
            .map(|reason| Cause::new(reason, reason.spans(), &lines, &mut minimal))
            .collect();
        let blocked = target.map(|target| Blocked {
            target: Labeled(target),
            ptx: requirements.module().lowest(target).map(|v| v.to_string()),
            reasons: requirements
                .forcing(target)
                .map(|reason| Cause::new(reason, reason.spans(), &lines, &mut minimal))
                .collect(),
        });
        let functions = requirements
            .functions()
            .iter()
            .map(|(id, availability)| {
                let function = &module.functions()[*id];
                let blocked = target.map(|target| Blocked {
                    target: Labeled(target),
                    ptx: availability.lowest(target).map(|v| v.to_string()),
                    reasons: requirements
                        .forcing_in(*id, target)
                        .map(|(reason, first)| {
                            let uses = uses_in(module, *id, reason, first);
                            Cause::new(reason, uses, &lines, &mut minimal)
                        })
                        .collect(),
                });
                Function {
                    name: module.name(function.name),
                    demangled: demangle(module.name(function.name)),
                    kind: Labeled(function.kind),
                    minimal: minimal.of(availability),
                    blocked,
                }
            })
            .collect();
        Self {
            schema: SCHEMA,
            file,
            minimal: minimal.of(requirements.module()),
            pairs: requirements.module().pairs().map(Pair::new).collect(),
            functions,
            reasons,
            illegal: requirements
                .illegal()
                .iter()
                .map(|span| {
                    let start = lines.position(span.start);
                    Illegal {
                        line: start.line,
                        column: start.column,
                    }
                })
                .collect(),
            blocked,
        }
    }
}

/// The features that make a module illegal on a target, each with its first occurrence. An edited or built module is printed: lines are lines of
/// the text as it is now.
#[must_use]
pub fn blocking(file: &str, module: &Module, target: Target) -> Vec<Cause> {
    let text = CurrentText::new(module);
    let module = text.module();
    let requirements = ptx_verify::requires(module);
    Report::new(file, module, &requirements, Some(target))
        .blocked
        .filter(|blocked| blocked.ptx.is_none())
        .map(|blocked| blocked.reasons)
        .unwrap_or_default()
}

/// The uses of a feature in a function, of which the first one is known.
fn uses_in<'m>(module: &Module, function: FuncId, reason: &'m Reason, first: Span) -> &'m [Span] {
    let item = module.item_of(function);
    let end = item.map_or(first.end, |item| module.span(item).end);
    let spans = reason.spans();
    let start = spans.partition_point(|span| span.start < first.start);
    let end = spans.partition_point(|span| span.start < end);
    spans.get(start..end).unwrap_or_default()
}

/// The lines of the uses of a feature, each once.
fn lines_of(uses: &[Span], lines: &LineIndex) -> Vec<u32> {
    let mut lines: Vec<u32> = uses
        .iter()
        .map(|span| lines.position(span.start).line)
        .collect();
    lines.dedup();
    lines
}

/// The number of lines that the text of a reason lists.
const MOST_LINES: usize = 8;

impl Cause {
    fn new<'m>(
        reason: &'m Reason,
        uses: &[Span],
        lines: &LineIndex,
        minimal: &mut Minimal<'m>,
    ) -> Self {
        let start = lines.position(uses.first().copied().unwrap_or_default().start);
        Self {
            what: reason.what().to_owned(),
            line: start.line,
            column: start.column,
            count: uses.len(),
            lines: lines_of(uses, lines),
            minimal: minimal.of(reason.availability()),
        }
    }

    /// `12:5: cp.async.wait_all (2 times): sm_80 from PTX 7.0; also in line 14`
    #[must_use]
    pub fn text(&self) -> String {
        let (line, column) = (self.line, self.column);
        let reason = reason(&self.what, self.count, &self.minimal);
        let mut text = format!("{line}:{column}: {reason}");
        let further = self.lines.get(1..).unwrap_or_default();
        let listed: Vec<String> = further
            .iter()
            .take(MOST_LINES)
            .map(u32::to_string)
            .collect();
        if !listed.is_empty() {
            let noun = if further.len() == 1 { "line" } else { "lines" };
            text += &format!("; also in {noun} {}", listed.join(", "));
        }
        if further.len() > MOST_LINES {
            text += &format!(" and {} more", further.len() - MOST_LINES);
        }
        text
    }
}

/// `cp.async.wait_all (2 times): sm_80 from PTX 7.0`
#[must_use]
pub fn reason(what: &str, count: usize, minimal: &[Pair]) -> String {
    let targets: Vec<String> = minimal
        .iter()
        .map(|pair| format!("{} from PTX {}", pair.target, pair.ptx))
        .collect();
    let times = match count {
        1 => String::new(),
        n => format!(" ({n} times)"),
    };
    let what = demangle::display_message(what);
    format!("{what}{times}: {}", targets.join(", "))
}
