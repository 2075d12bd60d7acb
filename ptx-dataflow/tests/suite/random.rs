//! Random functions against brute force: slow, and written from the definitions.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]
#![allow(clippy::too_many_lines, reason = "lists of cases")]

use std::collections::{BTreeMap, BTreeSet};

use crate::common;
use common::{Known, Random, Sample, function};
use ptx_dataflow::cfg::{BlockId, Cfg};
use ptx_dataflow::function_dataflow::FunctionDataflow;
use ptx_dataflow::graph::{Dominators, Loops};
use ptx_dataflow::internals::Digraph;
use ptx_dataflow::reg_lanes::VariableId;
use ptx_ir::facts::{FunctionFacts, ModuleFacts, RegisterComponent};
use ptx_ir::{Module, Statement, StmtId};

const SAMPLES: u64 = 3000;

fn each(size: usize, check: impl Fn(&Sample, FunctionFacts<'_>, &FunctionDataflow<'_>)) {
    for seed in 1..=SAMPLES {
        let sample = function(seed, size);
        let parsed = ptx_parse::parse(sample.text.as_bytes());
        assert!(
            parsed.diagnostics.is_empty(),
            "{:?}\n{}",
            parsed.diagnostics,
            sample.text
        );
        let facts = ModuleFacts::new(&parsed.module);
        let kernel = parsed.module.function("k").expect("the kernel");
        let facts = facts.function(kernel).expect("a body");
        check(&sample, facts, &FunctionDataflow::new(facts));
    }
}

fn name(module: &Module, facts: FunctionFacts<'_>, place: RegisterComponent) -> Vec<String> {
    let body = facts.body();
    let register = body.registers().get(place.register).expect("a register");
    let decl = body.reg_decls().get(register.decl).expect("a declaration");
    let base = module.name(decl.name);
    match (decl.count, decl.vector) {
        (Some(_), _) => vec![format!("{base}{}", register.number)],
        (None, 1) => vec![base.into()],
        _ => {
            let lanes = ["x", "y", "z", "w"].into_iter().take(decl.vector.into());
            let meant = lanes
                .enumerate()
                .filter(|(n, _)| place.component.is_none_or(|l| usize::from(l) == *n));
            meant.map(|(_, lane)| format!("{base}.{lane}")).collect()
        }
    }
}

fn set(names: &[String]) -> BTreeSet<String> {
    names.iter().cloned().collect()
}

#[test]
fn facts_are_what_was_written() {
    each(30, |sample, facts, _| {
        let module = facts.module();
        for ((inst, _), known) in facts.body().insts().zip(&sample.insts) {
            let facts_of = facts.inst(inst);
            assert!(facts_of.is_known(), "line {}\n{}", known.line, sample.text);
            let names = |places: &mut dyn Iterator<Item = RegisterComponent>| -> BTreeSet<String> {
                places.flat_map(|p| name(module, facts, p)).collect()
            };
            assert_eq!(
                names(&mut facts_of.reads()),
                set(&known.reads),
                "line {}\n{}",
                known.line,
                sample.text
            );
            let (always, maybe) = (
                names(&mut facts_of.writes()),
                names(&mut facts_of.conditional_writes()),
            );
            let (no, written) = (BTreeSet::new(), set(&known.writes));
            let wanted = if known.guarded {
                (no, written)
            } else {
                (written, no)
            };
            assert_eq!(
                (always, maybe),
                wanted,
                "line {}\n{}",
                known.line,
                sample.text
            );
        }
    });
}

/// The instructions in each block.
fn members(facts: FunctionFacts<'_>, cfg: &Cfg) -> Vec<Vec<usize>> {
    let mut members = vec![Vec::new(); cfg.len()];
    let mut next = 0;
    for (at, statement) in facts.body().statements() {
        if let Statement::Inst(_) = statement {
            let block = cfg
                .of_statement(at)
                .expect("every instruction is in a block");
            members[block.as_u32() as usize].push(next);
            next += 1;
        }
    }
    members
}

/// The first instruction on the way from a block, past empty ones; `end` after the last one.
fn enter(cfg: &Cfg, members: &[Vec<usize>], mut block: BlockId, end: usize) -> usize {
    loop {
        if let Some(&first) = members[block.as_u32() as usize].first() {
            return first;
        }
        match cfg.successors(block) {
            [] => return end,
            [to] => block = *to,
            more => panic!("an empty block with {} ways on", more.len()),
        }
    }
}

#[test]
fn control_goes_where_the_text_says() {
    each(30, |sample, facts, analysis| {
        let cfg = analysis.cfg();
        let members = members(facts, cfg);
        let end = sample.insts.len();
        for (id, block) in cfg.blocks() {
            assert!(!block.is_dispatch && !block.unknown);
            let inside = &members[id.as_u32() as usize];
            for pair in inside.windows(2) {
                assert_eq!(sample.insts[pair[0]].next, [pair[1]], "\n{}", sample.text);
            }
            if let Some(&last) = inside.last() {
                let known = &sample.insts[last];
                let mut next: BTreeSet<usize> = cfg
                    .successors(id)
                    .iter()
                    .map(|&to| enter(cfg, &members, to, end))
                    .collect();
                if block.exits && known.next.contains(&end) {
                    next.insert(end);
                }
                let wanted: BTreeSet<usize> = known.next.iter().copied().collect();
                assert_eq!(next, wanted, "block {id:?}\n{}", sample.text);
                // Every edge of a guarded instruction has the value it needs, both values occur.
                assert!(
                    !known.guarded
                        || cfg.out_edges(id).all(|(_, e)| e.when.is_some())
                        || cfg.out_edges(id).len() == 1
                );
            }
            for (number, edge) in cfg.out_edges(id) {
                let position = cfg.in_position(number).expect("an edge of the graph");
                assert_eq!(cfg.in_edges(edge.to).nth(position), Some((number, edge)));
                assert_eq!(cfg.predecessors(edge.to)[position], id);
            }
        }
    });
}

/// Whether `name` may be read from the start of instruction `from` on before it is surely written, by an instruction or by the
/// caller to whom the function returns its results.
fn read_from(sample: &Sample, from: usize, name: &String) -> bool {
    let insts = &sample.insts;
    let result = sample.results.contains(name);
    let mut seen = vec![false; insts.len()];
    let mut work = vec![from];
    while let Some(at) = work.pop() {
        let Some(inst) = insts.get(at) else {
            match result {
                true => return true,
                false => continue,
            }
        };
        if std::mem::replace(&mut seen[at], true) {
            continue;
        }
        if result && inst.returns || inst.reads.contains(name) {
            return true;
        }
        if inst.guarded || !inst.writes.contains(name) {
            work.extend(&inst.next);
        }
    }
    false
}

#[test]
fn what_is_live_may_be_read() {
    each(25, |sample, facts, analysis| {
        let module = facts.module();
        let members = members(facts, analysis.cfg());
        let names: BTreeMap<VariableId, String> = analysis
            .variables()
            .ids()
            .map(|v| {
                (
                    v,
                    name(module, facts, analysis.variables().place(v)).remove(0),
                )
            })
            .collect();
        let end = sample.insts.len();
        let mut peak = 0;
        for (id, _) in analysis.cfg().blocks() {
            let first = enter_or_next(analysis.cfg(), &members, id, end);
            for (&variable, name) in &names {
                let wanted = first.iter().any(|&f| read_from(sample, f, name));
                let found = analysis.liveness().live_in(id).contains(variable);
                assert_eq!(found, wanted, "{name} at {id:?}\n{}", sample.text);
            }
        }
        // Pressure: what is live before an instruction, and what is live after it or written by it.
        let units = |name: &str| match name.as_bytes() {
            [b'%', b'p', ..] => 0,
            [b'%', b'd', ..] => 2,
            _ => 1,
        };
        for (at, inst) in sample.insts.iter().enumerate() {
            let live = |name: &String| read_from(sample, at, name);
            let before: u32 = names.values().filter(|n| live(n)).map(|n| units(n)).sum();
            let behind = |name: &String| {
                inst.writes.contains(name)
                    || inst.returns && sample.results.contains(name)
                    || inst.next.iter().any(|&n| read_from(sample, n, name))
            };
            let after: u32 = names.values().filter(|n| behind(n)).map(|n| units(n)).sum();
            peak = peak.max(before).max(after);
        }
        assert_eq!(analysis.pressure().units, peak, "\n{}", sample.text);
    });
}

fn enter_or_next(cfg: &Cfg, members: &[Vec<usize>], block: BlockId, end: usize) -> Vec<usize> {
    vec![enter(cfg, members, block, end)]
}

/// Nodes that can be reached from `root` without passing `without`.
fn reach(edges: &[Vec<u32>], root: u32, without: Option<u32>) -> BTreeSet<u32> {
    let mut seen = BTreeSet::new();
    let mut work = vec![root];
    while let Some(node) = work.pop() {
        if Some(node) != without && seen.insert(node) {
            work.extend(&edges[node as usize]);
        }
    }
    seen
}

#[test]
fn dominators_and_loops_of_random_graphs() {
    for seed in 1..=SAMPLES {
        let mut random = Random::new(seed);
        let nodes = 1 + random.below(14);
        let mut edges = vec![Vec::new(); nodes];
        for _ in 0..random.below(nodes * 2 + 1) {
            edges[random.below(nodes)].push(random.below(nodes) as u32);
        }
        let pairs = (0u32..)
            .zip(&edges)
            .flat_map(|(from, to)| to.iter().map(move |&to| (from, to)));
        let pairs: Vec<(u32, u32)> = pairs.collect();
        let graph = Digraph::new(nodes as u32, 0, &pairs).expect("a graph");
        let dominators = Dominators::new(&graph);
        let loops = Loops::natural(&graph, &dominators);
        let reached = reach(&edges, 0, None);
        // A node dominates what cannot be reached without it.
        let dominated = |node: u32| -> BTreeSet<u32> {
            let without = if node == 0 {
                BTreeSet::new()
            } else {
                reach(&edges, 0, Some(node))
            };
            reached.difference(&without).copied().collect()
        };
        let by: Vec<BTreeSet<u32>> = (0..nodes as u32)
            .map(|n| {
                if reached.contains(&n) {
                    dominated(n)
                } else {
                    BTreeSet::new()
                }
            })
            .collect();
        let above = |node: u32| {
            reached
                .iter()
                .copied()
                .filter(move |&d| d != node)
                .filter(|&d| by[d as usize].contains(&node))
                .collect::<Vec<_>>()
        };
        for node in 0..nodes as u32 {
            // The immediate one is dominated by all others.
            let strict = if reached.contains(&node) {
                above(node)
            } else {
                Vec::new()
            };
            let wanted = strict
                .iter()
                .copied()
                .find(|&d| above(d).len() + 1 == strict.len());
            assert_eq!(
                dominators.immediate(node),
                wanted,
                "node {node} of {edges:?}"
            );
        }
        let mut bodies: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        for &from in &reached {
            for &header in edges[from as usize]
                .iter()
                .filter(|h| by[**h as usize].contains(&from))
            {
                let body = bodies.entry(header).or_default();
                body.insert(header);
                // What reaches the source of the edge without passing the header.
                for &node in &reached {
                    let mut without = edges.clone();
                    without[header as usize].clear();
                    if node != header
                        && from != header
                        && reach(&without, node, None).contains(&from)
                    {
                        body.insert(node);
                    }
                }
            }
        }
        for node in 0..nodes as u32 {
            let around: Vec<u32> = bodies
                .iter()
                .filter(|(_, b)| b.contains(&node))
                .map(|(&h, _)| h)
                .collect();
            let inner = around.iter().copied().max_by_key(|&h| above(h).len());
            assert_eq!(loops.header(node), inner, "node {node} of {edges:?}");
            assert_eq!(
                loops.depth(node) as usize,
                around.len(),
                "node {node} of {edges:?}"
            );
        }
    }
}

#[test]
fn statements_lie_in_their_blocks() {
    each(20, |sample, facts, analysis| {
        let count = facts.body().statement_table().len() as u32;
        for stmt in 0..count {
            let block = analysis
                .cfg()
                .of_statement(StmtId::new(stmt))
                .expect("a block");
            let block = analysis.cfg().block(block).expect("it is there");
            assert!(
                block.first.as_u32() <= stmt && stmt < block.end.as_u32(),
                "{}",
                sample.text
            );
        }
    });
}

/// Whether a value that `name` has before instruction `from` may be seen by a read at `to`.
fn seen_at(insts: &[Known], from: &[usize], to: usize, name: &String) -> bool {
    let mut seen = vec![false; insts.len()];
    let mut work = from.to_vec();
    while let Some(at) = work.pop() {
        let Some(inst) = insts.get(at) else { continue };
        if std::mem::replace(&mut seen[at], true) {
            continue;
        }
        if at == to {
            return true;
        }
        if inst.guarded || !inst.writes.contains(name) {
            work.extend(&inst.next);
        }
    }
    false
}

#[test]
fn definitions_reach_what_may_see_them() {
    each(25, |sample, facts, analysis| {
        let module = facts.module();
        let reaching = analysis.reaching();
        let number: BTreeMap<StmtId, usize> = facts
            .body()
            .statements()
            .filter(|(_, s)| matches!(s, Statement::Inst(_)))
            .map(|(stmt, _)| stmt)
            .zip(0..)
            .collect();
        let named = |variable: VariableId| {
            name(module, facts, analysis.variables().place(variable)).remove(0)
        };
        let reads: usize = sample.insts.iter().map(|i| set(&i.reads).len()).sum();
        let writes: usize = sample.insts.iter().map(|i| set(&i.writes).len()).sum();
        assert_eq!(
            (reaching.uses().len(), reaching.defs().len()),
            (reads, writes)
        );
        let defs: Vec<StmtId> = reaching.defs().map(|(_, site)| site.stmt).collect();
        for (read, site) in reaching.uses() {
            let (at, name) = (number[&site.stmt], named(site.variable));
            let start = seen_at(&sample.insts, &[0], at, &name);
            assert_eq!(
                reaching.may_be_uninitialized(read),
                start,
                "{name} in {at}\n{}",
                sample.text
            );
            let mut found: Vec<usize> = reaching
                .defs_of(read)
                .iter()
                .map(|&d| number[&defs[d.as_u32() as usize]])
                .collect();
            found.sort_unstable();
            let reaches = |d: &usize| {
                let inst = &sample.insts[*d];
                inst.writes.contains(&name) && seen_at(&sample.insts, &inst.next, at, &name)
            };
            let wanted: Vec<usize> = (0..sample.insts.len()).filter(reaches).collect();
            assert_eq!(found, wanted, "{name} in {at}\n{}", sample.text);
            for &d in reaching.defs_of(read) {
                assert!(reaching.uses_of(d).contains(&read));
            }
        }
    });
}

#[test]
fn a_table_may_name_labels_by_number() {
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n.entry k() {\n.reg .b32 %r;\n\
        t: .branchtargets c<3>, end;\nbrx.idx %r, t;\nc0:\nc1: trap;\n{ c2: trap; }\nc2: trap;\nend: ret;\n\
        u: .branchtargets d<2>;\nbrx.idx %r, u;\nd0: ret;\n}\n";
    let parsed = ptx_parse::parse(text.as_bytes());
    let facts = ModuleFacts::new(&parsed.module);
    let kernel = parsed.module.function("k").expect("the kernel");
    let cfg = Cfg::new(facts.function(kernel).expect("a body"));
    let to = |block: u32| -> Vec<u32> {
        let next = cfg.successors(BlockId::new(block)).iter();
        next.map(|b| b.as_u32()).collect()
    };
    // c0, c1, the c2 that the table sees, end.
    assert_eq!(to(0), [1, 2, 4, 5]);
    // d1 is nowhere: anything may follow.
    assert!(to(6).len() > 2, "{:?}", to(6));
}
