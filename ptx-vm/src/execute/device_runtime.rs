//! The functions of the device runtime of CUDA: launches from kernels, copies in streams, and queries.
//!
//! Compilers call them by two names, such as `cudaLaunchDeviceV2` and `__cudaCDP2LaunchDeviceV2`, and those with a default stream of each thread with the suffix `_ptsz`.

use ptx_ir::FuncId;

use super::execution::{Execution, Failed};
use super::launches::{ChildLaunch, Configuration, CopyOfRows, Rows, Source, Start, Work};
use super::location::{Location, generic};
use crate::error::StopReason;
use crate::lanes::LANES;
use crate::launch::Launch;
use crate::program::{Call, Callee, Program, Step};
use crate::shape;

/// Codes of `cudaError_t`.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[repr(u32)]
enum Code {
    Success = 0,
    InvalidValue = 1,
    MemoryAllocation = 2,
    InvalidConfiguration = 9,
    MaxDepthExceeded = 65,
    PendingCountExceeded = 69,
    InvalidDeviceFunction = 98,
    InvalidResourceHandle = 400,
}

/// The names and the descriptions of codes, as `cudaGetErrorName` and `cudaGetErrorString` return them.
const TEXTS: [(Code, &str, &str); 8] = [
    (Code::Success, "cudaSuccess", "no error"),
    (
        Code::InvalidValue,
        "cudaErrorInvalidValue",
        "invalid argument",
    ),
    (
        Code::MemoryAllocation,
        "cudaErrorMemoryAllocation",
        "out of memory",
    ),
    (
        Code::InvalidConfiguration,
        "cudaErrorInvalidConfiguration",
        "invalid configuration argument",
    ),
    (
        Code::MaxDepthExceeded,
        "cudaErrorLaunchMaxDepthExceeded",
        "launch would exceed maximum depth of nested launches",
    ),
    (
        Code::PendingCountExceeded,
        "cudaErrorLaunchPendingCountExceeded",
        "launch failed because launch would exceed cudaLimitDevRuntimePendingLaunchCount",
    ),
    (
        Code::InvalidDeviceFunction,
        "cudaErrorInvalidDeviceFunction",
        "invalid device function",
    ),
    (
        Code::InvalidResourceHandle,
        "cudaErrorInvalidResourceHandle",
        "invalid resource handle",
    ),
];
/// The texts of other codes.
const UNKNOWN: [&str; 2] = ["cudaErrorUnknown", "unknown error"];

/// The version of the runtime: 1000 times the major and 10 times the minor version.
const VERSION: u32 = 13020;
/// The stream of work that begins after all other work of the grid.
const TAIL_STREAM: u64 = 3;
/// The stream of work that does not wait for other work.
const FIRE_AND_FORGET_STREAM: u64 = 4;
/// The first handle of a created stream or event.
const FIRST_HANDLE: u64 = 0x1000;
/// The only flag of streams that kernels create: `cudaStreamNonBlocking`.
const NON_BLOCKING: u64 = 1;
/// The flag of events that kernels create: `cudaEventDisableTiming`.
const DISABLE_TIMING: u64 = 2;

/// The bytes of the memory for the parameters of launches that a grid prepares.
pub(crate) const PARAMETER_BYTES: u64 = 1 << 30;

/// A function of the runtime.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Function {
    GetParameterBuffer,
    GetParameterBufferV2,
    Launch,
    LaunchV2,
    GetLastError,
    PeekAtLastError,
    GetErrorName,
    GetErrorString,
    GetDeviceCount,
    GetDevice,
    DeviceGetAttribute,
    DeviceGetLimit,
    DeviceGetConfig,
    RuntimeGetVersion,
    StreamCreate,
    EventCreate,
    StreamOrEvent,
    Malloc,
    Free,
    Memcpy,
    Memcpy2D,
    Memset,
    Memset2D,
}

/// The function with a name; `None` if the runtime of the machine has no such function.
fn function(name: &str) -> Option<Function> {
    let name = name.strip_suffix("_ptsz").unwrap_or(name);
    let name = name
        .strip_prefix("__cudaCDP2")
        .or_else(|| name.strip_prefix("cuda"))?;
    Some(match name {
        "GetParameterBuffer" => Function::GetParameterBuffer,
        "GetParameterBufferV2" => Function::GetParameterBufferV2,
        "LaunchDevice" => Function::Launch,
        "LaunchDeviceV2" => Function::LaunchV2,
        "GetLastError" => Function::GetLastError,
        "PeekAtLastError" => Function::PeekAtLastError,
        "GetErrorName" => Function::GetErrorName,
        "GetErrorString" => Function::GetErrorString,
        "GetDeviceCount" => Function::GetDeviceCount,
        "GetDevice" => Function::GetDevice,
        "DeviceGetAttribute" => Function::DeviceGetAttribute,
        "DeviceGetLimit" => Function::DeviceGetLimit,
        "DeviceGetCacheConfig" | "DeviceGetSharedMemConfig" => Function::DeviceGetConfig,
        "RuntimeGetVersion" => Function::RuntimeGetVersion,
        "StreamCreateWithFlags" => Function::StreamCreate,
        "EventCreateWithFlags" => Function::EventCreate,
        "StreamDestroy"
        | "StreamWaitEvent"
        | "EventRecord"
        | "EventRecordWithFlags"
        | "EventDestroy" => Function::StreamOrEvent,
        "Malloc" => Function::Malloc,
        "Free" => Function::Free,
        "MemcpyAsync" => Function::Memcpy,
        "Memcpy2DAsync" => Function::Memcpy2D,
        "MemsetAsync" => Function::Memset,
        "Memset2DAsync" => Function::Memset2D,
        _ => return None,
    })
}

/// The functions of the runtime that a program calls.
fn called(program: &Program) -> impl Iterator<Item = Function> {
    program.steps().filter_map(|step| match step {
        Step::Call(call) => match &call.callee {
            Callee::System(name) => function(name),
            _ => None,
        },
        _ => None,
    })
}

/// Whether a program allocates memory of the heap by the runtime.
pub(crate) fn uses_heap(program: &Program) -> bool {
    called(program).any(|function| function == Function::Malloc)
}

/// Whether a program needs memory for the parameters of launches, and for texts.
pub(crate) fn uses_memory(program: &Program) -> bool {
    use Function as F;
    called(program).any(|function| {
        matches!(
            function,
            F::GetParameterBuffer | F::GetParameterBufferV2 | F::GetErrorName | F::GetErrorString
        )
    })
}

/// The result of a function in a lane.
enum Returned {
    /// A code, which becomes the last error of the thread unless it is a success.
    Code(Code),
    /// A value and its size in bytes.
    Value(u64, u8),
}

impl Execution<'_> {
    /// Calls a function of the device runtime in a lane. Returns the value and its size in bytes; `None` if there is no such function.
    pub(super) fn device_runtime_call(
        &mut self,
        name: &str,
        call: &Call,
        lane: usize,
    ) -> Result<Option<(u64, u8)>, Failed> {
        let Some(function) = function(name) else {
            return Ok(None);
        };
        let returned = self.call_runtime(function, call, lane)?;
        Ok(Some(match returned {
            Returned::Code(code) => {
                if code != Code::Success {
                    self.set_last_error(lane, code as u32);
                }
                (code as u64, 4)
            }
            Returned::Value(value, bytes) => (value, bytes),
        }))
    }

    fn set_last_error(&mut self, lane: usize, code: u32) {
        let errors = &mut self.warp.last_errors;
        let errors = errors.get_or_insert_with(|| Box::new([0; LANES]));
        errors[lane % LANES] = code;
    }

    fn last_error(&self, lane: usize) -> u32 {
        let errors = self.warp.last_errors.as_ref();
        errors.map_or(0, |errors| errors[lane % LANES])
    }

    fn call_runtime(
        &mut self,
        function: Function,
        call: &Call,
        lane: usize,
    ) -> Result<Returned, Failed> {
        let limits = self.grid.limits;
        match function {
            Function::GetParameterBuffer => {
                let bytes = self.argument(call, 1, 8, lane);
                self.parameter_buffer(None, bytes, lane)
            }
            Function::GetParameterBufferV2 => self.prepare_launch(call, lane),
            Function::Launch => self.launch_with_buffer(call, lane),
            Function::LaunchV2 => self.launch_prepared(call, lane),
            Function::GetLastError => {
                let code = self.last_error(lane);
                if code != 0 {
                    self.set_last_error(lane, 0);
                }
                Ok(Returned::Value(code.into(), 4))
            }
            Function::PeekAtLastError => Ok(Returned::Value(self.last_error(lane).into(), 4)),
            Function::GetErrorName => self.error_text(call, lane, 0),
            Function::GetErrorString => self.error_text(call, lane, 1),
            Function::GetDeviceCount => self.give(call, lane, Some(1), 4),
            Function::GetDevice => self.give(call, lane, Some(0), 4),
            Function::DeviceGetAttribute => {
                let attribute = self.argument(call, 1, 4, lane);
                let value = match self.argument(call, 2, 4, lane) {
                    0 => self.attribute(attribute),
                    _ => None,
                };
                self.give(call, lane, value, 4)
            }
            Function::DeviceGetLimit => {
                let limit = match self.argument(call, 1, 4, lane) {
                    0 => Some(limits.stack_bytes),
                    1 => Some(1 << 20),
                    2 => Some(limits.heap_bytes),
                    4 => Some(limits.pending_launches.into()),
                    _ => None,
                };
                self.give(call, lane, limit, 8)
            }
            Function::DeviceGetConfig => self.give(call, lane, Some(0), 4),
            Function::RuntimeGetVersion => self.give(call, lane, Some(VERSION.into()), 4),
            Function::StreamCreate => self.create(call, lane, |flags| flags == NON_BLOCKING),
            Function::EventCreate => self.create(call, lane, |flags| flags == DISABLE_TIMING),
            // Work is done in the order of its requests, so an event is always complete where a stream waits for it.
            Function::StreamOrEvent => Ok(Returned::Code(Code::Success)),
            Function::Malloc => {
                let bytes = self.argument(call, 1, 8, lane);
                let start = match bytes {
                    0 => 0,
                    bytes => self.allocate_on_heap(bytes),
                };
                let given = self.give(call, lane, Some(start), 8)?;
                Ok(match (start, bytes) {
                    (0, 1..) => Returned::Code(Code::MemoryAllocation),
                    _ => given,
                })
            }
            Function::Free => {
                let start = self.argument(call, 0, 8, lane);
                self.free_on_heap(start, lane);
                Ok(Returned::Code(Code::Success))
            }
            Function::Memcpy | Function::Memcpy2D | Function::Memset | Function::Memset2D => {
                self.request_copy(function, call, lane)
            }
        }
    }

    /// Requests a copy or a fill.
    fn request_copy(
        &mut self,
        function: Function,
        call: &Call,
        lane: usize,
    ) -> Result<Returned, Failed> {
        let number = |n| self.argument(call, n, 8, lane);
        let rows = |address, pitch| Rows {
            address: number(address),
            pitch: number(pitch),
        };
        let row = |address| Rows {
            address: number(address),
            pitch: 0,
        };
        let byte = |n| Source::Byte(self.argument(call, n, 4, lane) as u8);
        let (work, stream) = match function {
            Function::Memcpy => (
                copy(row(0), Source::Memory(row(1)), number(2), 1),
                number(4),
            ),
            Function::Memcpy2D => {
                let source = Source::Memory(rows(2, 3));
                (copy(rows(0, 1), source, number(4), number(5)), number(7))
            }
            Function::Memset => (copy(row(0), byte(1), number(2), 1), number(3)),
            _ => (copy(rows(0, 1), byte(2), number(3), number(4)), number(5)),
        };
        self.request(work, stream)
    }

    /// Writes a value to the address that is the first argument.
    fn give(
        &mut self,
        call: &Call,
        lane: usize,
        value: Option<u64>,
        bytes: u8,
    ) -> Result<Returned, Failed> {
        let Some(value) = value else {
            return Ok(Returned::Code(Code::InvalidValue));
        };
        let target = generic(self.argument(call, 0, 8, lane));
        self.write(target, bytes, value.into(), lane)?;
        Ok(Returned::Code(Code::Success))
    }

    /// The value of an attribute of the device; `None` if the machine does not know it.
    fn attribute(&self, attribute: u64) -> Option<u64> {
        let limits = self.grid.limits;
        let architecture = u64::from(self.grid.architecture);
        Some(match attribute {
            // Threads of a CTA, in all and in x and y.
            1..=3 => 1024,
            4 => 64,
            // CTAs of a grid in x, y and z.
            5 => i32::MAX as u64,
            6 | 7 => u16::MAX.into(),
            // Shared memory of a CTA without and with permission, and of a multiprocessor.
            8 => limits.shared_bytes.min(48 << 10),
            97 => limits.shared_bytes,
            81 => limits.shared_bytes + (1 << 10),
            // Constants.
            9 => 64 << 10,
            // Lanes of a warp.
            10 => 32,
            // Registers of a CTA and of a multiprocessor.
            12 | 82 => 64 << 10,
            16 => limits.multiprocessors.into(),
            39 => 2048,
            106 => 32,
            75 => architecture / 10,
            76 => architecture % 10,
            // Concurrent kernels, unified addresses, cooperative launches, launches of clusters.
            31 | 41 | 95 => 1,
            120 => u64::from(architecture >= 90),
            _ => return None,
        })
    }

    /// Creates a stream or an event, whose flags a condition allows.
    fn create(
        &mut self,
        call: &Call,
        lane: usize,
        is_allowed: impl Fn(u64) -> bool,
    ) -> Result<Returned, Failed> {
        let flags = self.argument(call, 1, 4, lane);
        let handle = self.grid.launches.lock().ok().map(|mut launches| {
            launches.handles += 1;
            FIRST_HANDLE + launches.handles
        });
        self.give(call, lane, handle.filter(|_| is_allowed(flags)), 8)
    }

    /// Requests work in a stream.
    fn request(&mut self, work: Work, stream: u64) -> Result<Returned, Failed> {
        let start = match stream {
            TAIL_STREAM => Start::Tail,
            0..=2 | FIRE_AND_FORGET_STREAM => Start::Child,
            handle if handle > FIRST_HANDLE => Start::Child,
            _ => return Ok(Returned::Code(Code::InvalidResourceHandle)),
        };
        let Ok(mut launches) = self.grid.launches.lock() else {
            return Ok(Returned::Code(Code::InvalidValue));
        };
        if launches.pending() >= self.grid.limits.pending_launches as usize {
            return Ok(Returned::Code(Code::PendingCountExceeded));
        }
        if start == Start::Child && self.grid.depth >= self.grid.limits.nested_launches {
            return Ok(Returned::Code(Code::MaxDepthExceeded));
        }
        launches.add(work, start);
        Ok(Returned::Code(Code::Success))
    }

    /// Three numbers in an argument.
    fn dimensions(&self, call: &Call, n: usize, lane: usize) -> [u32; 3] {
        [0, 4, 8].map(|offset| self.argument_at(call, n, offset, 4, lane) as u32)
    }

    /// The kernel and the shape that arguments describe; the error is the code that the function returns.
    fn configuration(
        &self,
        address: u64,
        [grid, block]: [[u32; 3]; 2],
        shared: u32,
    ) -> Result<Configuration, Code> {
        let program = self.grid.program;
        let kernel = program
            .variables
            .function_at(address)
            .filter(|id| program.function(*id).is_some_and(|f| f.is_entry))
            .ok_or(Code::InvalidDeviceFunction)?;
        let mut launch = Launch::new("");
        (launch.grid, launch.block, launch.shared) = (grid, block, shared);
        let cluster = shape::cluster(self.grid.module, kernel, &launch);
        let sizes = &program.variables.shared;
        let is_valid = shape::check(&launch, cluster).is_ok()
            && shape::check_declared(self.grid.module, kernel, &launch).is_ok()
            && sizes.needed(kernel, shared) <= self.grid.limits.shared_bytes
            && sizes.fits(kernel, shared);
        if !is_valid {
            return Err(Code::InvalidConfiguration);
        }
        Ok(Configuration {
            kernel,
            grid,
            block,
            shared,
        })
    }

    /// The number of bytes of the parameters of a kernel.
    fn parameter_bytes(&self, kernel: FuncId) -> u64 {
        let function = self.grid.program.function(kernel);
        let parameters = function.map_or(&[][..], |f| &f.frame.parameters);
        let ends = parameters.iter().map(|p| p.offset() + p.bytes);
        ends.max().unwrap_or(0)
    }

    /// Allocates memory for the parameters of a launch, and records its configuration.
    fn parameter_buffer(
        &mut self,
        configuration: Option<Configuration>,
        bytes: u64,
        lane: usize,
    ) -> Result<Returned, Failed> {
        let Ok(mut launches) = self.grid.launches.lock() else {
            return Ok(Returned::Value(0, 8));
        };
        if launches.pending() >= self.grid.limits.pending_launches as usize {
            drop(launches);
            self.set_last_error(lane, Code::PendingCountExceeded as u32);
            return Ok(Returned::Value(0, 8));
        }
        // Parameters of 16 bytes are aligned: those of a kernel begin at a multiple of 16, as all memory of a heap.
        let start = self.grid.parameter_heap.allocate(bytes);
        if let (1.., Some(configuration)) = (start, configuration) {
            launches.prepared.insert(start, configuration);
        }
        drop(launches);
        if start == 0 {
            self.set_last_error(lane, Code::MemoryAllocation as u32);
        } else {
            self.observe(|observer, _| observer.allocated(start, bytes));
        }
        Ok(Returned::Value(start, 8))
    }

    fn prepare_launch(&mut self, call: &Call, lane: usize) -> Result<Returned, Failed> {
        let address = self.argument(call, 0, 8, lane);
        let shape = [1, 2].map(|n| self.dimensions(call, n, lane));
        let shared = self.argument(call, 3, 4, lane) as u32;
        match self.configuration(address, shape, shared) {
            Ok(configuration) => {
                let bytes = self.parameter_bytes(configuration.kernel);
                self.parameter_buffer(Some(configuration), bytes, lane)
            }
            Err(code) => {
                self.set_last_error(lane, code as u32);
                Ok(Returned::Value(0, 8))
            }
        }
    }

    /// Launches the kernel whose parameters are at the address that [`prepare_launch`](Self::prepare_launch) returned.
    fn launch_prepared(&mut self, call: &Call, lane: usize) -> Result<Returned, Failed> {
        let buffer = self.argument(call, 0, 8, lane);
        let stream = self.argument(call, 1, 8, lane);
        let prepared = self.grid.launches.lock().ok();
        let prepared = prepared.and_then(|mut launches| launches.prepared.remove(&buffer));
        match prepared {
            Some(configuration) => self.launch_child(configuration, buffer, stream, lane),
            None => Ok(Returned::Code(Code::InvalidValue)),
        }
    }

    fn launch_with_buffer(&mut self, call: &Call, lane: usize) -> Result<Returned, Failed> {
        let [address, buffer] = [0, 1].map(|n| self.argument(call, n, 8, lane));
        let shape = [2, 3].map(|n| self.dimensions(call, n, lane));
        let shared = self.argument(call, 4, 4, lane) as u32;
        let stream = self.argument(call, 5, 8, lane);
        match self.configuration(address, shape, shared) {
            Ok(configuration) => self.launch_child(configuration, buffer, stream, lane),
            Err(code) => Ok(Returned::Code(code)),
        }
    }

    /// Requests a launch with the parameters that are in memory now.
    fn launch_child(
        &mut self,
        configuration: Configuration,
        buffer: u64,
        stream: u64,
        lane: usize,
    ) -> Result<Returned, Failed> {
        let bytes = self.parameter_bytes(configuration.kernel);
        self.handle(bytes, lane)?;
        let mut parameters = vec![0; bytes as usize];
        let read = self.grid.device.read_bytes(buffer, &mut parameters);
        read.map_err(|fault| (StopReason::from(fault), lane))?;
        if bytes > 0 {
            self.grid.parameter_heap.free(buffer);
            self.observe(|observer, execution| observer.freed(execution, lane, buffer));
        }
        let child = ChildLaunch::new(configuration, parameters, self.grid)
            .map_err(|reason| (reason, lane))?;
        self.request(Work::Launch(child), stream)
    }

    /// The address of the name or the description of a code.
    fn error_text(&mut self, call: &Call, lane: usize, kind: usize) -> Result<Returned, Failed> {
        let code = self.argument(call, 0, 4, lane);
        let known = TEXTS
            .iter()
            .find(|(known, ..)| u64::from(*known as u32) == code);
        let text = known.map_or(UNKNOWN[kind % 2], |(_, name, description)| {
            [*name, *description][kind % 2]
        });
        let start = self.grid.parameter_heap.allocate(text.len() as u64 + 1);
        if start != 0 {
            self.observe(|observer, _| observer.allocated(start, text.len() as u64 + 1));
            for (address, byte) in (start..).zip(text.bytes().chain([0])) {
                self.write(Location::Global(address), 1, byte.into(), lane)?;
            }
        }
        Ok(Returned::Value(start, 8))
    }
}

/// The request of a copy of rows.
const fn copy(target: Rows, source: Source, width: u64, height: u64) -> Work {
    Work::Copy(CopyOfRows {
        target,
        source,
        width,
        height,
    })
}
