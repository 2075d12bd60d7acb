//! `cargo bench -p bench --features measure --bench instrument`: probes at every load of texts of 5 MB and more. Nothing is asserted about time.

#![allow(missing_docs, clippy::unwrap_used)]

use std::sync::LazyLock;

use divan::Bencher;
use ptx_ir::{Module, Operand};
use ptx_isa::{Access, ScalarType, StateSpace};
use ptx_transform::instrument::{
    Bounds, Error, Outside, Probe, Records, Timing, Trace, instrument_in_place,
};

const SIZE: usize = 5_000_000;

static INPUTS: LazyLock<Vec<(&str, Vec<u8>)>> = LazyLock::new(|| {
    bench::all()
        .into_iter()
        .filter_map(|input| match input.name {
            "medium" => Some(("medium, repeated", bench::repeated(&input.text, SIZE))),
            "large" => Some(("large", input.text)),
            _ => None,
        })
        .collect()
});

fn main() {
    for (name, text) in INPUTS.iter() {
        let mut module = ptx_parse::parse(text).module;
        let loads = loads(&mut module);
        println!("{name}: {} bytes, {loads} loads", text.len());
    }
    divan::main();
}

fn names() -> Vec<&'static str> {
    INPUTS.iter().map(|(name, _)| *name).collect()
}

fn module(name: &str) -> Module {
    let text = INPUTS.iter().find(|(n, _)| *n == name);
    ptx_parse::parse(text.map_or(&[][..], |(_, text)| text)).module
}

/// Inserts a probe before each load: an access above a constant address traps. Returns the number of probes.
fn loads(module: &mut Module) -> usize {
    let report = instrument_in_place(
        module,
        |candidate| {
            let mut accesses = candidate.facts.memory();
            accesses
                .any(|access| access.access == Access::Read)
                .then_some(Timing::Before)
        },
        check,
    );
    report.unwrap().sites.len()
}

fn check(probe: &mut Probe<'_, '_>) -> Result<(), Error> {
    let Some(address) = probe.address(0)? else {
        return Ok(());
    };
    let end = probe.editor().integer(1 << 40);
    let outside = probe.register(ScalarType::Pred)?;
    probe.emit("setp.ge.u64", &[Operand::Reg(outside), address, end])?;
    probe.trap_if(outside)
}

#[divan::bench(args = names())]
fn every_load(bencher: Bencher<'_, '_>, name: &str) {
    let module = module(name);
    bencher
        .with_inputs(|| module.clone())
        .bench_local_values(|mut module| {
            loads(&mut module);
            module
        });
}

#[divan::bench(args = names())]
fn every_load_and_print(bencher: Bencher<'_, '_>, name: &str) {
    let module = module(name);
    bencher
        .with_inputs(|| module.clone())
        .bench_local_values(|mut module| {
            loads(&mut module);
            ptx_print::verbatim(&module)
        });
}

/// Bounds checks before all accesses, with the text of the added code, which is parsed again.
#[divan::bench(args = names())]
fn bounds(bencher: Bencher<'_, '_>, name: &str) {
    let module = module(name);
    let bounds = Bounds {
        name: "bounds".into(),
        space: StateSpace::Global,
        low: 0,
        high: 1 << 40,
        outside: Outside::Trap,
    };
    bencher.bench_local(|| bounds.apply(&module).unwrap());
}

#[divan::bench(args = names())]
fn trace(bencher: Bencher<'_, '_>, name: &str) {
    let module = module(name);
    let trace = Trace {
        records: Records {
            name: "trace".into(),
            capacity: 1 << 16,
        },
        spaces: Trace::MEMORY.into(),
    };
    bencher.bench_local(|| trace.apply(&module).unwrap());
}
