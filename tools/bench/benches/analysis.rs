//! `cargo bench -p bench --features measure --bench analysis`: bytes a second of the facts, of control flow with liveness, and of all together.
//! Nothing is asserted about time, except that twice the function takes at most a little more than twice the time.
#![allow(clippy::expect_used, reason = "known input")]
#![allow(missing_docs)]

use bench::{names, text};
use divan::Bencher;
use divan::counter::BytesCount;
use ptx_analysis::cfg::Cfg;
use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_analysis::ssa::Ssa;
use ptx_ir::Module;
use ptx_ir::facts::ModuleFacts;

fn main() {
    bench::print_inputs();
    divan::main();
}

fn liveness(module: &Module, pressure: bool) -> usize {
    let facts = ModuleFacts::new(module);
    let mut sum = 0;
    for (id, ..) in module.definitions() {
        let Some(function) = facts.function(id).map(FunctionAnalysis::new) else {
            continue;
        };
        let live = function.liveness();
        sum += function
            .cfg()
            .blocks()
            .map(|(b, _)| live.live_in(b).count())
            .sum::<usize>();
        if pressure {
            sum += function.pressure().units as usize;
        }
    }
    sum
}

#[divan::bench(args = names())]
fn facts(bencher: Bencher<'_, '_>, name: &str) {
    let module = ptx_parse::parse(text(name)).module;
    let bytes = BytesCount::new(module.source().len());
    bencher
        .counter(bytes)
        .bench_local(|| ModuleFacts::new(&module).module().bodies().len());
}

/// Affine forms, trip counts and accesses, without the facts and analyses before them.
#[divan::bench(args = names())]
fn values_and_accesses(bencher: Bencher<'_, '_>, name: &str) {
    let module = ptx_parse::parse(text(name)).module;
    let facts = ModuleFacts::new(&module);
    let bytes = BytesCount::new(module.source().len());
    let bencher = bencher.counter(bytes).with_inputs(|| {
        module
            .definitions()
            .filter_map(|(id, ..)| facts.function(id).map(FunctionAnalysis::new))
            .filter(|function| function.ssa().is_ok())
            .collect::<Vec<_>>()
    });
    bencher.bench_local_values(|functions| {
        let count =
            |function: &FunctionAnalysis<'_>| function.accesses().map_or(0, |a| a.all().len());
        functions.iter().map(count).sum::<usize>()
    });
}

#[divan::bench(args = names())]
fn cfg_and_liveness(bencher: Bencher<'_, '_>, name: &str) {
    let module = ptx_parse::parse(text(name)).module;
    let bytes = BytesCount::new(module.source().len());
    bencher
        .counter(bytes)
        .bench_local(|| liveness(&module, false));
}

#[divan::bench(args = names())]
fn pressure(bencher: Bencher<'_, '_>, name: &str) {
    let module = ptx_parse::parse(text(name)).module;
    let bytes = BytesCount::new(module.source().len());
    bencher
        .counter(bytes)
        .bench_local(|| liveness(&module, true));
}

/// `blocks` blocks in a row of loops, four registers each that live for a few blocks.
fn long(blocks: usize) -> String {
    let mut text = String::from(".version 8.0\n.target sm_80\n.address_size 64\n.entry k()\n{\n");
    text += &format!(".reg .pred %p<2>;\n.reg .b32 %r<{}>;\n", blocks * 4 + 16);
    text += "mov.b32 %r0, 1;\nmov.b32 %r1, 2;\n";
    for b in 0..blocks {
        let r = b * 4;
        let back = b - b % 7;
        text += &format!(
            "L{b}:\nadd.s32 %r{}, %r{r}, 1;\nadd.s32 %r{}, %r{}, %r{};\nadd.s32 %r{}, %r{}, 3;\nsetp.eq.s32 %p1, %r{}, 0;\n@%p1 bra L{back};\n",
            r + 4,
            r + 5,
            r + 4,
            r + 1,
            r + 2,
            r + 5,
            r + 2
        );
    }
    text + "ret;\n}\n"
}

#[divan::bench(args = [25_000, 50_000, 100_000])]
fn long_function(bencher: Bencher<'_, '_>, blocks: usize) {
    let text = long(blocks);
    let module = ptx_parse::parse(text.as_bytes()).module;
    let bytes = BytesCount::new(text.len());
    bencher
        .counter(bytes)
        .bench_local(|| liveness(&module, true));
}

/// The analyses of the values of a function that are measured.
#[derive(Clone, Copy, Debug)]
enum Part {
    Ssa,
    Numbers,
    Constants,
}

#[divan::bench(args = [Part::Ssa, Part::Numbers, Part::Constants], consts = [50_000, 100_000], sample_count = 20)]
fn values<const BLOCKS: usize>(bencher: Bencher<'_, '_>, part: Part) {
    let module = ptx_parse::parse(long(BLOCKS).as_bytes()).module;
    let facts = ModuleFacts::new(&module);
    let Some(facts) = module.function("k").and_then(|k| facts.function(k)) else {
        return;
    };
    let bencher = bencher.with_inputs(|| {
        let function = FunctionAnalysis::new(facts);
        match part {
            Part::Ssa => _ = (function.dominators(), function.variables()),
            Part::Numbers | Part::Constants => _ = function.ssa(),
        }
        function
    });
    bencher.bench_local_values(|function| match part {
        Part::Ssa => function.ssa().map_or(0, Ssa::len),
        Part::Numbers => {
            let numbers = function.value_numbers().expect("few phis");
            numbers.number(Ssa::UNKNOWN) as usize
        }
        Part::Constants => {
            let constants = function.constants().expect("few phis");
            usize::from(constants.is_executable(Cfg::ENTRY))
        }
    });
}
