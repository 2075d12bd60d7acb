//! What a launch takes on a device: waves of CTAs, the work of all warps, and the time that each resource needs for it alone.
//!
//! Each warp is assumed to execute all of its kernel, as in [`Work`]. Bytes are counted as if none came from a cache.

mod devices;
mod formula;

use ptx_ir::facts::Space;
use ptx_isa::StateSpace;
use serde::Serialize;

pub use devices::{DEVICES, Device};
pub(crate) use formula::{Formula, Ranges};

use crate::report::{Function, FunctionWork, Work};

/// The lanes of a warp.
const LANES: u32 = 32;
const TERA: f64 = 1e12;
/// A launch of kernels on a device.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Launch {
    /// The device.
    pub device: &'static Device,
    /// The number of CTAs.
    pub grid: u64,
    /// The arguments: names of parameters and numbers. The name of a kernel before the name of its parameter may be omitted.
    pub arguments: Vec<(String, i64)>,
}

impl Launch {
    /// A launch of `grid` CTAs on a device, without arguments.
    #[must_use]
    pub const fn new(device: &'static Device, grid: u64) -> Self {
        Self {
            device,
            grid,
            arguments: Vec::new(),
        }
    }
}

/// The estimate for a launch.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct LaunchEstimate {
    /// The name of the device.
    pub device: String,
    /// Where the figures of the device are published.
    pub device_source: String,
    /// The number of CTAs.
    pub grid: u64,
    /// How often the multiprocessors are filled with CTAs: 2.5 for two full waves and half of one. `None` if no CTA fits.
    pub waves: Option<f64>,
    /// The percentage of the last wave that is filled.
    pub last_wave_percent: Option<f64>,
    /// The instructions of all warps. Where a trip count has a range, its least number counts.
    pub instructions: u64,
    /// The floating-point operations of all warps.
    pub flops: u64,
    /// The bytes of global memory that all warps access.
    pub global_bytes: u64,
    /// The bytes of shared memory that all warps access.
    pub shared_bytes: u64,
    /// Whether all warps do exactly this work. Otherwise trip counts are unknown or differ, or some warps do not execute all blocks.
    pub exact: bool,
    /// The symbols whose values are needed for the trip counts, and unknown.
    pub unknown: Vec<String>,
    /// The time that each resource needs alone, the longest first.
    pub times: Vec<ResourceTime>,
    /// The peak rates of the device, which bound the performance of a launch with a known intensity: its roofs in a roofline plot.
    pub roofs: Roofs,
}

/// The peak rates of a device.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Roofs {
    /// The bandwidth of global memory in GB/s.
    pub bandwidth: f64,
    /// The rates of arithmetic, the highest first.
    pub peaks: Vec<PeakRate>,
}

/// The peak rate of a kind of arithmetic.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PeakRate {
    /// The kind of arithmetic.
    pub resource: Resource,
    /// The operations in 10^12 per second.
    pub teraflops: f64,
}

/// The time that a resource of a device needs for a launch, at its peak rate.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ResourceTime {
    /// The resource.
    pub resource: Resource,
    /// The time in microseconds.
    pub microseconds: f64,
}

/// A resource of a device.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Resource {
    /// The bandwidth of global memory.
    GlobalMemory,
    /// The banks of shared memory, without conflicts.
    SharedMemory,
    /// Tensor cores, at the rate of 16-bit products.
    TensorCores,
    /// Operations of 16 bits.
    Half,
    /// Operations of single precision.
    Single,
    /// Operations of double precision.
    Double,
    /// The slots in which instructions are issued.
    IssueSlots,
}

impl Resource {
    /// The resource in words.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::GlobalMemory => "global memory",
            Self::SharedMemory => "shared memory",
            Self::TensorCores => "tensor cores",
            Self::Half => "16-bit arithmetic",
            Self::Single => "single precision",
            Self::Double => "double precision",
            Self::IssueSlots => "issue slots",
        }
    }

    const fn is_arithmetic(self) -> bool {
        matches!(
            self,
            Self::TensorCores | Self::Half | Self::Single | Self::Double
        )
    }
}

/// The counts of a warp or of a launch.
#[derive(Copy, Clone, Default)]
struct Counts {
    instructions: u64,
    flops: u64,
    tensor: u64,
    half: u64,
    single: u64,
    double: u64,
    global: u64,
    shared: u64,
}

impl Counts {
    fn of(work: &Work) -> Self {
        let mut counts = Self {
            instructions: work.instructions,
            flops: work.flops,
            tensor: work.multiply_adds.saturating_mul(2),
            half: work.half,
            single: work.single,
            double: work.double,
            ..Self::default()
        };
        for memory in &work.memory {
            let bytes = memory.read.saturating_add(memory.written);
            let bytes = bytes.saturating_add(memory.updated);
            let sum = match *memory.space {
                Space::Generic => &mut counts.global,
                Space::State(space) if space.base() == StateSpace::Global => &mut counts.global,
                Space::State(space) if space.base() == StateSpace::Shared => &mut counts.shared,
                _ => continue,
            };
            *sum = sum.saturating_add(bytes);
        }
        counts
    }

    /// Adds other counts `times` times.
    fn add(&mut self, other: &Self, times: u64) {
        let add =
            |sum: &mut u64, count: u64| *sum = sum.saturating_add(count.saturating_mul(times));
        add(&mut self.instructions, other.instructions);
        add(&mut self.flops, other.flops);
        add(&mut self.tensor, other.tensor);
        add(&mut self.half, other.half);
        add(&mut self.single, other.single);
        add(&mut self.double, other.double);
        add(&mut self.global, other.global);
        add(&mut self.shared, other.shared);
    }

    /// What a resource does: bytes, operations or instructions.
    const fn of_resource(&self, resource: Resource) -> u64 {
        match resource {
            Resource::GlobalMemory => self.global,
            Resource::SharedMemory => self.shared,
            Resource::TensorCores => self.tensor,
            Resource::Half => self.half,
            Resource::Single => self.single,
            Resource::Double => self.double,
            Resource::IssueSlots => self.instructions,
        }
    }

    /// The time that each resource needs, the longest first.
    fn times(&self, device: &Device) -> Vec<ResourceTime> {
        let mut times: Vec<ResourceTime> = device
            .rates()
            .into_iter()
            .filter(|(resource, _)| self.of_resource(*resource) > 0)
            .map(|(resource, rate)| ResourceTime {
                resource,
                microseconds: self.of_resource(resource) as f64 / rate * 1e6,
            })
            .collect();
        times.sort_by(|a, b| b.microseconds.total_cmp(&a.microseconds));
        times
    }
}

impl Roofs {
    fn of(device: &Device) -> Self {
        let mut peaks: Vec<PeakRate> = device
            .rates()
            .into_iter()
            .filter(|(resource, _)| resource.is_arithmetic())
            .map(|(resource, rate)| PeakRate {
                resource,
                teraflops: rate / TERA,
            })
            .collect();
        peaks.sort_by(|a, b| b.teraflops.total_cmp(&a.teraflops));
        Self {
            bandwidth: device.bandwidth,
            peaks,
        }
    }
}

impl LaunchEstimate {
    /// The estimate for a kernel; `None` if its number of threads is not known.
    #[must_use]
    pub fn new(function: &Function, launch: &Launch) -> Option<Self> {
        let occupancy = function.occupancy.as_ref()?;
        let threads = occupancy.needs.threads;
        let ranges = ranges(function, launch, threads);
        let total = total(&function.work, &ranges);
        let warps = launch.grid.saturating_mul(threads.div_ceil(LANES).into());
        let mut counts = Counts::default();
        counts.add(&total.counts, warps);
        let device = launch.device;
        let blocks = u64::from(occupancy.occupancy.blocks) * u64::from(device.multiprocessors);
        let waves = (blocks > 0).then(|| launch.grid as f64 / blocks as f64);
        let last = waves.map(|_| match launch.grid % blocks {
            0 => 100.0,
            remaining => remaining as f64 * 100.0 / blocks as f64,
        });
        Some(Self {
            device: device.name.to_owned(),
            device_source: device.source.to_owned(),
            grid: launch.grid,
            waves,
            last_wave_percent: last,
            instructions: counts.instructions,
            flops: counts.flops,
            global_bytes: counts.global,
            shared_bytes: counts.shared,
            exact: total.is_exact,
            unknown: total.unknown,
            times: counts.times(device),
            roofs: Roofs::of(device),
        })
    }
}

/// The values of the symbols of trip counts in all threads of a launch.
fn ranges(function: &Function, launch: &Launch, threads: u32) -> Ranges {
    let threads = i64::from(threads.max(1));
    let grid = i64::try_from(launch.grid.max(1)).unwrap_or(i64::MAX);
    let mut ranges: Ranges = [
        ("%ntid.x", (threads, threads)),
        ("%nctaid.x", (grid, grid)),
        ("%tid.x", (0, threads - 1)),
        ("%ctaid.x", (0, grid - 1)),
        ("%laneid", (0, i64::from(LANES) - 1)),
    ]
    .into_iter()
    .map(|(name, range)| (name.to_owned(), range))
    .collect();
    for (name, value) in &launch.arguments {
        ranges.insert(name.clone(), (*value, *value));
        ranges.insert(format!("{}_{name}", function.stats.name), (*value, *value));
    }
    ranges
}

/// The work of a warp.
struct Total {
    counts: Counts,
    is_exact: bool,
    unknown: Vec<String>,
}

fn total(work: &FunctionWork, ranges: &Ranges) -> Total {
    let mut total = Total {
        counts: Counts::default(),
        is_exact: true,
        unknown: Vec::new(),
    };
    for part in &work.parts {
        let mut times = 1u64;
        total.is_exact &= part.exact;
        for factor in &part.factors {
            let range = factor.formula.as_ref().map(|formula| formula.range(ranges));
            let trips = match range {
                Some(Ok((least, most))) => {
                    total.is_exact &= least == most;
                    least - u64::from(factor.without_last)
                }
                Some(Err(name)) => {
                    total.is_exact = false;
                    if !total.unknown.iter().any(|unknown| unknown == name) {
                        total.unknown.push(name.to_owned());
                    }
                    1
                }
                None => {
                    total.is_exact = false;
                    1
                }
            };
            times = times.saturating_mul(trips);
        }
        total.counts.add(&Counts::of(&part.work), times);
    }
    total
}
