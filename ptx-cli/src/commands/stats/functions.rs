//! Statistics of each function: instructions by family, control flow, live registers, memory.

use std::collections::BTreeMap;

use ptx_analysis::function_analysis::{FunctionAnalysis, map_functions};
use ptx_analysis::pressure::CLASSES;
use ptx_ir::facts::{Facts, FunctionFacts, ModuleFacts};
use ptx_ir::{FunctionKind, Module};
use serde::Serialize;

use crate::render::{clean, labels};

/// The families of instructions: the parts of section 9.7 of the PTX ISA manual, in its order.
pub(crate) const FAMILIES: [&str; 19] = [
    "integer",
    "extended",
    "float",
    "half",
    "mixed",
    "comparison",
    "half_comparison",
    "logic",
    "movement",
    "texture",
    "surface",
    "control",
    "synchronisation",
    "warp_matrix",
    "warpgroup_matrix",
    "tensor_memory",
    "stack",
    "video",
    "miscellaneous",
];

/// The family of an instruction; `unknown` if it is not in the tables.
pub(crate) fn family(facts: &Facts<'_>) -> &'static str {
    let part = facts
        .section()
        .split('.')
        .nth(2)
        .and_then(|n| n.parse().ok());
    let index = part.and_then(|n: usize| n.checked_sub(1));
    let name = index.and_then(|i| FAMILIES.get(i)).copied();
    name.unwrap_or("unknown")
}

/// A function with a body.
#[derive(Serialize)]
pub(super) struct OfFunction {
    pub(super) name: String,
    pub(super) kind: &'static str,
    pub(super) instructions: u64,
    pub(super) families: BTreeMap<&'static str, u64>,
    pub(super) blocks: u64,
    pub(super) loops: u64,
    pub(super) loop_depth: u32,
    pub(super) barriers: u64,
    pub(super) pressure: Pressure,
    pub(super) memory: Vec<Accesses>,
}

#[derive(Serialize)]
pub(super) struct Pressure {
    pub(super) max_b32_units: u32,
    pub(super) by_class: BTreeMap<String, u32>,
}

/// The number of accesses of one kind.
#[derive(Serialize)]
pub(super) struct Accesses {
    pub(super) space: &'static str,
    pub(super) access: &'static str,
    pub(super) bytes: Option<u64>,
    pub(super) count: u64,
}

/// All functions with a body, in order.
pub(super) fn of(module: &Module) -> Vec<OfFunction> {
    let facts = ModuleFacts::new(module);
    map_functions(&facts, |id, of| {
        let function = &module.functions()[id];
        let kind = match function.kind {
            FunctionKind::Entry => "entry",
            FunctionKind::Func => "func",
        };
        let name = clean(module.name(function.name)).into_owned();
        one(of, name, kind)
    })
}

fn one(facts: FunctionFacts<'_>, name: String, kind: &'static str) -> OfFunction {
    let analysis = FunctionAnalysis::new(facts);
    let mut families = BTreeMap::new();
    let mut memory = BTreeMap::new();
    let (mut instructions, mut barriers) = (0, 0);
    for (id, _) in facts.body().insts() {
        let of = facts.inst(id);
        instructions += 1;
        barriers += u64::from(of.is_barrier());
        *families.entry(family(&of)).or_insert(0) += 1;
        for access in of.memory() {
            let key = (
                labels::space(access.space),
                labels::access(access.access),
                access.bytes,
            );
            *memory.entry(key).or_insert(0) += 1;
        }
    }
    let (mut blocks, mut loops, mut loop_depth) = (0, 0, 0);
    for (id, _) in analysis.cfg().blocks().filter(|(_, b)| !b.is_dispatch) {
        blocks += 1;
        loops += u64::from(analysis.loops().header(id) == Some(id));
        loop_depth = loop_depth.max(analysis.loops().depth(id));
    }
    let classes = CLASSES.iter().zip(analysis.pressure().by_class);
    let memory = memory.into_iter();
    OfFunction {
        name,
        kind,
        instructions,
        families,
        blocks,
        loops,
        loop_depth,
        barriers,
        pressure: Pressure {
            max_b32_units: analysis.pressure().units,
            by_class: classes.map(|(&c, n)| (labels::class(c), n)).collect(),
        },
        memory: memory
            .map(|((space, access, bytes), count)| Accesses {
                space,
                access,
                bytes,
                count,
            })
            .collect(),
    }
}
