//! What `ptx_analysis::uniformity` says against what happens when kernels run: nothing that it calls uniform ever differs.
//!
//! All kernels of the corpora that the machine runs, and random ones, in several shapes of launches. The test of all of them is ignored: it takes minutes.
//!
//! The analysis assumes that programs have no data race, but with the arguments of these launches, some kernels have one: each pointer is to a separate buffer,
//! but numbers that are sizes in the kernel are not those of the buffers. A kernel in which something differs that is called uniform runs again with `racecheck`.
//! If that reports a race, the kernel is left out, and named.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

#[path = "../../../ptx-print/tests/common/corpus.rs"]
#[allow(dead_code, reason = "other tests need more of it")]
mod files;
mod instances;
#[path = "../common/observe.rs"]
#[allow(dead_code, reason = "other tests need more of it")]
mod launches;
mod missed;
mod observed;
#[path = "../common/random/mod.rs"]
mod random;
mod random_kernels;
mod tally;

use std::sync::{Arc, Mutex};

use launches::{BUFFER, SEEDS, Shape, fill_variables, launch_of};
use observed::Observer;
use ptx_analysis::uniformity::ModuleUniformity;
use ptx_ir::facts::ModuleFacts;
use ptx_ir::{FunctionKind, Module};
use ptx_vm::{Checker, Launch, Machine, RunOptions};
use tally::Tally;

/// Shapes of launches; kernels with a required size of CTAs have the other dimensions of these.
const SHAPES: [Shape; 6] = [
    Shape::new([2, 2, 2], [10, 3, 3]),
    Shape::new([3, 1, 2], [33, 3, 1]),
    // As many warps as a CTA may have: those that reduce a value over the warps use all of their lanes.
    Shape::new([2, 1, 1], [1024, 1, 1]),
    // A warp in which the first index begins again after a large number.
    Shape::new([2, 1, 2], [270, 2, 1]),
    Shape::clusters([4, 2, 1], [20, 3, 2], [2, 2, 1]),
    Shape::clusters([4, 1, 1], [64, 1, 1], [2, 1, 1]),
];

/// The shape of further launches with many different sizes as arguments, which run for longer: what depends on whether an index is below a size would not differ
/// without them.
const SIZED: Shape = Shape::new([2, 1, 1], [64, 2, 1]);
const SIZES: u64 = 16;

/// Instructions of each warp after which a run ends.
const STEPS: u64 = 200;

/// How many times the data of the buffers is repeated after the last one, at other places: kernels read there with large numbers as arguments.
const REPEATED: u64 = 8;

/// How many parts the files are divided into, of which CI checks one.
const PARTS: usize = 12;

/// The number in `PTXKIT_SEED`, which CI sets.
fn given_seed() -> u64 {
    let given = std::env::var("PTXKIT_SEED").ok();
    given.and_then(|seed| seed.parse().ok()).unwrap_or(0)
}

/// All shapes with small numbers, and every second one with each kind of other data, each with a seed; and the launches with sizes.
fn seeds(shapes: &[Shape]) -> impl Iterator<Item = (u64, &Shape)> {
    let start = given_seed() % (SEEDS / 2);
    let others = (1..=4).flat_map(move |kind| {
        let some = shapes.iter().skip(kind % 2).step_by(2);
        (kind as u64 * SEEDS + start..).zip(some)
    });
    let sized = (0..SIZES).map(move |at| (5 * SEEDS + start + at, &SIZED));
    (start + 1..).zip(shapes).chain(others).chain(sized)
}

/// Writes the data of the buffers after the last one.
fn repeat(machine: &mut Machine<'_>, buffers: &[u64]) {
    let (Some(first), Some(last)) = (buffers.first(), buffers.last()) else {
        return;
    };
    let mut bytes = machine.read(*first, BUFFER as usize).unwrap_or_default();
    for at in 1..=REPEATED {
        bytes.rotate_left(4 * (1 + 7 * at as usize));
        let _ = machine.write(last + at * BUFFER, &bytes);
    }
}

/// The warps of a launch.
fn warps(launch: &Launch) -> u64 {
    let product = |sizes: [u32; 3]| sizes.into_iter().map(u64::from).product::<u64>();
    product(launch.grid) * product(launch.block).div_ceil(32)
}

/// A launch with a limit of steps for each warp, or with sizes as many as the kernel has statements and more. With odd seeds, no memory begins with zeros only; with others, warps and CTAs run in a random order.
fn prepare(
    machine: &mut Machine<'_>,
    module: &Module,
    kernel: &str,
    (seed, shape): (u64, &Shape),
    steps: u64,
) -> Launch {
    let is_odd = seed % 2 == 1;
    if is_odd {
        fill_variables(machine, module, seed + 1);
    }
    let (mut launch, buffers) = launch_of(machine, module, kernel, seed, shape);
    repeat(machine, &buffers);
    let body = module.function(kernel).and_then(|id| module.body(id));
    let statements = body.map_or(0, |body| body.statements().count() as u64);
    let steps = match seed / SEEDS {
        5 => steps + statements,
        _ => steps,
    };
    launch.limits.steps = steps * warps(&launch);
    launch.shared_seed = Some(seed).filter(|_| is_odd);
    launch.schedule = Some(seed).filter(|_| !is_odd);
    launch
}

/// Runs the kernels of a module with a limit of steps for each warp, and compares.
fn check(module: &Module, name: &str, steps: u64, shapes: &[Shape]) -> Tally {
    let facts = ModuleFacts::new(module);
    let uniformity = ModuleUniformity::new(&facts);
    let kernels = module.definitions();
    let kernels = kernels.filter(|(_, f, _)| f.kind == FunctionKind::Entry);
    let mut tally = Tally::default();
    for (id, function, _) in kernels {
        let kernel = module.name(function.name);
        let observer = Observer::new(&facts, &uniformity, id);
        for (seed, shape) in seeds(shapes) {
            let mut machine = Machine::new(module);
            let launch = prepare(&mut machine, module, kernel, (seed, shape), steps);
            observer.begin(&launch);
            let options = RunOptions::new().observed_by(&observer);
            let done = machine.launch_with(&launch, options).is_ok();
            observer.end(done);
        }
        let mut found = Tally::default();
        observer.finish(&mut found, &format!("{name}: {kernel}"));
        match found.is_sound() || !has_race(module, kernel, steps, shapes) {
            true => tally.add(found),
            false => tally.exclude(&format!("{name}: {kernel}")),
        }
    }
    tally
}

/// Whether a kernel has a data race in one of the launches. Of such programs nothing is claimed.
fn has_race(module: &Module, kernel: &str, steps: u64, shapes: &[Shape]) -> bool {
    seeds(shapes).any(|(seed, shape)| {
        let mut machine = Machine::new(module);
        let launch = prepare(&mut machine, module, kernel, (seed, shape), steps);
        let launch = launch.check(Checker::Racecheck);
        let _ = machine.launch(&launch);
        !machine.reports().is_empty()
    })
}

/// Checks files on all cores.
fn check_files(files: Vec<files::Entry>, steps: u64, shapes: &[Shape]) -> Tally {
    let work = Mutex::new(files);
    let total = Arc::new(Mutex::new(Tally::default()));
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                loop {
                    let Some(entry) = work.lock().unwrap().pop() else {
                        return;
                    };
                    let module = ptx_parse::parse(&entry.read()).module;
                    let tally = check(&module, &entry.name, steps, shapes);
                    total.lock().unwrap().add(tally);
                }
            });
        }
    });
    let total = total.lock().unwrap();
    total.clone()
}

fn valid(folder: &std::path::Path, most_bytes: u64) -> Vec<files::Entry> {
    let mut all = files::entries(folder);
    all.retain(|e| e.verdict == "ok");
    all.retain(|e| std::fs::metadata(&e.path).is_ok_and(|m| m.len() <= most_bytes));
    all
}

#[test]
fn nothing_called_uniform_differs_in_small_kernels() {
    let files = valid(&files::own(), 12_000);
    let tally = check_files(files, 100, &SHAPES[..2]);
    tally.assert_sound(300_000);
}

#[test]
fn nothing_called_uniform_differs_in_random_kernels() {
    random_kernels::check_all(150).assert_sound(50_000);
}

/// All files of the corpora up to a size; of these, those whose names contain the text in `PTX_FILES`.
fn all() -> Vec<files::Entry> {
    let mut files = valid(&files::own(), 1 << 18);
    files.extend(valid(&files::shared(), 1 << 16));
    let part = std::env::var("PTX_FILES").unwrap_or_default();
    files.retain(|e| e.name.contains(&part));
    files
}

/// CI runs it on other files for each commit.
#[test]
#[ignore = "needs ../shared/corpus"]
fn nothing_called_uniform_differs_in_files_of_the_shared_corpus() {
    let first = given_seed() as usize % PARTS;
    let part: Vec<files::Entry> = all().into_iter().skip(first).step_by(PARTS).collect();
    assert!(!part.is_empty());
    let tally = check_files(part, STEPS, &SHAPES);
    println!("{}\n{}", tally.precision(), tally.causes());
    tally.assert_sound(1_000_000);
}

#[test]
#[ignore = "some minutes"]
fn nothing_called_uniform_differs() {
    let files = all();
    let is_compiled = |e: &files::Entry| !e.name.starts_with("hand") && !e.name.starts_with("gen");
    let (compiled, others) = files.into_iter().partition(is_compiled);
    let compiled = check_files(compiled, STEPS, &SHAPES);
    println!("compiled kernels: {}", compiled.precision());
    print!("{}", compiled.causes());
    let mut tally = compiled.clone();
    tally.add(check_files(others, STEPS, &SHAPES));
    tally.add(random_kernels::check_all(1_500));
    println!("{} observations", tally.observations());
    tally.assert_sound(10_000_000);
    compiled.assert_precise();
}
