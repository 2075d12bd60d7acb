//! A step of a trace in JSON.

use ptx_isa::ScalarType;
use ptx_report::scalars::{name, plain, text};
use ptx_report::source_frames::JsonFrame;
use ptx_vm::{AccessUse, ExecutedStep, RegisterValues, StepAccess, StepState};
use serde::Serialize;

use super::instructions::{Instruction, Instructions};
use super::selection::thread;

/// A step of a warp.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct JsonStep<'p> {
    /// The number of steps of the launch before this one.
    pub(super) step: u64,
    pub(super) function: &'p str,
    /// The PTX line.
    pub(super) line: u32,
    pub(super) instruction: &'p str,
    pub(super) source: &'p [JsonFrame],
    /// 0 for the grid that was launched; the grids that kernels launch have the numbers 1, 2, … in the order in which they begin.
    pub(super) grid: u64,
    pub(super) block: [u32; 3],
    pub(super) warp: u32,
    /// The lanes at the instruction.
    pub(super) mask: u32,
    /// The active lanes: those for which the guard holds.
    pub(super) active: u32,
    /// The call depth of the lanes.
    pub(super) depth: u32,
    /// `done`, `waits`, `calls`, `resumed` or `failed`.
    pub(super) state: &'static str,
    /// The error, if it failed.
    pub(super) failure: Option<String>,
    pub(super) threads: Vec<JsonThread>,
}

/// A thread that executes the step.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct JsonThread {
    pub(super) thread: [u32; 3],
    /// Whether the guard holds.
    pub(super) active: bool,
    pub(super) reads: Vec<JsonValue>,
    pub(super) writes: Vec<JsonValue>,
    pub(super) accesses: Vec<JsonAccess>,
}

/// The value of a register.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct JsonValue {
    pub(super) register: String,
    #[serde(rename = "type")]
    ty: &'static str,
    value: String,
    bits: String,
    /// The value and its bits.
    #[serde(skip)]
    pub(super) text: String,
}

/// A memory access.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct JsonAccess {
    /// `read`, `write` or `change`.
    pub(super) usage: &'static str,
    pub(super) space: &'static str,
    /// For shared memory, the rank of its CTA in the cluster.
    pub(super) rank: usize,
    pub(super) address: String,
    pub(super) bytes: u64,
    #[serde(rename = "type")]
    ty: Option<&'static str>,
    pub(super) before: Option<JsonBytes>,
    pub(super) after: Option<JsonBytes>,
}

/// The contents of memory.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct JsonBytes {
    /// At most the first 64 bytes, in the order of their addresses.
    bytes: String,
    /// The elements, if their type is known.
    values: Vec<String>,
    /// The elements and their bits, or else the bytes.
    #[serde(skip)]
    pub(super) text: String,
}

impl<'p> JsonStep<'p> {
    /// Records a step of a launch.
    pub(super) fn new(
        step: &ExecutedStep<'_>,
        instruction: &'p Instruction,
        instructions: &mut Instructions<'_>,
    ) -> Self {
        let place = step.place;
        let block = place.grid.threads;
        let (state, failure) = match &step.state {
            StepState::Waits => ("waits", None),
            StepState::Calls => ("calls", None),
            StepState::Resumed => ("resumed", None),
            StepState::Failed(lane, reason) => {
                let [x, y, z] = thread(place.first_thread + *lane as u32, block);
                let failure = format!("{reason}, in thread ({x}, {y}, {z})");
                ("failed", Some(failure))
            }
            _ => ("done", None),
        };
        let mut threads = Vec::new();
        for lane in (0..32).filter(|lane| step.lanes >> lane & 1 == 1) {
            let active = place.active >> lane & 1 == 1;
            let mut values = |registers: &[RegisterValues]| -> Vec<JsonValue> {
                registers
                    .iter()
                    .map(|value| {
                        let name = instructions.register(place.function, value.register());
                        JsonValue::new(name, value.ty(), value.bits(lane as usize))
                    })
                    .collect()
            };
            threads.push(JsonThread {
                thread: thread(place.first_thread + lane, block),
                active,
                reads: values(step.reads),
                writes: if active {
                    values(step.writes)
                } else {
                    Vec::new()
                },
                accesses: step
                    .accesses
                    .iter()
                    .filter(|access| access.lane == lane as usize)
                    .map(JsonAccess::new)
                    .collect(),
            });
        }
        Self {
            step: place.number,
            function: &instruction.function,
            line: instruction.line,
            instruction: &instruction.text,
            source: &instruction.source,
            grid: place.grid.number,
            block: place.block,
            warp: place.first_thread / 32,
            mask: place.mask,
            active: place.active,
            depth: place.depth,
            state,
            failure,
            threads,
        }
    }
}

impl JsonValue {
    fn new(register: String, ty: ScalarType, bits: u128) -> Self {
        Self {
            register,
            ty: name(ty),
            value: plain(ty, bits),
            bits: format!("{bits:#x}"),
            text: text(ty, bits),
        }
    }
}

impl JsonAccess {
    fn new(access: &StepAccess) -> Self {
        let contents = |bytes: &[u8]| (!bytes.is_empty()).then(|| JsonBytes::new(bytes, access.ty));
        Self {
            usage: match access.usage {
                AccessUse::Read => "read",
                AccessUse::Write => "write",
                AccessUse::ReadWrite => "change",
            },
            space: access.space.text(),
            rank: access.rank,
            address: format!("{:#x}", access.address),
            bytes: access.bytes,
            ty: access.ty.map(name),
            before: contents(&access.before),
            after: contents(&access.after),
        }
    }
}

impl JsonBytes {
    /// The number of bytes that are recorded.
    pub(super) const fn count(&self) -> u64 {
        self.bytes.len() as u64 / 2
    }

    fn new(bytes: &[u8], ty: Option<ScalarType>) -> Self {
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut values = Vec::new();
        let mut texts = Vec::new();
        if let Some(ty) = ty
            && let size @ 1..=16 = usize::from(ty.bits() / 8)
        {
            for element in bytes.chunks_exact(size).map(little_endian) {
                values.push(plain(ty, element));
                texts.push(text(ty, element));
            }
        }
        let text = if values.is_empty() {
            format!("bytes {hex}")
        } else {
            texts.join(", ")
        };
        Self {
            bytes: hex,
            values,
            text,
        }
    }
}

fn little_endian(bytes: &[u8]) -> u128 {
    bytes
        .iter()
        .rev()
        .fold(0, |number, byte| number << 8 | u128::from(*byte))
}
