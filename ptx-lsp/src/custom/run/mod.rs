//! `ptxkit/run`: runs a kernel on the virtual machine.

mod answer;
mod buffer;

use std::num::NonZeroU32;
use std::time::Duration;

use lsp_types::TextDocumentIdentifier;
use ptx_ir::{Module, Param, Severity};
use ptx_report::scalars;
use ptx_vm::{Checker, Checks, Launch, Machine, Progress, RunOptions, StopReason};
use serde::Deserialize;

use crate::custom::functions::parameter_size;
use crate::document::Document;
use crate::message::{Failure, code};

pub(super) use answer::RunAnswer;
use buffer::{AllocatedBuffer, Buffer};

/// The default limit of executed warp instructions. They take some seconds.
const DEFAULT_STEPS: u64 = 100_000_000;

/// The maximum duration of a launch on a separate thread.
const MAX_TIME: Duration = Duration::from_secs(60);

/// The maximum memory of the host that a launch uses, in bytes.
const MAX_MEMORY: u64 = 1 << 29;

/// The parameters of `ptxkit/run`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Run {
    pub(super) text_document: TextDocumentIdentifier,
    /// The name of the kernel in the text.
    kernel: String,
    #[serde(default = "one")]
    grid: [NonZeroU32; 3],
    #[serde(default = "one")]
    block: [NonZeroU32; 3],
    /// The size of dynamic shared memory in bytes.
    #[serde(default)]
    shared: u32,
    /// The names of checkers.
    #[serde(default)]
    checks: Vec<String>,
    /// Whether the executions of each instruction are counted.
    #[serde(default)]
    profile: bool,
    /// The maximum number of executed warp instructions.
    steps: Option<u64>,
    #[serde(default)]
    arguments: Vec<Argument>,
}

const fn one() -> [NonZeroU32; 3] {
    [NonZeroU32::MIN; 3]
}

/// The argument for a parameter.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum Argument {
    /// Values of the type of the parameter, or of a type before a colon, separated by commas.
    Value(String),
    /// The address of a buffer.
    Buffer(Buffer),
}

fn invalid(message: impl Into<String>) -> Failure {
    Failure::new(code::INVALID_PARAMS, message.into())
}

/// Runs a kernel of a document. Fails if the document has errors.
///
/// With `progress`, which can cancel the launch, its duration is limited as well.
pub(super) fn run(
    document: &Document,
    run: &Run,
    progress: Option<&Progress>,
) -> Result<RunAnswer, Failure> {
    let mut diagnostics = document.diagnostics().into_iter();
    if diagnostics.any(|d| d.severity == Severity::Error) {
        return Err(invalid("the document has errors"));
    }
    let module = document.module();
    let mut machine = Machine::new(module);
    machine.limit_memory(MAX_MEMORY);
    let (mut launch, buffers) = launch(module, run, &mut machine)?;
    launch.limits.memory_bytes = MAX_MEMORY;
    // Without `progress`, the platform may have no threads and no clock.
    launch.limits.time = progress.map(|_| MAX_TIME);
    let mut options = RunOptions::default();
    options.progress = progress;
    let result = machine.launch_with(&launch, options);
    if let Err(error) = &result
        && error.reason == StopReason::Canceled
    {
        return Err(Failure::new(code::REQUEST_CANCELLED, "cancelled"));
    }
    Ok(answer::answer(
        document,
        &machine,
        &launch.kernel,
        result,
        &buffers,
    ))
}

/// The launch that the parameters describe, and its buffers, which are allocated.
fn launch(
    module: &Module,
    run: &Run,
    machine: &mut Machine<'_>,
) -> Result<(Launch, Vec<AllocatedBuffer>), Failure> {
    let function = module
        .function(&run.kernel)
        .and_then(|id| module.functions().get(id))
        .ok_or_else(|| invalid(format!("no kernel `{}`", run.kernel)))?;
    let params = function.interface.params.of(module.params());
    if params.len() != run.arguments.len() {
        return Err(invalid(format!(
            "the kernel has {} parameters, not {}",
            params.len(),
            run.arguments.len()
        )));
    }
    let mut launch = Launch::new(run.kernel.clone());
    launch.grid = run.grid.map(NonZeroU32::get);
    launch.block = run.block.map(NonZeroU32::get);
    launch.shared = run.shared;
    launch.profile = run.profile;
    launch.limits.steps = run.steps.unwrap_or(DEFAULT_STEPS);
    launch.checks = checks(&run.checks)?;
    let mut buffers = Vec::new();
    for (index, (param, argument)) in params.iter().zip(&run.arguments).enumerate() {
        let bytes = argument_bytes(module, param, argument, |buffer| {
            let allocated = buffer.allocate(machine, index)?;
            let address = allocated.address();
            buffers.push(allocated);
            Ok(address)
        })
        .map_err(|error| invalid(format!("parameter {}: {error}", index + 1)))?;
        launch = launch.argument(bytes);
    }
    Ok((launch, buffers))
}

/// The bytes of an argument. `allocate` returns the address of a buffer.
fn argument_bytes(
    module: &Module,
    param: &Param,
    argument: &Argument,
    allocate: impl FnOnce(&Buffer) -> Result<u64, String>,
) -> Result<Vec<u8>, String> {
    let size = parameter_size(module, param).ok_or("its size is unknown")?;
    let bytes = match argument {
        Argument::Value(text) => value(param, text)?,
        Argument::Buffer(buffer) => {
            let address = allocate(buffer)?.to_le_bytes();
            address[..size.min(8) as usize].to_vec()
        }
    };
    if bytes.len() as u64 != size {
        return Err(format!("it has {size} bytes, not {}", bytes.len()));
    }
    Ok(bytes)
}

fn checks(names: &[String]) -> Result<Checks, Failure> {
    names
        .iter()
        .map(|name| name.parse::<Checker>())
        .collect::<Result<Checks, _>>()
        .map_err(|error| invalid(error.to_string()))
}

/// The bytes of values such as `5` or `f32:1.5`.
fn value(param: &Param, text: &str) -> Result<Vec<u8>, String> {
    if let Some((ty, values)) = text.split_once(':') {
        return scalars::bytes(scalars::scalar_type(ty.trim())?, values);
    }
    let ty = param.ty.known().ok_or("its type is not known")?;
    scalars::bytes(ty, text)
}
