//! Registers numbered anew, without gaps.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::convert::Infallible;

use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::{Binding, Body, DeclId, FuncId, Module, RegDeclId, Span, Statement, StmtId};

use crate::names::{Entity, each_name, rewrite};
use crate::{Rewritten, Splices, lines};

/// Numbers the registers of every range such as `%r<9>` from 0 in the order of their first mention, makes the range as long
/// as there are, and takes away declared registers that nothing mentions. Linear in the source; the machine code is the
/// same.
///
/// A range stays as it is where plain names look like members of it.
///
/// ```
/// let text = b".version 8.0 .target sm_80 .entry k()\n{\n\t.reg .b32 a, %r<90>;\n\t.reg .pred p;\n\tmov.b32 %r70, %r8;\n\tret;\n}\n";
/// let new = ptx_transform::renumber(&ptx_parse::parse(text).module);
/// assert!(new.text.ends_with(b"{\n\t.reg .b32 %r<2>;\n\tmov.b32 %r0, %r1;\n\tret;\n}\n"));
/// ```
pub fn renumber(module: &Module) -> Rewritten {
    let done = rewrite(module, |module| {
        let mut splices = Splices::new();
        let mut ranges: BTreeMap<(FuncId, RegDeclId), Range> = BTreeMap::new();
        let mut pieces = Vec::new();
        for (function, _, body) in module.definitions() {
            let used = used(module, body);
            for (stmt, statement) in body.statements() {
                if let Statement::Decl(decl) = statement {
                    declaration(module, body, (stmt, decl), &used, &mut pieces, &mut splices);
                }
            }
            for (decl, range) in used {
                ranges.insert((function, decl), range);
            }
        }
        each_name(module, |name| {
            if let Entity::Register(function, decl) = name.entity
                && let Some(number) = name.number
                && let Some(range) = ranges.get(&(function, decl)).filter(|r| !r.contested)
                && let Some(new) = range.new.get(&number)
                && let Some(old) = module.body(function).and_then(|b| b.reg_decls.get(decl))
            {
                splices.replace(name.span, alloc::format!("{}{new}", module.name(old.name)));
            }
        });
        lines::remove(module.source(), pieces, &mut splices);
        Ok::<_, Infallible>(splices)
    });
    match done {
        Ok(done) => done,
        Err(never) => match never {},
    }
}

/// The registers of a declaration that are mentioned.
#[derive(Default)]
struct Range {
    /// Old number to new number.
    new: BTreeMap<u32, u32>,
    /// Whether plain names look like members.
    contested: bool,
}

fn used(module: &Module, body: &Body) -> BTreeMap<RegDeclId, Range> {
    let mut all: BTreeMap<RegDeclId, Range> = BTreeMap::new();
    // Registers are in the order of their first mention, but for plain names: those are there from their declaration on.
    let mut mentioned = Vec::new();
    for (_, statement) in body.statements() {
        for operand in body.mentions(statement) {
            if let ptx_ir::Operand::Reg(id) = operand {
                mentioned.push(id);
            }
        }
    }
    for id in mentioned {
        if let Some(register) = body.registers.get(id) {
            let range = all.entry(register.decl).or_default();
            let next = range.new.len() as u32;
            range.new.entry(register.number).or_insert(next);
        }
    }
    let plain = |name: ptx_ir::NameId, base: &str| {
        let rest = module.name(name).strip_prefix(base);
        rest.is_some_and(|r| !r.is_empty() && r.bytes().all(|b| b.is_ascii_digit()))
    };
    let names: Vec<ptx_ir::NameId> = body
        .reg_decls
        .values()
        .filter(|d| d.count.is_none())
        .map(|d| d.name)
        .chain(body.vars.values().map(|v| v.name))
        .chain(body.labels.values().map(|l| l.name))
        .chain(module.symbols.values().map(|s| s.name))
        .filter(|n| module.name(*n).ends_with(|c: char| c.is_ascii_digit()))
        .collect();
    let bases: Vec<(RegDeclId, &str)> = body
        .reg_decls
        .iter()
        .filter(|(_, d)| d.count.is_some())
        .map(|(id, d)| (id, module.name(d.name)))
        .collect();
    for (id, base) in &bases {
        let again = bases.iter().any(|(other, b)| {
            other != id
                && (b == base || {
                    let rest = b.strip_prefix(base);
                    rest.is_some_and(|r| r.bytes().all(|b| b.is_ascii_digit()))
                })
        });
        if again || names.iter().any(|n| plain(*n, base)) {
            all.entry(*id).or_default().contested = true;
        }
    }
    all
}

/// The counts of ranges, and the names that nothing mentions.
fn declaration(
    module: &Module,
    body: &Body,
    (stmt, decl): (StmtId, DeclId),
    used: &BTreeMap<RegDeclId, Range>,
    pieces: &mut Vec<Span>,
    splices: &mut Splices,
) {
    let declarators = body.declarations.declarators(decl);
    let registers: Vec<RegDeclId> = declarators
        .iter()
        .filter_map(|d| match d.binding {
            Binding::Register(id) => Some(id),
            _ => None,
        })
        .collect();
    if registers.is_empty() || registers.len() != declarators.len() {
        return;
    }
    let is_dead = |id: &RegDeclId| used.get(id).is_none_or(|r| r.new.is_empty());
    let span = body.source_span(stmt);
    if registers.iter().all(is_dead) {
        pieces.push(span);
        return;
    }
    let text = span.of(module.source());
    let tokens: Vec<_> = Lexer::fragment(text)
        .filter(|t| !t.kind.is_trivia())
        .collect();
    // From the name to the comma behind it, or from the comma before it.
    let mut parts: Vec<Span> = Vec::new();
    let mut counts: Vec<Option<Span>> = Vec::new();
    for (i, token) in tokens.iter().enumerate() {
        let word = token.span.of(text);
        // The count of a range may be a name: `e<WARP_SZ>`.
        let count = i > 0 && tokens.get(i - 1).is_some_and(|t| t.span.of(text) == b"<");
        if token.kind == TokenKind::Ident && !count {
            parts.push(token.span);
            counts.push(None);
        } else if count && let Some(last) = counts.last_mut() {
            *last = Some(token.span.shifted(span.start));
        }
        if let Some(part) = parts.last_mut().filter(|_| word != b"," && word != b";") {
            *part = part.join(token.span);
        }
    }
    if parts.len() != registers.len() {
        return;
    }
    for (i, id) in registers.iter().enumerate() {
        let part = parts[i];
        if is_dead(id) {
            // With the comma behind it, or, at the end, with all before it that go.
            let next = parts.get(i + 1).map(|p| Span::new(part.start, p.start));
            let later = registers.get(i + 1..).unwrap_or_default();
            let piece = match next {
                Some(piece) if !later.iter().all(is_dead) => piece,
                _ => match i.checked_sub(1).and_then(|b| parts.get(b)) {
                    Some(before) => Span::new(before.end, part.end),
                    None => part,
                },
            };
            splices.remove(piece.shifted(span.start));
        } else if let (Some(at), Some(range)) = (counts[i], used.get(id))
            && !range.contested
        {
            splices.replace(at, alloc::format!("{}", range.new.len()));
        }
    }
}
