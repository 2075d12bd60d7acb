//! `ptxkit/kernels` and `ptxkit/run`: kernels are run without a GPU.

mod answer;
mod buffer;
mod kernels;

use std::num::NonZeroU32;
use std::time::Duration;

use lsp_types::TextDocumentIdentifier;
use ptx_ir::{Module, Param, Severity};
use ptx_report::scalars;
use ptx_vm::{Checker, Checks, Launch, Machine, Progress, RunOptions, StopReason};
use serde::Deserialize;

use crate::document::Document;
use crate::message::{Failure, code};

pub(super) use answer::Ran;
use buffer::{Allocated, Buffer};
pub(super) use kernels::kernels;

/// The steps of warps that a launch may make if the client does not say it: some seconds.
const STEPS: u64 = 100_000_000;

/// The time that a launch may take on a separate thread.
const TIME: Duration = Duration::from_secs(60);

/// The memory of the host that a launch may use.
const MEMORY: u64 = 1 << 29;

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
    /// Bytes of dynamic shared memory.
    #[serde(default)]
    shared: u32,
    /// The names of checkers.
    #[serde(default)]
    checks: Vec<String>,
    /// Whether executions are counted.
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

/// An argument for a parameter.
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

/// Runs a kernel of a document without errors. With a progress, which can cancel it, the time is limited as well.
pub(super) fn run(
    document: &Document,
    run: &Run,
    progress: Option<&Progress>,
) -> Result<Ran, Failure> {
    let mut found = document.diagnostics().into_iter();
    if found.any(|d| d.severity == Severity::Error) {
        return Err(invalid("the document has errors"));
    }
    let module = document.module();
    let mut machine = Machine::new(module);
    machine.limit_memory(MEMORY);
    let (mut launch, buffers) = launch(module, run, &mut machine)?;
    launch.limits.memory_bytes = MEMORY;
    // Where there are no threads, there may be no clock.
    launch.limits.time = progress.map(|_| TIME);
    let mut options = RunOptions::new();
    options.progress = progress;
    let ended = machine.launch_with(&launch, options);
    if ended
        .as_ref()
        .is_err_and(|error| error.reason == StopReason::Cancelled)
    {
        return Err(Failure::new(code::REQUEST_CANCELLED, "cancelled"));
    }
    Ok(answer::answer(
        document,
        &machine,
        (&launch.kernel, ended),
        &buffers,
    ))
}

/// The launch with its buffers, by the parameters.
fn launch(
    module: &Module,
    run: &Run,
    machine: &mut Machine<'_>,
) -> Result<(Launch, Vec<Allocated>), Failure> {
    let function = module.function(&run.kernel);
    let function = function.and_then(|id| module.functions().get(id));
    let function = function.ok_or_else(|| invalid(format!("no kernel `{}`", run.kernel)))?;
    let params = function.interface.params.of(module.params());
    if params.len() != run.arguments.len() {
        let (wanted, found) = (params.len(), run.arguments.len());
        return Err(invalid(format!(
            "the kernel has {wanted} parameters, not {found}"
        )));
    }
    let mut launch = Launch::new(run.kernel.clone());
    launch.grid = run.grid.map(NonZeroU32::get);
    launch.block = run.block.map(NonZeroU32::get);
    launch.shared = run.shared;
    launch.profile = run.profile;
    launch.limits.steps = run.steps.unwrap_or(STEPS);
    launch.checks = checks(&run.checks)?;
    let mut buffers = Vec::new();
    for (at, (param, argument)) in params.iter().zip(&run.arguments).enumerate() {
        let wrong = |why: String| invalid(format!("parameter {}: {why}", at + 1));
        let size =
            kernels::size(module, param).ok_or_else(|| wrong("its size is unknown".into()))?;
        let bytes = match argument {
            Argument::Value(text) => value(param, text).map_err(wrong)?,
            Argument::Buffer(buffer) => {
                let allocated = buffer.allocate(machine, at).map_err(wrong)?;
                let address = allocated.address().to_le_bytes();
                buffers.push(allocated);
                address[..size.min(8) as usize].to_vec()
            }
        };
        if bytes.len() as u64 != size {
            return Err(wrong(format!("it has {size} bytes, not {}", bytes.len())));
        }
        launch = launch.argument(bytes);
    }
    Ok((launch, buffers))
}

fn checks(names: &[String]) -> Result<Checks, Failure> {
    let named = names.iter().map(|name| name.parse::<Checker>());
    let named = named.collect::<Result<Vec<Checker>, _>>();
    let named = named.map_err(|unknown| invalid(unknown.to_string()))?;
    Ok(named.into_iter().collect())
}

/// The bytes of values such as `5` or `f32:1.5`.
fn value(param: &Param, text: &str) -> Result<Vec<u8>, String> {
    if let Some((name, rest)) = text.split_once(':') {
        return scalars::bytes(scalars::scalar_type(name.trim())?, rest);
    }
    let ty = param.ty.known().ok_or("its type is not known")?;
    scalars::bytes(ty, text)
}
