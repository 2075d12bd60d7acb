//! What kinds of instructions a function or a loop has.

use std::collections::BTreeMap;

use ptx_ir::facts::{Facts, MemoryAccess};
use ptx_ir::{Body, Operand};
use serde::{Serialize, Serializer};

use crate::labels;

/// The families of instructions: the parts of section 9.7 of the PTX ISA manual, in its order.
pub const FAMILIES: [&str; 19] = [
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
pub fn family(facts: &Facts<'_>) -> &'static str {
    let part = facts
        .section()
        .split('.')
        .nth(2)
        .and_then(|n| n.parse().ok());
    let index = part.and_then(|n: usize| n.checked_sub(1));
    let name = index.and_then(|i| FAMILIES.get(i)).copied();
    name.unwrap_or("unknown")
}

/// The numbers of instructions by kind.
#[derive(Serialize, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Mix {
    pub instructions: u64,
    pub families: BTreeMap<&'static str, u64>,
    pub tensor_core: TensorCore,
    pub barriers: u64,
    pub calls: u64,
    #[serde(serialize_with = "accesses")]
    #[cfg_attr(test, schemars(with = "Vec<Counted<'_>>"))]
    pub memory: BTreeMap<Access, u64>,
}

/// Instructions about matrices of tensor cores.
#[derive(Serialize, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TensorCore {
    /// Multiplications.
    pub arithmetic: u64,
    /// Loads, stores and copies of fragments.
    pub moves: u64,
}

/// A kind of memory access.
#[derive(Serialize, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Access {
    pub space: &'static str,
    pub access: &'static str,
    pub bytes: Option<u64>,
    /// The number of elements of a vector.
    pub vector: usize,
}

impl Access {
    #[must_use]
    pub fn new(access: &MemoryAccess, body: &Body) -> Self {
        let vector = match access.data {
            Some((Operand::Vector(list), _)) => body.pool().list(list).len(),
            _ => 1,
        };
        Self {
            space: labels::space(access.space),
            access: labels::access(access.access),
            bytes: access.bytes,
            vector,
        }
    }
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Counted<'a> {
    #[serde(flatten)]
    access: &'a Access,
    count: u64,
}

/// Writes a list of the kinds with their counts.
fn accesses<S: Serializer>(all: &BTreeMap<Access, u64>, out: S) -> Result<S::Ok, S::Error> {
    out.collect_seq(all.iter().map(|(access, &count)| Counted { access, count }))
}

impl Mix {
    /// Counts an instruction.
    pub fn add(&mut self, facts: &Facts<'_>, body: &Body) {
        self.instructions += 1;
        self.barriers += u64::from(facts.is_barrier());
        self.calls += u64::from(facts.callees().is_some());
        self.tensor_core.arithmetic += u64::from(facts.is_matrix_multiply());
        self.tensor_core.moves += u64::from(facts.is_matrix_move());
        *self.families.entry(family(facts)).or_insert(0) += 1;
        for access in facts.memory() {
            *self.memory.entry(Access::new(&access, body)).or_insert(0) += 1;
        }
    }

    /// Families with their counts, the most frequent first; tensor-core arithmetic apart from moves of fragments.
    pub fn sorted_families(&self) -> Vec<(&'static str, u64)> {
        let mut all: Vec<_> = self.families.iter().map(|(&k, &v)| (k, v)).collect();
        all.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        all
    }
}
