//! The JSON output.

use ptx_ir::FunctionKind;
use ptx_report::demangle::demangle;
use ptx_report::function_stats::MachineCode;
use ptx_report::labels::Labeled;
use ptx_report::sass::{AssemblerMessage, SassFunction, SassStats};
use ptx_report::{SCHEMA, clean};
use serde::Serialize;

use super::super::source::schema::JsonInstruction;
use super::side::{Side, SideFunction};

/// A PTX file with its machine code.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct File<'a> {
    schema: u32,
    file: &'a str,
    /// The target that ptxas compiled for.
    target: Option<String>,
    functions: Vec<JsonFunction<'a>>,
    /// The messages of ptxas about the module.
    messages: &'a [AssemblerMessage],
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct JsonFunction<'a> {
    name: &'a str,
    demangled: Option<String>,
    kind: Labeled<FunctionKind>,
    /// The metrics that ptxas reports.
    ptxas: Option<&'a MachineCode>,
    /// The machine code in numbers; null if the cubin has no code of the function.
    sass: Option<&'a SassStats>,
    /// The PTX instructions with their source lines.
    ptx: Vec<JsonInstruction>,
    /// The machine code of the function, and for a kernel of its copies of device functions.
    code: Vec<JsonCode<'a>>,
}

/// The machine code of a function or of a copy of it.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct JsonCode<'a> {
    /// The name of the function in PTX.
    function: &'a str,
    instructions: Vec<JsonMachineInstruction<'a>>,
}

/// A machine instruction.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct JsonMachineInstruction<'a> {
    /// The offset in bytes from the start of the section.
    address: u64,
    /// The label at the address.
    label: Option<&'a str>,
    /// The instruction as nvdisasm writes it.
    text: String,
    /// The opcode with its modifiers.
    opcode: &'a str,
    /// The line of the PTX file, counted from 1.
    line: Option<u32>,
    /// Whether the instruction only fills the section after the last one that is executed.
    padding: bool,
}

pub(super) fn file<'a>(file: &'a str, target: Option<String>, side: &'a Side<'a>) -> File<'a> {
    File {
        schema: SCHEMA,
        file,
        target,
        functions: side.functions.iter().map(|f| function(side, f)).collect(),
        messages: side.messages,
    }
}

fn function<'a>(side: &Side<'a>, function: &'a SideFunction<'a>) -> JsonFunction<'a> {
    let listed = function.listed;
    JsonFunction {
        name: listed.name,
        demangled: demangle(listed.name),
        kind: Labeled(listed.function.kind),
        ptxas: function.stats.ptxas.as_ref(),
        sass: function.stats.sass.as_ref(),
        ptx: listed
            .instructions()
            .map(|row| side.listing.json(row))
            .collect(),
        code: function.parts.iter().map(|part| code(part)).collect(),
    }
}

fn code(part: &SassFunction) -> JsonCode<'_> {
    JsonCode {
        function: &part.name,
        instructions: part
            .instructions
            .iter()
            .map(|instruction| JsonMachineInstruction {
                address: instruction.address,
                label: instruction.label.as_deref(),
                text: clean(&instruction.text()).into_owned(),
                opcode: &instruction.opcode,
                line: instruction.line,
                padding: instruction.is_padding,
            })
            .collect(),
    }
}
