//! What `ptx-lint` says against what the checkers report when kernels run: what is definite happens in every run that comes there, and what
//! happens is at least possible, but for the families that `families` lists.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod agreement;
mod executed;
mod families;
mod measured;
mod random_kernels;
mod tally;
mod witnesses;

use test_support::corpus as files;
use test_support::observe as launches;
use test_support::random;
use test_support::sample;

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use agreement::{Claims, Run};
use executed::Observer;
use launches::{SEEDS, Shape, launch_of};
use measured::Measured;
use ptx_analysis::values::LaunchBounds;
use ptx_ir::facts::ModuleFacts;
use ptx_ir::{FunctionKind, Module};
use ptx_lint::Lint;
use ptx_vm::{Checks, Machine, RunOptions};
use random::Random;
use sample::{Sample, sample};
use tally::Tally;

/// Shapes of launches, with at least one whole row of a warp, as lints take for granted.
const SHAPES: [[u32; 3]; 3] = [[64, 1, 1], [96, 1, 1], [32, 4, 2]];

/// Files whose source fixes the threads of a CTA, which the module does not say.
const FIXED: [(&str, [u32; 3]); 1] = [("cub_blocks", [64, 1, 1])];

/// Runs the kernels of a module, and compares.
fn check(module: &Module, name: &str, steps: u64) -> Tally {
    let facts = ModuleFacts::new(module);
    let claims = Claims::new(&facts);
    let observer = Observer::new(&facts);
    let mut tally = Tally::default();
    for (id, function, _) in module.definitions() {
        if function.kind != FunctionKind::Entry {
            continue;
        }
        let kernel = module.name(function.name);
        let most = facts
            .function(id)
            .map_or(1024, |of| LaunchBounds::of(of).most);
        tally.kernels += 1;
        for (nth, block) in (0..).zip(SHAPES) {
            let seed = nth * SEEDS + nth;
            let mut machine = Machine::new(module);
            let fixed = FIXED.iter().find(|(part, _)| name.contains(part));
            let block = fixed.map_or(block, |(_, fixed)| *fixed);
            let block = match block.iter().product::<u32>() > most {
                true => [most, 1, 1],
                false => block,
            };
            let shape = Shape::new([2, 1, 1], block);
            let (mut launch, _) = launch_of(&mut machine, module, kernel, seed, &shape);
            launch.limits.steps = steps;
            launch.checks = Checks::all();
            launch.schedule = (nth > 0).then_some(ptx_vm::Schedule::Seed(nth));
            let options = RunOptions::default().with_observer(&observer);
            let stopped = machine.launch_with(&launch, options).err();
            let run = Run {
                name: &format!("{name}: {kernel} with {block:?} threads"),
                block: launch.block,
                reports: machine.reports(),
                executed: &observer.take(),
                stopped: stopped.as_ref().map(|error| &error.reason),
            };
            tally.runs += 1;
            claims.compare(&facts, &run, &mut tally);
        }
    }
    tally
}

/// Checks that many random kernels.
fn check_random(count: u64) -> Tally {
    let mut tally = Tally::default();
    for seed in 0..count {
        let text = random_kernels::kernel(&mut Random::new(seed));
        let parsed = ptx_parse::parse_str(&text);
        let errors: Vec<_> = parsed.diagnostics.iter().map(|d| &d.message).collect();
        assert!(errors.is_empty(), "{errors:?}\n{text}");
        tally.add(check(
            &parsed.module,
            &format!("random kernel {seed}"),
            4_000,
        ));
    }
    tally
}

/// The files of a folder, in order.
fn folder(of: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(of).into_iter().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|e| e.unwrap().path()).collect();
    paths.sort();
    paths
}

fn check_folder(of: &Path) -> Tally {
    let mut tally = Tally::default();
    for path in sample(2, 2).of(folder(of)) {
        let text = std::fs::read(&path).unwrap();
        let module = ptx_parse::parse(&text).module;
        tally.add(check(&module, &path.display().to_string(), 4_000));
    }
    tally
}

#[test]
fn definite_findings_happen_in_the_files_of_lints() {
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ptx-lint/tests/lints");
    let mut tally = Tally::default();
    std::thread::scope(|scope| {
        let folders = agreement::LINTS.map(|lint| files.join(lint.name()));
        let checks = folders.map(|folder| scope.spawn(move || check_folder(&folder)));
        for check in checks {
            tally.add(check.join().unwrap());
        }
    });
    let least = [
        (Lint::BarrierDivergence, 8),
        (Lint::UninitializedRegister, 8),
        (Lint::SharedRace, 8),
        (Lint::AsyncCopyWait, 8),
    ];
    for (lint, least) in least {
        let found = tally.definite(lint);
        assert!(found >= least / some().parts, "{}: {found}", lint.name());
    }
    tally.assert_agrees();
}

/// Works on files on all cores.
fn on_all_cores(files: Vec<files::Entry>, of: impl Fn(&Module, &str) + Sync) {
    let work = Mutex::new(files);
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                loop {
                    let Some(entry) = work.lock().unwrap().pop() else {
                        return;
                    };
                    of(&ptx_parse::parse(&entry.read()).module, &entry.name);
                }
            });
        }
    });
}

fn check_files(files: Vec<files::Entry>, steps: u64) -> Tally {
    let total = Mutex::new(Tally::default());
    on_all_cores(files, |module, name| {
        let tally = check(module, name, steps);
        total.lock().unwrap().add(tally);
    });
    total.into_inner().unwrap()
}

fn measure_files(files: Vec<files::Entry>, steps: u64) -> Measured {
    let total = Mutex::new(Measured::default());
    on_all_cores(files, |module, name| {
        let measured = measured::check(module, name, steps);
        total.lock().unwrap().add(measured);
    });
    total.into_inner().unwrap()
}

fn valid(folder: &Path, most_bytes: u64) -> Vec<files::Entry> {
    let mut all = files::entries(folder);
    // Files that contain every instruction once do not compute anything.
    all.retain(|e| e.verdict == "ok" && !e.name.starts_with("hand/isa_"));
    all.retain(|e| std::fs::metadata(&e.path).is_ok_and(|m| m.len() <= most_bytes));
    all
}

/// Which of the kernels run.
fn some() -> Sample {
    sample(8, 4)
}

/// Some of the own files up to a size.
fn small(most_bytes: u64) -> Vec<files::Entry> {
    some().of(valid(&files::own(), most_bytes)).collect()
}

/// Some of the files of both corpora up to these sizes.
fn large(own: u64, shared: u64) -> Vec<files::Entry> {
    let mut files = valid(&files::own(), own);
    files.extend(valid(&files::shared(), shared));
    sample(1, 10).of(files).collect()
}

#[test]
fn definite_findings_happen_in_small_kernels() {
    check_files(small(12_000), 1_000).assert_agrees();
}

#[test]
fn definite_findings_happen_in_random_kernels() {
    let tally = check_random(200 / some().parts as u64);
    tally.assert_agrees();
    let least = [
        (Lint::BarrierDivergence, 25),
        (Lint::UninitializedRegister, 40),
        (Lint::SharedRace, 80),
    ];
    for (lint, least) in least {
        let found = tally.definite(lint);
        assert!(found >= least / some().parts, "{}: {found}", lint.name());
    }
}

#[test]
#[ignore = "needs ../shared/corpus"]
fn definite_findings_happen_in_kernels_of_the_shared_corpus() {
    let mut tally = check_files(large(1 << 18, 1 << 16), 1_000);
    tally.add(check_random(1_500 / sample(1, 10).parts as u64));
    tally.assert_agrees();
}

#[test]
fn addresses_are_as_stated_in_the_files_of_lints() {
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ptx-lint/tests/lints");
    let mut total = Measured::default();
    for lint in measured::LINTS {
        for path in folder(&files.join(lint.name())) {
            let module = ptx_parse::parse(&std::fs::read(&path).unwrap()).module;
            total.add(measured::check(&module, &path.display().to_string(), 1_000));
        }
    }
    for lint in measured::LINTS {
        let confirmed = total.confirmed(lint);
        assert!(confirmed >= 4, "{}: {confirmed}", lint.name());
    }
    total.assert_agrees();
}

#[test]
fn addresses_are_as_stated_in_small_kernels() {
    measure_files(small(50_000), 2_000).assert_agrees();
}

#[test]
#[ignore = "needs ../shared/corpus"]
fn addresses_are_as_stated_in_kernels_of_the_shared_corpus() {
    measure_files(large(u64::MAX, u64::MAX), 5_000).assert_agrees();
}
