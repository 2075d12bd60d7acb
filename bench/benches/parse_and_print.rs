//! `cargo bench -p bench --features measure --bench parse_and_print`: bytes a second of reading and printing real
//! files. Nothing is asserted about time. `cargo oracle bench` compares with
//! NVIDIA's assembler.

#![allow(missing_docs)]

use std::sync::{Arc, LazyLock};

use divan::Bencher;
use divan::counter::BytesCount;
use ptx_ir::{Limits, Module};
use ptx_print::Style;

static INPUTS: LazyLock<Vec<bench::Input>> = LazyLock::new(bench::all);

fn main() {
    for input in INPUTS.iter() {
        println!("{}: {}, {} bytes", input.name, input.file, input.text.len());
    }
    divan::main();
}

fn names() -> Vec<&'static str> {
    INPUTS.iter().map(|i| i.name).collect()
}

fn text(name: &str) -> &'static [u8] {
    INPUTS
        .iter()
        .find(|i| i.name == name)
        .map_or(&[], |i| &i.text)
}

fn module(name: &str) -> Module {
    ptx_parse::parse(text(name)).module
}

#[divan::bench(args = names())]
fn parse(bencher: Bencher<'_, '_>, name: &str) {
    let source: Arc<[u8]> = text(name).into();
    bencher
        .counter(BytesCount::new(source.len()))
        .bench_local(|| ptx_parse::parse_shared(source.clone(), &Limits::default()));
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
