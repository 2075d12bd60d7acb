//! The host part of a program: buffers, tensor maps and launches of one machine, in one of several orders of execution.

use std::fmt::Debug;

use ptx_vm::{Asynchrony, Checker, Checks, DeviceValue, Launch, Machine, Schedule, TensorMap};

/// How the launches of a program are executed.
#[derive(Clone, Debug)]
pub(crate) struct Mode {
    pub(crate) checks: Checks,
    pub(crate) schedule: Option<Schedule>,
    pub(crate) asynchrony: Asynchrony,
}

impl Mode {
    /// The modes in which each program runs, with a name.
    pub(crate) fn all() -> Vec<(&'static str, Self)> {
        let plain = Self {
            checks: Checks::NONE,
            schedule: None,
            asynchrony: Asynchrony::Immediate,
        };
        let order = |schedule| Self {
            schedule: Some(schedule),
            ..plain.clone()
        };
        let time = |asynchrony| Self {
            asynchrony,
            ..plain.clone()
        };
        vec![
            ("plain", plain.clone()),
            (
                "checked",
                Self {
                    checks: Checker::ALL.into_iter().collect(),
                    ..plain.clone()
                },
            ),
            ("random_order", order(Schedule::Seed(7))),
            ("first_warp_last", order(Schedule::StarveWarp(0))),
            ("second_block_last", order(Schedule::DelayBlock(1))),
            ("late", time(Asynchrony::Late)),
            ("random_time", time(Asynchrony::Random(3))),
        ]
    }
}

/// A machine with the module of a program.
pub(crate) struct Host<'m> {
    machine: Machine<'m>,
    mode: Mode,
}

/// A launch in preparation.
pub(crate) struct Kernel<'h, 'm> {
    host: &'h mut Host<'m>,
    launch: Launch,
}

impl<'m> Host<'m> {
    pub(crate) fn new(machine: Machine<'m>, mode: Mode) -> Self {
        Self { machine, mode }
    }

    /// A buffer that begins with these numbers.
    pub(crate) fn buffer<T: DeviceValue>(&mut self, content: &[T]) -> u64 {
        let address = self.zeros(size_of_val(content));
        self.machine
            .write_slice(address, content)
            .expect("the buffer");
        address
    }

    /// A buffer of zeros.
    pub(crate) fn zeros(&mut self, bytes: usize) -> u64 {
        let bytes = bytes as u64;
        let address = self.machine.allocate(bytes).expect("memory");
        self.machine.set_written(address, bytes);
        address
    }

    /// A buffer that the kernel has to write before it reads it.
    pub(crate) fn scratch(&mut self, bytes: usize) -> u64 {
        self.machine.allocate(bytes as u64).expect("memory")
    }

    /// A multimem address for the same number of bytes in several buffers.
    pub(crate) fn multicast(&mut self, members: &[u64], bytes: u64) -> u64 {
        self.machine.multicast(members, bytes).expect("buffers")
    }

    pub(crate) fn read<T: DeviceValue>(&self, address: u64, count: usize) -> Vec<T> {
        self.machine.read_slice(address, count).expect("the buffer")
    }

    /// Compares a buffer with what it should contain. The error describes the first difference.
    pub(crate) fn expect<T: DeviceValue + PartialEq + Debug>(
        &self,
        address: u64,
        expected: &[T],
    ) -> Result<(), String> {
        let found: Vec<T> = self.read(address, expected.len());
        let mut differences = (0..expected.len()).filter(|&i| found[i] != expected[i]);
        let Some(first) = differences.next() else {
            return Ok(());
        };
        Err(format!(
            "{} of {} elements differ; at {first} {:?} was expected and {:?} found",
            differences.count() + 1,
            expected.len(),
            expected[first],
            found[first]
        ))
    }

    /// Compares numbers that may differ by a fraction of the largest one.
    pub(crate) fn expect_near(
        &self,
        address: u64,
        expected: &[f64],
        allowed: f64,
    ) -> Result<(), String> {
        let found: Vec<f32> = self.read(address, expected.len());
        let largest = expected.iter().fold(0.0, |a: f64, b| a.max(b.abs()));
        for (index, (&found, &expected)) in found.iter().zip(expected).enumerate() {
            let error = (f64::from(found) - expected).abs();
            if error.is_nan() || error > allowed * largest {
                return Err(format!(
                    "at {index} {expected} was expected and {found} found"
                ));
            }
        }
        Ok(())
    }

    pub(crate) fn kernel(&mut self, name: &str) -> Kernel<'_, 'm> {
        let mut launch = Launch::new(name);
        launch.checks = self.mode.checks;
        launch.schedule = self.mode.schedule;
        launch.asynchrony = self.mode.asynchrony;
        launch.shared_seed = Some(1);
        launch.limits.steps = 1 << 24;
        Kernel { host: self, launch }
    }
}

impl Kernel<'_, '_> {
    pub(crate) fn grid(mut self, grid: [u32; 3]) -> Self {
        self.launch.grid = grid;
        self
    }

    pub(crate) fn block(mut self, threads: u32) -> Self {
        self.launch.block = [threads, 1, 1];
        self
    }

    pub(crate) fn shared(mut self, bytes: u32) -> Self {
        self.launch.shared = bytes;
        self
    }

    pub(crate) fn address(mut self, address: u64) -> Self {
        self.launch.arguments.push(address.to_le_bytes().to_vec());
        self
    }

    pub(crate) fn integer(mut self, value: i32) -> Self {
        self.launch.arguments.push(value.to_le_bytes().to_vec());
        self
    }

    pub(crate) fn number(mut self, value: f32) -> Self {
        self.launch.arguments.push(value.to_le_bytes().to_vec());
        self
    }

    /// A struct.
    pub(crate) fn bytes(mut self, bytes: Vec<u8>) -> Self {
        self.launch.arguments.push(bytes);
        self
    }

    pub(crate) fn map(mut self, map: &TensorMap) -> Self {
        let bytes = map.to_bytes().expect("a valid map");
        self.launch.arguments.push(bytes.to_vec());
        self
    }

    /// Launches the kernel; an error, or a report of a checker, as words.
    pub(crate) fn run(self) -> Result<(), String> {
        let result = self.host.machine.launch(&self.launch);
        if let Some(report) = self.host.machine.reports().first() {
            return Err(format!(
                "{}: {} in thread {:?}",
                report.diagnostic(),
                report.at.instruction,
                report.at.thread
            ));
        }
        result.map(drop).map_err(|error| error.to_string())
    }
}
