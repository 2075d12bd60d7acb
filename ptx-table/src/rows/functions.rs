//! The table of functions.

use ptx_isa::RegisterClass;
use ptx_report::function_stats::{FunctionStats, Parameter};
use ptx_report::labels::{Label as _, Labeled};

use crate::column::Value::{Int, Long, TextList, Word};
use crate::column::{Column, Table, TextSink, column, optional};

/// The table with a row for each function with a body.
pub(crate) struct Functions;

/// A function of a file.
pub(crate) struct FunctionRow<'a> {
    pub(crate) file: &'a str,
    pub(crate) statistics: FunctionStats,
}

impl FunctionRow<'_> {
    /// The maximum number of live registers of a class.
    fn pressure(&self, class: RegisterClass) -> Option<u32> {
        let by_class = &self.statistics.pressure.by_class;
        Some(by_class.get(&Labeled(class)).copied().unwrap_or(0))
    }
}

/// Writes directives such as `maxntid 256 1 1`.
fn directives(statistics: &FunctionStats, sink: TextSink<'_>) -> bool {
    for (name, values) in &statistics.signature.directives {
        let mut text = (*name).to_owned();
        for value in values {
            text += &format!(" {value}");
        }
        sink(&text);
    }
    true
}

/// Writes parameters such as `.u64 .ptr .global a`.
fn parameters(parameters: &[Parameter], sink: TextSink<'_>) -> bool {
    for parameter in parameters {
        let name = parameter.name.as_deref().unwrap_or("_");
        sink(&format!("{} {name}", parameter.ty));
    }
    true
}

impl Table for Functions {
    type Row<'a> = FunctionRow<'a>;

    #[rustfmt::skip]
    const COLUMNS: &'static [Column<Self>] = &[
        column("file", Word(|r| Some(r.file)), "The path of the file."),
        column("function", Word(|r| Some(&r.statistics.name)), "The name of the function."),
        optional("demangled", Word(|r| r.statistics.demangled.as_deref()), "The name in the source language; null if it is not a mangled C++ or Rust name."),
        column("kind", Word(|r| Some(r.statistics.kind.label())), "`entry` or `func`."),
        column("params", TextList(|r, sink| parameters(&r.statistics.signature.params, sink)), "The parameters: type and name."),
        column("results", TextList(|r, sink| parameters(&r.statistics.signature.results, sink)), "The results: type and name."),
        column("directives", TextList(|r, sink| directives(&r.statistics, sink)), "Launch bounds and other directives, such as `maxntid 256 1 1`."),
        column("instructions", Long(|r| Some(r.statistics.mix.instructions as i64)), "The number of instructions."),
        column("tensor_core_arithmetic", Long(|r| Some(r.statistics.mix.tensor_core.arithmetic as i64)), "Instructions that multiply matrices on tensor cores."),
        column("tensor_core_moves", Long(|r| Some(r.statistics.mix.tensor_core.moves as i64)), "Instructions that load, store, copy or move matrix fragments."),
        column("barriers", Long(|r| Some(r.statistics.mix.barriers as i64)), "Instructions that wait for other threads or signal them."),
        column("calls", Long(|r| Some(r.statistics.mix.calls as i64)), "Calls."),
        column("callees", TextList(|r, sink| { r.statistics.callees.iter().filter_map(|c| c.name.as_deref()).for_each(sink); true }), "The functions that it calls directly, sorted by name."),
        column("blocks", Long(|r| Some(r.statistics.blocks as i64)), "Basic blocks."),
        column("loops", Long(|r| Some(r.statistics.loops as i64)), "Natural loops."),
        column("loop_depth", Int(|r| Some(r.statistics.loop_depth)), "The deepest nesting of loops."),
        column("max_b32_units", Int(|r| Some(r.statistics.pressure.max_b32_units)), "The maximum number of simultaneously live registers, in units of 32 bits."),
        column("max_pred", Int(|r| r.pressure(RegisterClass::Predicate)), "The maximum number of simultaneously live predicates."),
        column("max_b16", Int(|r| r.pressure(RegisterClass::Bits16)), "The same for registers of 16 bits."),
        column("max_b32", Int(|r| r.pressure(RegisterClass::Bits32)), "The same for registers of 32 bits."),
        column("max_b64", Int(|r| r.pressure(RegisterClass::Bits64)), "The same for registers of 64 bits."),
        column("max_b128", Int(|r| r.pressure(RegisterClass::Bits128)), "The same for registers of 128 bits."),
        optional("shared_bytes", Long(|r| r.statistics.shared_bytes.map(|n| n as i64)), "Bytes of static shared memory of a kernel, including the functions that it calls."),
        column("local_bytes", Long(|r| Some(r.statistics.local_bytes as i64)), "Bytes of variables in local memory."),
        column("requires", TextList(|r, sink| { r.statistics.requires.iter().for_each(|p| sink(&format!("{} {}", p.target, p.ptx))); true }), "The lowest target of each architecture family with the lowest PTX version, such as `sm_80 7.0`."),
        optional("source_file", Word(|r| r.statistics.source.as_ref()?.file.as_deref()), "The file of the original program that most instructions come from."),
        optional("source_first_line", Long(|r| r.statistics.source.as_ref().map(|s| s.first_line.into())), "The first line in it of an instruction that was not inlined."),
        optional("source_last_line", Long(|r| r.statistics.source.as_ref().map(|s| s.last_line.into())), "The last one."),
    ];
}
