//! Launches of kernels without a GPU.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::Duration;

use ptxkit::ir::{FunctionKind, Module as IrModule};
use ptxkit::vm::{self, Executor, Launch, Progress, RunError, RunOptions};
use pyo3::exceptions::{PyMemoryError, PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rayon::prelude::*;

use crate::buffer::Buffer;
use crate::conversions::did_you_mean;
use crate::error::Failure;
use crate::finding::{Finding, Outcome};
use crate::launch_arguments::{Argument, parameter_name};
use crate::launch_options::{self, CommonOptions, dimensions};
use crate::module::Module;
use crate::placement::Placement;
use crate::profile::InstructionProfile;

/// The time between two checks whether Ctrl-C was pressed.
const POLL: Duration = Duration::from_millis(50);

/// A module and the memory of a device, without a GPU.
///
/// An argument of a kernel is a number, a struct, or, for a pointer, an array with the buffer protocol: it is copied to memory before
/// the launch, and back afterwards unless it is read-only. Arrays that overlap do so in the memory of the machine too. `ValueError` is raised after a launch that changes
/// a read-only array. A struct is its bytes, or a tuple of fields with the layout of C: an array for a pointer, a type and values such as
/// `("u32", 5)` or `("f32", [1, 2, 3])`, `("bytes", b"...")`, or a tuple of fields; `("align", 16)` aligns the next field.
///
/// >>> import ptxkit, array
/// >>> module = ptxkit.parse('''.version 8.0
/// ... .target sm_90
/// ... .address_size 64
/// ... .entry twice(.param .u64 data) {
/// ...     .reg .b32 %r<3>; .reg .b64 %rd<3>;
/// ...     ld.param.u64 %rd1, [data];
/// ...     mov.u32 %r1, %tid.x;
/// ...     mul.wide.u32 %rd2, %r1, 4;
/// ...     add.s64 %rd1, %rd1, %rd2;
/// ...     ld.global.u32 %r2, [%rd1];
/// ...     add.u32 %r2, %r2, %r2;
/// ...     st.global.u32 [%rd1], %r2;
/// ...     ret;
/// ... }''')
/// >>> machine = ptxkit.Machine(module)
/// >>> numbers = array.array("I", [1, 2, 3, 4])
/// >>> outcome = machine.launch("twice", [numbers], block=4)
/// >>> numbers.tolist(), outcome.steps
/// ([2, 4, 6, 8], 8)
///
/// A launch with more threads than numbers is found by a checker:
///
/// >>> outcome = machine.launch("twice", [numbers], block=5, checks=["memcheck"])
/// >>> finding = outcome.findings[0]
/// >>> finding.code, finding.at.thread, finding.at.instruction
/// ('PTX1401', (4, 0, 0), 'ld.global.u32 %r2, [%rd1];')
#[pyclass(frozen, module = "ptxkit")]
pub(crate) struct Machine {
    module: Py<Module>,
    state: Mutex<State>,
}

pub(crate) struct State {
    pub(crate) machine: vm::Machine<'static>,
    /// Buffers of earlier launches that can be used again, by size in bytes.
    free: BTreeMap<u64, Vec<u64>>,
}

/// A module that a Python object owns.
struct Shared(Py<Module>);

impl Borrow<IrModule> for Shared {
    fn borrow(&self) -> &IrModule {
        &self.0.get().ir
    }
}

/// The address of a buffer in an argument of a launch.
struct PassedAddress {
    launch: usize,
    argument: usize,
    /// The offset in the bytes of the argument.
    offset: usize,
    buffer: usize,
}

/// The threads of rayon, for the workers of a launch.
#[derive(Debug)]
struct Threads;

impl Executor for Threads {
    fn run(&self, tasks: u64, task: &(dyn Fn(u64) + Sync)) {
        (0..tasks).into_par_iter().for_each(task);
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        let mut failure = Self::new(&error);
        if let Some(code) = error.reason.code() {
            failure = failure.with_code(code);
        }
        match error.span {
            Some(span) => failure.at(span),
            None => failure,
        }
    }
}

impl State {
    /// Copies bytes to memory. Returns their address.
    pub(crate) fn place(&mut self, bytes: &[u8]) -> PyResult<u64> {
        let size = bytes.len() as u64;
        let address = match self.free.get_mut(&size).and_then(Vec::pop) {
            Some(address) => address,
            None => {
                let address = self.machine.allocate(size);
                address.ok_or_else(|| PyMemoryError::new_err("more than 1 TiB"))?
            }
        };
        self.machine.write(address, bytes).map_err(Failure::from)?;
        Ok(address)
    }

    /// Lets later launches use the memory that [`place`](Self::place) returned.
    pub(crate) fn release(&mut self, address: u64, size: u64) {
        self.free.entry(size).or_default().push(address);
    }
}

impl Machine {
    pub(crate) fn state(&self) -> PyResult<MutexGuard<'_, State>> {
        match self.state.try_lock() {
            Ok(state) => Ok(state),
            Err(TryLockError::Poisoned(state)) => Ok(state.into_inner()),
            Err(TryLockError::WouldBlock) => {
                let why = "a launch of the machine is running";
                Err(PyRuntimeError::new_err(why))
            }
        }
    }
}

/// Runs launches on the threads of the host until they end, or Ctrl-C is pressed.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    launch: impl FnOnce(RunOptions<'_>) -> Result<T, RunError> + Send,
) -> PyResult<Result<T, RunError>> {
    let progress = Progress::default();
    py.detach(|| {
        std::thread::scope(|scope| {
            let (sender, receiver) = mpsc::channel();
            let (progress, mut interrupted) = (&progress, Ok(()));
            scope.spawn(move || {
                let options = RunOptions::default()
                    .with_executor(&Threads)
                    .with_progress(progress);
                let _ = sender.send(launch(options));
            });
            loop {
                match receiver.recv_timeout(POLL) {
                    Ok(outcome) => return interrupted.map(|()| outcome),
                    Err(RecvTimeoutError::Timeout) => {
                        if interrupted.is_ok() {
                            interrupted = Python::attach(|py| py.check_signals());
                        }
                        if interrupted.is_err() {
                            progress.cancel();
                        }
                    }
                    Err(RecvTimeoutError::Disconnected) => {
                        interrupted?;
                        return Err(Failure::new("the launch ended unexpectedly").into());
                    }
                }
            }
        })
    })
}

#[pymethods]
impl Machine {
    /// A machine with the variables of a module in its memory. Raises `PtxError` if the module has errors.
    #[new]
    fn new(py: Python<'_>, module: Py<Module>) -> PyResult<Self> {
        let checked = module.get();
        py.detach(|| checked.require_runnable())?;
        let shared = Shared(module.clone_ref(py));
        let machine = py.detach(|| vm::Machine::new(shared));
        let state = State {
            machine,
            free: BTreeMap::new(),
        };
        Ok(Self {
            module,
            state: Mutex::new(state),
        })
    }

    /// The module.
    #[getter]
    fn module(&self, py: Python<'_>) -> Py<Module> {
        self.module.clone_ref(py)
    }

    /// The names of the kernels.
    #[getter]
    fn kernels(&self) -> Vec<String> {
        let ir = &self.module.get().ir;
        ir.functions()
            .values()
            .filter(|f| f.kind == FunctionKind::Entry && f.body.is_some())
            .map(|f| ir.name(f.name).to_owned())
            .collect()
    }

    /// Allocates bytes of global memory, all zero. Returns their address.
    fn allocate(&self, bytes: u64) -> PyResult<u64> {
        let address = self.state()?.machine.allocate(bytes);
        address.ok_or_else(|| PyMemoryError::new_err("more than 1 TiB"))
    }

    /// Frees memory that `allocate` returned. `memcheck` reports accesses of later launches to it.
    fn free(&self, address: u64) -> PyResult<()> {
        Ok(self.state()?.machine.free(address).map_err(Failure::from)?)
    }

    /// Creates multimem addresses, for the instructions `multimem`. Each of `count` bytes from the returned address on denotes the bytes at the same offset
    /// from all members, which are addresses of memory.
    fn multicast(&self, members: Vec<u64>, count: u64) -> PyResult<u64> {
        let address = self.state()?.machine.multicast(&members, count);
        Ok(address.map_err(Failure::from)?)
    }

    /// Removes multimem addresses that `multicast` returned. The memory of the members remains.
    fn free_multicast(&self, address: u64) -> PyResult<()> {
        let freed = self.state()?.machine.free_multicast(address);
        Ok(freed.map_err(Failure::from)?)
    }

    /// Reads bytes of global memory.
    fn read<'py>(
        &self,
        py: Python<'py>,
        address: u64,
        count: usize,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.state()?.machine.read(address, count);
        Ok(PyBytes::new(py, &bytes.map_err(Failure::from)?))
    }

    /// Copies an object with the buffer protocol to global memory.
    fn write(&self, address: u64, data: &Bound<'_, PyAny>) -> PyResult<()> {
        let bytes = Buffer::required_bytes("data", data)?;
        let written = self.state()?.machine.write(address, &bytes);
        Ok(written.map_err(Failure::from)?)
    }

    /// The address of a variable in `.global` or `.const`, and its size in bytes; `None` if there is no such variable.
    fn variable(&self, name: &str) -> PyResult<Option<(u64, u64)>> {
        Ok(self.state()?.machine.variable(name))
    }

    /// Runs a kernel to its end.
    ///
    /// `grid`, `block` and `cluster` are CTAs, threads and CTAs of a cluster: a number, or up to three. `shared` is the number of bytes of dynamic shared
    /// memory. `checks` is the name of a checker, or several ones: `memcheck`, `initcheck`, `synccheck`, `racecheck`. With `profile`, executed instructions are counted. `schedule` is the seed of a random order of warps
    /// and CTAs, or a text such as `starve:1`. `asynchrony` says when asynchronous operations are performed: `immediate`, `late` or `random:SEED`. `model` is the target whose tensor cores are imitated. `max_steps` limits the executed instructions of
    /// warps, `max_memory` the memory of the host in bytes, and `timeout` the time in seconds. Raises `PtxError` if an
    /// instruction fails; `output`, `findings` and `profile` then describe the execution until the failure. In a `cooperative` launch, all CTAs are resident at the same time; a number is that of the multiprocessors of the device that they have to fit on,
    /// 132 for `True`.
    #[pyo3(signature = (kernel, arguments=Vec::new(), *, grid=None, block=None, cluster=None, shared=0, cooperative=None, checks=None, profile=false, schedule=None, asynchrony=None, model=None, max_steps=None, max_memory=None, timeout=None))]
    #[expect(clippy::too_many_arguments, reason = "they are named in Python")]
    fn launch(
        &self,
        py: Python<'_>,
        kernel: &str,
        arguments: Vec<Bound<'_, PyAny>>,
        grid: Option<&Bound<'_, PyAny>>,
        block: Option<&Bound<'_, PyAny>>,
        cluster: Option<&Bound<'_, PyAny>>,
        shared: u32,
        cooperative: Option<&Bound<'_, PyAny>>,
        checks: Option<&Bound<'_, PyAny>>,
        profile: bool,
        schedule: Option<&Bound<'_, PyAny>>,
        asynchrony: Option<&str>,
        model: Option<&str>,
        max_steps: Option<u64>,
        max_memory: Option<u64>,
        timeout: Option<f64>,
    ) -> PyResult<Outcome> {
        let mut launch = Launch::new(kernel);
        launch.grid = dimensions("grid", grid)?;
        launch.block = dimensions("block", block)?;
        launch.cluster = dimensions("cluster", cluster)?;
        launch.shared = shared;
        launch.cooperative = cooperative
            .map(launch_options::cooperative)
            .transpose()?
            .flatten();
        let options = CommonOptions {
            checks,
            profile,
            schedule,
            asynchrony,
            model,
            max_steps,
            max_memory,
            timeout,
        };
        options.apply(&mut launch)?;
        let mut state = self.state()?;
        let mut launches = [launch];
        let placement = self.pass(&mut launches, &mut state, &[arguments])?;
        let [launch] = &launches;
        let machine = &mut state.machine;
        let outcome = run(py, |options| machine.launch_with(launch, options));
        let copied = match &outcome {
            Ok(Ok(_)) => placement.copy_out(&state),
            _ => Ok(()),
        };
        placement.release(&mut state);
        let outcome = outcome?.map_err(Failure::from)?;
        copied?;
        Ok(Outcome {
            steps: outcome.steps,
            output: String::from_utf8_lossy(&outcome.output).into_owned(),
            findings: Finding::all(state.machine.reports()),
            profile: self.rows(&state),
        })
    }

    /// The text that the kernel of the last launch printed, also if it failed.
    #[getter]
    fn output(&self) -> PyResult<String> {
        Ok(String::from_utf8_lossy(self.state()?.machine.output()).into_owned())
    }

    /// The findings of the last launch, also if it failed.
    #[getter]
    fn findings(&self) -> PyResult<Vec<Finding>> {
        Ok(Finding::all(self.state()?.machine.reports()))
    }

    /// The profile of the last launch, also if it failed, in the order of the module; `None` if it was not counted.
    #[getter]
    fn profile(&self) -> PyResult<Option<Vec<InstructionProfile>>> {
        Ok(self.rows(&*self.state()?))
    }

    fn __repr__(&self) -> String {
        format!("<Machine: {}>", self.kernels().join(", "))
    }
}

impl Machine {
    /// The profile of the last launch.
    pub(crate) fn rows(&self, state: &State) -> Option<Vec<InstructionProfile>> {
        let profile = state.machine.profile()?;
        Some(InstructionProfile::all(&self.module.get().ir, profile))
    }

    /// The failure of a launch of a kernel that does not exist: it lists the first ones.
    fn no_kernel(&self, name: &str) -> Failure {
        const SHOWN: usize = 8;
        let kernels = self.kernels();
        if kernels.is_empty() {
            return Failure::new(format!(
                "there is no kernel `{name}`: the module has no kernels"
            ));
        }
        let hint = did_you_mean(name, kernels.iter().map(|kernel| &**kernel));
        if !hint.is_empty() {
            return Failure::new(format!("there is no kernel `{name}`{hint}"));
        }
        let shown: Vec<_> = kernels
            .iter()
            .take(SHOWN)
            .map(|k| format!("`{k}`"))
            .collect();
        let further_kernels = match kernels.len().saturating_sub(SHOWN) {
            0 => String::new(),
            count => format!(" and {count} more, which `kernels` contains"),
        };
        Failure::new(format!(
            "there is no kernel `{name}`: expected {}{further_kernels}",
            shown.join(", ")
        ))
    }

    /// Adds the arguments of launches, and copies their buffers to the memory of the machine.
    pub(crate) fn pass<'py>(
        &self,
        launches: &mut [Launch],
        state: &mut State,
        arguments: &[Vec<Bound<'py, PyAny>>],
    ) -> PyResult<Placement<'py>> {
        let mut placement = Placement::default();
        let mut addresses = Vec::new();
        for (number, (launch, arguments)) in launches.iter_mut().zip(arguments).enumerate() {
            self.add_arguments(launch, arguments, |argument, offset, parameter, buffer| {
                addresses.push(PassedAddress {
                    launch: number,
                    argument,
                    offset,
                    buffer: placement.add(parameter, buffer)?,
                });
                Ok(())
            })?;
        }
        placement.copy_in(state)?;
        for passed in addresses {
            let address = placement.address(passed.buffer).to_le_bytes();
            let argument = launches
                .get_mut(passed.launch)
                .and_then(|launch| launch.arguments.get_mut(passed.argument));
            let places = argument.into_iter().flat_map(|bytes| bytes.iter_mut());
            for (place, byte) in places.skip(passed.offset).zip(address) {
                *place = byte;
            }
        }
        Ok(placement)
    }

    /// Adds the arguments of a launch. `add_buffer` is called for each buffer, with the index of the argument, the offset of the address in it and the name of
    /// the parameter.
    fn add_arguments<'py>(
        &self,
        launch: &mut Launch,
        arguments: &[Bound<'py, PyAny>],
        mut add_buffer: impl FnMut(usize, usize, &str, Buffer<'py>) -> PyResult<()>,
    ) -> PyResult<()> {
        let ir = &self.module.get().ir;
        let function = ir
            .function(&launch.kernel)
            .and_then(|id| ir.functions().get(id))
            .ok_or_else(|| self.no_kernel(&launch.kernel))?;
        let params = function.interface.params.of(ir.params());
        if params.len() != arguments.len() {
            let (expected, actual) = (params.len(), arguments.len());
            let message = format!(
                "`{}` has {expected} parameters, not {actual}",
                launch.kernel
            );
            return Err(PyTypeError::new_err(message));
        }
        let pointer = usize::from(ir.header().address_size.unwrap_or(32)) / 8;
        for (index, (param, object)) in params.iter().zip(arguments).enumerate() {
            let (bytes, fields) = match Argument::new(ir, param, object)? {
                Argument::Bytes(bytes) => (bytes, Vec::new()),
                Argument::Buffer(buffer) => (vec![0; pointer.min(8)], vec![(0, buffer)]),
                Argument::Struct(bytes, fields) => (bytes, fields),
            };
            for (offset, buffer) in fields {
                add_buffer(index, offset, parameter_name(ir, param), buffer)?;
            }
            launch.arguments.push(bytes);
        }
        Ok(())
    }
}
