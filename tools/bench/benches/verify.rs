//! `cargo bench -p bench --features measure --bench verify`: bytes a second of verifying real files. Nothing is asserted about time.

#![allow(missing_docs)]

use bench::{names, text};
use divan::Bencher;
use divan::counter::BytesCount;

fn main() {
    bench::print_inputs();
    divan::main();
}

#[divan::bench(args = names())]
fn verify(bencher: Bencher<'_, '_>, name: &str) {
    let module = ptx_parse::parse(text(name)).module;
    bencher
        .counter(BytesCount::new(module.source().len()))
        .bench_local(|| ptx_verify::verify(&module, &Default::default()));
}

/// Verification after a change of the body of one function.
#[divan::bench(args = names())]
fn update(bencher: Bencher<'_, '_>, name: &str) {
    let module = ptx_parse::parse(text(name)).module;
    let mut checked = ptx_verify::Checked::new(&module, Default::default());
    let bodies: Vec<_> = module.definitions().map(|(id, ..)| id).collect();
    let middle = bodies[bodies.len() / 2];
    bencher.bench_local(|| {
        let functions = &[middle];
        checked.update(&module, ptx_verify::Changes::new(functions, &[]));
    });
}
