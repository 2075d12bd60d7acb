//! The work of functions and loops.

use std::collections::BTreeMap;

use ptx_analysis::work::{self, Class};
use ptx_ir::facts::Space;
use serde::Serialize;

use super::ASSUMED_TRIPS;
use super::function::Of;
use crate::labels::Labeled;

/// The work of a warp.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Work {
    /// The number of instructions.
    pub instructions: u64,
    /// The number of instructions of each class that occurs.
    pub classes: BTreeMap<Labeled<Class>, u64>,
    /// Floating-point operations of at most 16 bits.
    pub half: u64,
    /// Single-precision floating-point operations.
    pub single: u64,
    /// Double-precision floating-point operations.
    pub double: u64,
    /// Integer operations.
    pub integer: u64,
    /// Multiply-add operations on tensor cores.
    pub multiply_adds: u64,
    /// Tensor-core instructions with an unknown number of multiply-add operations.
    pub unknown_products: u64,
    /// The total number of floating-point operations; a multiply-add counts as two.
    pub flops: u64,
    /// The traffic of each state space.
    pub memory: Vec<Memory>,
    /// The arithmetic intensity: floating-point operations per byte of global memory; `None` without accesses to global memory.
    pub intensity: Option<f64>,
}

/// The traffic of a state space in bytes.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Memory {
    /// The state space; `shared::cta` is `shared`.
    pub space: Labeled<Space>,
    /// The number of loaded bytes.
    pub read: u64,
    /// The number of stored bytes.
    pub written: u64,
    /// The number of bytes of atomic operations.
    pub updated: u64,
    /// The number of warp accesses of unknown size.
    pub unknown: u64,
}

/// A symbolic trip count.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Factor {
    /// The id of the header of the loop.
    pub header: u32,
    /// The trip count as a formula, if known.
    pub form: Option<String>,
    /// Whether the factor is the trip count minus one.
    pub without_last: bool,
}

/// Work that is repeated as often as the product of some trip counts.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Part {
    /// The trip counts; empty for work that is done once.
    pub factors: Vec<Factor>,
    /// Whether the count is exact; otherwise it is an upper bound.
    pub exact: bool,
    /// The work of each repetition.
    pub work: Work,
}

/// The work of a function.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct FunctionWork {
    /// The work of a call, with symbolic trip counts assumed to be [`ASSUMED_TRIPS`].
    pub total: Work,
    /// The work of a call, by symbolic trip counts.
    pub parts: Vec<Part>,
}

impl Work {
    pub(super) fn new(work: &work::Work) -> Self {
        let classes = Class::ALL.iter().map(|&c| (Labeled(c), work.of_class(c)));
        let memory = work.traffic.iter().map(|t| Memory {
            space: Labeled(t.space),
            read: t.read,
            written: t.written,
            updated: t.updated,
            unknown: t.unknown,
        });
        let operations = &work.operations;
        Self {
            instructions: work.instructions,
            classes: classes.filter(|(_, count)| *count > 0).collect(),
            half: operations.half,
            single: operations.single,
            double: operations.double,
            integer: operations.integer,
            multiply_adds: operations.multiply_adds,
            unknown_products: operations.unknown_products,
            flops: operations.floating(),
            memory: memory.collect(),
            intensity: work.intensity(),
        }
    }
}

impl FunctionWork {
    pub(super) fn new(work: &work::FunctionWork, of: &Of<'_>) -> Self {
        let parts = work.parts.iter().map(|part| Part {
            factors: part.factors.iter().map(|f| factor(f, of)).collect(),
            exact: part.is_exact,
            work: Work::new(&part.work),
        });
        Self {
            total: Work::new(&work.total(ASSUMED_TRIPS)),
            parts: parts.collect(),
        }
    }
}

fn factor(factor: &work::Factor, of: &Of<'_>) -> Factor {
    let text = of.values.map(|v| (v, v.text(of.names)));
    let count = text.and_then(|(v, text)| v.trip_count(factor.of, &text));
    let header = of.analysis.loops().get(factor.of).map(|l| l.header());
    Factor {
        header: header.map_or(0, |h| h.as_u32()),
        form: count.map(|c| c.form),
        without_last: factor.without_last,
    }
}
