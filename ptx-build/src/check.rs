//! Checks of texts with the parser and the verifier: of a module, or of a statement in a module that declares no more than
//! the statement mentions.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write as _;

use ptx_ir::{Diagnostic, Limits, Module, Severity, Span};
use ptx_isa::StateSpace;

use crate::function::body::Body;
use crate::handle::Dependency;
use crate::interface::FunctionHeader;
use crate::module::tables::Tables;

/// A parsed text with the text around it.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub(crate) module: Module,
    /// The start of the text in the source of the module.
    pub(crate) start: usize,
    /// The end of the text in the source of the module.
    pub(crate) end: usize,
}

impl Parsed {
    /// Whether an offset in the source of the module is in the text.
    pub(crate) fn contains(&self, offset: u32) -> bool {
        (self.start..self.end).contains(&(offset as usize))
    }
}

/// The module of a text, or the errors in the part of the text from `start` to `end`, with spans counted from `start`. The text
/// after `end` only completes the module: an error there, such as a missing `;`, is reported at `end`.
pub(crate) fn errors(text: &str, start: usize, end: usize) -> Result<Module, Vec<Diagnostic>> {
    let mut limits = Limits::default();
    // Records are copied with a call for each level.
    limits.nesting = 1000;
    let parsed = ptx_parse::parse_with(text.as_bytes(), &limits);
    let mut errors = parsed.diagnostics;
    errors.extend(ptx_verify::verify(
        &parsed.module,
        &ptx_verify::Options::default(),
    ));
    errors.retain(|d| d.severity == Severity::Error && start <= d.span.start as usize);
    if errors.is_empty() {
        return Ok(parsed.module);
    }
    ptx_ir::sort_by_position(&mut errors);
    let offset = |position: u32| (position as usize).clamp(start, end).saturating_sub(start);
    let shift = |span: Span| Span::at(offset(span.start), offset(span.end));
    for d in &mut errors {
        // The caller did not write the text around it.
        let inside = |span: &Span| start <= span.start as usize && span.end as usize <= end;
        let span = shift(d.span);
        d.relocate(|span| Some(span).filter(inside).map(shift));
        d.span = span;
    }
    Err(errors)
}

/// A module with a statement of `body` and with declarations of the names that are pending, and the start of the statement.
pub(crate) fn minimal_context(body: &Body, tables: &Tables, statement: &str) -> (String, usize) {
    let mut mentions = body.pending.mentions.clone();
    for mention in &body.pending.mentions {
        if let Dependency::Label(label) = mention
            && let Some(label) = body.labels.get(*label as usize)
            && let Some(table) = &label.table
        {
            mentions.extend(&table.mentions);
        }
    }
    mentions.sort_unstable();
    mentions.dedup();
    let mut text = tables.header.clone();
    for mention in &mentions {
        match mention {
            Dependency::Global(v) => {
                text.push_str(&tables.global_text(*v));
            }
            Dependency::Func(f) => text.push_str(&tables.prototype(*f)),
            _ => {}
        }
    }
    let function = tables.functions.get(body.function as usize);
    let shape = function.map_or_else(FunctionHeader::default, |f| f.interface.shape());
    let header = shape.header(body.kind, &body.name).unwrap_or_default();
    let _ = writeln!(text, "{header}\n{{");
    // A declaration in a scope may have the name of a parameter.
    let inside = body.is_in_scope();
    if inside {
        text.push_str("{\n");
    }
    let labels = declare(body, &mentions, &mut text);
    let start = text.len();
    text.push_str(statement);
    text.push('\n');
    if inside {
        text.push_str("}\n");
    }
    text.push_str(&labels);
    text.push_str("}\n");
    (text, start)
}

/// Declares registers, variables and tables of a function; returns the labels, which are placed after the text.
fn declare(body: &Body, mentions: &[Dependency], text: &mut String) -> String {
    let mut labels = String::new();
    for mention in mentions {
        let _ = match mention {
            Dependency::Reg(r) => match body.registers.get(*r) {
                Some(reg) if !body.is_parameter(*r) => {
                    let (space, name) = (StateSpace::Reg.text(), body.registers.name(*r));
                    match reg.vector {
                        1 => writeln!(text, "{space} {} {name};", reg.ty),
                        n => writeln!(text, "{space} .v{n} {} {name};", reg.ty),
                    }
                }
                _ => Ok(()),
            },
            Dependency::Local(v) => match body.locals.get(*v as usize) {
                Some(local) if !local.is_parameter => writeln!(text, "{}", local.text),
                _ => Ok(()),
            },
            Dependency::Label(l) => match body.labels.get(*l as usize) {
                Some(label) => match &label.table {
                    Some(table) => writeln!(text, "{}: {}", label.name, table.text),
                    None => writeln!(labels, "{}:", label.name),
                },
                None => Ok(()),
            },
            Dependency::Global(_) | Dependency::Func(_) => Ok(()),
        };
    }
    labels
}
