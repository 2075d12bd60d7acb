//! The view of values against the definitions, on random functions and on those of the corpus up to a size.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests fail by panics"
)]
#![allow(clippy::too_many_lines, reason = "lists of cases")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::{brute, common};
use ptx_dataflow::cfg::{BlockId, Cfg};
use ptx_dataflow::function_dataflow::FunctionDataflow;
use ptx_dataflow::reg_lanes::{VariableId, Variables};
use ptx_dataflow::ssa::{Ssa, Value, ValueId};
use ptx_ir::facts::{Flow, FunctionFacts, Mentions, ModuleFacts, RegisterComponent};
use ptx_ir::{EntityId as _, Statement, StmtId};

/// A statement: its block, what it reads, what it surely writes, what it may write.
#[derive(Default)]
struct Step {
    stmt: u32,
    reads: BTreeSet<VariableId>,
    writes: BTreeSet<VariableId>,
    may: BTreeSet<VariableId>,
}

fn step(stmt: u32, variables: &Variables, mentions: Mentions<'_>) -> Step {
    let mut step = Step {
        stmt,
        ..Step::default()
    };
    for m in mentions {
        for v in variables.of(m.place) {
            if m.usage.reads() {
                step.reads.insert(v);
            }
            if m.usage.writes() {
                step.writes.insert(v);
            }
            if m.usage.may_write() {
                step.may.insert(v);
            }
        }
    }
    step
}

/// The statements of each block.
fn steps(facts: FunctionFacts<'_>, cfg: &Cfg, variables: &Variables) -> Vec<Vec<Step>> {
    let carry = VariableId::from_index(variables.len());
    let mut blocks = Vec::new();
    for (_, block) in cfg.blocks() {
        let mut list = Vec::new();
        for at in block.first.as_u32()..block.end.as_u32() {
            let mut one = match facts.body().statement(StmtId::new(at)) {
                Some(Statement::Inst(id)) => {
                    let f = facts.inst(id);
                    let mut one = step(at, variables, f.registers());
                    if f.reads_carry() {
                        one.reads.insert(carry);
                    }
                    if f.writes_carry() {
                        // Calls preserve the flag in the code that ptxas makes.
                        let is_certain =
                            f.is_known() && f.guard().is_none() && f.flow() != Flow::Call;
                        let set = if is_certain {
                            &mut one.writes
                        } else {
                            &mut one.may
                        };
                        set.insert(carry);
                    }
                    one
                }
                Some(Statement::Opaque(id)) => {
                    let mut one = step(at, variables, facts.opaque(id));
                    one.reads.insert(carry);
                    one.may.insert(carry);
                    one
                }
                _ => continue,
            };
            one.stmt = at;
            list.push(one);
        }
        blocks.push(list);
    }
    blocks
}

/// Which writes a read may see, walking back from it statement by statement; `None` is the value at the start.
fn seen(
    cfg: &Cfg,
    reached: &[bool],
    blocks: &[Vec<Step>],
    (block, index): (u32, usize),
    variable: VariableId,
) -> BTreeSet<Option<u32>> {
    let mut found = BTreeSet::new();
    let mut done = vec![false; blocks.len()];
    let mut work = vec![(block, index)];
    while let Some((block, before)) = work.pop() {
        let mut stopped = false;
        for step in blocks[block as usize][..before].iter().rev() {
            if step.writes.contains(&variable) || step.may.contains(&variable) {
                found.insert(Some(step.stmt));
            }
            if step.writes.contains(&variable) {
                stopped = true;
                break;
            }
        }
        if stopped {
            continue;
        }
        if block == 0 {
            found.insert(None);
        }
        for from in cfg.predecessors(BlockId::new(block)) {
            let from = from.as_u32();
            if reached[from as usize] && !std::mem::replace(&mut done[from as usize], true) {
                work.push((from, blocks[from as usize].len()));
            }
        }
    }
    found
}

/// Whether the value at the start of a block may be read before a sure write.
fn live(
    cfg: &Cfg,
    blocks: &[Vec<Step>],
    results: &BTreeSet<VariableId>,
    block: u32,
    variable: VariableId,
) -> bool {
    let mut done = vec![false; blocks.len()];
    let mut work = vec![block];
    while let Some(block) = work.pop() {
        if std::mem::replace(&mut done[block as usize], true) {
            continue;
        }
        let mut steps = blocks[block as usize].iter();
        let stop = steps.find(|s| s.reads.contains(&variable) || s.writes.contains(&variable));
        match stop {
            Some(step) if step.reads.contains(&variable) => return true,
            Some(_) => {}
            None if results.contains(&variable) && returns(cfg, block) => return true,
            None => work.extend(
                cfg.successors(BlockId::new(block))
                    .iter()
                    .map(|b| b.as_u32()),
            ),
        }
    }
    false
}

/// Whether the caller reads the results after a block.
fn returns(cfg: &Cfg, block: u32) -> bool {
    cfg.block(BlockId::new(block)).unwrap().returns
}

/// The writes that a value comes from, through phis and merges.
fn opened(ssa: &Ssa, value: ValueId) -> Option<BTreeSet<Option<u32>>> {
    let mut found = BTreeSet::new();
    let mut seen = BTreeSet::new();
    let mut work = vec![value];
    while let Some(id) = work.pop() {
        if !seen.insert(id) {
            continue;
        }
        match ssa.value(id) {
            Value::Unknown => return None,
            Value::Entry { .. } => {
                found.insert(None);
            }
            Value::Def { stmt, old, .. } => {
                found.insert(Some(stmt.as_u32()));
                work.extend(old);
            }
            // What comes from unreachable blocks does not come.
            Value::Phi { .. } => {
                work.extend(ssa.args(id).iter().copied().filter(|&a| a != Ssa::UNKNOWN));
            }
        }
    }
    Some(found)
}

/// Checks a function; says how many phis and merges it has.
fn check(facts: FunctionFacts<'_>, name: &str) -> (usize, usize) {
    let function = FunctionDataflow::new(facts);
    let (cfg, variables) = (function.cfg(), function.variables());
    let ssa = function.ssa().expect("few phis");
    let blocks = steps(facts, cfg, variables);
    let graph = brute::of_cfg(cfg);
    let reached = brute::reach(&graph, 0, None);
    let dominance = brute::dominance(&graph);
    let count = variables.len() as u32 + 1;
    let results = facts.results().map(|register| RegisterComponent {
        register,
        component: None,
    });
    let results: BTreeSet<VariableId> = results.flat_map(|p| variables.of(p)).collect();
    assert_eq!(ssa.carry().as_u32() + 1, count);

    // Every read sees what reaches it; every write has its value.
    let (mut reads, mut merges) = (0, 0);
    for (block, list) in (0u32..).zip(&blocks) {
        for (index, step) in list.iter().enumerate() {
            let stmt = StmtId::new(step.stmt);
            let uses: BTreeSet<VariableId> = ssa.uses(stmt).iter().map(|u| u.variable).collect();
            assert_eq!(uses, step.reads, "{name} {stmt:?}");
            assert_eq!(ssa.uses(stmt).len(), step.reads.len());
            reads += step.reads.len();
            let written: BTreeSet<VariableId> = &step.writes | &step.may;
            let defs: Vec<VariableId> = ssa.defs(stmt).filter_map(|v| ssa.variable(v)).collect();
            assert_eq!(defs.iter().copied().collect::<BTreeSet<_>>(), written);
            assert_eq!(defs.len(), written.len());
            for value in ssa.defs(stmt) {
                let Value::Def {
                    stmt: by,
                    variable,
                    old,
                } = ssa.value(value)
                else {
                    panic!("no definition");
                };
                assert_eq!(by, stmt);
                assert_eq!(old.is_some(), !step.writes.contains(&variable), "{name}");
                let Some(old) = old.filter(|_| reached[block as usize]) else {
                    continue;
                };
                match opened(ssa, old) {
                    Some(found) => {
                        let wanted = seen(cfg, &reached, &blocks, (block, index), variable);
                        assert_eq!(found, wanted, "{name} {stmt:?} keeps {variable:?}");
                        merges += 1;
                    }
                    // The old value is never read.
                    None => assert!(
                        !live(cfg, &blocks, &results, block, variable),
                        "{name} {stmt:?}"
                    ),
                }
            }
            for used in ssa.uses(stmt) {
                assert_eq!(used.stmt, stmt);
                if reached[block as usize] {
                    let wanted = seen(cfg, &reached, &blocks, (block, index), used.variable);
                    assert_eq!(
                        opened(ssa, used.value),
                        Some(wanted),
                        "{name} {stmt:?} reads {:?}",
                        used.variable
                    );
                } else if used.value != Ssa::UNKNOWN {
                    let Value::Def { stmt, .. } = ssa.value(used.value) else {
                        panic!("{name}: a value reaches unreachable code");
                    };
                    assert!(list.iter().any(|s| s.stmt == stmt.as_u32()));
                }
            }
        }
    }
    assert_eq!(ssa.all_uses().len(), reads);

    // What the caller gets is what reaches the end of each block that returns.
    let mut told = BTreeSet::new();
    for result in ssa.returned() {
        let block = result.block.as_u32();
        assert!(told.insert((block, result.variable)));
        if reached[block as usize] {
            let end = (block, blocks[block as usize].len());
            let wanted = seen(cfg, &reached, &blocks, end, result.variable);
            assert_eq!(opened(ssa, result.value), Some(wanted), "{name} returns");
        }
    }
    let returning = (0..cfg.len() as u32).filter(|&b| returns(cfg, b));
    let wanted = returning.flat_map(|b| results.iter().map(move |&v| (b, v)));
    assert_eq!(told, wanted.collect(), "{name}");

    // There is a phi where the iterated frontier of the writes is and the variable is live.
    let frontiers: Vec<Vec<u32>> = (0..cfg.len())
        .map(|n| match reached[n] {
            true => brute::frontier(&graph, &dominance, n),
            false => Vec::new(),
        })
        .collect();
    let mut wanted = BTreeSet::new();
    for variable in (0..count).map(VariableId::new) {
        let writes = |s: &Step| s.writes.contains(&variable) || s.may.contains(&variable);
        let written = (0..blocks.len()).filter(|&b| reached[b] && blocks[b].iter().any(writes));
        let mut nodes: BTreeSet<u32> = written.map(|b| b as u32).collect();
        let mut joins = BTreeSet::new();
        loop {
            let new: BTreeSet<u32> = nodes
                .iter()
                .flat_map(|&n| frontiers[n as usize].iter().copied())
                .collect();
            if new.is_subset(&joins) {
                break;
            }
            joins.extend(&new);
            nodes.extend(&new);
        }
        let live = joins
            .into_iter()
            .filter(|&b| live(cfg, &blocks, &results, b, variable));
        wanted.extend(live.map(|b| (b, variable)));
    }
    let mut found = BTreeSet::new();
    for (block, _) in cfg.blocks() {
        for phi in ssa.phis(block) {
            let Value::Phi {
                block: at,
                variable,
            } = ssa.value(phi)
            else {
                panic!("no phi");
            };
            assert_eq!(at, block);
            assert!(found.insert((block.as_u32(), variable)));
            let edges = cfg.in_edges(block).len() + usize::from(block == Cfg::ENTRY);
            assert_eq!(ssa.args(phi).len(), edges);
            for ((_, edge), &arg) in cfg.in_edges(block).zip(ssa.args(phi)) {
                let from = edge.from.as_u32();
                if !reached[from as usize] {
                    assert_eq!(arg, Ssa::UNKNOWN);
                    continue;
                }
                let end = blocks[from as usize].len();
                let wanted = seen(cfg, &reached, &blocks, (from, end), variable);
                assert_eq!(opened(ssa, arg), Some(wanted), "{name} phi of {variable:?}");
                // A value that arrives dominates the edge it arrives by.
                let home = match ssa.value(arg) {
                    Value::Phi { block, .. } => block,
                    Value::Def { stmt, .. } => cfg.of_statement(stmt).unwrap(),
                    _ => BlockId::new(0),
                };
                assert!(dominance[home.as_u32() as usize][from as usize]);
            }
        }
    }
    assert_eq!(found, wanted, "{name}");
    (found.len(), merges)
}

#[test]
fn random_functions() {
    let (mut phis, mut merges) = (0, 0);
    for seed in 1..=3000 {
        let sample = common::function(seed, if seed % 10 == 0 { 60 } else { 25 });
        let parsed = ptx_parse::parse(sample.text.as_bytes());
        let facts = ModuleFacts::new(&parsed.module);
        let facts = facts
            .function(parsed.module.function("k").unwrap())
            .unwrap();
        let found = check(facts, &sample.text);
        phis += found.0;
        merges += found.1;
    }
    assert!(phis > 2000 && merges > 2000, "{phis} phis, {merges} merges");
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for path in entries.filter_map(Result::ok).map(|e| e.path()) {
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|e| e == "ptx") {
            found.push(path);
        }
    }
}

fn folder(path: &Path, most_bytes: u64) -> usize {
    let mut paths = Vec::new();
    files(path, &mut paths);
    paths.sort();
    let mut checked = 0;
    for path in paths {
        if fs::metadata(&path).unwrap().len() > most_bytes {
            continue;
        }
        let module = ptx_parse::parse(&fs::read(&path).unwrap()).module;
        let facts = ModuleFacts::new(&module);
        for (id, _, body) in module.definitions() {
            if body.statement_table().len() > 300 || body.labels().len() > 40 {
                continue;
            }
            check(facts.function(id).unwrap(), &path.display().to_string());
            checked += 1;
        }
    }
    checked
}

#[test]
fn functions_of_the_corpus() {
    assert!(folder(&test_support::corpus::own(), 60_000) > 200);
}

#[test]
#[ignore = "needs ../shared/corpus"]
fn shared_corpus_functions() {
    assert!(folder(&test_support::corpus::shared(), 30_000) > 200);
}

/// A large input takes about as long as sixteen small ones with the same size together. Other programs slow down both.
fn assert_linear(text: impl Fn(usize) -> String, work: impl Fn(&ModuleFacts<'_>)) {
    let [small, large] = [2_000, 32_000].map(|n| ptx_parse::parse(text(n).as_bytes()).module);
    let time = |module, count| {
        let start = Instant::now();
        (0..count).for_each(|_| work(&ModuleFacts::new(module)));
        start.elapsed()
    };
    let (mut many, mut one) = (Duration::ZERO, Duration::ZERO);
    for _ in 0..8 {
        many += time(&small, 16);
        one += time(&large, 1);
    }
    assert!(one < 5 * many, "small inputs {many:?}, large one {one:?}");
}

#[test]
fn many_registers_of_a_statement() {
    let names = |n: usize| {
        (0..n)
            .map(|i| format!("%r{i}"))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let text = |n| format!(".entry k() {{ .reg .b32 %r<{n}>; unknown {}; }}", names(n));
    assert_linear(text, |facts| {
        let (id, ..) = facts.module().definitions().next().unwrap();
        let facts = facts.function(id).unwrap();
        assert!(FunctionDataflow::new(facts).ssa().is_ok());
    });
}

#[test]
fn many_calls_that_never_return() {
    let text = |n: usize| {
        let functions: String = (0..n)
            .map(|i| format!(".func f{i}() .noreturn;\n"))
            .collect();
        let names: Vec<_> = (0..n).map(|i| format!("f{i}")).collect();
        let calls = "@%p call %d, T;\n".repeat(n);
        let names = names.join(", ");
        format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n{functions}.entry k() {{ .reg .pred %p; .reg .b64 %d; T: .calltargets {names};\n{calls} }}"
        )
    };
    assert_linear(text, |facts| {
        let (id, _, body) = facts.module().definitions().next().unwrap();
        let facts = facts.function(id).unwrap();
        assert!(
            body.insts()
                .all(|(inst, _)| facts.inst(inst).never_returns())
        );
        assert!(Cfg::new(facts).len() > 1);
    });
}
