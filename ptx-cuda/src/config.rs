//! The configuration, which `ptxkit exec` passes in environment variables.

use std::env;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use ptx_isa::Target;
use ptx_report::demangle::FunctionPattern;
use ptx_vm::{Asynchrony, Checker, Checks};

/// The compute capability of the device.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Capability {
    pub(crate) major: u32,
    pub(crate) minor: u32,
}

impl Capability {
    /// The number in names of targets: 10 times the major number, and the minor one.
    pub(crate) const fn number(self) -> u32 {
        10 * self.major + self.minor
    }
}

impl FromStr for Capability {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (major, minor) = text.split_once('.').ok_or(())?;
        Ok(Self {
            major: major.parse().map_err(|_| ())?,
            minor: minor.parse().map_err(|_| ())?,
        })
    }
}

/// The configuration of the driver.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    /// `PTXKIT_CUDA_CC`: the compute capability; by default 8.0.
    pub(crate) capability: Capability,
    /// The target with that compute capability.
    pub(crate) target: Target,
    /// `PTXKIT_CUDA_CHECK`: the enabled checkers, separated by commas.
    pub(crate) checks: Checks,
    /// `PTXKIT_CUDA_ASYNC`: when asynchronous operations of kernels are performed.
    pub(crate) asynchrony: Asynchrony,
    /// `PTXKIT_CUDA_MEMORY`: the bytes of device memory; by default 16 GiB.
    pub(crate) memory: u64,
    /// `PTXKIT_CUDA_MULTIPROCESSORS`: the number of multiprocessors, from which programs compute the number of blocks; by default 16.
    pub(crate) multiprocessors: u32,
    /// `PTXKIT_CUDA_TIMEOUT`: the seconds that a launch may take.
    pub(crate) timeout: Option<Duration>,
    /// `PTXKIT_CUDA_REPORT`: the folder to which each process writes its reports.
    pub(crate) report: Option<PathBuf>,
    /// `PTXKIT_CUDA_PROFILE`: whether launches are profiled; the counts are part of the reports.
    pub(crate) profile: bool,
    /// `PTXKIT_CUDA_SCHEDULES`: the number of schedules under which each launch runs; by default 1.
    pub(crate) schedules: usize,
    /// `PTXKIT_CUDA_ONLY`: names or patterns of the kernels whose launches are checked, recorded and profiled, one per line; by default all.
    pub(crate) only: Vec<FunctionPattern>,
    /// `PTXKIT_CUDA_SKIP`: those of kernels whose launches are not.
    pub(crate) skip: Vec<FunctionPattern>,
    /// `PTXKIT_CUDA_FIRST`: the number of launches of each kernel that are; by default all.
    pub(crate) first: Option<u64>,
    /// `PTXKIT_CUDA_PERMISSIVE`: whether launches go on after undefined behavior that GPUs tolerate. It is reported.
    pub(crate) permissive: bool,
    /// `PTXKIT_CUDA_RECORD`: the folder to which launches are written.
    pub(crate) record: Option<PathBuf>,
    /// `PTXKIT_CUDA_LOG`: whether the name and the result of each function are printed to standard error.
    pub(crate) log: bool,
}

/// The value of a variable, if it can be read; a variable with another value is reported and ignored.
fn variable<T: FromStr>(name: &str) -> Option<T> {
    let text = env::var(name).ok()?;
    let value = text.parse().ok();
    if value.is_none() {
        eprintln!("ptxkit: ignoring {name}={text}, which is not a value of this variable");
    }
    value
}

/// The names and patterns of kernels in a variable, one per line.
fn patterns(name: &str) -> Vec<FunctionPattern> {
    let text = env::var(name).unwrap_or_default();
    let lines = text.lines().filter(|line| !line.is_empty());
    lines.map(FunctionPattern::new).collect()
}

impl Config {
    /// The configuration in the environment.
    pub(crate) fn from_environment() -> Self {
        let default = Capability { major: 8, minor: 0 };
        let mut capability = variable("PTXKIT_CUDA_CC").unwrap_or(default);
        let target = |capability: Capability| -> Option<Target> {
            let number = capability.number();
            // The target with the features of this very architecture, which the device has.
            let names = [format!("sm_{number}a"), format!("sm_{number}")];
            names.iter().find_map(|name| name.parse().ok())
        };
        if target(capability).is_none() {
            eprintln!(
                "ptxkit: ignoring PTXKIT_CUDA_CC, which is not the compute capability of a GPU"
            );
            capability = default;
        }
        let checks = env::var("PTXKIT_CUDA_CHECK").unwrap_or_default();
        let checkers = checks.split(',').filter(|name| !name.is_empty());
        let memory: u64 = variable("PTXKIT_CUDA_MEMORY").unwrap_or(16 << 30);
        Self {
            capability,
            target: target(capability).unwrap_or(Target::Sm80),
            checks: checkers
                .filter_map(|name| name.parse::<Checker>().ok())
                .collect(),
            asynchrony: variable("PTXKIT_CUDA_ASYNC").unwrap_or(Asynchrony::Immediate),
            memory,
            multiprocessors: variable("PTXKIT_CUDA_MULTIPROCESSORS").unwrap_or(16),
            timeout: variable("PTXKIT_CUDA_TIMEOUT")
                .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
            report: env::var_os("PTXKIT_CUDA_REPORT").map(PathBuf::from),
            profile: env::var_os("PTXKIT_CUDA_PROFILE").is_some(),
            schedules: variable("PTXKIT_CUDA_SCHEDULES").unwrap_or(1),
            only: patterns("PTXKIT_CUDA_ONLY"),
            skip: patterns("PTXKIT_CUDA_SKIP"),
            first: variable("PTXKIT_CUDA_FIRST"),
            permissive: env::var_os("PTXKIT_CUDA_PERMISSIVE").is_some(),
            record: env::var_os("PTXKIT_CUDA_RECORD").map(PathBuf::from),
            log: env::var_os("PTXKIT_CUDA_LOG").is_some(),
        }
    }
}
