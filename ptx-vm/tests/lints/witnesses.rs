//! Kernels of the lints' own tests that are run: the machine reports what a lint says of bounds, `.uni` and barriers, and nothing in correct kernels. A table
//! counts for each lint about protocols how many kernels the machine reports.

use std::collections::BTreeSet;
use std::path::Path;

use ptx_analysis::values::LaunchBounds;
use ptx_ir::facts::ModuleFacts;
use ptx_ir::{Body, FuncId, FunctionKind, InstId, Module, Statement, StmtId};
use ptx_isa::Directive;
use ptx_lint::{Certainty, Finding, Lint, LintOptions, lint};
use ptx_vm::{Checker, Checks, Machine, StopReason};

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
    // The order of the warps decides whether these threads arrive too early.
    assert_eq!(
        without_witness,
        ["second_arrival", "init_not_visible_wrong"]
    );
    assert!(
        witnessed >= 10 && correct >= 10,
        "{witnessed} faulty, {correct} correct"
    );
}

/// The lints about what threads do together, and about memory that they may not access.
const PROTOCOLS: [Lint; 16] = [
    Lint::BarrierDivergence,
    Lint::WarpMask,
    Lint::AsyncCopyWait,
    Lint::WgmmaProtocol,
    Lint::Tcgen05Protocol,
    Lint::MbarrierInit,
    Lint::ProxyFence,
    Lint::SharedRace,
    Lint::UninitializedRegister,
    Lint::RegisterBudget,
    Lint::DependentLaunch,
    Lint::OutOfBounds,
    Lint::DivergentBranch,
    Lint::ReadOnlyLoad,
    Lint::ClusterMemory,
    Lint::BarrierProtocol,
];

/// The page with the table, and its first row.
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/linting.md");
const HEADER: &str =
    "| lint | faulty kernels | reported by a run | correct kernels | complete without a report |";

/// How many kernels of a lint there are, and what the machine says of them.
#[derive(Default)]
struct Kernels {
    faulty: usize,
    /// Faulty kernels that the machine reports, stops or cannot complete because threads wait for ever.
    reported: usize,
    correct: usize,
    /// Correct kernels that are complete, without a report.
    silent: usize,
}

/// Whether checkers report an error in a kernel, or the machine stops; `None` if it cannot run it to its end.
fn is_reported(module: &Module, id: FuncId, checks: Checks) -> Option<bool> {
    let kernel = module.name(module.functions().get(id)?.name);
    let mut machine = Machine::new(module);
    let cluster = cluster_size(module, id);
    let shape = Shape::clusters(cluster, [128, 1, 1], cluster);
    let (mut launch, _) = launch_of(&mut machine, module, kernel, SEED, &shape);
    launch.limits.steps = STEPS;
    launch.checks = checks;
    let result = machine.launch(&launch);
    if !machine.reports().is_empty() {
        return Some(true);
    }
    match result {
        Ok(_) => Some(false),
        Err(error) => match error.reason {
            StopReason::Deadlock
            | StopReason::OutOfBounds(_)
            | StopReason::Misaligned(_)
            | StopReason::Invalid(_) => Some(true),
            _ => None,
        },
    }
}

/// The CTAs of the clusters of a kernel.
fn cluster_size(module: &Module, id: FuncId) -> [u32; 3] {
    let directives = module.functions()[id].interface.directives;
    let mut of_kernel = directives.of(module.interface_directives()).iter();
    let required = of_kernel.find(|d| d.directive == Directive::Reqnctapercluster);
    let numbers = required.map_or(&[][..], |directive| module.pool().slice(directive.args));
    let mut size = [1; 3];
    for (count, number) in size.iter_mut().zip(numbers) {
        *count = u32::try_from(module.pool().integer(*number).unwrap()).unwrap();
    }
    size
}

impl Kernels {
    fn of(lint: Lint) -> Self {
        let mut kernels = Self::default();
        // Registers without a value are the subject of one lint only.
        let is_used =
            |checker| (checker == Checker::Initcheck) == (lint == Lint::UninitializedRegister);
        let checks: Checks = Checker::ALL.into_iter().filter(|c| is_used(*c)).collect();
        for_each_kernel(lint, |_, module, id, _, findings| {
            if module.functions()[id].kind != FunctionKind::Entry {
                return;
            }
            let reported = is_reported(module, id, checks);
            if findings.is_empty() {
                kernels.correct += 1;
                kernels.silent += usize::from(reported == Some(false));
            } else {
                kernels.faulty += 1;
                kernels.reported += usize::from(reported == Some(true));
            }
        });
        kernels
    }
}

#[test]
fn the_table_counts_the_kernels_of_each_lint() {
    let mut table = format!("{HEADER}\n|---|---:|---:|---:|---:|\n");
    for lint in PROTOCOLS {
        let kernels = Kernels::of(lint);
        let name = lint.name();
        assert!(kernels.faulty >= 10 && kernels.correct >= 10, "{name}");
        table += &format!(
            "| `{name}` | {} | {} | {} | {} |\n",
            kernels.faulty, kernels.reported, kernels.correct, kernels.silent
        );
    }
    let page = std::fs::read_to_string(PAGE).unwrap();
    let start = page.find(HEADER).unwrap();
    let end = start + page[start..].find("\n\n").unwrap() + 1;
    if std::env::var_os("PTXKIT_BLESS").is_some() {
        let page = format!("{}{table}{}", &page[..start], &page[end..]);
        std::fs::write(PAGE, page).unwrap();
    } else {
        assert_eq!(page[start..end], table);
    }
}
