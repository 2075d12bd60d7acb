//! Every function of the corpora up to a size against brute force: its graph, what is live, what reaches what, pressure.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]
#![allow(clippy::too_many_lines, reason = "lists of cases")]

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;

use crate::{brute, files};
use brute::{Random, check};
use ptx_dataflow::cfg::BlockId;
use ptx_dataflow::function_dataflow::FunctionDataflow;
use ptx_dataflow::graph::Graph;
use ptx_dataflow::internals::Digraph;
use ptx_dataflow::liveness::LiveCursor;
use ptx_dataflow::pressure::{CLASSES, LivePoint, Pressure};
use ptx_dataflow::reg_lanes::VariableId;
use ptx_ir::facts::{FunctionFacts, ModuleFacts, RegisterComponent};
use ptx_ir::{Statement, StmtId};
use ptx_isa::RegisterClass;

/// Functions with more are left to the random ones and to `.ci/analysis.py`.
const MOST_BLOCKS: u32 = 40;
const MOST_INSTRUCTIONS: usize = 300;

/// Calls `with` for every small function of the files of a corpus that are not too large; how many there were.
fn each(
    folder: &Path,
    most_bytes: u64,
    mut with: impl FnMut(FunctionFacts<'_>, &FunctionDataflow<'_>),
) -> u32 {
    let mut count = 0;
    for entry in files::entries(folder) {
        if std::fs::metadata(&entry.path).is_ok_and(|m| m.len() > most_bytes) {
            continue;
        }
        let module = ptx_parse::parse(&entry.read()).module;
        let facts = ModuleFacts::new(&module);
        for (id, _, body) in module.definitions() {
            let facts = facts.function(id).expect("a definition has a body");
            let analysis = FunctionDataflow::new(facts);
            if analysis.cfg().node_count() <= MOST_BLOCKS
                && body.inst_table().len() <= MOST_INSTRUCTIONS
            {
                count += 1;
                with(facts, &analysis);
            }
        }
    }
    count
}

/// The shape of each function once, however many files have it.
fn graphs(folder: &Path, most_bytes: u64) -> (u32, usize) {
    let mut seen = HashSet::new();
    let mut random = Random::new(11);
    let count = each(folder, most_bytes, |_, analysis| {
        let graph = brute::of_cfg(analysis.cfg());
        if !seen.insert(format!("{graph:?}")) {
            return;
        }
        check::orders(&graph);
        check::dominators(&graph);
        check::frontiers(&graph, &mut random);
        check::post_dominators_and_control_dependence(&graph);
        check::loops(&graph);
        check::components(&graph);
        // Post-dominance of the paths that leave, on a graph reversed here.
        let exit = graph.node_count();
        let mut back: Vec<(u32, u32)> = (0..exit)
            .flat_map(|from| graph.successors(from).iter().map(move |&to| (to, from)))
            .collect();
        back.extend((0..exit).filter(|&n| graph.exits(n)).map(|n| (exit, n)));
        let back = Digraph::new(exit + 1, exit, &back).expect("ends are blocks");
        let leaving = brute::dominance(&back);
        for n in 0..exit {
            let wanted = brute::immediate(&leaving, n as usize).filter(|&b| b != exit);
            let found = analysis.ipdom(BlockId::new(n)).map(BlockId::as_u32);
            assert_eq!(found, wanted, "{graph:?} {n}");
        }
    });
    (count, seen.len())
}

/// What an instruction does, and what may follow.
struct Inst {
    stmt: StmtId,
    block: BlockId,
    reads: BTreeSet<VariableId>,
    writes: BTreeSet<VariableId>,
    maybe: BTreeSet<VariableId>,
    next: Vec<usize>,
    /// What the caller reads after it.
    returned: BTreeSet<VariableId>,
}

/// What may come next on the way from a block: its instructions, or the way out with the results.
struct Entry {
    insts: Vec<usize>,
    returned: BTreeSet<VariableId>,
}

/// The instructions of a function, and the first ones on the way from each block.
fn instructions(
    facts: FunctionFacts<'_>,
    analysis: &FunctionDataflow<'_>,
) -> (Vec<Inst>, Vec<Entry>) {
    let cfg = analysis.cfg();
    let mut insts = Vec::new();
    for (stmt, statement) in facts.body().statements() {
        let mentions = match statement {
            Statement::Inst(inst) => facts.inst(inst).registers(),
            Statement::Opaque(opaque) => facts.opaque(opaque),
            _ => continue,
        };
        let places = |keep: fn(ptx_ir::facts::RegAccess) -> bool| {
            let kept = mentions.clone().filter(move |m| keep(m.usage));
            kept.flat_map(|m| analysis.variables().of(m.place))
                .collect()
        };
        insts.push(Inst {
            stmt,
            block: cfg
                .of_statement(stmt)
                .expect("every instruction is in a block"),
            reads: places(|u| u.reads()),
            writes: places(|u| u.writes()),
            maybe: places(|u| u.may_write()),
            next: Vec::new(),
            returned: BTreeSet::new(),
        });
    }
    let results = facts.results().map(|register| RegisterComponent {
        register,
        component: None,
    });
    let results: BTreeSet<VariableId> = results.flat_map(|p| analysis.variables().of(p)).collect();
    let returned = |block: BlockId| match cfg.block(block).is_some_and(|b| b.returns) {
        true => results.clone(),
        false => BTreeSet::new(),
    };
    let first = |block: BlockId| insts.iter().position(|i| i.block == block);
    // Past blocks without instructions.
    let entries = cfg.blocks().map(|(block, _)| {
        let mut entry = Entry {
            insts: Vec::new(),
            returned: BTreeSet::new(),
        };
        let (mut seen, mut work) = (BTreeSet::new(), vec![block]);
        while let Some(at) = work.pop() {
            match first(at) {
                Some(inst) => entry.insts.push(inst),
                None if seen.insert(at.as_u32()) => {
                    entry.returned.extend(returned(at));
                    work.extend(cfg.out_edges(at).map(|(_, e)| e.to));
                }
                None => {}
            }
        }
        entry
    });
    let entries: Vec<Entry> = entries.collect();
    for at in 0..insts.len() {
        let block = insts[at].block;
        if insts.get(at + 1).is_some_and(|n| n.block == block) {
            insts[at].next = vec![at + 1];
            continue;
        }
        insts[at].returned = returned(block);
        for (_, edge) in cfg.out_edges(block) {
            let entry = &entries[edge.to.as_u32() as usize];
            insts[at].next.extend(&entry.insts);
            insts[at].returned.extend(&entry.returned);
        }
    }
    (insts, entries)
}

/// What may be read after an instruction.
fn live_after(inst: &Inst, before: &[BTreeSet<VariableId>]) -> BTreeSet<VariableId> {
    let next = inst.next.iter().flat_map(|&n| &before[n]);
    next.chain(&inst.returned).copied().collect()
}

/// What may be read from the start of each instruction on, before it is surely written: by going round until nothing new
/// comes.
fn live(insts: &[Inst]) -> Vec<BTreeSet<VariableId>> {
    let mut before: Vec<BTreeSet<VariableId>> = insts.iter().map(|i| i.reads.clone()).collect();
    loop {
        let mut grew = false;
        for (at, inst) in insts.iter().enumerate().rev() {
            let behind = live_after(inst, &before);
            for variable in behind.difference(&inst.writes) {
                grew |= before[at].insert(*variable);
            }
        }
        if !grew {
            return before;
        }
    }
}

/// The instructions that see what `variable` is at the start of the instructions in `from`.
fn seen_by(insts: &[Inst], from: &[usize], variable: VariableId) -> BTreeSet<usize> {
    let (mut seen, mut work) = (BTreeSet::new(), from.to_vec());
    while let Some(at) = work.pop() {
        if seen.insert(at) && !insts[at].writes.contains(&variable) {
            work.extend(&insts[at].next);
        }
    }
    seen.retain(|&at| insts[at].reads.contains(&variable));
    seen
}

fn dataflow(facts: FunctionFacts<'_>, analysis: &FunctionDataflow<'_>) {
    let (insts, entries) = instructions(facts, analysis);
    let before = live(&insts);
    let mut total = 0;
    for (block, _) in analysis.cfg().blocks() {
        let start = |b: BlockId| -> BTreeSet<VariableId> {
            let entry = &entries[b.as_u32() as usize];
            let firsts = entry.insts.iter().flat_map(|&f| &before[f]);
            firsts.chain(&entry.returned).copied().collect()
        };
        let next = analysis
            .cfg()
            .out_edges(block)
            .flat_map(|(_, e)| start(e.to));
        let mut end: BTreeSet<VariableId> = next.collect();
        end.extend(analysis.summary().returned(block));
        let live_in: BTreeSet<VariableId> = analysis.liveness().live_in(block).iter().collect();
        let live_out: BTreeSet<VariableId> = analysis.liveness().live_out(block).iter().collect();
        total += live_in.len() + live_out.len();
        assert_eq!(live_in, start(block));
        assert_eq!(live_out, end);
    }
    assert_eq!(analysis.liveness().total(), total as u64);

    // Pressure: before each instruction, and after it together with what it writes.
    let class = |v: &VariableId| {
        let class = analysis.variables().class(*v);
        class.unwrap_or(RegisterClass::Bits32)
    };
    let units = |set: &BTreeSet<VariableId>| -> u32 {
        let classes = set.iter().map(class);
        let units = classes.map(|c| match c {
            RegisterClass::Predicate => 0,
            c => u32::from(c.bits()).div_ceil(32),
        });
        units.sum()
    };
    let (mut peak, mut at, mut by_class) = (0, None, [0; CLASSES.len()]);
    for (inst, now) in insts.iter().zip(&before) {
        let mut after = live_after(inst, &before);
        after.extend(inst.writes.iter().chain(&inst.maybe));
        for set in [now, &after] {
            if units(set) > peak || at.is_none() {
                (peak, at) = (units(set), Some(inst.stmt));
            }
            for (most, kind) in by_class.iter_mut().zip(CLASSES) {
                let count = set.iter().filter(|v| class(v) == kind).count();
                *most = (*most).max(count as u32);
            }
        }
    }
    let found = analysis.pressure();
    assert_eq!(
        (found.units, found.at, found.by_class),
        (peak, at, by_class)
    );

    // The registers at each instruction.
    let index: BTreeMap<StmtId, usize> = insts.iter().map(|i| i.stmt).zip(0..).collect();
    let mut points = 0;
    let mut check_point = |point: LivePoint<'_>| {
        let at = index[&point.stmt];
        let mut live = live_after(&insts[at], &before);
        let mut after = live.clone();
        after.extend(insts[at].writes.iter().chain(&insts[at].maybe));
        assert_eq!(point.units, units(&before[at]).max(units(&after)));
        assert!(point.written.iter().all(|v| live.remove(v)));
        live.extend(point.read);
        assert_eq!(live, before[at]);
        points += 1;
    };
    Pressure::visit(analysis, &mut check_point);
    assert_eq!(points, insts.len());
    for (block, _) in analysis.cfg().blocks() {
        let mut cursor = LiveCursor::at_end(analysis, block);
        while let Some(stmt) = cursor.previous() {
            let expected = &before[index[&stmt]];
            assert!(cursor.live().iter().eq(expected.iter().copied()));
            assert_eq!(&analysis.live_before(stmt), cursor.live());
            let after = live_after(&insts[index[&stmt]], &before);
            assert!(analysis.live_after(stmt).iter().eq(after));
        }
    }

    // Definitions: each is followed on its own.
    let reaching = analysis.reaching();
    let number = |stmt: StmtId| {
        insts
            .iter()
            .position(|i| i.stmt == stmt)
            .expect("it is there")
    };
    let mut links = BTreeSet::new();
    let mut definitions = 0;
    for (at, inst) in insts.iter().enumerate() {
        for &variable in inst.writes.union(&inst.maybe) {
            definitions += 1;
            let seen = seen_by(&insts, &inst.next, variable);
            links.extend(seen.into_iter().map(|read| (read, at, variable)));
        }
    }
    assert_eq!(reaching.defs().len(), definitions);
    assert_eq!(
        reaching.uses().len(),
        insts.iter().map(|i| i.reads.len()).sum::<usize>()
    );
    let mut found = BTreeSet::new();
    let defs: Vec<_> = reaching.defs().map(|(_, site)| *site).collect();
    for (read, site) in reaching.uses() {
        assert_eq!(reaching.read(site.stmt, site.variable), Some(read));
        for &def in reaching.defs_of(read) {
            let def = defs[def.as_u32() as usize];
            assert_eq!(def.variable, site.variable);
            found.insert((number(site.stmt), number(def.stmt), site.variable));
        }
        let start = seen_by(&insts, &entries[0].insts, site.variable);
        let uninitialized = reaching.may_be_uninitialized(read);
        assert_eq!(uninitialized, start.contains(&number(site.stmt)));
    }
    assert_eq!(found, links);
}

/// The text of each function once.
fn functions(folder: &Path, most_bytes: u64) -> (u32, usize) {
    let mut seen = HashSet::new();
    let count = each(folder, most_bytes, |facts, analysis| {
        let body = facts.body();
        let spans = body.statements().map(|(stmt, _)| body.source_span(stmt));
        let text: Vec<&[u8]> = spans.map(|s| s.of(facts.module().source())).collect();
        if seen.insert(text.concat()) {
            dataflow(facts, analysis);
        }
    });
    (count, seen.len())
}

#[test]
fn graphs_of_the_corpus() {
    let (all, different) = graphs(&files::own(), 1 << 20);
    println!("{different} graphs of {all} functions");
    assert!(different > 100, "{different}");
}

#[test]
fn functions_of_the_corpus() {
    let (all, different) = functions(&files::own(), 1 << 20);
    println!("{different} of {all} functions");
    assert!(different > 400, "{different}");
}

#[test]
#[ignore = "needs ../shared/corpus"]
fn shared_corpus_graphs_and_functions() {
    let (all, different) = graphs(&files::shared(), 1 << 17);
    assert!(
        all > 100 && different > 10,
        "{different} graphs of {all} functions"
    );
    let (all, different) = functions(&files::shared(), 1 << 17);
    assert!(
        all > 100 && different > 10,
        "{different} of {all} functions"
    );
}
