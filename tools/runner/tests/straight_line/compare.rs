//! Runs a program on a device and on the virtual machine, and compares the results.

use std::collections::HashMap;
use std::fmt;

use fastrand::Rng;
use ptx_isa::{PtxVersion, Target};
use ptx_vm::Launch;
use runner::{Device, VirtualMachine};

use crate::error;
use crate::expected::{self, Known};
use crate::kernel::{self, EACH, Stored};
use crate::program::{Program, Source, bytes};
use crate::report;

/// Threads of a launch, each with its own inputs.
const THREADS: usize = 32;

/// The version and the target of a module.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) version: PtxVersion,
    pub(crate) target: Target,
}

/// How many results were compared.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Tally {
    /// Those that the tables define.
    pub(crate) equal: usize,
    /// Approximations within their bounds, and those of them with the same bits.
    pub(crate) close: usize,
    pub(crate) close_and_equal: usize,
    /// Those that are undefined, or approximations without a bound, and those of them with other bits.
    pub(crate) undefined: usize,
    pub(crate) undefined_and_different: usize,
}

impl Tally {
    pub(crate) fn add(&mut self, other: Self) {
        self.equal += other.equal;
        self.close += other.close;
        self.close_and_equal += other.close_and_equal;
        self.undefined += other.undefined;
        self.undefined_and_different += other.undefined_and_different;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} equal results, {} close ones ({} equal), {} undefined ones ({} different)",
            self.equal,
            self.close,
            self.close_and_equal,
            self.undefined,
            self.undefined_and_different
        )
    }
}

/// A result that differs.
pub(crate) struct Mismatch {
    pub(crate) stored: Stored,
    pub(crate) thread: usize,
    /// The values of the sources.
    pub(crate) sources: Vec<u128>,
    pub(crate) device: u128,
    pub(crate) machine: u128,
}

/// The results of the threads of a program.
struct Results {
    bytes: Vec<u8>,
    of_thread: usize,
}

impl Results {
    fn get(&self, thread: usize, stored: &Stored) -> u128 {
        let at = thread * self.of_thread + stored.offset;
        let mut all = [0; 16];
        all[..stored.bytes].copy_from_slice(&self.bytes[at..at + stored.bytes]);
        u128::from_le_bytes(all)
    }
}

/// Compares a program with random inputs on a device with the virtual machine. The error shows the first instruction that differs.
pub(crate) fn compare(
    program: &Program<'_>,
    place: Place,
    device: &dyn Device,
    rng: &mut Rng,
) -> Result<Tally, String> {
    let values: Vec<_> = (0..THREADS).map(|_| program.values(rng)).collect();
    match mismatch(program, place, device, &values)? {
        Ok(tally) => Ok(tally),
        Err(found) => Err(report::describe(program, place, device, &found)),
    }
}

/// The first result that differs, or the counts.
pub(crate) fn mismatch(
    program: &Program<'_>,
    place: Place,
    device: &dyn Device,
    values: &[Vec<u128>],
) -> Result<Result<Tally, Mismatch>, String> {
    let text = kernel::module(program, place.version, place.target);
    let stored = kernel::stored(program);
    let run = |device: &dyn Device| {
        let ran = run(&text, program, device, values, stored.len() * EACH);
        ran.map_err(|e| format!("{}: {e:#}\n{text}", device.name()))
    };
    let constants = kernel::constant_module(program, place.version, place.target, values);
    let known = expected::stored(&constants);
    let comparison = Comparison {
        program,
        known: &known,
        values,
        stored: &stored,
        device: run(device)?,
        machine: run(&VirtualMachine)?,
    };
    comparison.all()
}

fn run(
    text: &str,
    program: &Program<'_>,
    device: &dyn Device,
    values: &[Vec<u128>],
    of_thread: usize,
) -> anyhow::Result<Results> {
    let mut module = device.load(text)?;
    let mut inputs = vec![0; (values.len() * program.inputs.len() * EACH).max(1)];
    let slots = inputs.chunks_mut(EACH);
    for (slot, value) in slots.zip(values.iter().flatten()) {
        slot.copy_from_slice(&value.to_le_bytes());
    }
    let data = module.allocate(inputs.len() as u64)?;
    module.write(data, &inputs)?;
    let out = module.allocate((values.len() * of_thread).max(1) as u64)?;
    let launch = Launch::new("k")
        .shape(1, values.len() as u32)
        .argument(data.to_le_bytes())
        .argument(out.to_le_bytes());
    module.launch(&launch)?;
    let bytes = module.read(out, values.len() * of_thread)?;
    Ok(Results { bytes, of_thread })
}

/// The results of both, and what is known about them.
struct Comparison<'a> {
    program: &'a Program<'a>,
    /// The values that the tables define, by the names of the kernels for the threads.
    known: &'a HashMap<String, Known>,
    values: &'a [Vec<u128>],
    stored: &'a [Stored],
    device: Results,
    machine: Results,
}

impl Comparison<'_> {
    fn all(&self) -> Result<Result<Tally, Mismatch>, String> {
        let mut tally = Tally::default();
        for stored in self.stored {
            for thread in 0..self.values.len() {
                let device = self.device.get(thread, stored);
                let machine = self.machine.get(thread, stored);
                let same = match self.defined(thread, stored) {
                    Some(value) if value != machine => {
                        let line = &self.program.steps[stored.step].line;
                        return Err(format!(
                            "ptx-vm differs from the tables: {line} gives {machine:#x}, not {value:#x}"
                        ));
                    }
                    Some(_) => {
                        tally.equal += 1;
                        device == machine
                    }
                    None => self.is_close(thread, stored, device, machine, &mut tally),
                };
                if !same {
                    return Ok(Err(Mismatch {
                        stored: *stored,
                        thread,
                        sources: self.sources(thread, stored.step),
                        device,
                        machine,
                    }));
                }
            }
        }
        Ok(Ok(tally))
    }

    /// The value that the tables define.
    fn defined(&self, thread: usize, stored: &Stored) -> Option<u128> {
        let known = self.known.get(&format!("k{thread}"))?;
        let half = |at: usize| known.get(&u32::try_from(stored.offset + at).ok()?);
        let low = u128::from(*half(0)?);
        Some(match stored.bytes {
            16 => low | u128::from(*half(8)?) << 64,
            bytes => low & ((1 << (8 * bytes)) - 1),
        })
    }

    /// Whether a result that is not defined to the bit is close enough.
    fn is_close(
        &self,
        thread: usize,
        stored: &Stored,
        device: u128,
        machine: u128,
        tally: &mut Tally,
    ) -> bool {
        let step = &self.program.steps[stored.step];
        let equal = usize::from(device == machine);
        let defined = |source: &Source| match *source {
            Source::Input(_) => true,
            Source::Result(step, result) => {
                let mut all = self.stored.iter();
                let found = all.find(|s| s.step == step && s.result == result);
                found.is_some_and(|s| self.defined(thread, s).is_some())
            }
        };
        let comparable = step.is_approximate() && step.sources.iter().all(defined);
        let sources = self.sources(thread, stored.step);
        let close = match (comparable, stored.ty) {
            (true, Some(ty)) => error::is_close(step.template, &sources, ty, device, machine),
            _ => None,
        };
        match close {
            Some(close) => {
                tally.close += 1;
                tally.close_and_equal += equal;
                close
            }
            None => {
                tally.undefined += 1;
                tally.undefined_and_different += 1 - equal;
                true
            }
        }
    }

    /// The values of the sources of a step.
    fn sources(&self, thread: usize, step: usize) -> Vec<u128> {
        let sources = self.program.steps[step].sources.iter();
        let value = |source: &Source| match *source {
            Source::Input(number) => self.values[thread][number],
            Source::Result(step, result) => {
                let mut all = self.stored.iter();
                let found = all.find(|s| s.step == step && s.result == result);
                found.map_or(0, |s| self.machine.get(thread, s))
            }
        };
        sources.map(value).collect()
    }
}

/// The value of a register as it is in memory.
pub(crate) fn shown(program: &Program<'_>, source: Source, value: u128) -> String {
    let register = program.register(source);
    let digits = 2 * bytes(register.declared);
    format!("{} = {value:#0width$x}", register.name, width = digits + 2)
}
