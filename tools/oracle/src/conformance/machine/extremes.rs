//! Random kernels of accepted instructions with extreme operands, in extreme launches: each ends within the limits of time and memory.
//!
//! `PTXKIT_CASES` sets the number of kernels.

use std::fmt::Write as _;
use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use fastrand::Rng;
use ptx_ir::{FuncId, Module as Parsed, Severity};
use ptx_isa::Target;
use ptx_vm::{Checks, Launch, Machine, Schedule, StopReason};

use super::super::case::Setting;
use super::super::preamble::Module;
use super::super::verdicts::{BASE, NEWER, Set, Verdict};
use super::aliases::{Mention, PART, Register, registers};
use crate::sample::{cases, seed};
use test_support::corpus;

/// The limits of memory and time of a launch.
const MEMORY: u64 = 64 << 20;
const TIME: Duration = Duration::from_millis(250);
/// The tolerance for the time of a launch while the machine runs other tests.
const TIME_TOLERANCE: Duration = Duration::from_secs(6);

/// Values of operands, among them addresses.
const VALUES: [u64; 32] = [
    0,
    1,
    2,
    4,
    8,
    16,
    31,
    32,
    63,
    64,
    128,
    0x400,
    0x7fff,
    0xffff,
    0xf_ffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_fff0,
    0xffff_ffff,
    0x7f80_0000,
    0x7fc0_0000,
    0x1000_0000,
    0x1000_0100,
    0x6000_0000_0000,
    0x6000_0000_0100,
    0x7000_0000_0000,
    0x7100_0000_0000,
    0x7200_0000_0000,
    0x7300_0000_0000,
    1 << 63,
    u64::MAX - 15,
    u64::MAX,
];

fn pick<T: Copy>(rng: &mut Rng, choices: &[T]) -> T {
    choices[rng.usize(..choices.len())]
}

fn has_errors(parsed: &ptx_parse::Parsed) -> bool {
    parsed
        .diagnostics
        .iter()
        .any(|d| d.severity == Severity::Error)
}

/// A kernel that loads the registers of some lines, each from a random place in its buffer, and then executes the lines.
fn kernel(place: (&Set, Target, Setting), lines: &[&str], rng: &mut Rng) -> String {
    let mut body = String::new();
    let mut line_registers: Vec<Register> = Vec::new();
    for Mention { register, .. } in lines.iter().flat_map(|line| registers(line)) {
        if !line_registers.contains(&register) {
            line_registers.push(register);
        }
    }
    for register in &line_registers {
        let offset = rng.usize(..PARTS) * PART;
        body += &register.load(&format!("init_p+{offset}"));
    }
    let is_endless = rng.u8(..3) == 0;
    let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
    if is_endless {
        let _ = write!(body, "init_again: {lines}bra init_again;");
    } else {
        body += &lines;
    }
    let (set, target, setting) = place;
    let text = Module::new(set.newest(), target, setting, std::iter::once(&*body)).text;
    let declared = ".reg .b32 init_r; .reg .b64 init_p; ld.param.u64 init_p, [v_param_entry_b8];\n";
    let entry = text.find(".entry main(").unwrap_or(0);
    let name = text[entry..]
        .split(['[', ' '])
        .find(|w| w.starts_with("v_"));
    let declared = declared.replace("v_param_entry_b8", name.unwrap_or_default());
    let open = text[entry..].find("\n{").map_or(0, |end| entry + end + 3);
    format!("{}{declared}{}", &text[..open], &text[open..])
}

/// The number of places in memory from which registers are loaded.
const PARTS: usize = 64;

fn data(machine: &mut Machine<'_>, rng: &mut Rng) -> u64 {
    let data = machine.allocate((PARTS * PART) as u64).unwrap_or(0);
    let mut values: Vec<u64> = VALUES.to_vec();
    values.extend([data, data + 64]);
    values.extend(machine.variable("v_global_b8").map(|(address, _)| address));
    let mut bytes = Vec::new();
    for _ in 0..PARTS * PART / 8 {
        let value = pick(rng, &values);
        let halves = [value as u32, pick(rng, &values) as u32];
        match rng.u8(..3) {
            0 => bytes.extend(halves.into_iter().flat_map(u32::to_le_bytes)),
            _ => bytes.extend(value.to_le_bytes()),
        }
    }
    machine.write(data, &bytes).unwrap();
    data
}

/// A launch of any shape.
fn launch(kernel: &str, arguments: Vec<Vec<u8>>, rng: &mut Rng) -> Launch {
    let mut launch = Launch::new(kernel);
    launch.arguments = arguments;
    launch.grid = match rng.u8(..6) {
        0 => [i32::MAX as u32, 1, 1],
        1 => [i32::MAX as u32, 65_535, 65_535],
        2 => [4, 2, 2],
        _ => [pick(rng, &[1, 2, 8, 1000]), 1, 1],
    };
    launch.block = match rng.u8(..6) {
        0 => [4, 4, 64],
        1 => [u32::MAX, 1, 1],
        _ => [pick(rng, &[1, 31, 32, 33, 64, 1024]), 1, 1],
    };
    if rng.u8(..4) == 0 {
        launch.cluster = pick(rng, &[[2, 1, 1], [8, 1, 1], [2, 2, 2], [u32::MAX, 2, 1]]);
    }
    launch.shared = pick(rng, &[0, 0, 0, 1024, 200 << 10, u32::MAX]);
    launch.limits.memory_bytes = MEMORY;
    launch.limits.time = Some(TIME);
    if rng.u8(..4) == 0 {
        launch.limits.heap_bytes = pick(rng, &[0, 1, 1 << 30, u64::MAX]);
        launch.limits.stack_bytes = pick(rng, &[0, 512 << 10, 1 << 40, u64::MAX]);
        launch.limits.resident_clusters = pick(rng, &[1, 64, 1 << 20]);
        launch.limits.shared_bytes = pick(rng, &[48 << 10, u64::MAX]);
        launch.limits.call_depth = pick(rng, &[0, 4096, u32::MAX]);
    }
    if rng.u8(..3) == 0 {
        let names = ["memcheck", "initcheck", "synccheck", "racecheck"];
        let checkers = names.iter().filter(|_| rng.bool());
        launch.checks = checkers
            .map(|name| name.parse().unwrap())
            .collect::<Checks>();
    }
    launch.schedule = match rng.u8(..8) {
        0 => Some(Schedule::Seed(rng.u64(..))),
        1 => Some(Schedule::StarveWarp(0)),
        2 => Some(Schedule::DelayBlock(0)),
        _ => None,
    };
    launch.profile = rng.u8(..8) == 0;
    launch.shared_seed = Some(7).filter(|_| rng.bool());
    launch
}

/// The peak memory of this process since the last call in bytes; 0 if the operating system does not report it.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .and_then(|line| line.split_whitespace().next()?.parse().ok())
        .map_or(0, |kilobytes: u64| kilobytes << 10)
}

/// Runs a kernel. Returns the reason for which it ended early, if it did. The error describes a launch that exceeded a limit.
fn run(
    name: &str,
    mut machine: Machine<'_>,
    arguments: impl Fn(&mut Machine<'_>, &mut Rng) -> Vec<Vec<u8>>,
    rng: &mut Rng,
) -> Result<Option<StopReason>, String> {
    machine.limit_memory(MEMORY);
    let arguments = arguments(&mut machine, rng);
    let launch = launch(name, arguments, rng);
    // The first call ends the period of earlier launches.
    peak_memory();
    let initial_memory = peak_memory();
    let start = Instant::now();
    let result = machine.launch(&launch);
    let time = start.elapsed();
    let used_memory = peak_memory().saturating_sub(initial_memory);
    if time > TIME + TIME_TOLERANCE || used_memory > 2 * MEMORY {
        return Err(format!("{time:?}, {} MiB: {launch:?}", used_memory >> 20));
    }
    Ok(result.err().map(|error| error.reason))
}

/// The accepted lines of a set on a target.
fn accepted(verdicts: &[Verdict], target: Target, setting: Setting) -> Vec<&str> {
    verdicts
        .iter()
        .filter(|v| v.setting == setting && v.targets.contains(&target))
        .map(|v| &*v.line)
        .collect()
}

#[test]
fn accepted_instructions_with_extreme_operands_end() {
    let places = [
        (&BASE, Target::Sm90a),
        (&BASE, Target::Sm100a),
        (&BASE, Target::Sm120a),
        (&NEWER, Target::Sm107a),
    ];
    let count = cases(200);
    let (mut ran, mut performed) = (0, 0);
    let mut failures: Vec<String> = Vec::new();
    for (index, (set, target)) in places.into_iter().enumerate() {
        let verdicts = set.read().unwrap();
        let lines = accepted(&verdicts, target, Setting::Plain);
        for case in 0..count / places.len() {
            let seed = (seed() + 1).wrapping_mul(1_000_003);
            let mut rng = Rng::with_seed(seed.wrapping_add((4 * case + index) as u64));
            let line_count = 1 + rng.usize(..4);
            let chosen: Vec<&str> = (0..line_count).map(|_| pick(&mut rng, &lines)).collect();
            let text = kernel((set, target, Setting::Plain), &chosen, &mut rng);
            let parsed = ptx_parse::parse_str(&text);
            if has_errors(&parsed) {
                continue;
            }
            ran += 1;
            let run = AssertUnwindSafe(|| {
                let argument = |machine: &mut Machine<'_>, rng: &mut Rng| {
                    let mut argument = data(machine, rng).to_le_bytes().to_vec();
                    argument.resize(1024, 0xff);
                    vec![argument]
                };
                run("main", Machine::new(&parsed.module), argument, &mut rng)
            });
            let result = std::panic::catch_unwind(run);
            match result.unwrap_or_else(|_| Err("panicked".into())) {
                Ok(Some(StopReason::Launch(_))) => {}
                Ok(_) => performed += 1,
                Err(error) => failures.push(format!("{error}: {chosen:#?}")),
            }
        }
    }
    assert!(
        failures.is_empty(),
        "{}: {}",
        failures.len(),
        failures.join("\n")
    );
    println!("{ran} kernels, {performed} of them in a possible launch");
    assert!(
        ran * 10 > count * 9 && performed * 3 > ran,
        "{ran} of {count}, {performed}"
    );
}

/// The parameters of a kernel with numbers that are extreme, and buffers of zeros or of random bytes.
fn arguments(
    machine: &mut Machine<'_>,
    parsed: &Parsed,
    id: FuncId,
    rng: &mut Rng,
) -> Vec<Vec<u8>> {
    let params = parsed.functions()[id].interface.params;
    let mut arguments = Vec::new();
    for param in params.of(parsed.params()) {
        let size = param.layout(parsed.pool()).and_then(|l| l.size);
        let size = size.unwrap_or(0);
        let mut bytes = Vec::new();
        while (bytes.len() as u64) < size.min(1 << 16) {
            let value = match rng.u8(..4) {
                0 => pick(rng, &VALUES),
                1 => rng.u64(..64),
                _ if size % 8 == 0 => buffer(machine, rng),
                _ => rng.u64(..),
            };
            bytes.extend(value.to_le_bytes());
        }
        bytes.truncate(size as usize);
        arguments.push(bytes);
    }
    arguments
}

fn buffer(machine: &mut Machine<'_>, rng: &mut Rng) -> u64 {
    let bytes = pick(rng, &[16u64, 4096, 1 << 16, 1 << 30]);
    let address = machine.allocate(bytes).unwrap_or(0);
    if rng.bool() {
        let random: Vec<u8> = (0..bytes.min(1 << 16)).map(|_| rng.u8(..)).collect();
        let _ = machine.write(address, &random);
    }
    machine.set_written(address, bytes);
    address
}

/// The kernels of valid files with extreme arguments.
#[test]
#[ignore = "needs ../shared/corpus"]
fn kernels_of_files_with_extreme_arguments_end() {
    let mut files = Vec::new();
    for folder in [corpus::own(), corpus::shared()] {
        files.extend(corpus::entries(&folder).into_iter().map(|entry| entry.path));
    }
    files.retain(|path| std::fs::metadata(path).is_ok_and(|m| m.len() < 100_000));
    let mut rng = Rng::with_seed(seed() + 1);
    rng.shuffle(&mut files);
    let count = cases(100);
    let (mut ran, mut performed) = (0, 0);
    let mut failures: Vec<String> = Vec::new();
    'files: for path in files.iter().cycle().take(20 * count) {
        let Ok(source) = std::fs::read(path) else {
            continue;
        };
        let parsed = ptx_parse::parse(&source);
        if has_errors(&parsed) {
            continue;
        }
        let kernels = parsed
            .module
            .definitions()
            .filter(|(_, f, _)| f.kind == ptx_ir::FunctionKind::Entry);
        for (id, function, _) in kernels.take(4) {
            if ran == count {
                break 'files;
            }
            ran += 1;
            let name = parsed.module.name(function.name);
            let run = AssertUnwindSafe(|| {
                let machine = Machine::new(&parsed.module);
                let arguments = |machine: &mut Machine<'_>, rng: &mut Rng| {
                    arguments(machine, &parsed.module, id, rng)
                };
                run(name, machine, arguments, &mut rng)
            });
            let result = std::panic::catch_unwind(run);
            match result.unwrap_or_else(|_| Err("panicked".into())) {
                Ok(Some(StopReason::Launch(_))) => {}
                Ok(_) => performed += 1,
                Err(error) => failures.push(format!("{}: {name}: {error}", path.display())),
            }
        }
    }
    assert!(
        failures.is_empty(),
        "{}: {}",
        failures.len(),
        failures.join("\n")
    );
    println!("{ran} kernels, {performed} of them in a possible launch");
    assert_eq!(ran, count);
}
