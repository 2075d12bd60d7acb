//! `ptxkit run`: runs kernels without a GPU.

mod argument;
mod memory;
mod npy;
mod parameters;
pub(crate) mod plain;
mod plan;
pub(crate) mod profile;
mod progress;
mod random;
pub(crate) mod report;
mod schedules;
mod script;
mod shape;
mod structure;
mod tensor_map;
mod texture;
pub(crate) mod trace;

use std::io::{self, IsTerminal as _, Write};
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use clap::ValueEnum;
use ptx_analysis::source_lines::SourceLines;
use ptx_ir::{Diagnostic, FuncId, Module};
use ptx_isa::Target;
use ptx_vm::{
    Asynchrony, Checker, Cooperative, Launch, LaunchLimits, Machine, Report, RunError, Schedule,
    StopReason, UnknownAsynchrony, UnknownSchedule,
};

use super::check::target;
use super::rewrite::ParsedSource;
use crate::format::{FormatOptions, OutputFormat};
use crate::input::{self, Files};
use crate::output::{self, Out, Status};
pub(crate) use argument::{Argument, size};
use memory::Memory;
use plan::{Call, Plan, Shape};
use progress::Watch;
use ptx_report::clean;
use ptx_report::demangle::FunctionPattern;
use report::{Launched, RunResults, printed};
use schedules::Prepared;
pub(crate) use shape::seconds;
use shape::{LimitOptions, Sizes};
use texture::Binding;
use trace::Trace;

/// Run kernels without a GPU
///
/// Executes a kernel of a module on the CPU, with the same results in memory as on a GPU. There is one ARG per parameter, in order:
/// a number of the type of the parameter, such as `1000`, a value with its type such as `s32:5`, `u64:0x10`, `f32:2.5` or `f16x2:1,2`
/// (hexadecimal digits are the bits of a value), `bytes:0011ff` for a struct, or the address of a buffer. `in:a.npy` is a buffer with the
/// contents of the file, `out:b.npy:f32[1024,8]` is zeroed and
/// written to the file at the end, `inout:a.npy:b.npy` is read from one file and written to another, `zero:64K` is zeroed,
/// `random:f32[1024]` has random numbers from -1 to 1 or any integers, and `scratch:64K` is zeroed but must be written before it is read.
/// `texture:{in:a.npy}:2d:filter=linear`, `sampler:address=wrap` and `surface:{out:b.npy:f32[16,32]}:2d` are handles of textures, samplers and surfaces.
/// `random:f32[1024]:7` chooses the seed; `zero:` and `scratch:` take a number of bytes or a type and a shape.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ptxkit run vecadd.ptx --kernel vecadd --grid 4 --block 256 in:a.npy in:b.npy out:c.npy:f32[1000] 1000
  ptxkit run --grid 16,16 --block 32,8 --shared 4K transpose.ptx inout:a.npy:b.npy u32:512
  ptxkit run reduce.ptx --block 256 --check memcheck,racecheck in:a.npy out:sum.npy:f32[1]

Exit status: 0 success, 1 a checker reported errors, 2 usage error, a file cannot be read, or the module has errors, 3 an error while the kernel was executed.")]
pub(crate) struct Args {
    /// A PTX file, `-` for standard input, or a module in a binary file, such as `libfoo.so!sm_90`
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The arguments of the kernel
    #[arg(value_name = "ARG", allow_negative_numbers = true)]
    arguments: Vec<Argument>,
    /// The name of the kernel, mangled or demangled. Not needed if there is only one
    #[arg(long, visible_alias = "function", value_name = "NAME")]
    kernel: Option<FunctionPattern>,
    /// Number of CTAs of the grid in each dimension
    #[arg(long, value_name = "X[,Y[,Z]]", default_value = "1")]
    grid: Sizes,
    /// Number of threads of a CTA in each dimension
    #[arg(long, value_name = "X[,Y[,Z]]", default_value = "1")]
    block: Sizes,
    /// Number of CTAs of a cluster in each dimension
    #[arg(long, value_name = "X[,Y[,Z]]", default_value = "1")]
    cluster: Sizes,
    /// Size of the dynamic shared memory of a CTA in bytes
    #[arg(long, value_name = "BYTES", default_value = "0", value_parser = shared)]
    shared: u32,
    /// Launch cooperatively: all CTAs must fit on a device with this number of multiprocessors at the same time [default: 132]
    #[arg(long, value_name = "MULTIPROCESSORS", num_args = 0..=1, require_equals = true, default_missing_value = "132")]
    cooperative: Option<u32>,
    /// Model the rounding of this architecture's tensor cores in matrix products [default: the target of the module]
    #[arg(long, value_name = "sm_XX", value_parser = target)]
    model: Option<Target>,
    /// Run the launches of a script, which can share buffers
    #[arg(long, value_name = "FILE", conflicts_with_all = ["arguments", "kernel", "grid", "block", "cluster", "shared", "cooperative"])]
    script: Option<PathBuf>,
    /// Bind a variable of type .texref, .samplerref or .surfref to a texture, a sampler or a surface
    #[arg(long, value_name = "NAME=OBJECT", conflicts_with = "script")]
    bind: Vec<Binding>,
    /// Enable these checkers: memcheck, initcheck, synccheck, racecheck
    #[arg(long, value_name = "CHECKER", value_delimiter = ',')]
    check: Vec<Checker>,
    #[command(flatten)]
    format: FormatOptions<Format>,
    /// Run CTAs and warps in another order, on one thread: `seed:N` a random one, `starve:WARP` a warp last, `favor:WARP` a warp as far
    /// as it can, `delay:CTA` a CTA last
    #[arg(long, value_name = "ORDER", value_parser = order)]
    schedule: Option<Schedule>,
    /// Try this many orders, and run the first one with an error or a finding; without one, the usual order
    #[arg(long, value_name = "N", conflicts_with = "schedule")]
    schedules: Option<usize>,
    /// Perform asynchronous operations at another time, on one thread: `immediate` by the instruction that starts them, `late` as late as their
    /// completion allows, `random:SEED` at random times before [default: immediate]
    #[arg(long = "async", value_name = "TIME", value_parser = asynchrony)]
    asynchrony: Option<Asynchrony>,
    /// Write a profile to standard output: executions, lanes, bytes, sectors of global memory, bank conflicts
    #[arg(long, value_enum, value_name = "STYLE", num_args = 0..=1, require_equals = true, default_missing_value = "table")]
    profile: Option<profile::Style>,
    #[command(flatten)]
    trace: trace::Options,
    #[command(flatten)]
    limits: LimitOptions,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug, Default, ValueEnum)]
enum Format {
    /// Source lines with underlined errors
    #[default]
    #[value(alias = "text")]
    Human,
    /// `FILE:LINE:COL: error[CODE]: message`
    Short,
    /// One JSON object
    Json,
}

impl OutputFormat for Format {
    const JSON: Self = Self::Json;
    const HELP: &'static str = "Format of the errors on standard error; with `json`, the whole output is one object on standard output [default: human]";
}

/// Parses the order of CTAs and warps.
fn order(text: &str) -> Result<Schedule, String> {
    text.parse()
        .map_err(|error: UnknownSchedule| format!("{error}, found `{}`", clean(text)))
}

/// Parses the time of asynchronous operations.
pub(crate) fn asynchrony(text: &str) -> Result<Asynchrony, String> {
    text.parse()
        .map_err(|error: UnknownAsynchrony| format!("{error}, found `{}`", clean(text)))
}

pub(crate) fn shared(text: &str) -> Result<u32, String> {
    let bytes = argument::size(text)?;
    u32::try_from(bytes).map_err(|_| "not enough shared memory".to_owned())
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    let plan = args.plan()?;
    let inputs = Files::one(&args.file).list()?;
    if let [first, _, ..] = &inputs[..] {
        let name = first.origin().name();
        bail!("there are several modules: choose one, such as `{name}`");
    }
    let mut out = Out::new();
    let mut status = Status::Ok;
    input::one_by_one(&inputs, &mut out, &mut status, |out, source| {
        let (parsed, diagnostics) = ParsedSource::new(source);
        let errors = report::errors(&parsed, diagnostics);
        if errors.is_empty() {
            let run = Run {
                args,
                parsed: &parsed,
                watch: Watch::new(),
            };
            return match args.schedules {
                Some(count) => run.try_schedules(count, &plan, out),
                None => run.run_all(&plan, args.schedule, out),
            };
        }
        match args.format.format() {
            Format::Json => {
                let results = RunResults {
                    diagnostics: errors,
                    ..RunResults::default()
                };
                report::write_json(out, &parsed, &results)?;
            }
            format => {
                report::note(&parsed, &errors, format == Format::Short);
                output::note(format_args!(
                    "{}: not run because it has errors",
                    parsed.source.name
                ));
            }
        }
        Ok(Status::UsageError)
    })?;
    out.flush()?;
    Ok(status)
}

impl Args {
    /// The launches of the script, or the launch that the command line describes.
    fn plan(&self) -> Result<Plan> {
        if let Some(path) = &self.script {
            return script::read(path);
        }
        let mut plan = Plan::default();
        let arguments = self
            .arguments
            .iter()
            .map(|argument| plan.pass(argument.clone()))
            .collect::<Result<_, String>>();
        let call = Call {
            arguments: arguments.map_err(anyhow::Error::msg)?,
            place: None,
            kernel: self.kernel.clone(),
            shape: Shape {
                grid: self.grid,
                block: self.block,
                cluster: self.cluster,
                shared: self.shared,
            },
            asynchrony: None,
            cooperative: self.cooperative.map(Cooperative::new),
            is_dependent: false,
        };
        plan.calls.push(call);
        for binding in &self.bind {
            let object = plan.object(binding.object.clone());
            let object = object.map_err(anyhow::Error::msg)?;
            plan.bindings.push((binding.variable.clone(), object));
        }
        Ok(plan)
    }
}

/// A run of a module.
struct Run<'a> {
    args: &'a Args,
    parsed: &'a ParsedSource,
    watch: Watch,
}

/// The end of a launch, without an outcome if it has failed or was interrupted.
struct LaunchEnd<'a> {
    launched: Launched<'a>,
    error: Option<Diagnostic>,
}

impl<'a> Run<'a> {
    /// Runs all launches. Their arguments are checked before the first one begins.
    fn run_all(&self, plan: &Plan, schedule: Option<Schedule>, out: &mut Out) -> Result<Status> {
        let Prepared {
            mut machine,
            memory,
            launches,
            sequences,
        } = self.prepare(plan, schedule)?;
        let start = Instant::now();
        let lines = SourceLines::new(&self.parsed.module);
        let is_json = self.args.format.format() == Format::Json;
        let trace = self.args.trace.trace(self.parsed, &lines, is_json)?;
        let mut results = RunResults {
            is_complete: true,
            is_approximate: memory.is_approximate(),
            ..RunResults::default()
        };
        let mut has_failed = false;
        let mut remaining = &launches[..];
        for count in self.split(sequences, trace.is_some()) {
            let (sequence, later) = remaining.split_at(count);
            remaining = later;
            let ends = match sequence {
                [(kernel, launch)] => {
                    vec![self.run_launch(*kernel, launch, &mut machine, trace.as_ref(), out)?]
                }
                _ => self.run_dependent(sequence, &mut machine)?,
            };
            results
                .diagnostics
                .extend(machine.reports().iter().map(Report::diagnostic));
            for LaunchEnd { launched, error } in ends {
                if !is_json {
                    out.write_all(&printed(&launched.output, io::stdout().is_terminal()))?;
                    if let (Some(style), Some(counts)) = (self.args.profile, &launched.profile) {
                        profile::write(out, self.parsed, launched.kernel, counts, style)?;
                    }
                    out.flush_terminal()?;
                }
                has_failed = error.is_some();
                results.diagnostics.extend(error);
                results.is_complete = launched.steps.is_some();
                results.launches.push(launched);
            }
            if !results.is_complete {
                break;
            }
        }
        if results.is_complete {
            results.written = memory.write(&machine)?;
        }
        match self.args.format.format() {
            Format::Json => report::write_json(out, self.parsed, &results)?,
            format => report::note(self.parsed, &results.diagnostics, format == Format::Short),
        }
        if let Some(trace) = &trace {
            trace.note();
        }
        if !results.is_complete && !has_failed {
            output::note("ptxkit: interrupted");
        }
        if results.is_complete {
            output::success(report::summary(&results, start.elapsed()));
        }
        Ok(if results.is_complete {
            Status::of(!results.diagnostics.is_empty())
        } else {
            Status::Failed
        })
    }

    /// The numbers of launches that run together: launches with a profile or a trace run one after the other.
    fn split(&self, sequences: Vec<usize>, is_traced: bool) -> Vec<usize> {
        if is_traced || self.args.profile.is_some() {
            vec![1; sequences.iter().sum()]
        } else {
            sequences
        }
    }

    /// Runs launches, each of which depends on the one before.
    fn run_dependent(
        &self,
        sequence: &[(FuncId, Launch)],
        machine: &mut Machine<'_>,
    ) -> Result<Vec<LaunchEnd<'a>>> {
        let module = &self.parsed.module;
        let launches: Vec<&Launch> = sequence.iter().map(|(_, launch)| launch).collect();
        match self.watch.run_dependent(machine, &launches) {
            Ok(outcomes) => Ok(sequence
                .iter()
                .zip(outcomes)
                .map(|((kernel, _), outcome)| LaunchEnd {
                    launched: Launched {
                        kernel: function_name(module, *kernel),
                        steps: Some(outcome.steps),
                        output: outcome.output,
                        profile: None,
                        trace: None,
                    },
                    error: None,
                })
                .collect()),
            Err(error) => {
                let first = sequence.first().map(|(kernel, _)| *kernel);
                let failed = sequence
                    .iter()
                    .map(|(kernel, _)| *kernel)
                    .find(|kernel| function_name(module, *kernel) == error.function);
                let Some(kernel) = failed.or(first) else {
                    return Ok(Vec::new());
                };
                Ok(vec![self.failed(kernel, &error, machine)?])
            }
        }
    }

    /// The end of a launch with an error.
    fn failed(
        &self,
        kernel: FuncId,
        error: &RunError,
        machine: &Machine<'_>,
    ) -> Result<LaunchEnd<'a>> {
        let module = &self.parsed.module;
        let name = function_name(module, kernel);
        let mut diagnostic = None;
        if error.reason != StopReason::Canceled {
            let header = module.interface_spans(kernel);
            diagnostic = error.diagnostic(header.map(|h| h.name).unwrap_or_default());
            if diagnostic.is_none() {
                bail!("kernel `{}`: {error}", clean(name));
            }
        }
        Ok(LaunchEnd {
            launched: Launched {
                kernel: name,
                steps: None,
                output: machine.output().to_vec(),
                profile: None,
                trace: None,
            },
            error: diagnostic,
        })
    }

    /// Runs one launch.
    fn run_launch(
        &self,
        kernel: FuncId,
        launch: &Launch,
        machine: &mut Machine<'_>,
        trace: Option<&Trace<'_>>,
        out: &mut Out,
    ) -> Result<LaunchEnd<'a>> {
        let module = &self.parsed.module;
        let name = function_name(module, kernel);
        output::detail(format_args!("running kernel `{}`", clean(name)));
        let result = match trace {
            Some(trace) => trace.run(&self.watch, machine, launch, out)?,
            None => self.watch.run(machine, launch, None),
        };
        let mut end = match result {
            Ok(outcome) => LaunchEnd {
                launched: Launched {
                    kernel: name,
                    steps: Some(outcome.steps),
                    output: outcome.output,
                    profile: None,
                    trace: None,
                },
                error: None,
            },
            Err(error) => self.failed(kernel, &error, machine)?,
        };
        end.launched.profile = machine
            .profile()
            .map(|profile| profile::json(self.parsed, profile));
        end.launched.trace = trace.map(Trace::traced);
        Ok(end)
    }
}

fn function_name(module: &Module, id: FuncId) -> &str {
    module
        .functions()
        .get(id)
        .map_or("", |function| module.name(function.name))
}

/// The kernel that a pattern names, or the only kernel of the module.
pub(crate) fn kernel(module: &Module, pattern: Option<&FunctionPattern>) -> Result<FuncId> {
    let kernels: Vec<&str> = module
        .definitions()
        .filter(|(_, function, _)| function.kind == ptx_ir::FunctionKind::Entry)
        .map(|(_, function, _)| module.name(function.name))
        .collect();
    let selected = match pattern {
        Some(pattern) => pattern.select(kernels.iter().copied())?,
        None => kernels.clone(),
    };
    let name = match (&selected[..], pattern) {
        ([name], _) => *name,
        ([], Some(pattern)) => bail!("there is no kernel `{pattern}`{}", choices(&kernels)),
        ([], None) => bail!("the module has no kernel"),
        ([..], Some(pattern)) => bail!("`{pattern}` is more than one kernel{}", choices(&selected)),
        ([..], None) => bail!("choose a kernel with `--kernel`{}", choices(&kernels)),
    };
    module
        .function(name)
        .with_context(|| format!("there is no kernel `{}`", clean(name)))
}

/// The largest number of kernels that a message lists.
const MAX_NAMES: usize = 10;

/// The part of a message that lists the kernels to choose from.
fn choices(names: &[&str]) -> String {
    let mut choices: Vec<String> = names
        .iter()
        .take(MAX_NAMES)
        .map(|name| format!("`{}`", clean(name)))
        .collect();
    if names.len() > MAX_NAMES {
        choices.push(format!("{} more", names.len() - MAX_NAMES));
    }
    if choices.is_empty() {
        "; the module has no kernel".to_owned()
    } else {
        format!("; there are {}", choices.join(", "))
    }
}

/// A launch with the bytes of its arguments, whose types are checked.
fn launch(
    module: &Module,
    kernel: FuncId,
    call: &Call,
    memory: &Memory,
    limits: LaunchLimits,
) -> Result<Launch> {
    let name = function_name(module, kernel);
    let mut launch = Launch::new(name);
    let shape = call.shape;
    launch.grid = shape.grid.0;
    launch.block = shape.block.0;
    launch.cluster = shape.cluster.0;
    launch.shared = shape.shared;
    launch.limits = limits;
    if let Some(function) = module.functions().get(kernel) {
        let arguments = parameters::bytes(module, function, &call.arguments, memory);
        launch.arguments = arguments.with_context(|| {
            let place = match &call.place {
                Some(place) => format!("{place}: "),
                None => String::new(),
            };
            format!("{place}kernel `{}`", clean(name))
        })?;
    }
    Ok(launch)
}
