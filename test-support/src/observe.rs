//! Runs the kernels of any module with arguments that fit most kernels, and tells what they leave in memory.

use std::collections::BTreeMap;

use ptx_ir::{Module, SymbolKind};
use ptx_isa::Directive;
use ptx_vm::{Checker, Launch, Machine, StopReason};

/// Bytes of the buffer of each argument.
pub const BUFFER: u64 = 16 << 10;
/// Bytes before and after the buffers that memory has, too.
const MARGIN: u64 = 64 << 20;
/// The buffers begin at a multiple of it, whatever variables the module has.
const ALIGN: u64 = 1 << 30;
/// Instructions of warps after which a run ends.
const STEPS: u64 = 20_000;

/// What a launch did that others can see.
#[derive(Clone, PartialEq, Debug)]
pub struct Seen {
    /// Why it ended, unless it came to its end.
    pub failed: Option<StopReason>,
    /// The executed instructions of warps; only known at the end.
    pub steps: u64,
    /// What `printf` wrote; only known at the end.
    output: Vec<u8>,
    /// What the buffers of the arguments hold.
    buffers: Vec<Vec<u8>>,
    /// What the variables of the module held before and after.
    variables: BTreeMap<String, [Vec<u8>; 2]>,
}

/// The bits of the addresses of functions above the number of the function.
const CODE: u64 = 0x7300_0000_0000;

impl Seen {
    /// Clears the addresses of functions in variables: they follow the ids of the functions, which differ between an edited module and its text.
    pub fn without_function_addresses(&mut self) {
        for bytes in self.variables.values_mut().flatten() {
            for word in bytes.chunks_exact_mut(8) {
                let value = word
                    .iter()
                    .rev()
                    .fold(0, |all, byte| all << 8 | u64::from(*byte));
                if value >> 16 == CODE >> 16 {
                    word.fill(0);
                }
            }
        }
    }
}

impl Seen {
    /// Whether the kernel came to its end.
    pub fn is_done(&self) -> bool {
        self.failed.is_none()
    }

    /// Whether a rewritten kernel does what this one does. An instruction that nothing needs may be gone, and so may an error of it; of endless
    /// loops nothing is known.
    pub fn agrees(&self, rewritten: &Self) -> bool {
        match &self.failed {
            Some(StopReason::StepLimit) => true,
            failed if *failed == rewritten.failed => self.same_memory(rewritten),
            Some(
                StopReason::OutOfBounds(_) | StopReason::Misaligned(_) | StopReason::Unsupported(_),
            ) => true,
            _ => false,
        }
    }

    /// Whether both left the same in memory. Variables that nothing uses may be gone, and those that began with other addresses of functions
    /// are not compared.
    fn same_memory(&self, rewritten: &Self) -> bool {
        let mut variables = rewritten.variables.iter();
        self.buffers == rewritten.buffers
            && self.output == rewritten.output
            && variables.all(|(name, [start, end])| match self.variables.get(name) {
                Some([old, then]) if old == start => then == end,
                _ => true,
            })
    }
}

/// Numbers that follow from a seed.
fn numbers(seed: u64) -> impl Iterator<Item = u32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as u32
    })
}

/// Seeds of one kind of data.
pub const SEEDS: u64 = 64;

/// Words that are small as integers, or numbers near 1; for seeds from [`SEEDS`] on any words, then numbers of any size in 32 and in 64 bits, then few
/// different words, and at last numbers of moderate size in 16 and in 32 bits.
pub fn content(seed: u64) -> Vec<u8> {
    let mut random = numbers(seed);
    let mut word = |at: u64| {
        let n = random.next().unwrap_or(0);
        match (seed / SEEDS, seed % 2) {
            (0, 0) => n % 61,
            (0, _) => 0x3f00_0000 | n & 0x00ff_ffff,
            (2, _) => n << 8 & 0x8000_0000 | (96 + n % 64) << 23 | n >> 1,
            (3, _) if at % 2 == 1 => n << 8 & 0x8000_0000 | (960 + n % 128) << 20 | n >> 4,
            (4, _) => n % 4,
            (5, _) => n << 8 & 0x8000_8000 | (0x3000_2000 + (n << 4 & 0x0fff_1fff)),
            _ => n << 8 ^ random.next().unwrap_or(0),
        }
    };
    let words = (0..BUFFER / 4).map(&mut word);
    words.flat_map(u32::to_le_bytes).collect()
}

/// The bytes of the parameters of a kernel.
fn parameters(module: &Module, kernel: &str) -> Vec<u64> {
    let id = module.function(kernel);
    let params = id.map(|id| module.functions()[id].interface.params);
    let params = params.into_iter().flat_map(|p| p.of(module.params()));
    let size = |p: &ptx_ir::Param| p.layout(module.pool()).and_then(|l| l.size);
    params.map(|p| size(p).unwrap_or(0)).collect()
}

/// Writes data to the variables of a module that hold zeros, as the host may do before a launch.
pub fn fill_variables(machine: &mut Machine<'_>, module: &Module, seed: u64) {
    for (nth, name) in (0..).zip(variables(module)) {
        let Some((at, size)) = machine.variable(name) else {
            continue;
        };
        let old = machine.read(at, size as usize).unwrap_or_default();
        if old.iter().all(|byte| *byte == 0) {
            let words = content(seed + nth);
            let bytes: Vec<u8> = words.iter().copied().cycle().take(old.len()).collect();
            let _ = machine.write(at, &bytes);
        }
    }
}

/// The names of the variables of a module.
fn variables(module: &Module) -> impl Iterator<Item = &str> {
    let symbols = module.symbols().iter();
    let is_variable = |kind: SymbolKind| matches!(kind, SymbolKind::Variable(..));
    symbols
        .filter(move |(_, symbol)| is_variable(symbol.kind))
        .map(|(_, symbol)| module.name(symbol.name))
}

/// Runs a kernel: 8 bytes of its parameters are a pointer to a buffer, fewer are a small number.
pub fn observe(module: &Module, kernel: &str, seed: u64) -> Seen {
    observe_within(module, kernel, seed, STEPS)
}

/// Whether a kernel has a data race, so that what it does depends on the order of its threads.
pub fn has_race(module: &Module, kernel: &str, seed: u64) -> bool {
    let mut machine = Machine::new(module);
    let (launch, _) = prepare(&mut machine, module, kernel, seed);
    let mut launch = launch.check(Checker::Racecheck);
    launch.limits.steps = STEPS;
    let _ = machine.launch(&launch);
    !machine.reports().is_empty()
}

/// A launch with buffers, and their addresses.
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
    /// How far pointers are from the beginnings of the buffers.
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

    /// With pointers that are as far from the beginnings of the buffers.
    #[must_use]
    pub const fn with_offset(mut self, bytes: u64) -> Self {
        self.offset = bytes;
        self
    }
}

/// The threads of a CTA that a kernel requires.
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

/// A launch of a shape with buffers, and their addresses. A required number of threads is respected.
pub fn launch_of(
    machine: &mut Machine<'_>,
    module: &Module,
    kernel: &str,
    seed: u64,
    shape: &Shape,
) -> (Launch, Vec<u64>) {
    let all = machine.allocate(2 * ALIGN).unwrap_or(0);
    let start = (all + MARGIN).next_multiple_of(ALIGN);
    let mut launch = Launch::new(kernel);
    (launch.grid, launch.cluster) = (shape.grid, shape.cluster);
    launch.block = required(module, kernel).unwrap_or(shape.block);
    // Arrays in shared memory are too small for some of the arguments.
    launch.shared = 32 << 10;
    let mut buffers = Vec::new();
    for (nth, size) in (0..).zip(parameters(module, kernel)) {
        let mut bytes = Vec::new();
        while (bytes.len() as u64) + 8 <= size {
            let at = start + buffers.len() as u64 % 256 * BUFFER;
            buffers.push(at);
            let _ = machine.write(at, &content(seed + nth));
            bytes.extend((at + shape.offset).to_le_bytes());
        }
        let number = match seed / SEEDS {
            0 => 1 + (seed + nth) % 37,
            // As many as the threads of some CTAs.
            4 => 30 + (seed + nth) * 29 % 200,
            // Of any magnitude.
            5 => {
                let least = 32 << ((seed + 3 * nth) % 9);
                least + (seed + nth).wrapping_mul(0x9e37_79b9) % least
            }
            kind => (seed + nth).wrapping_mul(0x9e37_79b9) >> (4 * kind) & 0xfff,
        };
        let left = (size as usize - bytes.len()).min(8);
        bytes.extend(&number.to_le_bytes()[..left]);
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
            let (at, size) = machine.variable(name)?;
            Some((name.to_owned(), machine.read(at, size as usize).ok()?))
        })
        .collect();
    let result = machine.launch(&launch);
    let read = |at: u64, bytes: u64| machine.read(at, bytes as usize).unwrap_or_default();
    let both = |(name, start): (String, Vec<u8>)| {
        let (at, size) = machine.variable(&name).unwrap_or((0, 0));
        (name, [start, read(at, size)])
    };
    let (failed, outcome) = match result {
        Ok(outcome) => (None, Some(outcome)),
        Err(error) => (Some(error.reason), None),
    };
    Seen {
        failed,
        steps: outcome.as_ref().map_or(0, |o| o.steps),
        output: outcome.map(|o| o.output).unwrap_or_default(),
        buffers: buffers.iter().map(|&at| read(at, BUFFER)).collect(),
        variables: starts.into_iter().map(both).collect(),
    }
}
