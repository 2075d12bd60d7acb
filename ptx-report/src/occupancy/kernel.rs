//! The occupancy of a kernel: its needs from directives, live registers and shared variables, or from ptxas and the options of a launch.

use serde::Serialize;

use super::{BlockNeeds, Limiter, MOST_REGISTERS, MultiprocessorLimits, Occupancy};
use crate::function_stats::FunctionStats;

/// What is known of launches of a kernel.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct LaunchSizes {
    /// The threads of a CTA.
    pub block: Option<u32>,
    /// The bytes of dynamic shared memory.
    pub dynamic_shared: Option<u64>,
}

/// Where the number of threads of a CTA comes from.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum BlockOrigin {
    /// The caller stated it.
    Given,
    /// `.reqntid`.
    Required,
    /// `.maxntid`: the most threads.
    Maximum,
}

/// Where the number of registers of a thread comes from.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RegisterOrigin {
    /// ptxas reported it.
    Ptxas,
    /// The maximum number of live registers of the text: an estimate.
    LiveRegisters,
}

/// The occupancy of a kernel.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct KernelOccupancy {
    /// The target.
    pub target: String,
    /// The needs of a CTA.
    #[serde(flatten)]
    pub needs: BlockNeeds,
    /// Where `threads` comes from.
    pub threads_from: BlockOrigin,
    /// Where `registers` comes from.
    pub registers_from: RegisterOrigin,
    /// Whether the kernel uses dynamic shared memory of an unknown size: then the occupancy is an upper bound.
    pub dynamic_shared_unknown: bool,
    /// The CTAs and warps of a multiprocessor.
    #[serde(flatten)]
    pub occupancy: Occupancy,
    /// The percentage of the warps that a multiprocessor can run.
    pub percent: f64,
    /// The most registers of a thread with which one more CTA runs, if fewer registers suffice.
    pub registers_for_more: Option<u32>,
    /// The most bytes of shared memory with which one more CTA runs, if less shared memory suffices.
    pub shared_bytes_for_more: Option<u64>,
    /// The occupancy with other numbers of threads.
    pub sizes: Vec<SizeOccupancy>,
}

/// The occupancy with another number of threads.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SizeOccupancy {
    /// The threads of a CTA.
    pub threads: u32,
    /// The CTAs that run at the same time.
    pub blocks: u32,
    /// Their warps.
    pub warps: u32,
}

impl KernelOccupancy {
    /// The occupancy of a kernel on a target; `None` if the limits of the target or the number of threads are not known.
    #[must_use]
    pub fn new(stats: &FunctionStats, target: &str, launch: LaunchSizes) -> Option<Self> {
        let limits = MultiprocessorLimits::of_target(target)?;
        if !stats.is_kernel() {
            return None;
        }
        let (threads, threads_from) = threads(stats, launch)?;
        let (registers, registers_from) = registers(stats);
        let needs = BlockNeeds {
            threads,
            registers,
            shared_bytes: stats
                .shared_bytes?
                .saturating_add(launch.dynamic_shared.unwrap_or(0)),
        };
        let occupancy = Occupancy::new(&limits, needs);
        let is_limited_by = |limiter| occupancy.limiters.contains(&limiter);
        Some(Self {
            target: target.to_owned(),
            needs,
            threads_from,
            registers_from,
            dynamic_shared_unknown: stats.dynamic_shared && launch.dynamic_shared.is_none(),
            percent: occupancy.percent(),
            registers_for_more: is_limited_by(Limiter::Registers)
                .then(|| occupancy.registers_for_more(&limits, needs))
                .flatten(),
            shared_bytes_for_more: is_limited_by(Limiter::SharedMemory)
                .then(|| occupancy.shared_for_more(&limits, needs))
                .flatten(),
            sizes: Occupancy::of_sizes(&limits, needs)
                .into_iter()
                .map(|(threads, occupancy)| SizeOccupancy {
                    threads,
                    blocks: occupancy.blocks,
                    warps: occupancy.warps,
                })
                .collect(),
            occupancy,
        })
    }
}

/// The threads of a CTA.
fn threads(stats: &FunctionStats, launch: LaunchSizes) -> Option<(u32, BlockOrigin)> {
    if let Some(threads) = launch.block {
        return Some((threads, BlockOrigin::Given));
    }
    let product = |name: &str| {
        let sizes = stats.signature.directives.get(name)?;
        let mut sizes = sizes.iter().map(|size| u32::try_from(*size).ok());
        sizes.try_fold(1u32, |product, size| product.checked_mul(size?))
    };
    product("reqntid")
        .map(|threads| (threads, BlockOrigin::Required))
        .or_else(|| product("maxntid").map(|threads| (threads, BlockOrigin::Maximum)))
}

/// The registers of a thread.
fn registers(stats: &FunctionStats) -> (u32, RegisterOrigin) {
    let compiled = stats.ptxas.as_ref().and_then(|ptxas| ptxas.registers);
    if let Some(registers) = compiled.and_then(|registers| u32::try_from(registers).ok()) {
        return (registers, RegisterOrigin::Ptxas);
    }
    let most = stats.signature.directives.get("maxnreg");
    let most = most.and_then(|numbers| u32::try_from(*numbers.first()?).ok());
    let most = most.unwrap_or(MOST_REGISTERS).min(MOST_REGISTERS);
    let live = stats.pressure.max_b32_units;
    (live.min(most), RegisterOrigin::LiveRegisters)
}
