//! The dimensions of a launch, and its limits.

use std::str::FromStr;
use std::time::Duration;

use ptx_vm::LaunchLimits;

use super::argument::size;
use ptx_report::clean;

/// Sizes in up to three dimensions.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Sizes(pub(super) [u32; 3]);

impl FromStr for Sizes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let error = || {
            let text = clean(text);
            format!("expected one to three sizes such as `16` or `16,8,1`, found `{text}`")
        };
        let mut sizes = [1; 3];
        for (dimension, size) in text.split(',').enumerate() {
            let slot = sizes.get_mut(dimension).ok_or_else(error)?;
            *slot = size
                .trim()
                .parse()
                .ok()
                .filter(|n| *n > 0)
                .ok_or_else(error)?;
        }
        Ok(Self(sizes))
    }
}

/// The options about what a launch may use.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct LimitOptions {
    /// End the run after this many executed warp instructions [default: 2^40]
    #[arg(long, value_name = "N")]
    max_steps: Option<u64>,
    /// Maximum depth of nested calls [default: 4096]
    #[arg(long, value_name = "N")]
    max_call_depth: Option<u32>,
    /// Stack size of a thread in bytes [default: 512K]
    #[arg(long, value_name = "BYTES", value_parser = size)]
    max_stack: Option<u64>,
    /// Maximum shared memory of a CTA in bytes [default: 227K]
    #[arg(long, value_name = "BYTES", value_parser = size)]
    max_shared: Option<u64>,
    /// Size of the `malloc` heap in bytes [default: 8M]
    #[arg(long, value_name = "BYTES", value_parser = size)]
    heap: Option<u64>,
    /// Maximum number of concurrent clusters if clusters wait for each other [default: 1024]
    #[arg(long, value_name = "N")]
    max_resident: Option<usize>,
    /// Maximum memory of the host in bytes for memory of the device, output and checkers [default: 4G]
    #[arg(long, value_name = "BYTES", value_parser = size)]
    max_memory: Option<u64>,
    /// End a launch after this many seconds [default: no limit]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<Duration>,
    /// The value of `%nsmid` [default: 1]
    #[arg(long, value_name = "N")]
    multiprocessors: Option<u32>,
}

/// Parses a number of seconds.
pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    text.parse()
        .ok()
        .filter(|n: &f64| *n > 0.0)
        .and_then(|n| Duration::try_from_secs_f64(n).ok())
        .ok_or_else(|| {
            let text = clean(text);
            format!("expected a number of seconds such as 10 or 0.5, found `{text}`")
        })
}

impl LimitOptions {
    /// The limits of each launch.
    pub(super) fn limits(&self) -> LaunchLimits {
        let mut limits = LaunchLimits::default();
        limits.steps = self.max_steps.unwrap_or(limits.steps);
        limits.call_depth = self.max_call_depth.unwrap_or(limits.call_depth);
        limits.stack_bytes = self.max_stack.unwrap_or(limits.stack_bytes);
        limits.shared_bytes = self.max_shared.unwrap_or(limits.shared_bytes);
        limits.heap_bytes = self.heap.unwrap_or(limits.heap_bytes);
        limits.resident_clusters = self.max_resident.unwrap_or(limits.resident_clusters);
        limits.memory_bytes = self.max_memory.unwrap_or(limits.memory_bytes);
        limits.time = self.timeout;
        limits.multiprocessors = self.multiprocessors.unwrap_or(limits.multiprocessors);
        limits
    }
}
