//! The JSON output.

use ptx_ir::FunctionKind;
use serde::Serialize;

use super::files::SourceFile;
use super::listing::{Listed, Listing, Row};
use ptx_report::clean;
use ptx_report::demangle::demangle;
use ptx_report::labels::Labeled;
use ptx_report::source_frames::JsonFrame;

/// The instructions of a PTX file in their order.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct File<'a> {
    pub(in crate::commands) schema: u32,
    pub(in crate::commands) file: &'a str,
    pub(in crate::commands) functions: Vec<JsonFunction<'a>>,
    pub(in crate::commands) sources: Vec<JsonSource<JsonLine>>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct JsonFunction<'a> {
    pub(in crate::commands) name: &'a str,
    pub(in crate::commands) demangled: Option<String>,
    pub(in crate::commands) kind: Labeled<FunctionKind>,
    pub(in crate::commands) instructions: Vec<JsonInstruction>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct JsonInstruction {
    pub(in crate::commands) line: u32,
    pub(in crate::commands) text: String,
    pub(in crate::commands) inline_asm: bool,
    pub(in crate::commands) source: Vec<JsonFrame>,
    pub(in crate::commands) intermediate: Vec<JsonFrame>,
}

/// A source file to which instructions refer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct JsonSource<L> {
    /// The path as the compiler wrote it.
    pub(in crate::commands) file: Option<String>,
    /// The path where it was found.
    pub(in crate::commands) path: Option<String>,
    /// Whether the text comes from the module.
    pub(in crate::commands) embedded: bool,
    pub(in crate::commands) lines: Vec<L>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct JsonLine {
    pub(in crate::commands) line: u32,
    pub(in crate::commands) text: Option<String>,
}

/// The instructions of a PTX file by the source lines that they come from.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct BySource<'a> {
    pub(in crate::commands) schema: u32,
    pub(in crate::commands) file: &'a str,
    pub(in crate::commands) sources: Vec<JsonSource<Attribution<'a>>>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Attribution<'a> {
    #[serde(flatten)]
    pub(in crate::commands) line: JsonLine,
    /// The number of instructions that were generated from the line.
    pub(in crate::commands) own: usize,
    /// The number of instructions of functions that were inlined at calls in the line.
    pub(in crate::commands) inlined: usize,
    /// The functions with own instructions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::commands) functions: Option<Vec<JsonFunction<'a>>>,
}

impl<'a> JsonFunction<'a> {
    pub(in crate::commands) fn new<'r>(
        listing: &Listing<'a>,
        function: &Listed<'a>,
        rows: impl Iterator<Item = &'r Row>,
    ) -> Self {
        Self {
            name: function.name,
            demangled: demangle(function.name),
            kind: Labeled(function.function.kind),
            instructions: rows.map(|row| listing.json(row)).collect(),
        }
    }
}

impl<L> JsonSource<L> {
    pub(in crate::commands) fn new(
        file: Option<&str>,
        source: Option<&SourceFile>,
        lines: Vec<L>,
    ) -> Self {
        let path = source.and_then(|source| source.path.as_ref());
        Self {
            file: file.map(|file| clean(file).into_owned()),
            path: path.map(|path| clean(&path.to_string_lossy()).into_owned()),
            embedded: source.is_some() && path.is_none(),
            lines,
        }
    }
}

impl JsonLine {
    pub(in crate::commands) fn new(source: Option<&SourceFile>, line: u32) -> Self {
        let text = source.and_then(|source| source.line(line));
        Self {
            line,
            text: text.map(|text| clean(text).into_owned()),
        }
    }
}
