//! `cargo bench -p bench --features measure --bench analysis`: bytes a second of the facts, of control flow with liveness, and of all together.
//! Nothing is asserted about time, except that twice the function takes at most a little more than twice the time.
#![allow(clippy::expect_used, reason = "known input")]
#![allow(missing_docs)]

use bench::{names, text};
use divan::Bencher;
use divan::counter::BytesCount;
use ptx_analysis::block_summary::Summary;
use ptx_analysis::cfg::Cfg;
use ptx_analysis::constants::Constants;
use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_analysis::graph::Dominators;
use ptx_analysis::liveness::Liveness;
use ptx_analysis::memory_access::Accesses;
use ptx_analysis::pressure::Pressure;
use ptx_analysis::reg_lanes::Variables;
use ptx_analysis::ssa::Ssa;
use ptx_analysis::value_numbering::ValueNumbers;
use ptx_analysis::values::Values;
use ptx_ir::Module;
use ptx_ir::facts::ModuleFacts;

fn main() {
    bench::print_inputs();
    divan::main();
}

fn liveness(module: &Module, pressure: bool) -> usize {
    let facts = ModuleFacts::new(module);
    let mut sum = 0;
    for (id, _, body) in module.definitions() {
        let Some(function) = facts.function(id) else {
            continue;
        };
        let cfg = Cfg::new(function);
        let variables = Variables::new(body);
        let summary = Summary::new(function, &cfg, &variables);
        let live = Liveness::new(&cfg, &summary, &variables);
        sum += cfg
            .blocks()
            .map(|(b, _)| live.live_in(b).count())
            .sum::<usize>();
        if pressure {
            sum += Pressure::new(function, &cfg, &variables, &live).units as usize;
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
    let functions = module.definitions().filter_map(|(id, ..)| {
        let function = facts.function(id)?;
        let analysis = FunctionAnalysis::new(function);
        let (cfg, variables) = (analysis.cfg(), analysis.variables());
        let ssa = Ssa::new(function, cfg, analysis.dominators(), variables).ok()?;
        Some((function, analysis, ssa))
    });
    let functions: Vec<_> = functions.collect();
    let bytes = BytesCount::new(module.source().len());
    bencher.counter(bytes).bench_local(|| {
        let accesses = |(facts, analysis, ssa): &(_, FunctionAnalysis, Ssa)| {
            let values = Values::new(*facts, analysis, ssa);
            Accesses::new(*facts, analysis, ssa, &values).all().len()
        };
        functions.iter().map(accesses).sum::<usize>()
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

/// What of the values of a function is measured.
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
    let (cfg, variables) = (Cfg::new(facts), Variables::new(facts.body()));
    let dominators = Dominators::new(&cfg);
    let ssa = Ssa::new(facts, &cfg, &dominators, &variables).expect("few phis");
    bencher.bench_local(|| match part {
        Part::Ssa => Ssa::new(facts, &cfg, &dominators, &variables).map_or(0, |ssa| ssa.len()),
        Part::Numbers => {
            let numbers = ValueNumbers::new(facts, &cfg, &variables, &ssa);
            numbers.number(Ssa::UNKNOWN) as usize
        }
        Part::Constants => {
            let constants = Constants::new(facts, &cfg, &variables, &ssa);
            usize::from(constants.is_executable(Cfg::ENTRY))
        }
    });
}
