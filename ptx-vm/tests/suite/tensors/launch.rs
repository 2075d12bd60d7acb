//! A kernel that copies a box between a tensor and shared memory.
#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

use ptx_vm::{Launch, Machine, RunError, TensorMap};

/// The bytes of memory that contain the tensor of a test.
pub(super) const TENSOR_BYTES: usize = 1 << 16;
/// The bytes of shared memory that a test sees.
pub(super) const SHARED_BYTES: usize = 1 << 15;

/// A copy.
pub(super) struct Copy<'a> {
    /// The part of the mnemonic after `cp`.
    pub(super) form: &'a str,
    pub(super) coordinates: &'a [i32],
    pub(super) offsets: &'a [u16],
    /// The offset of the box in shared memory, from a multiple of 1024.
    pub(super) shift: u32,
    /// The bytes that complete at an mbarrier object; `None` for copies from shared memory.
    pub(super) completes: Option<u32>,
}

/// The text of a module with a kernel that has a part of the memory as its shared memory, and performs a copy.
fn text(copy: &Copy<'_>) -> String {
    let vector = |prefix: &str, count: usize| {
        let registers: Vec<String> = (0..count).map(|i| format!("%{prefix}{i}")).collect();
        format!("{{{}}}", registers.join(", "))
    };
    let coordinates = vector("c", copy.coordinates.len());
    let offsets = match copy.offsets.len() {
        0 => String::new(),
        count => format!(", {}", vector("h", count)),
    };
    let form = copy.form;
    let body = if copy.completes.is_some() {
        format!(
            "mbarrier.init.shared::cta.b64 [barrier], 1;\n\
             mbarrier.arrive.expect_tx.shared::cta.b64 %rd5, [barrier], %r3;\n\
             cp{form} [%r1], [%rd1, {coordinates}], [barrier]{offsets};\n\
             WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p1, [barrier], 0;\n@!%p1 bra WAIT;\n"
        )
    } else {
        format!(
            "fence.proxy.async;\ncp{form} [%rd1, {coordinates}], [%r1];\n\
             cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\n"
        )
    };
    let loads = |prefix: &str, ty: &str, count: usize| {
        let lines = (0..count).map(|i| format!("ld.param.{ty} %{prefix}{i}, [{prefix}{i}];\n"));
        lines.collect::<String>()
    };
    let parameters = |prefix: &str, ty: &str, count: usize| {
        let lines = (0..count).map(|i| format!(", .param .{ty} {prefix}{i}"));
        lines.collect::<String>()
    };
    format!(
        ".version 9.4\n.target sm_107a\n.address_size 64\n.extern .shared .align 1024 .b8 data[];\n.shared .align 8 .b64 barrier;\n\
         .visible .entry k(.param .align 64 .b8 map[128], .param .u64 words, .param .u32 shift, .param .u32 bytes{}{})\n{{\n\
         .reg .pred %p<3>;\n.reg .b16 %h<4>;\n.reg .b32 %r<12>;\n.reg .b32 %c<5>;\n.reg .b64 %rd<8>;\n\
         mov.b64 %rd0, map;\ncvta.param.u64 %rd1, %rd0;\nld.param.u64 %rd2, [words];\n\
         mov.u32 %r0, data;\nld.param.u32 %r1, [shift];\nadd.u32 %r1, %r1, %r0;\nld.param.u32 %r3, [bytes];\n{}{}\
         mov.u32 %r4, %r0;\nmov.u64 %rd3, %rd2;\nadd.u32 %r9, %r0, {SHARED_BYTES};\n\
         FILL: ld.global.v4.u32 {{%r5, %r6, %r7, %r8}}, [%rd3];\nst.shared.v4.u32 [%r4], {{%r5, %r6, %r7, %r8}};\n\
         add.u32 %r4, %r4, 16;\nadd.u64 %rd3, %rd3, 16;\nsetp.lt.u32 %p1, %r4, %r9;\n@%p1 bra FILL;\n\
         {body}\
         mov.u32 %r4, %r0;\nmov.u64 %rd3, %rd2;\n\
         SHOW: ld.shared.v4.u32 {{%r5, %r6, %r7, %r8}}, [%r4];\nst.global.v4.u32 [%rd3], {{%r5, %r6, %r7, %r8}};\n\
         add.u32 %r4, %r4, 16;\nadd.u64 %rd3, %rd3, 16;\nsetp.lt.u32 %p1, %r4, %r9;\n@%p1 bra SHOW;\nret;\n}}\n",
        parameters("c", "u32", copy.coordinates.len()),
        parameters("h", "u16", copy.offsets.len()),
        loads("c", "u32", copy.coordinates.len()),
        loads("h", "u16", copy.offsets.len()),
    )
}

/// The contents of the memory of the tensor and of shared memory.
pub(super) struct Memory {
    pub(super) tensor: Vec<u8>,
    pub(super) shared: Vec<u8>,
}

impl Memory {
    pub(super) fn random(random: &mut fastrand::Rng) -> Self {
        let mut bytes = |count| (0..count).map(|_| random.u8(..)).collect();
        Self {
            tensor: bytes(TENSOR_BYTES),
            shared: bytes(SHARED_BYTES),
        }
    }
}

/// Performs a copy with the bytes of a map that a function makes for an address.
pub(super) fn run_bytes(
    copy: &Copy<'_>,
    memory: &Memory,
    map: impl FnOnce(u64) -> [u8; 128],
) -> Result<Memory, RunError> {
    let text = text(copy);
    let parsed = ptx_parse::parse_str(&text);
    let errors: Vec<_> = parsed.diagnostics.iter().map(|d| &d.message).collect();
    assert!(errors.is_empty(), "{errors:?}\n{text}");
    let errors = ptx_verify::verify(&parsed.module, &ptx_verify::Options::default());
    let errors: Vec<_> = errors.iter().map(|d| &d.message).collect();
    assert!(errors.is_empty(), "{errors:?}\n{text}");
    let mut machine = Machine::new(&parsed.module);
    let tensor = machine.allocate(TENSOR_BYTES as u64).unwrap();
    let shared = machine.allocate(SHARED_BYTES as u64).unwrap();
    machine.write(tensor, &memory.tensor)?;
    machine.write(shared, &memory.shared)?;
    let mut launch = Launch::new("k")
        .argument(map(tensor))
        .argument(shared.to_le_bytes())
        .argument(copy.shift.to_le_bytes())
        .argument(copy.completes.unwrap_or(0).to_le_bytes());
    for coordinate in copy.coordinates {
        launch = launch.argument(coordinate.to_le_bytes());
    }
    for offset in copy.offsets {
        launch = launch.argument(offset.to_le_bytes());
    }
    launch.shared = SHARED_BYTES as u32;
    launch.limits.steps = 1_000_000;
    machine.launch(&launch)?;
    Ok(Memory {
        tensor: machine.read(tensor, TENSOR_BYTES)?,
        shared: machine.read(shared, SHARED_BYTES)?,
    })
}

/// Performs a copy. The address of the map is relative to the beginning of the tensor's memory.
pub(super) fn run(
    copy: &Copy<'_>,
    memory: &Memory,
    map: impl FnOnce(u64) -> TensorMap,
) -> Result<Memory, RunError> {
    run_bytes(copy, memory, |address| map(address).to_bytes().unwrap())
}
