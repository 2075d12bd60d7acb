//! Shared memory of modules with several kernels.
#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

use ptx_vm::{Launch, Machine, RunError, StopReason};

/// Each kernel has most of what a CTA may have; both call a function that has a variable, too.
const MODULE: &str = "
.version 8.5
.target sm_90
.address_size 64
.shared .align 4 .b8 of_first[200000];
.shared .align 4 .b32 of_both;
.extern .shared .align 1024 .b8 added[];
.global .u64 kept = of_both;
.func (.reg .u32 d) store(.reg .u32 a)
{
  .shared .u32 cell;
  st.shared.u32 [cell], a;
  ld.shared.u32 d, [cell];
  ret;
}
.visible .entry first(.param .u64 data)
{
  .reg .u64 out;
  .reg .u32 a;
  ld.param.u64 out, [data];
  st.shared.u32 [of_both], 1;
  st.shared.u32 [of_first+199996], 7;
  call (a), store, (40);
  st.global.u32 [out], a;
  ld.shared.u32 a, [of_first+199996];
  st.global.u32 [out+4], a;
  ret;
}
.visible .entry second(.param .u64 data)
{
  .reg .u64 out, at;
  .reg .u32 a;
  .shared .align 4 .b8 of_second[150000];
  ld.param.u64 out, [data];
  st.shared.u32 [of_second+149996], 9;
  call (a), store, (50);
  st.global.u32 [out], a;
  mov.u32 a, %total_smem_size;
  st.global.u32 [out+4], a;
  ret;
}
.visible .entry third(.param .u64 data)
{
  .reg .u64 out, at;
  .reg .u32 a;
  ld.param.u64 out, [data];
  mov.u32 a, added;
  and.b32 a, a, 1023;
  st.global.u32 [out], a;
  st.shared.u32 [added+8188], 3;
  ld.shared.u32 a, [added+8188];
  st.global.u32 [out+4], a;
  ret;
}
.visible .entry beyond()
{
  .reg .u32 a;
  ld.shared.u32 a, [of_both+1024];
  ret;
}
";

fn run(kernel: &str, added: u32) -> Result<[u32; 2], RunError> {
    let parsed = ptx_parse::parse_str(MODULE);
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
    let mut machine = Machine::new(&parsed.module);
    let data = machine.allocate(8).unwrap();
    let mut launch = Launch::new(kernel);
    if kernel != "beyond" {
        launch = launch.argument(data.to_le_bytes());
    }
    launch.shared = added;
    machine.launch(&launch)?;
    let bytes = machine.read(data, 8)?;
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    Ok([word(0), word(4)])
}

#[test]
fn variables_of_different_kernels_share_addresses() {
    assert_eq!(run("first", 0).unwrap(), [40, 7]);
    assert_eq!(run("second", 0).unwrap(), [50, 150_008]);
}

#[test]
fn a_launch_adds_memory_with_the_declared_alignment() {
    assert_eq!(run("third", 8192).unwrap(), [0, 3]);
    // Only its own variables count.
    assert_eq!(run("third", 220_000).unwrap(), [0, 3]);
    let error = run("first", 60_000).unwrap_err();
    assert!(matches!(error.reason, StopReason::Launch(_)), "{error}");
}

#[test]
fn a_kernel_does_not_reach_the_variables_of_others() {
    let error = run("beyond", 0).unwrap_err();
    assert_eq!(error.reason, StopReason::OutOfBounds(1024));
}

/// The offset, modulo 1024, of the bytes that a launch adds for the kernel `user`.
fn added_offset(user: &str, declared: &str) -> u32 {
    let kernel = |name: &str, declared: &str| {
        let added = if name == user || user == "both" {
            "mov.u32 a, added;"
        } else {
            "mov.u32 a, 0;"
        };
        format!(
            ".visible .entry {name}(.param .u64 data)\n{{\n.reg .u64 out;\n.reg .u32 a;\n{declared}\n\
             ld.param.u64 out, [data];\n{added}\nand.b32 a, a, 1023;\nst.global.u32 [out], a;\nret;\n}}\n"
        )
    };
    let text = format!(
        ".version 8.5\n.target sm_90\n.address_size 64\n.extern .shared .align 16 .b8 added[];\n{}{}",
        kernel("plain", ""),
        kernel("own", declared),
    );
    let module = ptx_parse::parse_str(&text).into_result().unwrap();
    let mut machine = Machine::new(&module);
    let data = machine.allocate(4).unwrap();
    let name = if user == "both" { "plain" } else { user };
    let mut launch = Launch::new(name).argument(data.to_le_bytes());
    launch.shared = 64;
    machine.launch(&launch).unwrap();
    machine.read_slice::<u32>(data, 1).unwrap()[0]
}

/// Copies of tensors and matrix descriptors need the alignment of the memory of a CTA, which GPUs give to a kernel without variables of a size.
#[test]
fn a_launch_adds_memory_at_the_offset_of_gpus() {
    let declared = ".shared .align 4 .b8 cell[20];\nst.shared.u32 [cell], 1;";
    assert_eq!(added_offset("plain", declared), 0);
    assert_eq!(added_offset("own", declared), 32);
    assert_eq!(added_offset("both", declared), 0);
    assert_eq!(added_offset("own", ""), 0);
}
