//! Hover: what a keyword means, what a name denotes.

use std::fmt::Write as _;

use lsp_types::{Hover, HoverContents, MarkupContent, MarkupKind};
use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_edit::{Entity, NameRef};
use ptx_ir::facts::ModuleFacts;
use ptx_ir::lex::TokenKind;
use ptx_ir::{FuncId, Item, ItemId, Module, RegId, Span, Statement, StmtId};
use ptx_report::demangle::demangle;
use ptx_report::explain;

use crate::document::Document;
use crate::explanation::markdown;
use crate::{accesses, names, place, register_value};

/// The longest text of the source that is shown.
const LONGEST: usize = 2000;
/// The most lines that are listed.
const MOST: usize = 12;

/// What is shown at an offset.
pub(crate) fn hover(document: &Document, offset: u32) -> Option<Hover> {
    let (text, span) = of_keyword(document, offset).or_else(|| of_name(document, offset))?;
    Some(Hover {
        contents: HoverContents::Markup(MarkupContent {
            kind: MarkupKind::Markdown,
            value: text,
        }),
        range: Some(document.range(span)),
    })
}

// --- keywords ---

fn of_keyword(document: &Document, offset: u32) -> Option<(String, Span)> {
    let module = document.module();
    let token = place::token_at(module, offset)?;
    let word = document.text(token.span);
    let mnemonic = mnemonic_at(module, token.span.start);
    let found = match (token.kind, mnemonic) {
        // The modifiers of an instruction select one of its forms.
        (TokenKind::Ident, Some(whole)) => explain::find(&whole).or_else(|_| explain::find(&word)),
        (TokenKind::DotWord, _) => explain::find(&word),
        (TokenKind::Ident, None) if ptx_isa::SpecialReg::from_text(word.as_bytes()).is_some() => {
            explain::find(&word)
        }
        _ => return None,
    };
    let mut text = markdown(&found.ok()?)?;
    if token.kind == TokenKind::Ident {
        for line in access_lines(module, token.span.start) {
            let _ = write!(text, "\n- {line}");
        }
    }
    Some((text, token.span))
}

/// What is known of the access to memory of the instruction whose opcode begins at an offset.
fn access_lines(module: &Module, start: u32) -> Vec<String> {
    let found = place::function_at(module, start).and_then(|function| {
        let (stmt, _) = place::statement_at(module.body(function)?, start)?;
        mnemonic_at(module, start)?;
        Some(accesses::lines(module, function, stmt))
    });
    found.unwrap_or_default()
}

/// The mnemonic of the instruction whose opcode begins at an offset.
fn mnemonic_at(module: &Module, start: u32) -> Option<String> {
    let (_, body) = place::body_at(module, start)?;
    let (stmt, statement) = place::statement_at(body, start)?;
    let Statement::Inst(id) = statement else {
        return None;
    };
    let signature = module.signature(body.inst(id)?.sig);
    let before = Span::new(body.source_span(stmt).start, start).of(module.source());
    // Before the opcode there is nothing but the guard.
    let first = before.is_empty() || before.starts_with(b"@");
    let opcode = signature.opcode_text().as_bytes();
    let at = module.source().get(start as usize..)?;
    (first && at.starts_with(opcode)).then(|| signature.text().to_owned())
}

// --- names ---

fn of_name(document: &Document, offset: u32) -> Option<(String, Span)> {
    let module = document.module();
    let (item, name) = names::name_at(document, offset)?;
    let text = match name.entity {
        Entity::Register(function, _) => register(document, item, &name, function),
        Entity::Label(..) => label(document, item, &name),
        Entity::Symbol(symbol) => {
            let spelled = module.name(module.symbols().get(symbol)?.name);
            let declaration = declaration(document, item, &name);
            let demangled = demangle(spelled).map(|d| format!("**`{d}`**\n\n"));
            demangled.unwrap_or_default() + &declaration
        }
        Entity::Variable(..) | Entity::Parameter(_) => declaration(document, item, &name),
        _ => return None,
    };
    Some((text, name.whole()))
}

/// The declaration of a name: the statement, or the header of a function.
fn declaration(document: &Document, item: ItemId, name: &NameRef) -> String {
    let module = document.module();
    let all = names::declarations(module, item, name.entity);
    let defined = |r: &&NameRef| {
        place::function_at(module, r.name.start).is_some_and(|f| module.body(f).is_some())
    };
    let found = all.iter().find(defined).or_else(|| all.first());
    let span = found.map(|r| declaring_text(module, r.name.start));
    code(&document.text(span.unwrap_or_default()))
}

/// The text of the statement or header that declares the name at an offset.
fn declaring_text(module: &Module, at: u32) -> Span {
    let Some((id, item)) = place::item_at(module, at) else {
        return Span::default();
    };
    let span = module.span(id);
    let body = match item {
        Item::Function(f) => module.body(f),
        _ => None,
    };
    match body {
        Some(body) if at > body.base() => {
            let statement = place::statement_at(body, at);
            statement.map_or(Span::default(), |(stmt, _)| body.source_span(stmt))
        }
        Some(body) => Span::new(span.start, body.base()),
        None => span,
    }
}

/// A code block. Its fences are longer than the backticks in the text, so that no comment ends it.
fn code(text: &str) -> String {
    let text = text.trim();
    let cut = text.floor_char_boundary(LONGEST.min(text.len()));
    let more = if cut < text.len() { " …" } else { "" };
    let longest = text.split(|c| c != '`').map(str::len).max();
    let fence = "`".repeat(longest.map_or(3, |n| 3.max(n + 1)));
    format!("{fence}ptx\n{}{more}\n{fence}", &text[..cut])
}

/// The type of a register, where it is written, and where it is live.
fn register(document: &Document, item: ItemId, name: &NameRef, function: FuncId) -> String {
    let module = document.module();
    let mut out = declaration(document, item, name);
    if name.declares {
        return out;
    }
    let line = |stmt: StmtId| {
        let body = module.body(function);
        let start = body.map_or(0, |b| b.source_span(stmt).start);
        document.lines().line_of(start) + 1
    };
    let accesses = names::accesses(module, name.entity, name.member);
    let lines = |writes: bool| {
        let found = accesses.iter().filter(|(_, w)| *w == writes);
        let mut all: Vec<u32> = found.map(|(stmt, _)| line(*stmt)).collect();
        all.dedup();
        list(&all)
    };
    let _ = write!(
        out,
        "\n\n- written in {}\n- read in {}",
        lines(true),
        lines(false)
    );
    let live: Vec<u32> = live_statements(module, name, function)
        .into_iter()
        .map(line)
        .collect();
    if !live.is_empty() {
        let _ = write!(out, "\n- live in {}", runs(live));
    }
    for line in value_lines(document, name, function) {
        let _ = write!(out, "\n- {line}");
    }
    out
}

/// What is known of the value of a register where it is named.
fn value_lines(document: &Document, name: &NameRef, function: FuncId) -> Vec<String> {
    let module = document.module();
    let found = || {
        let body = module.body(function)?;
        let (stmt, _) = place::statement_at(body, name.name.start)?;
        Some((stmt, register_of(module, name, function)?))
    };
    found().map_or(Vec::new(), |(stmt, register)| {
        register_value::lines(module, function, stmt, register)
    })
}

/// The register that a name means.
fn register_of(module: &Module, name: &NameRef, function: FuncId) -> Option<RegId> {
    let Entity::Register(_, decl) = name.entity else {
        return None;
    };
    let number = name.member.unwrap_or(0);
    let mut registers = module.body(function)?.registers().iter();
    let found = registers.find(|(_, r)| r.decl == decl && r.number == number);
    found.map(|(id, _)| id)
}

fn list(lines: &[u32]) -> String {
    let shown: Vec<String> = lines.iter().take(MOST).map(u32::to_string).collect();
    match lines {
        [] => "no line".to_owned(),
        [only] => format!("line {only}"),
        _ if lines.len() > MOST => {
            format!("lines {} and {} more", shown.join(", "), lines.len() - MOST)
        }
        _ => format!("lines {}", shown.join(", ")),
    }
}

/// Lines as ranges.
fn runs(mut lines: Vec<u32>) -> String {
    lines.sort_unstable();
    lines.dedup();
    let all = lines.chunk_by(|a, b| *b - *a <= 1);
    let text = |run: &[u32]| match (run.first(), run.last()) {
        (Some(a), Some(b)) if a < b => format!("{a}–{b}"),
        (Some(a), _) => a.to_string(),
        _ => String::new(),
    };
    let texts: Vec<String> = all.map(text).collect();
    let shown = texts
        .iter()
        .take(MOST)
        .cloned()
        .collect::<Vec<_>>()
        .join(", ");
    match texts.len() {
        n if n > MOST => format!("lines {shown} and {} more ranges", n - MOST),
        _ => format!("lines {shown}"),
    }
}

/// The instructions after which a register still has a value that is read later, and those that read it.
fn live_statements(module: &Module, name: &NameRef, function: FuncId) -> Vec<StmtId> {
    let facts = ModuleFacts::of(module, |f| f == function);
    let (Some(facts), Some(body)) = (facts.function(function), module.body(function)) else {
        return Vec::new();
    };
    let Some(id) = register_of(module, name, function) else {
        return Vec::new();
    };
    let analysis = FunctionAnalysis::new(facts);
    let variables = analysis.variables().of(id.into());
    let is_it = |lane| variables.contains(&analysis.variables().of(lane).start);
    let mut live = Vec::new();
    for (block, range) in analysis.cfg().blocks() {
        let out = analysis.liveness().live_out(block);
        let mut now = variables.clone().any(|v| out.contains(v));
        for (stmt, statement) in body.range(range.first, range.end).rev() {
            let Statement::Inst(inst) = statement else {
                continue;
            };
            let facts = facts.inst(inst);
            let written = facts.writes().any(is_it);
            if now || written {
                live.push(stmt);
            }
            now = now && !written;
            if facts.reads().any(is_it) {
                now = true;
                live.push(stmt);
            }
        }
    }
    live
}

/// How many branches name a label.
fn label(document: &Document, item: ItemId, name: &NameRef) -> String {
    let module = document.module();
    let all = names::occurrences(module, item, name.entity);
    let uses: Vec<u32> = all
        .iter()
        .filter(|r| !r.declares)
        .map(|r| document.lines().line_of(r.name.start) + 1)
        .collect();
    format!(
        "label `{}`, used in {}",
        document.text(name.name),
        list(&uses)
    )
}
