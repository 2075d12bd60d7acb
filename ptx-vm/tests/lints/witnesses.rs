//! Kernels with findings about bounds, `.uni` and barriers that are run: the machine reports what the lint says, and nothing in correct kernels.

use std::collections::BTreeSet;
use std::path::Path;

use ptx_analysis::values::LaunchBounds;
use ptx_ir::facts::ModuleFacts;
use ptx_ir::{Body, FuncId, InstId, Module, Statement, StmtId};
use ptx_lint::{Certainty, Finding, Lint, LintOptions, lint};
use ptx_vm::{Checker, Checks, Machine};

use super::launches::{Shape, launch_of};

/// The seed of the arguments: the number of iterations is small.
const SEED: u64 = 4;
/// The limit of the steps of a kernel. A wait for ever ends earlier.
const STEPS: u64 = 20_000;

/// What the machine says of a kernel.
struct Witness {
    /// The statements with reports of checkers.
    reported: BTreeSet<StmtId>,
    /// The kernel ended.
    ended: bool,
}

impl Witness {
    /// Runs a kernel with the size of its CTAs, or 64 threads, and a checker.
    fn of(module: &Module, id: FuncId, body: &Body, checker: Checker) -> Option<Self> {
        let function = module.functions().get(id)?;
        let kernel = module.name(function.name);
        let mut machine = Machine::new(module);
        let shape = Shape::new([1, 1, 1], [64, 1, 1]);
        let (mut launch, _) = launch_of(&mut machine, module, kernel, SEED, &shape);
        launch.limits.steps = STEPS;
        launch.checks = Checks::NONE.with(checker);
        let ended = machine.launch(&launch).is_ok();
        let of_inst = |inst: InstId| {
            let mut statements = body.statements();
            statements
                .find(
                    |(_, statement)| matches!(statement, Statement::Inst(other) if *other == inst),
                )
                .map(|(stmt, _)| stmt)
        };
        let instructions = machine.reports().iter().filter_map(|report| report.at.inst);
        Some(Self {
            reported: instructions.filter_map(of_inst).collect(),
            ended,
        })
    }
}

/// Calls a function with each kernel of the files of a lint, the name of its file and its findings.
fn for_each_kernel(of: Lint, mut kernel: impl FnMut(&str, &Module, FuncId, &Body, &[Finding])) {
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ptx-lint/tests/lints");
    for path in super::folder(&files.join(of.name())) {
        let text = std::fs::read(&path).unwrap();
        let module = ptx_parse::parse(&text).module;
        let mut options = LintOptions::default();
        options.lints = vec![of];
        let findings = lint(&ModuleFacts::new(&module), &options);
        for (id, _, body) in module.definitions() {
            let of_kernel: Vec<Finding> = findings
                .iter()
                .filter(|finding| finding.function == id)
                .cloned()
                .collect();
            let file = path.file_stem().and_then(|name| name.to_str()).unwrap();
            kernel(file, &module, id, body, &of_kernel);
        }
    }
}

/// Checks that each definite finding of a lint has a report of a checker at its instruction. Returns their number.
fn confirmed(of: Lint, checker: Checker) -> usize {
    let mut count = 0;
    for_each_kernel(of, |file, module, id, body, findings| {
        let definite: Vec<_> = findings
            .iter()
            .filter(|finding| finding.certainty == Certainty::Definite)
            .collect();
        if definite.is_empty() {
            return;
        }
        let witness = Witness::of(module, id, body, checker).unwrap();
        for finding in definite {
            assert!(
                witness.reported.contains(&finding.stmt),
                "{file}: {}",
                finding.diagnostic.message
            );
            count += 1;
        }
    });
    count
}

#[test]
fn accesses_out_of_bounds_are_reported() {
    let count = confirmed(Lint::OutOfBounds, Checker::Memcheck);
    assert!(count >= 10, "{count}");
}

#[test]
fn divergent_branches_are_reported() {
    let count = confirmed(Lint::DivergentBranch, Checker::Synccheck);
    assert!(count >= 8, "{count}");
}

#[test]
fn wrong_barriers_hang_or_are_reported() {
    let (mut witnessed, mut correct) = (0, 0);
    let mut without_witness = Vec::new();
    for_each_kernel(Lint::BarrierProtocol, |file, module, id, body, findings| {
        let facts = ModuleFacts::new(module);
        let bounds = facts.function(id).map(LaunchBounds::of);
        if bounds.is_none_or(|bounds| bounds.threads.is_none()) {
            return;
        }
        let witness = Witness::of(module, id, body, Checker::Synccheck).unwrap();
        let is_wrong = !witness.ended || !witness.reported.is_empty();
        let name = module.functions().get(id).map(|f| module.name(f.name));
        if findings.is_empty() && file == "correct" {
            assert!(!is_wrong, "{name:?}");
            correct += 1;
        } else if !findings.is_empty() && is_wrong {
            witnessed += 1;
        } else if !findings.is_empty() {
            without_witness.extend(name.map(str::to_owned));
        }
    });
    // The order of the warps decides whether the second arrival comes too early.
    assert_eq!(without_witness, ["second_arrival"]);
    assert!(
        witnessed >= 10 && correct >= 10,
        "{witnessed} faulty, {correct} correct"
    );
}
