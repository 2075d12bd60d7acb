//! The output of `grep`.

use std::io::Write;

use anyhow::Result;
use serde::Serialize;

use super::search::{FileMatches, Matches};
use crate::output::{self, Out};
use crate::query::{Site, operands};
use ptx_report::demangle::{demangle, display_name, display_text};
use ptx_report::source_frames::{self, JsonFrame};
use ptx_report::{SCHEMA, clean};

/// An instruction as text.
pub(super) struct Line {
    line: u32,
    text: String,
    source: String,
}

impl Line {
    pub(super) fn new(site: &Site<'_, '_>) -> Self {
        let function = site.function;
        let frames = source_frames::frames(function.source(), site.stmt);
        Self {
            line: function.module.lines.position(site.span().start).line,
            text: clean(&site.text()).into_owned(),
            source: source_frames::text(&frames),
        }
    }
}

/// An instruction in JSON.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct JsonHit {
    schema: u32,
    file: String,
    line: u32,
    column: u32,
    function: String,
    demangled: Option<String>,
    /// `None` for a statement that was not recognized.
    mnemonic: Option<String>,
    text: String,
    guard: Option<String>,
    operands: Vec<String>,
    block: Option<u32>,
    loop_depth: u32,
    loop_header: Option<u32>,
    source: Vec<JsonFrame>,
    inline_asm: bool,
}

impl JsonHit {
    pub(super) fn new(site: &Site<'_, '_>) -> Self {
        let (function, module) = (site.function, site.module());
        let span = site.span();
        let position = function.module.lines.position(span.start);
        let mnemonic = function
            .body
            .inst(site.inst)
            .map(|inst| module.signature(inst.sig).text());
        let (loop_depth, header) = site.loops();
        let operands = operands(span.of(module.source()));
        Self {
            schema: SCHEMA,
            file: function.module.file.to_owned(),
            line: position.line,
            column: position.column,
            function: clean(function.name()).into_owned(),
            demangled: demangle(function.name()),
            mnemonic: mnemonic.map(str::to_owned),
            text: clean(&site.text()).into_owned(),
            guard: site.guard(),
            operands: operands.iter().map(|o| clean(o).into_owned()).collect(),
            block: site.block().map(|(id, _)| id.as_u32()),
            loop_depth,
            loop_header: header.map(|id| id.as_u32()),
            source: source_frames::frames(function.source(), site.stmt),
            inline_asm: function.source().is_inline_asm(site.stmt),
        }
    }
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct JsonCount<'a> {
    schema: u32,
    file: &'a str,
    count: u64,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct JsonFile<'a> {
    schema: u32,
    file: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    function: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    demangled: Option<String>,
}

impl FileMatches {
    pub(super) fn write(&self, is_json: bool, out: &mut Out) -> Result<()> {
        let (schema, file) = (SCHEMA, &*self.file);
        match &self.matches {
            Matches::Lines(hits) => {
                for Line { line, text, source } in hits {
                    let (guard, mnemonic, operands) = parts(text);
                    let file = output::name(file);
                    let mnemonic = output::highlight(mnemonic);
                    let (guard, operands) = (display_text(guard), display_text(operands));
                    let comment = match source.as_str() {
                        "" => String::new(),
                        source => output::faint(format_args!(" // {source}")),
                    };
                    writeln!(out, "{file}:{line}: {guard}{mnemonic}{operands}{comment}")?;
                }
            }
            Matches::Json(hits) => {
                for hit in hits {
                    out.json(hit)?;
                }
            }
            &Matches::Count(count) if is_json => out.json(&JsonCount {
                schema,
                file,
                count,
            })?,
            Matches::Count(count) => writeln!(out, "{file}: {count}")?,
            Matches::File(false) => {}
            Matches::File(true) if is_json => out.json(&JsonFile {
                schema,
                file,
                function: None,
                demangled: None,
            })?,
            Matches::File(true) => writeln!(out, "{file}")?,
            Matches::Functions(names) if is_json => {
                for name in names {
                    out.json(&JsonFile {
                        schema,
                        file,
                        function: Some(name),
                        demangled: demangle(name),
                    })?;
                }
            }
            Matches::Functions(names) => {
                for name in names {
                    writeln!(out, "{file}: {}", display_name(name))?;
                }
            }
        }
        Ok(())
    }
}

/// The guard, the mnemonic and the operands of an instruction, with the spaces between them.
fn parts(text: &str) -> (&str, &str, &str) {
    let guard_len = match text.strip_prefix('@') {
        Some(guard) => guard.find(char::is_whitespace).map_or(0, |end| {
            text.len() - guard.get(end..).map_or(0, |t| t.trim_start().len())
        }),
        None => 0,
    };
    let (guard, instruction) = text.split_at_checked(guard_len).unwrap_or(("", text));
    let end = instruction
        .find(|c: char| c.is_whitespace() || c == ';')
        .unwrap_or(instruction.len());
    let (mnemonic, operands) = instruction
        .split_at_checked(end)
        .unwrap_or((instruction, ""));
    (guard, mnemonic, operands)
}

#[cfg(test)]
mod tests {
    use super::parts;

    #[test]
    fn instructions_are_divided() {
        assert_eq!(
            parts("@!%p1 ld.global.u32 %r1, [%rd1];"),
            ("@!%p1 ", "ld.global.u32", " %r1, [%rd1];")
        );
        assert_eq!(parts("ret;"), ("", "ret", ";"));
        assert_eq!(parts("@"), ("", "@", ""));
        assert_eq!(parts(""), ("", "", ""));
    }
}
