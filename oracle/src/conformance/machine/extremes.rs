//! Random kernels of accepted instructions with extreme operands, in extreme launches: each ends within the limits of time and memory.
//!
//! `PTXKIT_CASES` asks for another number of kernels.

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
use super::aliases::{PART, Register, registers};
use crate::sample::{cases, seed};
use test_support::corpus;

/// The limit of memory, and that of time.
const MEMORY: u64 = 64 << 20;
const TIME: Duration = Duration::from_millis(250);
/// How much later a launch may end on a machine that does other things, too.
const LATE: Duration = Duration::from_secs(6);

/// Values of operands, among them addresses.
const VALUES: [u64; 30] = [
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
    0x7000_0000_0000,
    0x7100_0000_0000,
    0x7200_0000_0000,
    0x7300_0000_0000,
    1 << 63,
    u64::MAX - 15,
    u64::MAX,
];

fn pick<T: Copy>(rng: &mut Rng, all: &[T]) -> T {
    all[rng.usize(..all.len())]
}

/// A kernel that executes some lines after it loaded their registers from `[DATA]`; each register has its own value.
fn kernel(place: (&Set, Target, Setting), lines: &[&str], rng: &mut Rng) -> String {
    let mut body = String::new();
    let mut all: Vec<Register> = Vec::new();
    for (register, ..) in lines.iter().flat_map(|line| registers(line)) {
        if !all.contains(&register) {
            all.push(register);
        }
    }
    for register in &all {
        let at = rng.usize(..PARTS) * PART;
        body += &register.load(&format!("init_p+{at}"));
    }
    let repeated = rng.u8(..3) == 0;
    let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
    match repeated {
        true => {
            let _ = write!(body, "init_again: {lines}bra init_again;");
        }
        false => body += &lines,
    }
    let (set, target, setting) = place;
    let text = Module::new(set.newest(), target, setting, std::iter::once(&*body)).text;
    let declared = ".reg .b32 init_r; .reg .b64 init_p; ld.param.u64 init_p, [v_param_entry_b8];\n";
    let entry = text.find(".entry main(").unwrap_or(0);
    let name = text[entry..]
        .split(['[', ' '])
        .find(|w| w.starts_with("v_"));
    let declared = declared.replace("v_param_entry_b8", name.unwrap_or_default());
    let open = text[entry..].find("\n{").map_or(0, |at| entry + at + 3);
    format!("{}{declared}{}", &text[..open], &text[open..])
}

/// Values in memory, of which registers get theirs.
const PARTS: usize = 64;

fn data(machine: &mut Machine<'_>, rng: &mut Rng) -> u64 {
    let data = machine.allocate((PARTS * PART) as u64).unwrap_or(0);
    let mut values: Vec<u64> = VALUES.to_vec();
    values.extend([data, data + 64]);
    values.extend(machine.variable("v_global_b8").map(|(at, _)| at));
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

/// The most memory that this process had since the last call, in bytes; where the operating system tells.
fn most_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|l| l.split_whitespace().next());
    kilobytes
        .and_then(|n| n.parse().ok())
        .map_or(0, |n: u64| n << 10)
}

/// Runs a kernel; why it ended, or what it used too much of.
fn run(
    name: &str,
    mut machine: Machine<'_>,
    arguments: impl Fn(&mut Machine<'_>, &mut Rng) -> Vec<Vec<u8>>,
    rng: &mut Rng,
) -> Result<Option<StopReason>, String> {
    machine.limit_memory(MEMORY);
    let arguments = arguments(&mut machine, rng);
    let launch = launch(name, arguments, rng);
    most_memory();
    let before = most_memory();
    let start = Instant::now();
    let ended = machine.launch(&launch);
    let (taken, used) = (start.elapsed(), most_memory());
    let more = used.saturating_sub(before);
    if taken > TIME + LATE || more > 2 * MEMORY {
        return Err(format!("{taken:?}, {} MiB: {launch:?}", more >> 20));
    }
    Ok(ended.err().map(|error| error.reason))
}

/// The accepted lines of a set on a target.
fn accepted(all: &[Verdict], target: Target, setting: Setting) -> Vec<&str> {
    let fits = |v: &&Verdict| v.setting == setting && v.targets.contains(&target);
    all.iter().filter(fits).map(|v| &*v.line).collect()
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
    let mut wrong: Vec<String> = Vec::new();
    for (nth, (set, target)) in places.into_iter().enumerate() {
        let verdicts = set.read().unwrap();
        let lines = accepted(&verdicts, target, Setting::Plain);
        for case in 0..count / places.len() {
            let seed = (seed() + 1).wrapping_mul(1_000_003);
            let mut rng = Rng::with_seed(seed.wrapping_add((4 * case + nth) as u64));
            let chosen = 1 + rng.usize(..4);
            let chosen: Vec<&str> = (0..chosen).map(|_| pick(&mut rng, &lines)).collect();
            let text = kernel((set, target, Setting::Plain), &chosen, &mut rng);
            let parsed = ptx_parse::parse_str(&text);
            let is_error = |d: &ptx_ir::Diagnostic| d.severity == Severity::Error;
            if parsed.diagnostics.iter().any(is_error) {
                continue;
            }
            ran += 1;
            let launched = AssertUnwindSafe(|| {
                let argument = |machine: &mut Machine<'_>, rng: &mut Rng| {
                    let mut argument = data(machine, rng).to_le_bytes().to_vec();
                    argument.resize(1024, 0xff);
                    vec![argument]
                };
                run("main", Machine::new(&parsed.module), argument, &mut rng)
            });
            let ended = std::panic::catch_unwind(launched);
            let ended = ended.unwrap_or_else(|_| Err("panicked".into()));
            match ended {
                Ok(Some(StopReason::Launch(_))) => {}
                Ok(_) => performed += 1,
                Err(what) => wrong.push(format!("{what}: {chosen:#?}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{}: {}", wrong.len(), wrong.join("\n"));
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
    let mut all = Vec::new();
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
        all.push(bytes);
    }
    all
}

fn buffer(machine: &mut Machine<'_>, rng: &mut Rng) -> u64 {
    let bytes = pick(rng, &[16u64, 4096, 1 << 16, 1 << 30]);
    let at = machine.allocate(bytes).unwrap_or(0);
    if rng.bool() {
        let random: Vec<u8> = (0..bytes.min(1 << 16)).map(|_| rng.u8(..)).collect();
        let _ = machine.write(at, &random);
    }
    machine.set_written(at, bytes);
    at
}

/// Each kernel of valid files, launched with any arguments.
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
    let (most, mut ran, mut performed) = (cases(100), 0, 0);
    let mut wrong: Vec<String> = Vec::new();
    'files: for path in files.iter().cycle().take(20 * most) {
        let Ok(source) = std::fs::read(path) else {
            continue;
        };
        let parsed = ptx_parse::parse(&source);
        let is_error = |d: &ptx_ir::Diagnostic| d.severity == Severity::Error;
        if parsed.diagnostics.iter().any(is_error) {
            continue;
        }
        let kernels = parsed.module.definitions();
        let kernels = kernels.filter(|(_, f, _)| f.kind == ptx_ir::FunctionKind::Entry);
        for (id, function, _) in kernels.take(4) {
            if ran == most {
                break 'files;
            }
            ran += 1;
            let name = parsed.module.name(function.name);
            let launched = AssertUnwindSafe(|| {
                let machine = Machine::new(&parsed.module);
                let all = |machine: &mut Machine<'_>, rng: &mut Rng| {
                    arguments(machine, &parsed.module, id, rng)
                };
                run(name, machine, all, &mut rng)
            });
            let ended = std::panic::catch_unwind(launched);
            match ended.unwrap_or_else(|_| Err("panicked".into())) {
                Ok(Some(StopReason::Launch(_))) => {}
                Ok(_) => performed += 1,
                Err(what) => wrong.push(format!("{}: {name}: {what}", path.display())),
            }
        }
    }
    assert!(wrong.is_empty(), "{}: {}", wrong.len(), wrong.join("\n"));
    println!("{ran} kernels, {performed} of them in a possible launch");
    assert_eq!(ran, most);
}
