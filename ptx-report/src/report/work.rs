//! The work of functions and loops.

use std::collections::BTreeMap;

use ptx_analysis::work::{self, Class};
use ptx_ir::Statement;
use ptx_ir::facts::Space;
use ptx_isa::StateSpace;
use serde::Serialize;

use super::ASSUMED_TRIPS;
use super::context::FunctionContext;
use crate::clean;
use crate::function_values::TripCount;
use crate::labels::Labeled;
use crate::launch_estimate::Formula;

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
    /// Whether the intensity is an upper bound: the size of an access to global memory, or to an unknown state space, is not known.
    pub intensity_is_bound: bool,
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
    /// The trip count, if it is not constant.
    #[serde(skip)]
    pub(crate) formula: Option<Formula>,
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
    fn new(work: &work::Work) -> Self {
        let operations = &work.operations;
        Self {
            instructions: work.instructions,
            classes: Class::ALL
                .iter()
                .map(|&class| (Labeled(class), work.of_class(class)))
                .filter(|(_, count)| *count > 0)
                .collect(),
            half: operations.half,
            single: operations.single,
            double: operations.double,
            integer: operations.integer,
            multiply_adds: operations.multiply_adds,
            unknown_products: operations.unknown_products,
            flops: operations.floating(),
            memory: work
                .traffic
                .iter()
                .map(|traffic| Memory {
                    space: Labeled(traffic.space),
                    read: traffic.read,
                    written: traffic.written,
                    updated: traffic.updated,
                    unknown: traffic.unknown,
                })
                .collect(),
            intensity: work.intensity(),
            intensity_is_bound: work.traffic.iter().any(|traffic| {
                let may_be_global = match traffic.space {
                    Space::State(space) => space.base() == StateSpace::Global,
                    Space::Generic | Space::Any => true,
                    _ => false,
                };
                traffic.unknown > 0 && may_be_global
            }),
        }
    }
}

impl FunctionWork {
    pub(super) fn new(work: &work::FunctionWork, function: &FunctionContext<'_>) -> Self {
        Self {
            total: Work::new(&work.total(ASSUMED_TRIPS)),
            parts: work
                .parts
                .iter()
                .map(|part| Part {
                    factors: part
                        .factors
                        .iter()
                        .map(|factor| Factor::new(factor, function))
                        .collect(),
                    exact: part.is_exact,
                    work: Work::new(&part.work),
                })
                .collect(),
        }
    }
}

impl Factor {
    fn new(factor: &work::Factor, function: &FunctionContext<'_>) -> Self {
        let header = function
            .analysis
            .loops()
            .get(factor.of)
            .map(|info| info.header());
        Self {
            header: header.map_or(0, |h| h.as_u32()),
            form: function.trip_count(factor.of).map(|count| count.form),
            without_last: factor.without_last,
            formula: function.values.and_then(|values| {
                let count = values.values().trip_count(factor.of)?;
                Formula::new(count, &values.text(function.names))
            }),
        }
    }
}

/// A natural loop.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Loop {
    /// The block id of the header.
    pub header: u32,
    /// The block id of the header of the enclosing loop; `None` for an outermost loop.
    pub parent: Option<u32>,
    /// The label of the header.
    pub label: Option<String>,
    /// The line of the first instruction of the header.
    pub line: u32,
    /// The line in the original program: `a.cu:11`.
    pub source: Option<String>,
    /// The nesting depth, 1 for an outermost loop.
    pub depth: u32,
    /// The trip count, if anything is known about it.
    pub trip_count: Option<TripCount>,
    /// The work of the instructions outside of inner loops, each once.
    pub own: Work,
    /// The work of one iteration. Inner loops are multiplied by their trip counts, or counted once if these are symbolic.
    pub iteration: Work,
}

/// The loops of a function, outer ones before inner ones.
pub(super) fn loops(function: &FunctionContext<'_>, work: &work::FunctionWork) -> Vec<Loop> {
    let (cfg, body) = (function.analysis.cfg(), function.facts.body());
    let loops = function.analysis.loops();
    loops
        .iter()
        .zip(&work.loops)
        .map(|((id, info), work)| {
            let block = cfg.block(info.header());
            let label = block.and_then(|b| body.labels().get(b.label?));
            let first_inst = block.and_then(|b| {
                body.range(b.first, b.end)
                    .find_map(|(stmt, s)| matches!(s, Statement::Inst(_)).then_some(stmt))
            });
            let parent = info.parent().and_then(|p| loops.get(p));
            Loop {
                header: info.header().as_u32(),
                parent: parent.map(|p| p.header().as_u32()),
                label: label.map(|l| clean(function.module().name(l.name)).into_owned()),
                line: first_inst.map_or(0, |stmt| function.line(stmt)),
                source: first_inst.and_then(|stmt| function.source(stmt)),
                depth: info.depth(),
                trip_count: function.trip_count(id),
                own: Work::new(&work.own),
                iteration: Work::new(&work.iteration),
            }
        })
        .collect()
}
