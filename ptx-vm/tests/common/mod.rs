//! Kernels of the tests.
#![allow(clippy::unwrap_used)] // test helpers outside #[test] functions

use ptx_vm::{Launch, Machine, RunError};

/// A kernel `k` with a pointer to 32-bit integers in `%out`.
pub(crate) fn kernel(before: &str, body: &str) -> String {
    format!(
        ".version 9.2\n.target sm_90\n.address_size 64\n{before}\n\
         .visible .entry k(.param .u64 data)\n{{\n\
         .reg .pred %p<8>;\n.reg .b16 %h<8>;\n.reg .b32 %r<16>;\n.reg .f32 %f<8>;\n.reg .b64 %rd<16>;\n.reg .b64 %out;\n.reg .b64 %mine;\n\
         ld.param.u64 %out, [data];\n\
         mov.u32 %r0, %tid.x;\nmul.wide.u32 %mine, %r0, 4;\nadd.s64 %mine, %mine, %out;\n\
         {body}\nret;\n}}\n"
    )
}

/// The first words of memory after a launch with words in it.
pub(crate) fn run(text: &str, grid: u32, block: u32, words: &[u32]) -> Result<Vec<u32>, RunError> {
    let parsed = ptx_parse::parse_str(text);
    let errors: Vec<_> = parsed.diagnostics.iter().map(|d| &d.message).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let errors = ptx_verify::verify(&parsed.module, &ptx_verify::Options::default());
    let errors: Vec<_> = errors.iter().map(|d| &d.message).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let mut machine = Machine::new(&parsed.module);
    let data = machine.allocate(4 * words.len() as u64).unwrap();
    let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    machine.write(data, &bytes)?;
    let mut launch = Launch::new("k")
        .shape(grid, block)
        .argument(data.to_le_bytes());
    launch.limits.steps = 100_000;
    machine.launch(&launch)?;
    let bytes = machine.read(data, bytes.len())?;
    let words = bytes
        .chunks(4)
        .map(|w| u32::from_le_bytes(w.try_into().unwrap()));
    Ok(words.collect())
}
