//! Debug information: files, places, and the data of sections. Manual 11.5.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use ptx_ir::constant::ConstKind;
use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::{Code, Item, Operand, OperandPool, Section, SectionEntry, Span};
use ptx_isa::{Directive, PtxVersion, ScalarType};

use crate::context::{Context, constant_kind, integer};

/// Checks `.file` and `.section`.
pub(crate) fn check(context: &mut Context<'_>) {
    let module = context.module;
    let mut files: BTreeMap<i64, Span> = BTreeMap::new();
    for (id, item) in module.items() {
        let span = module.span(id);
        match item {
            Item::Directive(at) => {
                let stmt = module.directives().get(at);
                let Some(stmt) = stmt.filter(|s| s.directive == Directive::File) else {
                    continue;
                };
                let index = module.pool().slice(stmt.args).first();
                let Some(index) = index.and_then(|o| integer(module.pool(), *o)) else {
                    continue;
                };
                if let Some(&first) = files.get(&index) {
                    let message = format!("there is a file {index} already");
                    let error = context.error(Code::DebugInfo, span, message);
                    *error = error.clone().with_label(first, "here");
                } else {
                    files.insert(index, span);
                }
            }
            Item::Section(at) => {
                if let Some(s) = module.sections().get(at) {
                    section(context, s, span);
                }
            }
            _ => {}
        }
    }
    places(context);
}

fn section(context: &mut Context<'_>, section: &Section, span: Span) {
    let pool = context.module.pool();
    let mut labels = BTreeSet::new();
    for entry in &section.entries {
        let (ty, value) = match *entry {
            SectionEntry::Label(name) => {
                if labels.is_empty() {
                    let what = "a label in a section";
                    let version = PtxVersion::new(7, 0);
                    context.need(Code::DebugInfo, |_| span, &what, version, None);
                }
                if !labels.insert(name) {
                    let text = context.module.name(name);
                    let at = context.statement(span).nth(text, 1);
                    let message = format!("there is a label `{text}` already");
                    context.error(Code::DuplicateName, at, message);
                }
                continue;
            }
            SectionEntry::Int { ty, value, .. } => (ty, Ok(i64::from(value))),
            SectionEntry::Other { ty, value, .. } => {
                let operand = pool.get(value);
                let negative = constant_kind(pool, operand) == Some(ConstKind::Signed);
                // Without a sign before it, only the low half of a number is looked at.
                let low = |v: i64| {
                    if v < 0 && negative {
                        v
                    } else {
                        v & 0xFFFF_FFFF
                    }
                };
                let value = integer(pool, operand).map(|v| match ty {
                    ScalarType::B64 => v,
                    _ => low(v),
                });
                (ty, value.ok_or(operand))
            }
        };
        let value = match value {
            Ok(value) => value,
            Err(operand) => {
                address(context, operand, ty, span);
                continue;
            }
        };
        let (low, high) = match ty {
            ScalarType::B8 => (-0x80, 0xFF),
            ScalarType::B16 => (-0x8000, 0xFFFF),
            ScalarType::B32 => (-0x8000_0000, i64::MAX),
            _ => continue,
        };
        if !(low..=high).contains(&value) {
            let at = number(context, span, value);
            let message = format!("{value} does not fit `{ty}`");
            context.error(Code::DebugInfo, at, message);
            return;
        }
    }
}

/// A label or a section as a datum: its address has 32 or 64 bits.
fn address(context: &mut Context<'_>, operand: Operand, ty: ScalarType, span: Span) {
    let name = match operand {
        Operand::Name(name) => name,
        Operand::Difference(_) => {
            let what = "the distance of two labels";
            let version = PtxVersion::new(7, 5);
            return context.need(Code::DebugInfo, |_| span, &what, version, None);
        }
        _ => return,
    };
    if ty.bits() < 32 {
        let text = context.module.name(name);
        let at = context.statement(span).find(text);
        let message = format!("the address of `{text}` does not fit `{ty}`");
        context.error(Code::DebugInfo, at, message);
    }
}

/// Where a number stands in a section.
fn number(context: &Context<'_>, span: Span, value: i64) -> Span {
    let source = context.module.source();
    let text = span.of(source);
    let equal = |t: &ptx_ir::lex::Token| {
        let digits = t.span.of(text);
        let e = ptx_ir::constant::read_expression(digits, 0, 1);
        let read = e.value.ok().and_then(|v| v.as_int());
        read.map(i64::unsigned_abs) == Some(value.unsigned_abs())
    };
    let mut tokens = Lexer::fragment(text).filter(|t| t.kind == TokenKind::Integer);
    tokens
        .find(equal)
        .map_or(span, |t| t.span.shifted(span.start))
}

/// The numbers of a `.loc` have 32 bits.
pub(crate) fn numbers(context: &mut Context<'_>, pool: &OperandPool, args: &[Operand], span: Span) {
    if args.len() > 3 {
        let at = |c: &Context<'_>| c.statement(span).find("inlined_at");
        let what = "the place that code was inlined at";
        context.need(Code::DebugInfo, at, &what, PtxVersion::new(7, 0), None);
    }
    // What has more than 31 bits is never small.
    let long = args.iter().filter(|o| matches!(o, Operand::Imm(_)));
    let mut values = long.filter_map(|o| integer(pool, *o));
    if let Some(value) = values.find(|v| u32::try_from(*v).is_err()) {
        let at = number(context, span, value);
        let message = format!("{value} does not fit 32 bits");
        context.error(Code::DebugInfo, at, message);
    }
}

type Place = (i64, i64, i64);

fn place(pool: &OperandPool, args: &[Operand]) -> Option<Place> {
    let [file, line, column] = args else {
        return None;
    };
    Some((
        integer(pool, *file)?,
        integer(pool, *line)?,
        integer(pool, *column)?,
    ))
}

/// Whether a body says where code of it was inlined.
pub(crate) fn names_places(body: &ptx_ir::Body) -> bool {
    let mut all = body.directives().values();
    all.any(|d| d.directive == Directive::Loc && d.args.len() > 3)
}

/// A place that code was inlined at must have been named before.
fn places(context: &mut Context<'_>) {
    let module = context.module;
    if !module.bodies().values().any(names_places) {
        return;
    }
    let mut seen: BTreeSet<Place> = BTreeSet::new();
    for (_, _, body) in module.definitions() {
        for (stmt, statement) in body.statements() {
            let ptx_ir::Statement::Directive(id) = statement else {
                continue;
            };
            let Some(stmt_of) = body
                .directives()
                .get(id)
                .filter(|d| d.directive == Directive::Loc)
            else {
                continue;
            };
            let args = body.pool().slice(stmt_of.args);
            let at = args.get(4..).and_then(|a| place(body.pool(), a));
            if let Some(at) = at.filter(|p| !seen.contains(p)) {
                let span = body.source_span(stmt);
                let word = context.statement(span).find("inlined_at");
                let message = format!("no `.loc {} {} {}` stands before this", at.0, at.1, at.2);
                context.error(Code::DebugInfo, word, message);
            }
            seen.extend(args.get(..3).and_then(|a| place(body.pool(), a)));
        }
    }
}
