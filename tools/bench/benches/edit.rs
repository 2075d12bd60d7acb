//! `cargo bench -p bench --features measure --bench edit`: edits of real files of three sizes. One edit takes as long in each; the text is
//! printed once in the end. Nothing is asserted about time.

#![allow(missing_docs, clippy::unwrap_used)]

use bench::{names, text};
use divan::Bencher;
use ptx_edit::{EditModule as _, Editor};
use ptx_ir::{FuncId, Module, Operand, Statement, StmtId};

fn main() {
    bench::print_inputs();
    divan::main();
}

fn module(name: &str) -> Module {
    ptx_parse::parse(text(name)).module
}

/// Some instructions, spread over the functions.
fn places(module: &Module, most: usize) -> Vec<(FuncId, StmtId)> {
    let all: Vec<_> = module
        .definitions()
        .flat_map(|(f, _, body)| {
            body.statements()
                .map(move |(s, statement)| (f, s, statement))
        })
        .filter(|(.., statement)| matches!(statement, Statement::Inst(_)))
        .map(|(f, s, _)| (f, s))
        .collect();
    let step = (all.len() / most).max(1);
    all.into_iter().step_by(step).take(most).collect()
}

fn insert(editor: &mut Editor<'_>, at: StmtId) {
    let new = editor.inst("membar.gl", &[]).unwrap();
    editor.insert_before(at, new).unwrap();
}

/// The first edit of a body.
#[divan::bench(args = names())]
fn one_insertion(bencher: Bencher<'_, '_>, name: &str) {
    let module = module(name);
    let places = places(&module, 50);
    let mut nth = 0;
    bencher
        .with_inputs(|| {
            nth = (nth + 1) % places.len();
            (module.clone(), places[nth])
        })
        .bench_local_refs(|(module, (function, at))| {
            insert(&mut module.edit(*function).unwrap(), *at);
        });
}

/// Another edit of a body that was edited before.
#[divan::bench(args = names())]
fn one_more_insertion(bencher: Bencher<'_, '_>, name: &str) {
    let mut module = module(name);
    let places = places(&module, 1000);
    for &(function, at) in &places {
        insert(&mut module.edit(function).unwrap(), at);
    }
    let mut nth = 0;
    bencher.bench_local(|| {
        nth = (nth + 1) % places.len();
        let (function, at) = places[nth];
        insert(&mut module.edit(function).unwrap(), at);
    });
}

/// The replacement of an operand in a body that was edited before.
#[divan::bench(args = names())]
fn one_operand(bencher: Bencher<'_, '_>, name: &str) {
    let mut module = module(name);
    let places = places(&module, 1000);
    let mut nth = 0;
    bencher.bench_local(|| {
        nth = (nth + 1) % places.len();
        let (function, at) = places[nth];
        let mut editor = module.edit(function).unwrap();
        let _ = editor.set_operand(at, 1, Operand::Small(nth as i32));
    });
}

/// A thousand edits, or one of each instruction if there are fewer, and the printing of the text.
#[divan::bench(args = names())]
fn a_thousand_and_the_text(bencher: Bencher<'_, '_>, name: &str) {
    let module = module(name);
    let places = places(&module, 1000);
    bencher
        .with_inputs(|| module.clone())
        .bench_local_refs(|module| {
            for &(function, at) in &places {
                insert(&mut module.edit(function).unwrap(), at);
            }
            ptx_print::verbatim(module)
        });
}

/// The insertion of an instruction before every load.
#[divan::bench(args = names())]
fn every_load_and_the_text(bencher: Bencher<'_, '_>, name: &str) {
    let module = module(name);
    let loads: Vec<bool> = module
        .signatures()
        .ids()
        .map(|id| module.signature(id).opcode_text() == "ld")
        .collect();
    bencher
        .with_inputs(|| module.clone())
        .bench_local_refs(|module| {
            let functions: Vec<FuncId> = module.definitions().map(|(f, ..)| f).collect();
            for function in functions {
                let mut editor = module.edit(function).unwrap();
                let body = editor.body();
                let load_stmts: Vec<StmtId> = body
                    .statements()
                    .filter(|(_, s)| match s {
                        Statement::Inst(i) => loads[body.inst_table()[*i].sig.as_u32() as usize],
                        _ => false,
                    })
                    .map(|(id, _)| id)
                    .collect();
                for stmt in load_stmts {
                    insert(&mut editor, stmt);
                }
            }
            ptx_print::verbatim(module)
        });
}
