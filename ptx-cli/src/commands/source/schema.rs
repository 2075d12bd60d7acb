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
    pub(super) schema: u32,
    pub(super) file: &'a str,
    pub(super) functions: Vec<JsonFunction<'a>>,
    pub(super) sources: Vec<JsonSource<JsonLine>>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct JsonFunction<'a> {
    pub(super) name: &'a str,
    pub(super) demangled: Option<String>,
    pub(super) kind: Labeled<FunctionKind>,
    pub(super) instructions: Vec<JsonInstruction>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct JsonInstruction {
    pub(super) line: u32,
    pub(super) text: String,
    pub(super) inline_asm: bool,
    pub(super) source: Vec<JsonFrame>,
    pub(super) intermediate: Vec<JsonFrame>,
}

/// A source file to which instructions refer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct JsonSource<L> {
    /// The path as the compiler wrote it.
    pub(super) file: Option<String>,
    /// The path where it was found.
    pub(super) path: Option<String>,
    /// Whether the text comes from the module.
    pub(super) embedded: bool,
    pub(super) lines: Vec<L>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct JsonLine {
    pub(super) line: u32,
    pub(super) text: Option<String>,
}

/// The instructions of a PTX file by the source lines that they come from.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct BySource<'a> {
    pub(super) schema: u32,
    pub(super) file: &'a str,
    pub(super) sources: Vec<JsonSource<Attribution<'a>>>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Attribution<'a> {
    #[serde(flatten)]
    pub(super) line: JsonLine,
    /// The number of instructions that were generated from the line.
    pub(super) own: usize,
    /// The number of instructions of functions that were inlined at calls in the line.
    pub(super) inlined: usize,
    /// The functions with own instructions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) functions: Option<Vec<JsonFunction<'a>>>,
}

impl<'a> JsonFunction<'a> {
    pub(super) fn new<'r>(
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
    pub(super) fn new(file: Option<&str>, source: Option<&SourceFile>, lines: Vec<L>) -> Self {
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
    pub(super) fn new(source: Option<&SourceFile>, line: u32) -> Self {
        let text = source.and_then(|source| source.line(line));
        Self {
            line,
            text: text.map(|text| clean(text).into_owned()),
        }
    }
}
