//! The instruction mix of a function or a loop.

use std::collections::BTreeMap;

use ptx_ir::facts::{Facts, MemoryAccess, Space};
use ptx_ir::{Body, Operand};
use serde::{Serialize, Serializer};

use crate::labels::Labeled;

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
    "synchronization",
    "warp_matrix",
    "warpgroup_matrix",
    "tensor_memory",
    "stack",
    "video",
    "miscellaneous",
];

/// The family of an instruction; `unknown` if it is not in the tables.
#[must_use]
pub fn family(facts: &Facts<'_>) -> &'static str {
    third_number(facts.section())
        .checked_sub(1)
        .and_then(|index| FAMILIES.get(index))
        .copied()
        .unwrap_or("unknown")
}

/// The third number of a section such as `9.7.1.3`; 0 if it has none.
fn third_number(section: &str) -> usize {
    let (mut dots, mut number) = (0, 0);
    for byte in section.bytes() {
        match byte {
            b'.' => dots += 1,
            b'0'..=b'9' if dots == 2 => number = number * 10 + usize::from(byte - b'0'),
            _ => {}
        }
    }
    number
}

/// The instruction mix: numbers of instructions by kind.
#[derive(Debug, Serialize, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Mix {
    /// The number of instructions.
    pub instructions: u64,
    /// The number of instructions of each [`family`].
    pub families: BTreeMap<&'static str, u64>,
    /// Tensor-core instructions.
    pub tensor_core: TensorCore,
    /// Barriers of CTAs, clusters and warps.
    pub barriers: u64,
    /// Direct and indirect calls.
    pub calls: u64,
    /// Memory accesses by kind.
    #[serde(serialize_with = "accesses")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<Counted<'_>>"))]
    pub memory: BTreeMap<Access, u64>,
}

/// Tensor-core instructions.
#[derive(Debug, Serialize, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TensorCore {
    /// Multiplications.
    pub arithmetic: u64,
    /// Loads, stores and copies of fragments.
    pub moves: u64,
}

/// A kind of memory access.
#[derive(Debug, Serialize, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Access {
    /// The state space; `shared::cta` is `shared`.
    pub space: Labeled<Space>,
    /// The kind of the access.
    pub access: Labeled<ptx_isa::Access>,
    /// The number of bytes that a thread accesses, if known.
    pub bytes: Option<u64>,
    /// The number of elements of a vector.
    pub vector: usize,
}

impl Access {
    /// Classifies a memory access of an instruction of the function with this body.
    #[must_use]
    pub fn new(access: &MemoryAccess, body: &Body) -> Self {
        let vector = match access.data {
            Some((Operand::Vector(list), _)) => body.pool().list(list).len(),
            _ => 1,
        };
        Self {
            space: Labeled(access.space),
            access: Labeled(access.access),
            bytes: access.bytes,
            vector,
        }
    }
}

/// A kind of memory access with its count.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
struct Counted<'a> {
    #[serde(flatten)]
    access: &'a Access,
    count: u64,
}

/// Serializes a list of the kinds of accesses with their counts.
fn accesses<S: Serializer>(
    counts: &BTreeMap<Access, u64>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let counted = counts
        .iter()
        .map(|(access, &count)| Counted { access, count });
    serializer.collect_seq(counted)
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

    /// The families with their counts, the most frequent first.
    #[must_use]
    pub fn sorted_families(&self) -> Vec<(&'static str, u64)> {
        let mut families: Vec<_> = self
            .families
            .iter()
            .map(|(&name, &count)| (name, count))
            .collect();
        families.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        families
    }
}
