//! What `ptx_analysis::uniformity` says against what happens when kernels run: nothing that it calls uniform ever differs.
//!
//! All kernels of the corpora that the machine runs, and random ones, in several shapes of launches. The test of all of them is ignored: it takes minutes.
//!
//! The analysis assumes that programs have no data race, but with the arguments of these launches, some kernels have one: each pointer is to a separate buffer,
//! but numbers that are sizes in the kernel are not those of the buffers. A launch in which something differs that is called uniform runs again with `racecheck`.
//! If that reports a race, the launch is left out, and counted.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod hashing;
mod instances;
mod loops;
mod missed;
mod observed;
mod random_kernels;
mod tally;
mod varied;

use test_support::corpus as files;
use test_support::observe as launches;
use test_support::random;
use test_support::sample;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use launches::{BUFFER, SEEDS, Shape, fill_variables, launch_of};
use observed::Observer;
use ptx_analysis::uniformity::ModuleUniformity;
use ptx_ir::facts::ModuleFacts;
use ptx_ir::{FunctionKind, Module};
use ptx_vm::{Checker, Launch, Machine, RunOptions};
use sample::{Sample, sample};
use tally::Tally;
use varied::Numbers;

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

/// The shape of further launches with different sizes as arguments, which run for longer: what depends on whether an index is below a size would not differ
/// without them.
const SIZED: Shape = Shape::new([2, 1, 1], [64, 2, 1]);
const SIZES: u64 = 6;

/// Instructions of each warp after which a run ends.
const STEPS: u64 = 200;

/// How many launches with numbers of the kernel there are at most, and after how many in which nothing new was seen these end.
const VARIED: u64 = 48;
const IDLE: u32 = 12;

/// How kernels are run.
struct Runs {
    /// The limit of steps for each warp.
    steps: u64,
    shapes: &'static [Shape],
    /// How many launches with numbers of the kernel there are at most.
    varied: u64,
}

const ALL: Runs = Runs {
    steps: STEPS,
    shapes: &SHAPES,
    varied: VARIED,
};
const FEW: Runs = Runs {
    steps: 100,
    shapes: SHAPES.split_at(2).0,
    varied: 0,
};
const UNVARIED: Runs = Runs { varied: 0, ..ALL };

/// How many times the data of the buffers is repeated after the last one, at other places: kernels read there with large numbers as arguments.
const REPEATED: u64 = 8;

/// How many parts the files are divided into, of which CI checks one.
const PARTS: usize = 20;

/// All shapes with small numbers, and every second one with each kind of other data, each with a seed; and the launches with sizes.
fn seeds(shapes: &[Shape]) -> impl Iterator<Item = (u64, &Shape)> {
    let start = sample::seed() % (SEEDS / 2);
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
    launch.schedule = Some(ptx_vm::Schedule::Seed(seed)).filter(|_| !is_odd);
    launch
}

/// A launch of a kernel.
#[derive(Copy, Clone, Debug)]
enum Launched<'a> {
    Shaped(u64, &'a Shape),
    Varied(u64),
}

/// A kernel that is launched.
struct Kernel<'a> {
    module: &'a Module,
    name: &'a str,
    /// The limit of steps for each warp.
    steps: u64,
    numbers: Numbers,
    /// Numbers that were compared in the launches before.
    hints: RefCell<Vec<u64>>,
    observer: Observer<'a>,
}

impl Kernel<'_> {
    fn prepare(&self, machine: &mut Machine<'_>, launch: Launched<'_>) -> Launch {
        match launch {
            Launched::Shaped(seed, shape) => {
                prepare(machine, self.module, self.name, (seed, shape), self.steps)
            }
            Launched::Varied(seed) => {
                let hints = self.hints.borrow();
                let prepare = (self.module, self.name, &**hints);
                self.numbers.prepare(machine, prepare, seed)
            }
        }
    }

    /// Runs a launch and compares; whether it counts: nothing is claimed of launches with a data race.
    fn run(&self, launch: Launched<'_>) -> bool {
        let mut machine = Machine::new(self.module);
        let prepared = self.prepare(&mut machine, launch);
        self.observer.begin(&prepared);
        let options = RunOptions::default().with_observer(&self.observer);
        let done = machine.launch_with(&prepared, options).is_ok();
        let counts = self.observer.end(done) || !self.has_race(launch);
        if !counts {
            self.observer.discard();
        }
        counts
    }

    /// Runs all launches; how many do not count.
    fn run_all(&self, runs: &Runs) -> u64 {
        let shaped = seeds(runs.shapes).map(|(seed, shape)| Launched::Shaped(seed, shape));
        let mut without = shaped.filter(|launch| !self.run(*launch)).count() as u64;
        let first = sample::seed().wrapping_mul(VARIED);
        let (mut known, mut idle) = (self.observer.progress(), 0);
        for seed in (0..runs.varied).map(|at| first.wrapping_add(at)) {
            if idle == IDLE || !self.observer.misses() {
                break;
            }
            self.hints.replace(self.observer.hints());
            without += u64::from(!self.run(Launched::Varied(seed)));
            let now = self.observer.progress();
            idle = if now == known { idle + 1 } else { 0 };
            known = now;
        }
        without
    }

    fn has_race(&self, launch: Launched<'_>) -> bool {
        let mut machine = Machine::new(self.module);
        let launch = self.prepare(&mut machine, launch);
        let launch = launch.check(Checker::Racecheck);
        let _ = machine.launch(&launch);
        !machine.reports().is_empty()
    }
}
/// Runs the kernels of a module, and compares.
fn check(module: &Module, name: &str, runs: &Runs) -> Tally {
    let facts = ModuleFacts::new(module);
    let uniformity = ModuleUniformity::new(&facts);
    let kernels = module.definitions();
    let kernels = kernels.filter(|(_, f, _)| f.kind == FunctionKind::Entry);
    let mut tally = Tally::default();
    for (id, function, _) in kernels {
        let observer = Observer::new(&facts, &uniformity, id);
        let kernel = Kernel {
            module,
            name: module.name(function.name),
            steps: runs.steps,
            numbers: Numbers::new(&facts, id, observer.functions()),
            hints: RefCell::default(),
            observer,
        };
        let named = format!("{name}: {}", kernel.name);
        tally.exclude(&named, kernel.run_all(runs));
        kernel.observer.finish(&mut tally, &named);
    }
    tally
}

/// Checks files on all cores.
fn check_files(files: Vec<files::Entry>, runs: &Runs) -> Tally {
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
                    let tally = check(&module, &entry.name, runs);
                    if sample::lists_cases() {
                        println!("{}: {}", entry.name, tally.precision());
                    }
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

/// Which of the small and random kernels run.
fn some() -> Sample {
    sample(10, 5)
}

#[test]
fn nothing_called_uniform_differs_in_small_kernels() {
    let files = valid(&files::own(), 12_000).into_iter();
    let tally = check_files(some().of(files).collect(), &FEW);
    tally.assert_sound(300_000 / some().parts as u64);
}

#[test]
fn nothing_called_uniform_differs_in_random_kernels() {
    let count = 150 / some().parts as u64;
    random_kernels::check_all(count).assert_sound(50_000 / some().parts as u64);
}

/// All files of the corpora up to a size; of these, those that `PTXKIT_FILES` selects.
fn all() -> Vec<files::Entry> {
    let mut files = valid(&files::own(), 1 << 18);
    files.extend(valid(&files::shared(), 1 << 16));
    files.retain(|e| sample::has_file(&e.name));
    files
}

/// CI runs it on a sample of the files.
#[test]
#[ignore = "needs ../shared/corpus"]
fn nothing_called_uniform_differs_in_files_of_the_shared_corpus() {
    let part: Vec<files::Entry> = sample(PARTS, PARTS).of(all()).collect();
    assert!(!part.is_empty());
    let tally = check_files(part, &ALL);
    println!("{}\n{}", tally.precision(), tally.causes());
    tally.assert_sound(1_000_000);
}

#[test]
#[ignore = "some minutes"]
fn nothing_called_uniform_differs() {
    let (mut compiled, mut others) = (Tally::default(), Tally::default());
    let mut corpora: BTreeMap<String, Vec<files::Entry>> = BTreeMap::new();
    for entry in all() {
        let corpus = entry.name.split('/').next().unwrap_or_default();
        corpora.entry(corpus.to_owned()).or_default().push(entry);
    }
    for (corpus, files) in corpora {
        let tally = check_files(files, &ALL);
        println!("{corpus}: {}", tally.precision());
        match &*corpus {
            "hand" | "gen" => others.add(tally),
            _ => compiled.add(tally),
        }
    }
    println!("compiled kernels: {}", compiled.precision());
    print!("{}", compiled.causes());
    let mut tally = compiled.clone();
    tally.add(others);
    tally.add(random_kernels::check_all(1_500));
    println!("{} observations", tally.observations());
    tally.assert_sound(10_000_000);
    compiled.assert_precise();
}
