//! Kernels of the tests.
#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

use ptx_ir::Module;
use ptx_vm::{Asynchrony, Launch, Machine, RunError};

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
    let result = launch(&parsed.module, (grid, block), words, Asynchrony::Immediate);
    // The kernels wait for their asynchronous operations.
    if let Ok(expected) = &result {
        for time in [Asynchrony::Late, Asynchrony::Random(1)] {
            let words = launch(&parsed.module, (grid, block), words, time)?;
            assert_eq!(words, *expected, "{time}");
        }
    }
    result
}

fn launch(
    module: &Module,
    (grid, block): (u32, u32),
    words: &[u32],
    asynchrony: Asynchrony,
) -> Result<Vec<u32>, RunError> {
    let mut machine = Machine::new(module);
    let data = machine.allocate(4 * words.len() as u64).unwrap();
    machine.write_slice(data, words)?;
    let mut launch = Launch::new("k")
        .shape(grid, block)
        .argument(data.to_le_bytes());
    launch.asynchrony = asynchrony;
    launch.limits.steps = 100_000;
    machine.launch(&launch)?;
    machine.read_slice(data, words.len())
}
