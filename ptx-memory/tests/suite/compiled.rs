//! Kernels that nvcc compiled: right as they are, and with a counterexample for each order, scope or fence that they need and that is weakened.
//! `tests/kernels` contains their sources.

use std::path::Path;

use std::io::Write;
use std::process::{Command, Stdio};

use ptx_ir::facts::ModuleFacts;
use ptx_memory::ExploreOptions;
use ptx_memory::kernel::{Kernel, KernelArgument, KernelBuffer, KernelLaunch, KernelReport};

struct Case {
    name: &'static str,
    ctas: u32,
    threads: u32,
    buffers: usize,
    assertion: &'static str,
    /// The lines of weakenings that are right, too: nothing is passed through them.
    unneeded: &'static [usize],
}

fn text(case: &Case) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/kernels")
        .join(case.name)
        .with_extension("ptx");
    std::fs::read_to_string(path).unwrap()
}

fn options() -> ExploreOptions {
    let mut options = ExploreOptions::default();
    options.passes_always = false;
    options.uses_symmetry = true;
    options
}

fn explore(case: &Case, text: &str, ends_early: bool, steps: u64) -> KernelReport {
    let parsed = ptx_parse::parse(text.as_bytes());
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
    let module = parsed.module;
    let facts = ModuleFacts::new(&module);
    let function = facts.function(module.function(case.name).unwrap()).unwrap();
    let arguments = vec![KernelArgument::Buffer(KernelBuffer::zeros(64)); case.buffers];
    let kernel = Kernel::new(
        function,
        KernelLaunch::new(case.ctas, case.threads, arguments),
    )
    .unwrap();
    let conditions = [kernel.assertion(case.assertion).unwrap()];
    let mut options = options();
    options.max_steps = steps;
    let report = if ends_early {
        kernel.check_until_failure(&options, &conditions)
    } else {
        kernel.check(&options, &conditions)
    };
    for example in &report.counterexamples {
        let story = kernel.story(example, ptx_memory::Version::Ptx75);
        assert!(
            !kernel.describe(&example.failure).is_empty()
                && story.steps.len() + 1 == example.execution.len()
        );
    }
    report
}

/// All texts in which one order, scope or fence is weaker, with what was changed.
fn weakenings(case: &Case, text: &str) -> Vec<(usize, String, String)> {
    let mut result = Vec::new();
    let lines: Vec<&str> = text.lines().collect();
    for (number, line) in lines.iter().enumerate() {
        let code = line.trim();
        let mut replacements = Vec::new();
        if code.starts_with("fence.") {
            replacements.push(String::new());
        }
        for (strong, weak) in [(".acquire.", ".relaxed."), (".release.", ".relaxed.")] {
            if code.contains(strong) {
                replacements.push(line.replace(strong, weak));
            }
        }
        if code.contains(".gpu") && case.ctas > 1 {
            replacements.push(line.replace(".gpu", ".cta"));
        }
        for replacement in replacements {
            let mut changed: Vec<&str> = lines.clone();
            changed[number] = &replacement;
            let name = format!("{code} => {}", replacement.trim());
            result.push((number + 1, name, changed.join("\n") + "\n"));
        }
    }
    result
}

fn check(case: &Case) {
    let text = text(case);
    let start = std::time::Instant::now();
    let right = explore(case, &text, false, u64::MAX);
    println!(
        "{}: {:?} in {:?}",
        case.name,
        right.statistics,
        start.elapsed()
    );
    assert!(right.is_complete(), "{:?}", right.statistics);
    let failures: Vec<_> = right
        .counterexamples
        .iter()
        .map(|example| &example.failure)
        .collect();
    assert!(failures.is_empty(), "{failures:?}");
    let mut unneeded = Vec::new();
    for (line, name, weakened) in weakenings(case, &text) {
        let start = std::time::Instant::now();
        let report = explore(case, &weakened, true, u64::MAX);
        let count = report.counterexamples.len();
        println!("  {line}: {name}: {count} in {:?}", start.elapsed());
        assert_eq!(report.statistics.unsupported, None);
        if count == 0 {
            assert!(report.is_complete());
            unneeded.push(line);
        }
    }
    assert_eq!(unneeded, case.unneeded);
}

/// Fails if ptxas, which the variable `PTXAS` names, does not accept a module.
fn assemble(source: &[u8], name: &str) {
    let Some(ptxas) = std::env::var_os("PTXAS") else {
        eprintln!("SKIPPED: PTXAS names no assembler; {name} is not assembled");
        return;
    };
    let mut assembler = Command::new(ptxas)
        .args(["-arch=sm_90", "-o", test_support::NULL_DEVICE, "-"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    assembler.stdin.take().unwrap().write_all(source).unwrap();
    let output = assembler.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {errors}");
}

/// Each weakening that fails is repaired by one change of one instruction.
fn check_repairs(case: &Case) {
    let text = text(case);
    for (line, name, weakened) in weakenings(case, &text) {
        if case.unneeded.contains(&line) {
            continue;
        }
        let module = ptx_parse::parse(weakened.as_bytes()).module;
        let facts = ModuleFacts::new(&module);
        let function = facts.function(module.function(case.name).unwrap()).unwrap();
        let arguments = vec![KernelArgument::Buffer(KernelBuffer::zeros(64)); case.buffers];
        let launch = KernelLaunch::new(case.ctas, case.threads, arguments);
        let kernel = Kernel::new(function, launch).unwrap();
        assert_eq!(kernel.module_source(), weakened.as_bytes());
        let repair = kernel.repair(400, &mut |source, steps| {
            let source = std::str::from_utf8(source).unwrap();
            let is_legal = ptx_parse::parse(source.as_bytes()).diagnostics.is_empty();
            is_legal.then(|| explore(case, source, true, steps))
        });
        let repair = repair.unwrap_or_else(|| panic!("{line}: {name}"));
        println!("  {line}: {name}: {:?}", repair.edits);
        assemble(&repair.source, &name);
        assert!(
            repair.is_proven && repair.edits.len() == 1 && repair.source != weakened.as_bytes()
        );
    }
}

/// The ring of two stages with an mbarrier object each.
const RING: Case = Case {
    name: "ring",
    ctas: 1,
    threads: 2,
    buffers: 1,
    assertion: "[ring_param_0] == 10 && [ring_param_0+12] == 13",
    unneeded: &[93, 105, 115, 130],
};

/// The stack with two threads.
const STACK: Case = Case {
    name: "treiber_stack",
    ctas: 2,
    threads: 1,
    buffers: 1,
    assertion: "[treiber_stack_param_0] != 1",
    unneeded: &[38, 48, 60],
};

#[test]
fn weakened_look_back_is_repaired() {
    check_repairs(&Case {
        name: "look_back",
        ctas: 3,
        threads: 1,
        buffers: 1,
        assertion: "[look_back_param_0+8] == 6",
        unneeded: &[],
    });
}

#[test]
fn weakened_grid_barrier_is_repaired() {
    check_repairs(&Case {
        name: "grid_barrier",
        ctas: 2,
        threads: 1,
        buffers: 2,
        assertion: "1 == 1",
        unneeded: &[],
    });
}

#[test]
fn weakened_ticket_lock_is_repaired() {
    check_repairs(&Case {
        name: "ticket_lock",
        ctas: 3,
        threads: 1,
        buffers: 0,
        assertion: "[counter] == 3",
        unneeded: &[],
    });
}

#[test]
fn weakened_mbarrier_ring_is_repaired() {
    check_repairs(&RING);
}

#[test]
fn weakened_stack_is_repaired() {
    check_repairs(&STACK);
}

#[test]
fn ticket_lock() {
    check(&Case {
        name: "ticket_lock",
        ctas: 12,
        threads: 1,
        buffers: 0,
        assertion: "[counter] == 12",
        unneeded: &[],
    });
}

#[test]
fn grid_barrier() {
    check(&Case {
        name: "grid_barrier",
        ctas: 4,
        threads: 1,
        buffers: 2,
        assertion: "[grid_barrier_param_1] == 2 && [grid_barrier_param_1+12] == 1",
        unneeded: &[],
    });
}

#[test]
fn look_back() {
    check(&Case {
        name: "look_back",
        ctas: 4,
        threads: 1,
        buffers: 1,
        assertion: "[look_back_param_0+12] == 10",
        unneeded: &[],
    });
}

#[test]
fn mbarrier_ring() {
    check(&RING);
}

#[test]
fn treiber_stack() {
    check(&STACK);
}

#[test]
fn queue() {
    check(&Case {
        name: "queue",
        ctas: 2,
        threads: 1,
        buffers: 1,
        assertion: "[queue_param_0+4] == 0 || [queue_param_0+4] == 10",
        // With one thread that enqueues, no other one moves the tail on.
        unneeded: &[
            43, 43, 48, 48, 53, 53, 68, 76, 76, 83, 95, 103, 112, 112, 119, 119, 124, 124,
        ],
    });
}

#[test]
fn weakened_queue_is_repaired() {
    check_repairs(&Case {
        name: "queue",
        ctas: 2,
        threads: 1,
        buffers: 1,
        assertion: "[queue_param_0+4] == 0 || [queue_param_0+4] == 10",
        // With one thread that enqueues, no other one moves the tail on.
        unneeded: &[
            43, 43, 48, 48, 53, 53, 68, 76, 76, 83, 95, 103, 112, 112, 119, 119, 124, 124,
        ],
    });
}
