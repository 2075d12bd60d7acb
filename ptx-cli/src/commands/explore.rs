//! `ptxkit explore`: all executions of a small launch that the memory consistency model allows.

use std::io::Write;
use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Context as _, Result, anyhow, bail};
use ptx_ir::facts::ModuleFacts;
use ptx_ir::{Module, Severity};
use ptx_memory::kernel::{
    Counterexample, Kernel, KernelArgument, KernelBuffer, KernelCondition, KernelLaunch,
    KernelReport, MemoryValue, Repair, RepairEdit, StoryStep,
};
use ptx_memory::{ExploreOptions, Limit, Version};
use ptx_report::demangle::{FunctionPattern, short_text};
use ptx_report::{SCHEMA, clean, counted};
use serde::Serialize;

use super::rewrite::{ParsedSource, visit};
use super::run::plain::PlainArgument;
use super::run::{self, Argument};
use crate::format::{FormatOptions, TextOrJson};
use crate::input::Files;
use crate::output::{self, Out, Status};

/// Explore all executions of a small launch of a kernel
///
/// Visits every execution that the memory consistency model of PTX allows, and reports the possible final contents of global memory, data-races,
/// deadlocks, hangs, reads of memory that was never written, and violated conditions, each with one execution. There is one ARG per parameter, as
/// for `ptxkit run`: a number, `TYPE:VALUE`, `bytes:HEX`, or a buffer such as `zero:64`, `zero:u32[16]`, `scratch:64` or `in:a.npy`.
///
/// Conditions compare numbers, registers and memory: `[flag] == 1 && [data+4] != 0`, `[u64 out] < 5`, `0.1:%r4 == 2` for a register of thread 1 of
/// CTA 0, `%r4 == 2` for the register of each thread. The names of memory are those of variables and parameters.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ptxkit explore lock.ptx --threads 2x1
  ptxkit explore queue.ptx --kernel push --threads 2x2 zero:64 u32:5 --assert '[push_param_0] == 4'
  ptxkit explore flags.ptx --threads 2x1 -o race.svg zero:4
  ptxkit explore flags.ptx --threads 2x1 --init ready=1 --forbid '1.0:%r1 == 1 && 1.0:%r2 == 0'

Exit status: 0 no failure in any execution, 1 failures, 2 no failure, but not all executions were explored, or a usage error.")]
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
    /// Number of CTAs, and number of threads of each
    #[arg(long, value_name = "CTASxTHREADS", default_value = "2x1")]
    threads: Threads,
    /// Number of CTAs of a cluster
    #[arg(long, value_name = "N", default_value = "1")]
    cluster: u32,
    /// Size of the dynamic shared memory of a CTA in bytes
    #[arg(long, value_name = "BYTES", default_value = "0", value_parser = run::shared)]
    shared: u32,
    /// The initial value of a location in global memory, such as `flag=1` or `u64 data+8=0x10`
    #[arg(long, value_name = "NAME=VALUE")]
    init: Vec<String>,
    /// A condition that the end of each execution has to satisfy
    #[arg(long, value_name = "CONDITION")]
    assert: Vec<String>,
    /// A condition that the end of no execution may satisfy
    #[arg(long, value_name = "CONDITION")]
    forbid: Vec<String>,
    /// The largest number of iterations of a loop whose end depends on what the thread reads; waiting does not count
    #[arg(long, value_name = "N", default_value = "8")]
    unroll: usize,
    /// The largest number of executions
    #[arg(long, value_name = "N", default_value = "1000000")]
    max_executions: u64,
    /// Do not report data-races. The values of racing reads are those that the axioms allow
    #[arg(long)]
    ignore_races: bool,
    /// Search for the weakest change of one or two orders, scopes or fences with which no execution fails
    #[arg(long)]
    repair: bool,
    /// Draw an execution with the first failure to an SVG file
    #[arg(short = 'o', long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    format: FormatOptions<TextOrJson>,
}

/// The size of a launch.
#[derive(Clone, Copy, Debug)]
struct Threads {
    ctas: u32,
    threads: u32,
}

impl FromStr for Threads {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let sizes = text
            .split_once('x')
            .and_then(|(ctas, threads)| Some((ctas.parse().ok()?, threads.parse().ok()?)));
        match sizes {
            Some((ctas, threads)) if ctas > 0 && threads > 0 => Ok(Self { ctas, threads }),
            _ => Err(format!(
                "expected the number of CTAs and of threads of each, such as `2x1`, found `{}`",
                clean(text)
            )),
        }
    }
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct JsonExploration<'a> {
    schema: u32,
    file: &'a str,
    kernel: &'a str,
    ctas: u32,
    threads: u32,
    /// Whether all executions were explored.
    complete: bool,
    executions: u64,
    executions_without_end: u64,
    unrolled: u64,
    limit: Option<&'static str>,
    unsupported: Option<&'a str>,
    outcomes: Vec<JsonOutcome>,
    failures: Vec<JsonFailure>,
    /// The changes with which no execution fails.
    repair: Option<Vec<JsonEdit>>,
    /// Whether all executions with the changes were explored.
    repair_proven: Option<bool>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct JsonEdit {
    line: u32,
    start: usize,
    end: usize,
    text: String,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct JsonOutcome {
    executions: u64,
    memory: Vec<JsonValue>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct JsonValue {
    location: String,
    bytes: u32,
    /// A decimal number, because it may have 128 bits.
    value: Option<String>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct JsonFailure {
    message: String,
    executions: u64,
    steps: Vec<JsonStoryStep>,
    reasons: Vec<String>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct JsonStoryStep {
    cta: u32,
    thread: u32,
    line: u32,
    instruction: String,
    effect: String,
}

/// An explored kernel.
struct Explored<'a> {
    kernel: &'a Kernel<'a>,
    name: &'a str,
    report: KernelReport,
    repair: Option<Repair>,
    /// The conditions as they were written.
    conditions: Vec<String>,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    let mut result = Status::Ok;
    let status = visit(&Files::one(&args.file), |out, parsed| {
        let status = explore(args, out, &parsed)?;
        result.worsen(status);
        Ok(status)
    })?;
    Ok(match status {
        // The module has errors.
        Status::Findings if result == Status::Ok => Status::UsageError,
        status => status,
    })
}

/// A launch of a kernel with its conditions.
fn prepare<'m>(
    args: &Args,
    module: &'m Module,
    facts: &'m ModuleFacts<'m>,
) -> Result<(Kernel<'m>, Vec<KernelCondition>)> {
    let id = run::kernel(module, args.kernel.as_ref())?;
    let function = facts.function(id).context("the kernel has no body")?;
    let mut kernel = Kernel::new(function, args.launch(module, id)?)?;
    for text in &args.init {
        let (location, value) = text
            .split_once('=')
            .with_context(|| format!("expected `NAME=VALUE`, found `{}`", clean(text)))?;
        kernel.set_initial(location.trim(), value.trim())?;
    }
    let mut conditions = Vec::new();
    for text in &args.assert {
        let condition = kernel.assertion(text);
        conditions.push(condition.with_context(|| format!("condition `{}`", clean(text)))?);
    }
    for text in &args.forbid {
        let condition = kernel.forbidden(text);
        conditions.push(condition.with_context(|| format!("condition `{}`", clean(text)))?);
    }
    Ok((kernel, conditions))
}

fn explore(args: &Args, out: &mut Out, parsed: &ParsedSource) -> Result<Status> {
    let module = &parsed.module;
    let facts = ModuleFacts::new(module);
    let (kernel, conditions) = prepare(args, module, &facts)?;
    let options = args.options();
    let asserted = args
        .assert
        .iter()
        .map(|text| format!("assertion `{text}` is violated"));
    let forbidden = args
        .forbid
        .iter()
        .map(|text| format!("the forbidden `{text}` is reached"));
    let id = run::kernel(module, args.kernel.as_ref())?;
    let function = module.functions().get(id);
    let report = check(&kernel, &options, &conditions);
    let explored = Explored {
        repair: args.find_repair(&kernel, &report),
        report,
        kernel: &kernel,
        name: function.map_or("", |function| module.name(function.name)),
        conditions: asserted.chain(forbidden).collect(),
    };
    if let (Some(path), Some(example)) = (&args.output, explored.report.counterexamples.first()) {
        let drawing = kernel.drawing(example, Version::default());
        std::fs::write(path, drawing)
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    if args.format.is_json() {
        out.json(&explored.json(args, &parsed.source.name))?;
    } else {
        explored.write(args, out)?;
    }
    let report = &explored.report;
    Ok(if !report.counterexamples.is_empty() {
        Status::Findings
    } else if report.is_complete() {
        Status::Ok
    } else {
        Status::UsageError
    })
}

/// The number of steps in which further failures are searched.
const MORE_STEPS: u64 = 20_000;

/// Explores all executions. With a failure, the number of executions may be very large, so the others are only searched for some time.
fn check(
    kernel: &Kernel<'_>,
    options: &ExploreOptions,
    conditions: &[KernelCondition],
) -> KernelReport {
    let first = kernel.check_until_failure(options, conditions);
    if first.counterexamples.is_empty() {
        return first;
    }
    let mut options = options.clone();
    options.max_steps = options
        .max_steps
        .min(first.statistics.steps.saturating_mul(4).max(MORE_STEPS));
    kernel.check(&options, conditions)
}

/// The number of changed kernels that are explored in the search of a repair.
const MAX_REPAIRS: usize = 2_000;

impl Args {
    fn options(&self) -> ExploreOptions {
        let mut options = ExploreOptions::default();
        options.unroll = self.unroll;
        options.max_executions = self.max_executions;
        options.uses_symmetry = true;
        options.passes_always = false;
        options
    }

    /// The weakest change with which no execution fails, if it is wanted and there is one.
    fn find_repair(&self, kernel: &Kernel<'_>, report: &KernelReport) -> Option<Repair> {
        if !self.repair || report.counterexamples.is_empty() {
            return None;
        }
        let mut options = self.options();
        kernel.repair(MAX_REPAIRS, &mut |source, steps| {
            options.max_steps = steps;
            let parsed = ptx_parse::parse(source);
            let errors = ptx_verify::verify(&parsed.module, &ptx_verify::Options::default());
            let is_legal = parsed
                .diagnostics
                .iter()
                .chain(&errors)
                .all(|diagnostic| diagnostic.severity != Severity::Error);
            let facts = ModuleFacts::new(&parsed.module);
            let (kernel, conditions) = prepare(self, &parsed.module, &facts).ok()?;
            is_legal.then(|| kernel.check_until_failure(&options, &conditions))
        })
    }

    fn launch(&self, module: &Module, id: ptx_ir::FuncId) -> Result<KernelLaunch> {
        let function = module
            .functions()
            .get(id)
            .context("the kernel is missing")?;
        let parameters = function.interface.params.of(module.params());
        if parameters.len() != self.arguments.len() {
            bail!(
                "{}, but the kernel has {}",
                counted(self.arguments.len(), "argument"),
                counted(parameters.len(), "parameter")
            );
        }
        let mut arguments = Vec::new();
        for (number, (parameter, argument)) in parameters.iter().zip(&self.arguments).enumerate() {
            let plain = PlainArgument::new(module, parameter, argument, number)
                .map_err(|error| anyhow!("parameter {}: {error:#}", number + 1))?;
            arguments.push(match plain {
                PlainArgument::Bytes(bytes) => KernelArgument::Bytes(bytes),
                PlainArgument::Buffer(initial) => KernelArgument::Buffer(KernelBuffer {
                    bytes: initial.len() as u64,
                    initial,
                }),
            });
        }
        let mut launch = KernelLaunch::new(self.threads.ctas, self.threads.threads, arguments);
        launch.cluster = self.cluster;
        launch.dynamic_shared_bytes = self.shared.into();
        launch.ignores_races = self.ignore_races;
        Ok(launch)
    }
}

fn limit_name(limit: Limit) -> &'static str {
    match limit {
        Limit::Executions => "executions",
        Limit::Steps => "steps",
        _ => "observer",
    }
}

impl Explored<'_> {
    fn message(&self, example: &Counterexample) -> String {
        match &example.failure {
            ptx_memory::kernel::Failure::Condition { number } => {
                let mut message = self.conditions.get(*number).cloned().unwrap_or_default();
                if !example.memory.is_empty() {
                    message += &format!(" with {}", self.memory(&example.memory));
                }
                message
            }
            failure => self.kernel.describe(failure),
        }
    }

    fn memory(&self, memory: &[MemoryValue]) -> String {
        let mut values: Vec<String> = Vec::new();
        for value in memory {
            let name = self.kernel.location_name(value.address);
            let bits = value.bits.map_or("?".to_owned(), |bits| bits.to_string());
            let text = format!("{name} = {bits}");
            // Conditions may name what was written.
            if !values.contains(&text) {
                values.push(text);
            }
        }
        values.join(", ")
    }

    /// The text that an edit replaces.
    fn old_text(&self, edit: &RepairEdit) -> String {
        let source = self.kernel.module_source();
        let bytes = source.get(edit.start..edit.end).unwrap_or(&[]);
        String::from_utf8_lossy(bytes).into_owned()
    }

    fn place(&self, step: &StoryStep) -> (u32, u32) {
        self.kernel.place_of_thread(step.thread)
    }

    fn write(&self, args: &Args, out: &mut impl Write) -> Result<()> {
        let name = short_text(self.name);
        let statistics = &self.report.statistics;
        for outcome in &self.report.outcomes {
            let memory = match &outcome.memory[..] {
                [] => "global memory is unchanged".to_owned(),
                memory => self.memory(memory),
            };
            writeln!(out, "{:>8}  {memory}", outcome.executions)?;
        }
        for example in &self.report.counterexamples {
            writeln!(out, "error: {}", self.message(example))?;
            let count = counted(example.executions as usize, "execution");
            writeln!(out, "  in {count}, such as:")?;
            let story = self.kernel.story(example, Version::default());
            for (number, step) in story.steps.iter().enumerate() {
                let (cta, thread) = self.place(step);
                writeln!(
                    out,
                    "  {:>3}  CTA {cta} thread {thread}  line {}: {}  -- {}",
                    number + 1,
                    step.line,
                    step.instruction,
                    step.effect
                )?;
            }
            for reason in &story.reasons {
                writeln!(out, "  = {reason}")?;
            }
        }
        if let Some(repair) = &self.repair {
            let executions = if repair.is_proven {
                "no execution fails"
            } else {
                "no explored execution fails"
            };
            writeln!(out, "help: {executions} with:")?;
            for edit in &repair.edits {
                let old = self.old_text(edit);
                writeln!(out, "  line {}: `{old}` -> `{}`", edit.line, edit.text)?;
            }
        } else if args.repair && !self.report.counterexamples.is_empty() {
            writeln!(
                out,
                "help: with none of the {MAX_REPAIRS} weakest changes of one or two orders, scopes or fences, all executions are without a failure"
            )?;
        }
        out.flush()?;
        let ends = format!(
            "{}, {} that cannot end",
            counted(statistics.executions as usize, "complete execution"),
            statistics.failures
        );
        let failures = counted(self.report.counterexamples.len(), "failure");
        output::note(format_args!("{name}: {ends}: {failures}"));
        self.write_limits();
        Ok(())
    }

    /// Says what was not explored.
    fn write_limits(&self) {
        let statistics = &self.report.statistics;
        if let Some(message) = &statistics.unsupported {
            output::note(format_args!("not explored: {message}"));
        }
        if let Some(limit) = statistics.limit {
            output::note(format_args!(
                "not all executions were explored: the limit of {} was reached",
                limit_name(limit)
            ));
        }
        if statistics.unrolled > 0 {
            output::note(format_args!(
                "not all executions were explored: in {}, a loop ran as often as `--unroll` allows",
                counted(statistics.unrolled as usize, "execution")
            ));
        }
        if self.report.reads_clock {
            output::note(format_args!(
                "not all executions were explored: the kernel reads clocks, and no time passes here"
            ));
        }
        if self.report.is_cut {
            output::note(format_args!(
                "not all final contents are shown: there are too many of them"
            ));
        }
    }

    fn json<'j>(&'j self, args: &Args, file: &'j str) -> JsonExploration<'j> {
        let statistics = &self.report.statistics;
        let values = |memory: &[MemoryValue]| {
            memory
                .iter()
                .map(|value| JsonValue {
                    location: self.kernel.location_name(value.address),
                    bytes: value.bytes,
                    value: value.bits.map(|bits| bits.to_string()),
                })
                .collect()
        };
        JsonExploration {
            schema: SCHEMA,
            file,
            kernel: self.name,
            ctas: args.threads.ctas,
            threads: args.threads.threads,
            complete: self.report.is_complete(),
            executions: statistics.executions,
            executions_without_end: statistics.failures,
            unrolled: statistics.unrolled,
            limit: statistics.limit.map(limit_name),
            unsupported: statistics.unsupported.as_deref(),
            outcomes: self
                .report
                .outcomes
                .iter()
                .map(|outcome| JsonOutcome {
                    executions: outcome.executions,
                    memory: values(&outcome.memory),
                })
                .collect(),
            repair: self.repair.as_ref().map(|repair| {
                let edits = repair.edits.iter().map(|edit| JsonEdit {
                    line: edit.line,
                    start: edit.start,
                    end: edit.end,
                    text: edit.text.clone(),
                });
                edits.collect()
            }),
            repair_proven: self.repair.as_ref().map(|repair| repair.is_proven),
            failures: self
                .report
                .counterexamples
                .iter()
                .map(|example| self.json_failure(example))
                .collect(),
        }
    }

    fn json_failure(&self, example: &Counterexample) -> JsonFailure {
        let story = self.kernel.story(example, Version::default());
        JsonFailure {
            message: self.message(example),
            executions: example.executions,
            steps: story
                .steps
                .into_iter()
                .map(|step| {
                    let (cta, thread) = self.place(&step);
                    JsonStoryStep {
                        cta,
                        thread,
                        line: step.line,
                        instruction: step.instruction,
                        effect: step.effect,
                    }
                })
                .collect(),
            reasons: story.reasons,
        }
    }
}
