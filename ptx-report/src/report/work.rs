//! The work of functions and loops.

use std::collections::BTreeMap;

use ptx_analysis::work::{self, Class};
use serde::Serialize;

use super::ASSUMED_TRIPS;
use super::function::Of;
use crate::labels;

/// What a warp does.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Work {
    /// The number of instructions.
    pub instructions: u64,
    /// Those of each class that has any.
    pub classes: BTreeMap<&'static str, u64>,
    /// Floating-point operations of at most 16 bits.
    pub half: u64,
    /// Of single precision.
    pub single: u64,
    /// Of double precision.
    pub double: u64,
    /// Operations on integers.
    pub integer: u64,
    /// Multiply-adds of matrices on tensor cores.
    pub multiply_adds: u64,
    /// Instructions on tensor cores whose multiply-adds are not known.
    pub unknown_products: u64,
    /// Floating-point operations of all kinds; a multiply-add is two.
    pub flops: u64,
    /// The bytes of each state space.
    pub memory: Vec<Memory>,
    /// Floating-point operations for each byte of global memory; `None` without an access to it.
    pub intensity: Option<f64>,
}

/// The bytes of a state space.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Memory {
    /// As in [`labels::space`](crate::labels::space).
    pub space: &'static str,
    /// Bytes that are loaded.
    pub read: u64,
    /// Bytes that are stored.
    pub written: u64,
    /// Bytes of atomic operations.
    pub updated: u64,
    /// Accesses of warps whose bytes are not known.
    pub unknown: u64,
}

/// A trip count that is not a number.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Factor {
    /// The id of the header of the loop.
    pub header: u32,
    /// The trip count as a form, if one is known.
    pub form: Option<String>,
    /// Whether one less than it is meant.
    pub without_last: bool,
}

/// Work that is done as often as the product of some trip counts says.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Part {
    /// The trip counts; empty for what is done once.
    pub factors: Vec<Factor>,
    /// Whether it is done exactly so often, not at most.
    pub exact: bool,
    /// What is done each time.
    pub work: Work,
}

/// The work of a function.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct FunctionWork {
    /// A call of it, where trip counts that are not numbers are taken to be [`ASSUMED_TRIPS`].
    pub total: Work,
    /// A call of it, by the trip counts that are not numbers.
    pub parts: Vec<Part>,
}

pub(super) fn of(of: &Of<'_>) -> work::FunctionWork {
    let known = of.values.map(|v| (v.values(), v.accesses()));
    work::FunctionWork::new(of.facts, of.analysis, known)
}

impl Work {
    pub(super) fn new(work: &work::Work) -> Self {
        let classes = Class::ALL.iter().map(|&c| (c.name(), work.of_class(c)));
        let memory = work.traffic.iter().map(|t| Memory {
            space: labels::space(t.space),
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
    let text = of.values.map(|v| (v, v.text(of.facts, of.names)));
    let count = text.and_then(|(v, text)| v.trip_count(factor.of, &text));
    let header = of.analysis.loops().get(factor.of).map(|l| l.header());
    Factor {
        header: header.map_or(0, |h| h.as_u32()),
        form: count.map(|c| c.form),
        without_last: factor.without_last,
    }
}
