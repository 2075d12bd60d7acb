//! `ptxkit requires`: the targets and versions that a file requires, and why.

use std::collections::HashMap;
use std::io::Write;

use anyhow::Result;
use ptx_ir::{FunctionKind, LineIndex, Module};
use ptx_isa::{Arch, PtxVersion, Target};
use ptx_verify::{Availability, Reason, Requirements};
use serde::Serialize;

use super::check::target;
use crate::demangle::{self, demangle};
use crate::input::{self, Files, Source};
use crate::output::{Out, Status};
use crate::render::SCHEMA;

/// Report the targets and PTX versions that files require
///
/// Finds the lowest PTX version for each target in which the whole file is legal, whatever its header says. Shows the lowest
/// target of each architecture family: plain (sm_90: it and all newer ones), family-specific (sm_100f) and
/// architecture-specific (sm_90a).
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ptxkit requires kernel.ptx
  ptxkit requires --target sm_80 kernel.ptx    what prevents it from running there
  ptxkit requires --json build/")]
pub(crate) struct Args {
    #[command(flatten)]
    files: Files,
    /// Write one JSON object per file
    #[arg(long)]
    json: bool,
    /// Report what makes the file illegal on this target; exit with status 1 if anything does
    #[arg(long, value_name = "sm_XX", value_parser = target)]
    target: Option<Target>,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    let mut out = Out::new();
    let mut status = Status::Ok;
    let inputs = args.files.list(&mut status)?;
    let work = |source: Source| {
        let parsed = ptx_parse::parse_shared(source.bytes, &Default::default());
        let needs = ptx_verify::requires(&parsed.module);
        (source.name, parsed.module, needs)
    };
    input::in_order(
        &inputs,
        &mut out,
        &mut status,
        work,
        |out, (name, module, needs)| {
            let report = Report::new(&name, &module, &needs, args.target);
            if args.json {
                out.json(&report)?;
            } else {
                report.write(out)?;
            }
            Ok(Status::of(
                args.target
                    .is_some_and(|t| needs.module().lowest(t).is_none()),
            ))
        },
    )?;
    out.flush()?;
    Ok(status)
}

/// A target and the lowest version on it, with the first software that supports the version.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Pair {
    pub(crate) target: &'static str,
    pub(crate) ptx: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    toolkit: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    driver: Option<&'static str>,
}

impl Pair {
    fn new((target, version): (Target, PtxVersion)) -> Self {
        Self {
            target: target.text(),
            ptx: version.to_string(),
            toolkit: version.toolkit(),
            driver: version.driver(),
        }
    }
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Function<'m> {
    name: &'m str,
    demangled: Option<String>,
    kind: &'static str,
    minimal: Vec<Pair>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Cause {
    what: String,
    line: u32,
    column: u32,
    count: usize,
    minimal: Vec<Pair>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Report<'m> {
    schema: u32,
    file: &'m str,
    /// The lowest target of each architecture family.
    minimal: Vec<Pair>,
    /// Every target where the file is legal.
    pairs: Vec<Pair>,
    functions: Vec<Function<'m>>,
    /// The features that are not available everywhere.
    reasons: Vec<Cause>,
    /// What makes the file illegal on the target that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    blocked: Option<Blocked>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Blocked {
    target: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ptx: Option<String>,
    reasons: Vec<Cause>,
}

/// The lowest targets of each availability; many functions have the same one.
#[derive(Default)]
pub(crate) struct Minimal<'m>(HashMap<&'m Availability, Vec<(Target, PtxVersion)>>);

impl<'m> Minimal<'m> {
    pub(crate) fn of(&mut self, availability: &'m Availability) -> Vec<Pair> {
        let known = self.0.entry(availability);
        let pairs = known.or_insert_with(|| availability.minimal());
        pairs.iter().copied().map(Pair::new).collect()
    }
}

impl<'m> Report<'m> {
    fn new(
        file: &'m str,
        module: &'m Module,
        needs: &'m Requirements,
        target: Option<Target>,
    ) -> Self {
        let lines = LineIndex::new(module.source());
        let mut minimal = Minimal::default();
        let mut cause = |r: &'m Reason| {
            let place = lines.position(r.span().start);
            Cause {
                what: r.what().to_owned(),
                line: place.line,
                column: place.column,
                count: r.count(),
                minimal: minimal.of(r.availability()),
            }
        };
        let reasons = needs.reasons().iter().map(&mut cause).collect();
        let blocked = target.map(|target| Blocked {
            target: target.text(),
            ptx: needs.module().lowest(target).map(|v| v.to_string()),
            reasons: needs.forcing(target).map(&mut cause).collect(),
        });
        let function = |(id, availability): &'m (ptx_ir::FuncId, Availability)| {
            let function = &module.functions()[*id];
            Function {
                name: module.name(function.name),
                demangled: demangle(module.name(function.name)),
                kind: match function.kind {
                    FunctionKind::Entry => "entry",
                    FunctionKind::Func => "func",
                },
                minimal: minimal.of(availability),
            }
        };
        let functions = needs.functions().iter().map(function).collect();
        Self {
            schema: SCHEMA,
            file,
            minimal: minimal.of(needs.module()),
            pairs: needs.module().pairs().map(Pair::new).collect(),
            functions,
            reasons,
            blocked,
        }
    }

    fn write(&self, out: &mut impl Write) -> Result<()> {
        match &self.blocked {
            Some(blocked) => {
                let target = blocked.target;
                match &blocked.ptx {
                    Some(ptx) => writeln!(out, "{}: legal on {target} with PTX {ptx}", self.file)?,
                    None => writeln!(out, "{}: not legal on {target}", self.file)?,
                }
                causes(out, &blocked.reasons)
            }
            None => {
                if self.minimal.is_empty() {
                    writeln!(out, "{}: not legal on any target as a whole", self.file)?;
                }
                for pair in &self.minimal {
                    writeln!(out, "{}: {}", self.file, text(pair))?;
                }
                let plain = |p: &&Pair| line(p.target) == Some(Arch::Plain);
                let first = self.minimal.iter().find(plain).or(self.minimal.first());
                let same = |c: &&Cause| {
                    first.is_some_and(|f| {
                        c.minimal
                            .iter()
                            .any(|p| p.target == f.target || p.ptx == f.ptx)
                    })
                };
                let forcing: Vec<&Cause> = self.reasons.iter().filter(same).collect();
                causes(out, forcing)
            }
        }
    }
}

fn line(target: &str) -> Option<Arch> {
    Target::from_text(target.as_bytes()).map(Target::arch)
}

fn text(pair: &Pair) -> String {
    let reach = match line(pair.target) {
        Some(Arch::Plain) => " and newer",
        Some(Arch::Family) => " and newer ones of its family",
        _ => " only",
    };
    let mut text = format!("{}{reach} from PTX {}", pair.target, pair.ptx);
    let driver = pair.driver.map(|d| format!("driver {d}"));
    let software = [pair.toolkit.map(str::to_owned), driver];
    let known: Vec<String> = software.into_iter().flatten().collect();
    if !known.is_empty() {
        text += &format!(" ({})", known.join(", "));
    }
    text
}

/// What makes a module illegal on a target, each feature with its first place.
pub(super) fn blocking(file: &str, module: &Module, target: Target) -> Vec<Cause> {
    let needs = ptx_verify::requires(module);
    let report = Report::new(file, module, &needs, Some(target));
    let blocked = report.blocked.filter(|blocked| blocked.ptx.is_none());
    blocked.map(|blocked| blocked.reasons).unwrap_or_default()
}

fn causes<'c>(out: &mut impl Write, causes: impl IntoIterator<Item = &'c Cause>) -> Result<()> {
    for cause in causes {
        writeln!(out, "  {}", cause.text())?;
    }
    Ok(())
}

impl Cause {
    /// `12:5: cp.async.wait_all (2 times): sm_80 from PTX 7.0`
    pub(crate) fn text(&self) -> String {
        let first: Vec<String> = self
            .minimal
            .iter()
            .map(|p| format!("{} from PTX {}", p.target, p.ptx))
            .collect();
        let times = match self.count {
            1 => String::new(),
            n => format!(" ({n} times)"),
        };
        let (line, column) = (self.line, self.column);
        let what = demangle::in_message(&self.what);
        format!("{line}:{column}: {what}{times}: {}", first.join(", "))
    }
}
