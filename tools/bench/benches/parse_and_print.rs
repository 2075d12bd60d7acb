//! `cargo bench -p bench --features measure --bench parse_and_print`: bytes a second of reading and printing real
//! files. Nothing is asserted about time.

#![allow(missing_docs)]

use std::sync::Arc;

use bench::{names, text};
use divan::Bencher;
use divan::counter::BytesCount;
use ptx_ir::{Limits, Module};
use ptx_print::Style;

fn main() {
    bench::print_inputs();
    divan::main();
}

fn module(name: &str) -> Module {
    ptx_parse::parse(text(name)).module
}

#[divan::bench(args = names())]
fn parse(bencher: Bencher<'_, '_>, name: &str) {
    let source: Arc<[u8]> = text(name).into();
    bencher
        .counter(BytesCount::new(source.len()))
        .bench_local(|| ptx_parse::parse_with(source.clone(), &Limits::default()));
}

#[divan::bench(args = names())]
fn verbatim(bencher: Bencher<'_, '_>, name: &str) {
    let module = module(name);
    bencher
        .counter(BytesCount::new(module.source().len()))
        .bench_local(|| ptx_print::verbatim(&module));
}

#[divan::bench(args = names())]
fn canonical(bencher: Bencher<'_, '_>, name: &str) {
    let module = module(name);
    bencher
        .counter(BytesCount::new(module.source().len()))
        .bench_local(|| ptx_print::canonical(&module, &Style::default()));
}
