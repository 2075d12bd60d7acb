//! The table of functions.

use ptx_report::function_stats::{OfFunction, Parameter};

use crate::column::Value::{Int, Long, TextList, Word};
use crate::column::{Column, Rows, Texts, column, optional};

/// A row for each function with a body.
pub(crate) struct Functions;

/// A function of a file.
pub(crate) struct InFile<'a> {
    pub(crate) file: &'a str,
    pub(crate) of: OfFunction,
}

impl InFile<'_> {
    fn class(&self, class: &str) -> Option<u32> {
        Some(self.of.pressure.by_class.get(class).copied().unwrap_or(0))
    }
}

/// `maxntid 256 1 1`
fn directives(of: &OfFunction, each: Texts<'_>) -> bool {
    for (name, values) in &of.signature.directives {
        let values = values.iter().map(|v| format!(" {v}"));
        each(&values.fold((*name).to_owned(), |text, v| text + &v));
    }
    true
}

/// `.u64 .ptr .global a`
fn parameters(all: &[Parameter], each: Texts<'_>) -> bool {
    for p in all {
        each(&format!("{} {}", p.ty, p.name.as_deref().unwrap_or("_")));
    }
    true
}

impl Rows for Functions {
    type Row<'a> = InFile<'a>;

    #[rustfmt::skip]
    const COLUMNS: &'static [Column<Self>] = &[
        column("file", Word(|r| Some(r.file)), "The path of the file."),
        column("function", Word(|r| Some(&r.of.name)), "The name of the function."),
        optional("demangled", Word(|r| r.of.demangled.as_deref()), "The name in the source language; null if it is not a mangled C++ or Rust name."),
        column("kind", Word(|r| Some(r.of.kind)), "`entry` or `func`."),
        column("params", TextList(|r, each| parameters(&r.of.signature.params, each)), "The parameters: type and name."),
        column("results", TextList(|r, each| parameters(&r.of.signature.results, each)), "The results: type and name."),
        column("directives", TextList(|r, each| directives(&r.of, each)), "Launch bounds and other directives, such as `maxntid 256 1 1`."),
        column("instructions", Long(|r| Some(r.of.mix.instructions as i64)), "The number of instructions."),
        column("tensor_core_arithmetic", Long(|r| Some(r.of.mix.tensor_core.arithmetic as i64)), "Instructions that multiply matrices on tensor cores."),
        column("tensor_core_moves", Long(|r| Some(r.of.mix.tensor_core.moves as i64)), "Instructions that load, store, copy or move matrix fragments."),
        column("barriers", Long(|r| Some(r.of.mix.barriers as i64)), "Instructions that wait for other threads or signal them."),
        column("calls", Long(|r| Some(r.of.mix.calls as i64)), "Calls."),
        column("callees", TextList(|r, each| { r.of.callees.iter().filter_map(|c| c.name.as_deref()).for_each(each); true }), "The functions that it calls directly, sorted by name."),
        column("blocks", Long(|r| Some(r.of.blocks as i64)), "Basic blocks."),
        column("loops", Long(|r| Some(r.of.loops as i64)), "Natural loops."),
        column("loop_depth", Int(|r| Some(r.of.loop_depth)), "The deepest nesting of loops."),
        column("max_b32_units", Int(|r| Some(r.of.pressure.max_b32_units)), "The maximum number of simultaneously live registers, in units of 32 bits."),
        column("max_pred", Int(|r| r.class("pred")), "The maximum number of simultaneously live predicates."),
        column("max_b16", Int(|r| r.class("b16")), "The same for registers of 16 bits."),
        column("max_b32", Int(|r| r.class("b32")), "The same for registers of 32 bits."),
        column("max_b64", Int(|r| r.class("b64")), "The same for registers of 64 bits."),
        column("max_b128", Int(|r| r.class("b128")), "The same for registers of 128 bits."),
        optional("shared_bytes", Long(|r| r.of.shared_bytes.map(|n| n as i64)), "Bytes of static shared memory of a kernel, including the functions that it calls."),
        column("local_bytes", Long(|r| Some(r.of.local_bytes as i64)), "Bytes of variables in local memory."),
        column("requires", TextList(|r, each| { r.of.requires.iter().for_each(|p| each(&format!("{} {}", p.target, p.ptx))); true }), "The lowest target of each architecture family with the lowest PTX version, such as `sm_80 7.0`."),
        optional("source_file", Word(|r| r.of.source.as_ref()?.file.as_deref()), "The file of the original program that most instructions come from."),
        optional("source_first_line", Long(|r| r.of.source.as_ref().map(|s| s.first_line.into())), "The first line in it of an instruction that was not inlined."),
        optional("source_last_line", Long(|r| r.of.source.as_ref().map(|s| s.last_line.into())), "The last one."),
    ];
}
