//! `ptxkit diff`: the differences between two modules.

mod limits;
pub(crate) mod report;
mod text;

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Result, bail};
use ptx_diff::{Equality, ModuleDiff};
use ptx_ir::{Limits, Module};
use ptx_isa::Target;

use crate::assembler::{Assembled, Assembler, Depth};
use crate::format::{FormatOptions, TextOrJson};
use crate::functions::Functions;
use crate::input::{self, Files, Input, Source};
use crate::metrics;
use crate::output::{self, Out, Status};
use crate::render::tally;
use limits::Limit;
use ptx_report::counted;
use report::{Contents, Report, Side};

/// Show the differences between two modules
///
/// Functions are matched by name, and the remaining ones by similar instructions. Names of registers and labels, the order of
/// declarations, comments and `.loc` do not matter. An instruction of the second file is shown with the names of the first one;
/// registers that exist only in the second file end with `'`. There is no output if the files do not differ.
#[derive(Debug, clap::Args)]
#[command(mut_arg("json", |arg| arg.help("Write one JSON object; the same as --format json")))]
#[command(after_help = examples())]
pub(crate) struct Args {
    /// The file to compare with, `-` for standard input; a module in a binary file is `libfoo.so!3` or `libfoo.so!sm_90`
    #[arg(value_name = "A")]
    left: PathBuf,
    /// The file that may have changed
    #[arg(value_name = "B")]
    right: PathBuf,
    #[command(flatten)]
    format: FormatOptions<TextOrJson>,
    /// Show one line per function instead of the instructions
    #[arg(long, conflicts_with = "json")]
    stat: bool,
    /// Treat code with the same effects and values as equal: commuted operands, renamed values, a different order of independent
    /// instructions inside a basic block
    #[arg(long)]
    semantic: bool,
    /// Number of instructions to show before and after each difference
    #[arg(short = 'U', long = "unified", value_name = "N", default_value_t = 3)]
    context: usize,
    /// Also show equal functions
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    functions: Functions,
    /// Exit with status 1 only if a function exceeds this limit, such as 'instructions>+5%'. May be repeated
    #[arg(long = "fail-if", value_name = "LIMIT", value_parser = limits::parse)]
    limits: Vec<Limit>,
    #[command(flatten)]
    assembler: Assembler,
    /// Also compare the numbers of machine instructions, with nvdisasm
    #[arg(long, requires = "ptxas")]
    sass: bool,
}

fn examples() -> String {
    format!(
        "\
Examples:
  ptxkit diff old.ptx new.ptx
  ptxkit diff --stat old.ptx new.ptx
  ptxkit diff --function 'gemm*' -U 10 old.ptx new.ptx
  ptxkit diff --semantic --json old.ptx new.ptx
  ptxkit diff --fail-if 'instructions>+5%' --fail-if 'pressure>64' old.ptx new.ptx

A limit consists of a METRIC, a comparison (> >= < <= == !=) and a number. With + or -, the number is a change, optionally in percent:
  instructions>+5%         the second file has over 5 % more
  memory.local>+0          the second file has more accesses to local memory
  pressure>64              the second file has over 64, regardless of the first one
  total instructions>+1%   for all functions together
K and M are thousands and millions; for bytes, powers of 1024.

{}
Exit status: 0 no differences, 1 differences, or with --fail-if an exceeded limit, 2 usage error or a file cannot be read.",
        metrics::help()
    )
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    if args.stat && args.format.is_json() {
        bail!("--stat is a format of the text: it cannot be combined with JSON");
    }
    let mut out = Out::new();
    let mut status = Status::Ok;
    let inputs = Files::pair(&args.left, &args.right).list()?;
    if let [first, _, _, ..] = &inputs[..] {
        let name = first.origin().name();
        bail!("diff compares two modules: choose one, such as `{name}`");
    }
    let sides = modules(&inputs, &mut out, &mut status)?;
    let [(left_name, left), (right_name, right)] = &sides[..] else {
        if status == Status::Ok {
            bail!("diff compares two modules, found {}", sides.len());
        }
        return Ok(status);
    };
    let equality = if args.semantic {
        Equality::Values
    } else {
        Equality::Statements
    };
    let mut diff = ModuleDiff::new(left, right, equality);
    let (left_chosen, right_chosen) = (args.functions.choose(left), args.functions.choose(right));
    let mut used = Vec::new();
    left_chosen.note(&mut used);
    right_chosen.note(&mut used);
    args.functions.check(&used)?;
    if !args.functions.is_empty() {
        diff.changes.clear();
        diff.functions.retain(|function| {
            function.left.is_some_and(|id| left_chosen.contains(id))
                || function.right.is_some_and(|id| right_chosen.contains(id))
        });
    }
    let assembled = [(left_name, left), (right_name, right)]
        .map(|(name, module)| assemble(args, name, module, &mut status));
    let [left_code, right_code] = assembled;
    let report = Report::new(
        &[
            Side::new(left_name, left).with_code(left_code?),
            Side::new(right_name, right).with_code(right_code?),
        ],
        &diff,
        &Contents {
            context: (!args.stat).then_some(args.context),
            equal_functions: args.all,
            limits: &args.limits,
        },
    );
    if args.format.is_json() {
        out.json(&report)?;
    } else if args.stat {
        text::write_stat(&mut out, &report)?;
    } else {
        text::write(&mut out, &report)?;
    }
    out.flush()?;
    output::summary(report.summary());
    for exceeded in &report.exceeded {
        output::note(format_args!("ptxkit: {exceeded}"));
    }
    status.worsen(Status::of(match args.limits[..] {
        [] => !report.equal,
        _ => !report.exceeded.is_empty(),
    }));
    Ok(status)
}

/// The names and modules of the files that can be read.
fn modules(inputs: &[Input], out: &mut Out, status: &mut Status) -> Result<Vec<(String, Module)>> {
    let work = |source: Source| {
        let parsed = ptx_parse::parse_with(source.bytes, &Limits::default());
        let (errors, _) = tally(&parsed.diagnostics);
        (source.name, parsed.module, errors)
    };
    let mut modules = Vec::new();
    input::in_order(inputs, out, status, work, |_, (name, module, errors)| {
        if errors > 0 {
            let errors = counted(errors, "error");
            output::summary(format_args!("{name}: {errors}, which `ptxkit check` shows"));
        }
        modules.push((name, module));
        Ok(Status::Ok)
    })?;
    Ok(modules)
}

/// The machine code of a module; `None` without `--ptxas` and if ptxas refuses the module, which is a finding.
fn assemble(
    args: &Args,
    name: &str,
    module: &Module,
    status: &mut Status,
) -> Result<Option<Assembled>> {
    let needs_ptxas = args
        .limits
        .iter()
        .find(|limit| limit.metric().needs_ptxas());
    if args.assembler.ptxas.is_none() {
        if let Some(limit) = needs_ptxas {
            bail!("`{}` comes from ptxas, which --ptxas names", limit.metric());
        }
        return Ok(None);
    }
    let needs_sass = args.limits.iter().any(|limit| limit.metric().needs_sass());
    let depth = match args.sass || needs_sass {
        true => Depth::Code,
        false => Depth::Report,
    };
    let header = module.header().target.map(Target::text);
    match args.assembler.assemble(header, module.source(), depth)? {
        Ok(assembled) => Ok(Some(assembled)),
        Err(refusal) => {
            output::note(format_args!("{name}: no metrics from ptxas: {refusal}"));
            status.worsen(Status::Findings);
            Ok(None)
        }
    }
}
