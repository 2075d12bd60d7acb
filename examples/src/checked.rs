//! A bounds check before every access to global memory of a file. `cargo run -p ptx-examples --bin checked -- FILE LOW HIGH`
//!
//! The range is in the module's variable `bounds`, two `u64`, which the host may change; [`Bounds`] has the details.
//! A second pass, with a custom probe, counts the accesses that each thread makes.

use std::error::Error;

use ptx_ir::facts::Space;
use ptx_ir::{Module, Operand};
use ptx_isa::StateSpace;
use ptx_transform::insert_items;
use ptx_transform::instrument::{Bounds, Outside, Timing, instrument};

use crate::kernel::Kernel;
use crate::saxpy;

/// The module with checks, and the number of checked accesses.
pub fn check(module: &Module, low: u64, high: u64) -> Result<(Module, usize), Box<dyn Error>> {
    let bounds = Bounds {
        name: "bounds".into(),
        space: StateSpace::Global,
        low,
        high,
        outside: Outside::Trap,
    };
    let checked = bounds.apply(module)?;
    Ok((checked.module, checked.report.sites.len()))
}

/// Increments the counter `accesses` in global memory at every executed access.
pub fn count(module: &Module) -> Result<Module, Box<dyn Error>> {
    let module = insert_items(module, ".visible .global .align 8 .u64 accesses;")?.module;
    let counter = Operand::Symbol(module.symbol("accesses").ok_or("it was inserted")?);
    let global = Space::State(StateSpace::Global);
    let counted = instrument(
        &module,
        |c| {
            c.facts
                .memory()
                .any(|m| m.space == global)
                .then_some(Timing::Before)
        },
        |probe| {
            let counter = probe.editor().address(counter, Operand::Absent)?;
            // Under the guard of the access, where it has one.
            probe.emit("red.global.add.u64", &[counter, Operand::Small(1)])
        },
    )?;
    Ok(counted.module)
}

/// The kernel of [`saxpy`], counted and checked: the range is all of memory until the host sets it.
pub fn kernel() -> Result<Kernel, Box<dyn Error>> {
    let original = saxpy::kernel()?;
    let module = ptx_parse::parse(original.text.as_bytes()).module;
    let (module, _) = check(&count(&module)?, 0, u64::MAX)?;
    let text = String::from_utf8(module.source().to_vec())?;
    Ok(Kernel { text, ..original })
}
