//! Runs the kernels of any module with arguments that most kernels accept, and records the memory after them.

use std::collections::BTreeMap;

use ptx_ir::{Module, SymbolKind};
use ptx_isa::Directive;
use ptx_vm::{Checker, Launch, Machine, StopReason};

/// The size of the buffer of each argument in bytes.
pub const BUFFER: u64 = 16 << 10;
/// The number of allocated bytes before and after the buffers.
const MARGIN: u64 = 64 << 20;
/// The alignment of the buffers. Their addresses do not depend on the variables of the module.
const ALIGN: u64 = 1 << 30;
/// The maximum number of executed instructions of warps.
const STEPS: u64 = 20_000;

/// The observable effects of a launch.
#[derive(Clone, PartialEq, Debug)]
pub struct Seen {
    /// The reason for which the launch ended early; `None` if it was completed.
    pub failed: Option<StopReason>,
    /// The number of executed instructions of warps; 0 if the launch ended early.
    pub steps: u64,
    /// The output of `printf`; empty if the launch ended early.
    output: Vec<u8>,
    /// The contents of the buffers of the arguments.
    buffers: Vec<Vec<u8>>,
    /// The contents of the variables of the module before and after the launch.
    variables: BTreeMap<String, [Vec<u8>; 2]>,
}

/// The bits of the addresses of functions above the number of the function.
const CODE: u64 = 0x7300_0000_0000;

impl Seen {
    /// Clears the addresses of functions in variables. They depend on the ids of the functions, which differ between an edited module
    /// and its text.
    pub fn without_function_addresses(&mut self) {
        for bytes in self.variables.values_mut().flatten() {
            for word in bytes.chunks_exact_mut(8) {
                let value = word
                    .iter()
                    .rev()
                    .fold(0, |value, byte| value << 8 | u64::from(*byte));
                if value >> 16 == CODE >> 16 {
                    word.fill(0);
                }
            }
        }
    }

    /// Whether the kernel was completed.
    pub fn is_done(&self) -> bool {
        self.failed.is_none()
    }

    /// Whether a rewritten kernel has the same effects. It may lack unneeded instructions and their errors. Kernels that reach the
    /// maximum number of instructions are not compared.
    pub fn agrees(&self, rewritten: &Self) -> bool {
        match &self.failed {
            Some(StopReason::StepLimit) => true,
            failed if *failed == rewritten.failed => self.same_memory(rewritten),
            Some(
                StopReason::OutOfBounds(_)
                | StopReason::Misaligned(_)
                | StopReason::Unsupported(_)
                | StopReason::Invalid(_),
            ) => true,
            _ => false,
        }
    }

    /// Whether memory has the same contents after both kernels. The rewritten module may lack unused variables. Variables with
    /// different initial contents, which are addresses of functions, are not compared.
    fn same_memory(&self, rewritten: &Self) -> bool {
        let mut variables = rewritten.variables.iter();
        self.buffers == rewritten.buffers
            && self.output == rewritten.output
            && variables.all(|(name, [rewritten_start, rewritten_end])| {
                match self.variables.get(name) {
                    Some([start, end]) if start == rewritten_start => end == rewritten_end,
                    _ => true,
                }
            })
    }
}

/// Pseudo-random numbers for a seed.
fn numbers(seed: u64) -> impl Iterator<Item = u32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as u32
    })
}

/// The number of seeds for each kind of data.
pub const SEEDS: u64 = 64;

/// The content of a buffer. The first [`SEEDS`] seeds give words that are small integers, or floating-point numbers near 1. Each
/// further range of seeds gives another kind: arbitrary words, numbers of any magnitude in 32 bits and in 64 bits, few different
/// words, and numbers of moderate magnitude in 16 and in 32 bits.
pub fn content(seed: u64) -> Vec<u8> {
    let mut random = numbers(seed);
    let mut content = Vec::new();
    for index in 0..BUFFER / 4 {
        let n = random.next().unwrap_or(0);
        let word = match (seed / SEEDS, seed % 2) {
            (0, 0) => n % 61,
            (0, _) => 0x3f00_0000 | n & 0x00ff_ffff,
            (2, _) => n << 8 & 0x8000_0000 | (96 + n % 64) << 23 | n >> 1,
            (3, _) if index % 2 == 1 => n << 8 & 0x8000_0000 | (960 + n % 128) << 20 | n >> 4,
            (4, _) => n % 4,
            (5, _) => n << 8 & 0x8000_8000 | (0x3000_2000 + (n << 4 & 0x0fff_1fff)),
            _ => n << 8 ^ random.next().unwrap_or(0),
        };
        content.extend(word.to_le_bytes());
    }
    content
}

/// The sizes of the parameters of a kernel in bytes; 0 for an unknown size.
fn parameter_sizes(module: &Module, kernel: &str) -> Vec<u64> {
    let Some(id) = module.function(kernel) else {
        return Vec::new();
    };
    let params = module.functions()[id].interface.params;
    params
        .of(module.params())
        .iter()
        .map(|p| p.layout(module.pool()).and_then(|l| l.size).unwrap_or(0))
        .collect()
}

/// Writes data to the variables of a module that hold zeros, as the host may do before a launch.
pub fn fill_variables(machine: &mut Machine<'_>, module: &Module, seed: u64) {
    for (index, name) in (0..).zip(variables(module)) {
        let Some((address, size)) = machine.variable(name) else {
            continue;
        };
        let old = machine.read(address, size as usize).unwrap_or_default();
        if old.iter().all(|byte| *byte == 0) {
            let new: Vec<u8> = content(seed + index)
                .into_iter()
                .cycle()
                .take(old.len())
                .collect();
            let _ = machine.write(address, &new);
        }
    }
}

/// The names of the variables of a module.
fn variables(module: &Module) -> impl Iterator<Item = &str> {
    module
        .symbols()
        .values()
        .filter(|symbol| matches!(symbol.kind, SymbolKind::Variable(..)))
        .map(|symbol| module.name(symbol.name))
}

/// Runs a kernel: 8 bytes of its parameters are a pointer to a buffer, fewer are a small number.
pub fn observe(module: &Module, kernel: &str, seed: u64) -> Seen {
    observe_within(module, kernel, seed, STEPS)
}

/// Whether a kernel has a data race, so that its effects depend on the order of its threads.
pub fn has_race(module: &Module, kernel: &str, seed: u64) -> bool {
    let mut machine = Machine::new(module);
    let (launch, _) = prepare(&mut machine, module, kernel, seed);
    let mut launch = launch.check(Checker::Racecheck);
    launch.limits.steps = STEPS;
    let _ = machine.launch(&launch);
    !machine.reports().is_empty()
}

/// A launch with buffers, and the addresses of these.
fn prepare(
    machine: &mut Machine<'_>,
    module: &Module,
    kernel: &str,
    seed: u64,
) -> (Launch, Vec<u64>) {
    let shape = Shape::new([2, 1, 1], [64, 1, 1]);
    launch_of(machine, module, kernel, seed, &shape)
}

/// The CTAs and threads of a launch.
#[derive(Copy, Clone, Debug)]
pub struct Shape {
    grid: [u32; 3],
    block: [u32; 3],
    cluster: [u32; 3],
    /// The offset of the pointers from the starts of the buffers.
    offset: u64,
}

impl Shape {
    pub const fn new(grid: [u32; 3], block: [u32; 3]) -> Self {
        Self::clusters(grid, block, [1; 3])
    }

    pub const fn clusters(grid: [u32; 3], block: [u32; 3], cluster: [u32; 3]) -> Self {
        Self {
            grid,
            block,
            cluster,
            offset: 0,
        }
    }

    /// Sets the offset of the pointers from the starts of the buffers.
    #[must_use]
    pub const fn with_offset(mut self, bytes: u64) -> Self {
        self.offset = bytes;
        self
    }
}

/// The numbers of threads of a CTA that a kernel requires.
fn required(module: &Module, kernel: &str) -> Option<[u32; 3]> {
    let header = &module.functions()[module.function(kernel)?];
    let mut directives = header
        .interface
        .directives
        .of(module.interface_directives())
        .iter();
    let required = directives.find(|d| d.directive == Directive::Reqntid)?;
    let mut threads = [1; 3];
    for (size, given) in threads.iter_mut().zip(module.pool().slice(required.args)) {
        *size = u32::try_from(module.pool().integer(*given)?).ok()?;
    }
    Some(threads)
}

/// A launch of a shape with buffers, and the addresses of these. A number of threads that the kernel requires replaces that of the shape.
pub fn launch_of(
    machine: &mut Machine<'_>,
    module: &Module,
    kernel: &str,
    seed: u64,
    shape: &Shape,
) -> (Launch, Vec<u64>) {
    let allocation = machine.allocate(2 * ALIGN).unwrap_or(0);
    let start = (allocation + MARGIN).next_multiple_of(ALIGN);
    let mut launch = Launch::new(kernel);
    (launch.grid, launch.cluster) = (shape.grid, shape.cluster);
    launch.block = required(module, kernel).unwrap_or(shape.block);
    // Arrays in shared memory are too small for some of the arguments.
    launch.shared = 32 << 10;
    let mut buffers = Vec::new();
    for (index, size) in (0..).zip(parameter_sizes(module, kernel)) {
        let mut bytes = Vec::new();
        while (bytes.len() as u64) + 8 <= size {
            let address = start + buffers.len() as u64 % 256 * BUFFER;
            buffers.push(address);
            let _ = machine.write(address, &content(seed + index));
            bytes.extend((address + shape.offset).to_le_bytes());
        }
        let number = match seed / SEEDS {
            0 => 1 + (seed + index) % 37,
            // Close to the numbers of threads of CTAs.
            4 => 30 + (seed + index) * 29 % 200,
            // Of any magnitude.
            5 => {
                let minimum = 32 << ((seed + 3 * index) % 9);
                minimum + (seed + index).wrapping_mul(0x9e37_79b9) % minimum
            }
            kind => (seed + index).wrapping_mul(0x9e37_79b9) >> (4 * kind) & 0xfff,
        };
        let len = (size as usize - bytes.len()).min(8);
        bytes.extend(&number.to_le_bytes()[..len]);
        launch = launch.argument(bytes);
    }
    (launch, buffers)
}

/// The same with a limit of steps.
pub fn observe_within(module: &Module, kernel: &str, seed: u64, steps: u64) -> Seen {
    let mut machine = Machine::new(module);
    let (mut launch, buffers) = prepare(&mut machine, module, kernel, seed);
    launch.limits.steps = steps;
    let starts: Vec<(String, Vec<u8>)> = variables(module)
        .filter_map(|name| {
            let (address, size) = machine.variable(name)?;
            Some((name.to_owned(), machine.read(address, size as usize).ok()?))
        })
        .collect();
    let result = machine.launch(&launch);
    let read = |address: u64, bytes: u64| machine.read(address, bytes as usize).unwrap_or_default();
    let variables = starts
        .into_iter()
        .map(|(name, start)| {
            let (address, size) = machine.variable(&name).unwrap_or((0, 0));
            (name, [start, read(address, size)])
        })
        .collect();
    let (failed, outcome) = match result {
        Ok(outcome) => (None, Some(outcome)),
        Err(error) => (Some(error.reason), None),
    };
    Seen {
        failed,
        steps: outcome.as_ref().map_or(0, |o| o.steps),
        output: outcome.map(|o| o.output).unwrap_or_default(),
        buffers: buffers
            .iter()
            .map(|&address| read(address, BUFFER))
            .collect(),
        variables,
    }
}
