//! Hovers: explanations of keywords, and declarations of names.

use std::fmt::Write as _;

use lsp_types::{Hover, HoverContents, MarkupContent, MarkupKind};
use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_edit::{Entity, NameRef};
use ptx_ir::facts::{ModuleFacts, RegisterComponent};
use ptx_ir::lex::TokenKind;
use ptx_ir::{Body, FuncId, Item, ItemId, Module, RegId, Span, Statement, StmtId};
use ptx_report::demangle::demangle;
use ptx_report::explain;

use crate::document::Document;
use crate::explanation::markdown;
use crate::names::RegisterAccess;
use crate::{analysis_text, names, place};

/// The maximum length of a declaration that is shown, in bytes.
const MAX_DECLARATION: usize = 2000;
/// The maximum number of lines, or ranges of lines, that are listed.
const MAX_LINES: usize = 12;

/// The hover for an offset.
pub(crate) fn hover(document: &Document, offset: u32) -> Option<Hover> {
    let (mut text, span) =
        keyword_hover(document, offset).or_else(|| name_hover(document, offset))?;
    if let Some(line) = instruction_line(document, offset)
        && let Some(code) = document.machine_code.of_line(document.source(), line)
    {
        let _ = write!(text, "\n\n{code}");
    }
    Some(Hover {
        contents: HoverContents::Markup(MarkupContent {
            kind: MarkupKind::Markdown,
            value: text,
        }),
        range: Some(document.range(span)),
    })
}

/// The line of the instruction at an offset, counted from 1.
fn instruction_line(document: &Document, offset: u32) -> Option<u32> {
    let (_, body) = place::body_at(document.module(), offset)?;
    let (stmt, statement) = place::statement_at(body, offset)?;
    matches!(statement, Statement::Inst(_)).then(|| line_number(document, body, stmt))
}

/// The text and the span of the hover for a keyword.
fn keyword_hover(document: &Document, offset: u32) -> Option<(String, Span)> {
    let module = document.module();
    let token = place::token_at(module, offset)?;
    let word = document.text(token.span);
    let mnemonic = mnemonic_at(module, token.span.start);
    let entries = match (token.kind, mnemonic) {
        // The explanation of the mnemonic with its modifiers is that of one form.
        (TokenKind::Ident, Some(mnemonic)) => {
            explain::find(&mnemonic).or_else(|_| explain::find(&word))
        }
        (TokenKind::DotWord, _) => explain::find(&word),
        (TokenKind::Ident, None) if ptx_isa::SpecialReg::from_text(word.as_bytes()).is_some() => {
            explain::find(&word)
        }
        _ => return None,
    };
    let mut text = markdown(&entries.ok()?)?;
    if token.kind == TokenKind::Ident {
        for line in access_lines(module, token.span.start) {
            let _ = write!(text, "\n- {line}");
        }
    }
    Some((text, token.span))
}

/// Describes the memory access of the instruction whose opcode begins at an offset.
fn access_lines(module: &Module, start: u32) -> Vec<String> {
    let lines = place::function_at(module, start).and_then(|function| {
        let (stmt, _) = place::statement_at(module.body(function)?, start)?;
        mnemonic_at(module, start)?;
        Some(analysis_text::access_lines(module, function, stmt))
    });
    lines.unwrap_or_default()
}

/// The mnemonic of the instruction whose opcode begins at an offset.
fn mnemonic_at(module: &Module, start: u32) -> Option<String> {
    let (_, body) = place::body_at(module, start)?;
    let (stmt, statement) = place::statement_at(body, start)?;
    let Statement::Inst(id) = statement else {
        return None;
    };
    let signature = module.signature(body.inst(id)?.sig);
    // Only a guard precedes the opcode.
    let prefix = Span::new(body.source_span(stmt).start, start).of(module.source());
    let follows_guard = prefix.is_empty() || prefix.starts_with(b"@");
    let opcode = signature.opcode_text().as_bytes();
    let text = module.source().get(start as usize..)?;
    (follows_guard && text.starts_with(opcode)).then(|| signature.text().to_owned())
}

/// The text and the span of the hover for a name.
fn name_hover(document: &Document, offset: u32) -> Option<(String, Span)> {
    let module = document.module();
    let (item, name) = names::name_at(document, offset)?;
    let text = match name.entity {
        Entity::Register(function, _) => register(document, item, &name, function),
        Entity::Label(..) => label(document, item, &name),
        Entity::Symbol(symbol) => {
            let declaration = declaration(document, item, &name);
            match demangle(module.name(module.symbols().get(symbol)?.name)) {
                Some(demangled) => format!("**`{demangled}`**\n\n{declaration}"),
                None => declaration,
            }
        }
        Entity::Variable(..) | Entity::Parameter(_) => declaration(document, item, &name),
        _ => return None,
    };
    Some((text, name.whole()))
}

/// The text of the declaration of a name: the statement, or the header of the function. Prefers the definition of a function.
fn declaration(document: &Document, item: ItemId, name: &NameRef) -> String {
    let module = document.module();
    let declarations = names::declarations(module, item, name.entity);
    let declaration = declarations
        .iter()
        .find(|r| {
            let function = place::function_at(module, r.name.start);
            function.is_some_and(|function| module.body(function).is_some())
        })
        .or_else(|| declarations.first());
    let span = declaration.map(|r| declaration_span(module, r.name.start));
    code_block(&document.text(span.unwrap_or_default()))
}

/// The span of the statement or header that declares the name at an offset.
fn declaration_span(module: &Module, offset: u32) -> Span {
    let Some((id, item)) = place::item_at(module, offset) else {
        return Span::default();
    };
    let span = module.span(id);
    let body = match item {
        Item::Function(function) => module.body(function),
        _ => None,
    };
    match body {
        Some(body) if offset > body.base() => {
            let statement = place::statement_at(body, offset);
            statement.map_or(Span::default(), |(stmt, _)| body.source_span(stmt))
        }
        Some(body) => Span::new(span.start, body.base()),
        None => span,
    }
}

/// Writes a code block of Markdown. Its fences are longer than all sequences of backticks in the text, so that a comment cannot end the block.
fn code_block(text: &str) -> String {
    let text = text.trim();
    let limit = MAX_DECLARATION.min(text.len());
    let end = (0..=limit)
        .rfind(|&end| text.is_char_boundary(end))
        .unwrap_or(0);
    let ellipsis = if end < text.len() { " …" } else { "" };
    let longest = text.split(|c| c != '`').map(str::len).max();
    let fence = "`".repeat(longest.map_or(3, |n| 3.max(n + 1)));
    format!("{fence}ptx\n{}{ellipsis}\n{fence}", &text[..end])
}

/// The type of a register, the lines that access it, the lines in which it is live, and its value.
fn register(document: &Document, item: ItemId, name: &NameRef, function: FuncId) -> String {
    let module = document.module();
    let mut text = declaration(document, item, name);
    let Some(body) = module.body(function) else {
        return text;
    };
    if name.declares {
        return text;
    }
    let accesses = names::register_accesses(module, name.entity, name.member);
    let (writes, reads): (Vec<RegisterAccess>, Vec<RegisterAccess>) =
        accesses.into_iter().partition(|access| access.is_write);
    let _ = write!(
        text,
        "\n\n- written in {}\n- read in {}",
        access_line_list(document, body, &writes),
        access_line_list(document, body, &reads)
    );
    let live: Vec<u32> = live_statements(module, name, function)
        .into_iter()
        .map(|stmt| line_number(document, body, stmt))
        .collect();
    if !live.is_empty() {
        let _ = write!(text, "\n- live in {}", line_ranges(live));
    }
    for line in value_lines(module, name, function) {
        let _ = write!(text, "\n- {line}");
    }
    text
}

/// The number of the line of a statement, counted from 1.
fn line_number(document: &Document, body: &Body, stmt: StmtId) -> u32 {
    document.lines().line_of(body.source_span(stmt).start) + 1
}

fn access_line_list(document: &Document, body: &Body, accesses: &[RegisterAccess]) -> String {
    let mut lines: Vec<u32> = accesses
        .iter()
        .map(|access| line_number(document, body, access.stmt))
        .collect();
    lines.dedup();
    line_list(&lines)
}

/// Describes the value of a register at the statement that names it.
fn value_lines(module: &Module, name: &NameRef, function: FuncId) -> Vec<String> {
    let statement = module
        .body(function)
        .and_then(|body| place::statement_at(body, name.name.start));
    match (statement, register_id(module, name, function)) {
        (Some((stmt, _)), Some(register)) => {
            analysis_text::value_lines(module, function, stmt, register)
        }
        _ => Vec::new(),
    }
}

/// The register that a name denotes; `None` if it is not the name of a register.
fn register_id(module: &Module, name: &NameRef, function: FuncId) -> Option<RegId> {
    let Entity::Register(_, decl) = name.entity else {
        return None;
    };
    let number = name.member.unwrap_or(0);
    let mut registers = module.body(function)?.registers().iter();
    let (id, _) = registers.find(|(_, r)| r.decl == decl && r.number == number)?;
    Some(id)
}

fn line_list(lines: &[u32]) -> String {
    let numbers: Vec<String> = lines.iter().take(MAX_LINES).map(u32::to_string).collect();
    let shown = numbers.join(", ");
    match lines {
        [] => "no line".to_owned(),
        [line] => format!("line {line}"),
        _ if lines.len() > MAX_LINES => {
            format!("lines {shown} and {} more", lines.len() - MAX_LINES)
        }
        _ => format!("lines {shown}"),
    }
}

/// Writes lines as ranges of consecutive lines.
fn line_ranges(mut lines: Vec<u32>) -> String {
    lines.sort_unstable();
    lines.dedup();
    let ranges: Vec<String> = lines
        .chunk_by(|a, b| *b - *a <= 1)
        .map(|range| match range {
            [first, .., last] => format!("{first}–{last}"),
            [line] => line.to_string(),
            [] => String::new(),
        })
        .collect();
    if ranges.len() > MAX_LINES {
        let shown = ranges[..MAX_LINES].join(", ");
        format!("lines {shown} and {} more ranges", ranges.len() - MAX_LINES)
    } else {
        format!("lines {}", ranges.join(", "))
    }
}

/// The instructions after which a register has a value that is read later, and the instructions that read it.
fn live_statements(module: &Module, name: &NameRef, function: FuncId) -> Vec<StmtId> {
    let facts = ModuleFacts::of(module, |f| f == function);
    let (Some(facts), Some(body)) = (facts.function(function), module.body(function)) else {
        return Vec::new();
    };
    let Some(register) = register_id(module, name, function) else {
        return Vec::new();
    };
    let analysis = FunctionAnalysis::new(facts);
    let variables = analysis.variables().of(register.into());
    let is_accessed =
        |lane: RegisterComponent| variables.contains(&analysis.variables().of(lane).first());
    let mut statements = Vec::new();
    for (block, range) in analysis.cfg().blocks() {
        let live_out = analysis.liveness().live_out(block);
        let mut is_live = variables.clone().any(|v| live_out.contains(v));
        for (stmt, statement) in body.range(range.first, range.end).rev() {
            let Statement::Inst(inst) = statement else {
                continue;
            };
            let facts = facts.inst(inst);
            let is_written = facts.writes().any(is_accessed);
            if is_live || is_written {
                statements.push(stmt);
            }
            is_live = is_live && !is_written;
            if facts.reads().any(is_accessed) {
                is_live = true;
                statements.push(stmt);
            }
        }
    }
    statements
}

/// The lines that use a label.
fn label(document: &Document, item: ItemId, name: &NameRef) -> String {
    let uses: Vec<u32> = names::occurrences(document.module(), item, name.entity)
        .iter()
        .filter(|r| !r.declares)
        .map(|r| document.lines().line_of(r.name.start) + 1)
        .collect();
    format!(
        "label `{}`, used in {}",
        document.text(name.name),
        line_list(&uses)
    )
}
