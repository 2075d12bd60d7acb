//! A step of a trace in JSON.

use ptx_isa::ScalarType;
use ptx_report::scalars::{name, plain, text};
use ptx_report::source_frames::JsonFrame;
use ptx_vm::{AccessUse, ExecutedStep, RegisterValues, StepAccess, StepState};
use serde::Serialize;

use super::places::{Place, Places};
use super::selection::thread;

/// A step of a warp.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct JsonStep<'p> {
    /// The number of warp instructions that were executed before.
    pub(super) step: u64,
    pub(super) function: &'p str,
    /// The PTX line.
    pub(super) line: u32,
    pub(super) instruction: &'p str,
    pub(super) source: &'p [JsonFrame],
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
    /// A step of a launch whose CTAs have this size.
    pub(super) fn new(
        step: &ExecutedStep<'_>,
        block: [u32; 3],
        place: &'p Place,
        places: &mut Places<'_>,
    ) -> Self {
        let of = step.place;
        let (state, failure) = match &step.state {
            StepState::Waits => ("waits", None),
            StepState::Calls => ("calls", None),
            StepState::Resumed => ("resumed", None),
            StepState::Failed(lane, why) => {
                let [x, y, z] = thread(of.first_thread + *lane as u32, block);
                ("failed", Some(format!("{why}, in thread ({x}, {y}, {z})")))
            }
            _ => ("done", None),
        };
        let lanes = (0..32).filter(|lane| step.lanes >> lane & 1 == 1);
        let threads = lanes.map(|lane| {
            let active = of.active >> lane & 1 == 1;
            let mut values = |all: &[RegisterValues]| {
                let all = all.iter().map(|value| {
                    let register = places.register(of.function, value.register());
                    JsonValue::new(register, value.ty(), value.bits(lane as usize))
                });
                all.collect::<Vec<_>>()
            };
            let accesses = step.accesses.iter();
            let accesses = accesses.filter(|access| access.lane == lane as usize);
            JsonThread {
                thread: thread(of.first_thread + lane, block),
                active,
                reads: values(step.reads),
                writes: if active {
                    values(step.writes)
                } else {
                    Vec::new()
                },
                accesses: accesses.map(JsonAccess::new).collect(),
            }
        });
        let threads = threads.collect();
        Self {
            step: of.number,
            function: &place.function,
            line: place.line,
            instruction: &place.instruction,
            source: &place.source,
            block: of.block,
            warp: of.first_thread / 32,
            mask: of.mask,
            active: of.active,
            depth: of.depth,
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
        let bytes = |all: &[u8]| (!all.is_empty()).then(|| JsonBytes::new(all, access.ty));
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
            before: bytes(&access.before),
            after: bytes(&access.after),
        }
    }
}

impl JsonBytes {
    /// The number of bytes.
    pub(super) const fn count(&self) -> u64 {
        self.bytes.len() as u64 / 2
    }

    fn new(all: &[u8], ty: Option<ScalarType>) -> Self {
        let hex: String = all.iter().map(|byte| format!("{byte:02x}")).collect();
        let each = ty.map_or(0, |ty| usize::from(ty.bits() / 8));
        let elements: Vec<u128> = match each {
            1..=16 => all.chunks_exact(each).map(little_endian).collect(),
            _ => Vec::new(),
        };
        let shown = |show: fn(ScalarType, u128) -> String| {
            let all = elements.iter().zip(ty.into_iter().cycle());
            all.map(|(bits, ty)| show(ty, *bits)).collect::<Vec<_>>()
        };
        let values = shown(plain);
        let text = match values.is_empty() {
            true => format!("bytes {hex}"),
            false => shown(text).join(", "),
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
        .fold(0, |all, byte| all << 8 | u128::from(*byte))
}
