//! Repairs of malformed statements and items: the mistake that explains the error best.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use ptx_ir::lex::{Lexer, Token, TokenKind};
use ptx_ir::raw::number::scan_number;
use ptx_ir::raw::scan::{self, class, is};
use ptx_ir::{Code, Diagnostic, Span};
use ptx_isa::internals::{ForeignWord, find_form};
use ptx_isa::{Directive, Modifier, Opcode, Role, ScalarType, TypeKind};

use crate::record::{StatementContext, split_statement};
use crate::repair::unknown_opcode::make_comment;
use crate::repair::{brackets, other_notations};
use crate::statement_extent::{is_opcode, line_end, statement_end};

/// The length of a marker of a merge conflict.
const MARKER: usize = 7;

/// Explains the syntax error of a statement or an item by the most likely mistake. `is_first` means that no error was found
/// before.
#[cold]
pub(crate) fn explain(
    src: &[u8],
    context: StatementContext,
    error: Diagnostic,
    is_first: bool,
) -> Diagnostic {
    let StatementContext { start, .. } = context;
    let offset = error.span.start as usize;
    if src.get(offset) == Some(&0) {
        return error;
    }
    let is_instruction = !src[start..offset].starts_with(b".");
    if is_instruction && src[offset..].starts_with(b"%%") && scan::starts_ident(src, offset + 2) {
        return other_notations::doubled_percent(src, offset);
    }
    if offset == start {
        let mistake = conflict_marker(src, start, is_first)
            .or_else(|| reversed_guard(src, start))
            .or_else(|| operand_after_semicolon(src, context));
        return match mistake {
            Some(mistake) => mistake,
            None => remove_mark(src, start, comment_out(src, start, error)),
        };
    }
    let end = statement_end(src, start).max(offset);
    let error = match other_notations::cast(src, start, &error) {
        Some(mistake) => return mistake,
        None => other_notations::explain(src, start, error),
    };
    if !error.fix.is_empty() {
        return error;
    }
    let error = superfluous_mark(src, error);
    if error.fix.is_empty()
        && let Some(mistake) = brackets::explain(src, start, end, offset)
    {
        return mistake;
    }
    let error = operand_without_comma(src, context, error);
    end_instruction(src, start, operator(src, start, error))
}

/// The error of an operand in the place of a statement, on the line of the previous statement.
fn operand_after_semicolon(src: &[u8], context: StatementContext) -> Option<Diagnostic> {
    let StatementContext { start, .. } = context;
    let semicolon = context.semicolon?;
    let end = match scan::peek(src, start) {
        b'[' => line_end(src, start).min(start + 40),
        b'0'..=b'9' => scan_number(src, start).0,
        _ => return None,
    };
    let text = String::from_utf8_lossy(&src[start..end]);
    let operand = text.split(|c| ";,".contains(c)).next()?;
    Some(split_statement(semicolon, operand))
}

/// The error of a marker that a failed merge leaves in a file.
fn conflict_marker(src: &[u8], start: usize, is_first: bool) -> Option<Diagnostic> {
    let line = &src[start..line_end(src, start)];
    let marker = *line.first().filter(|b| b"<=>|".contains(b))?;
    let len = line.iter().take_while(|b| **b == marker).count();
    let is_whole_word = matches!(line.get(len), None | Some(b' ' | b'\r'));
    if len != MARKER || !is_whole_word || start > 0 && src[start - 1] != b'\n' {
        return None;
    }
    let message = "expected a statement, found a marker of a merge conflict";
    let end = start + line.trim_ascii_end().len();
    let error = Diagnostic::error(Code::UnexpectedToken, Span::at(start, end), message)
        .with_help("resolve the conflict and remove its markers");
    let has_other_markers = [
        memchr::memmem::find(src, b"\n<<<<<<< "),
        memchr::memmem::find(src, b"\n=======\n"),
        memchr::memmem::find(src, b"\n>>>>>>> "),
    ]
    .into_iter()
    .flatten()
    .any(|i| i + 1 != start);
    if !is_first || has_other_markers {
        return Some(error);
    }
    // A single marker can be removed.
    let next = (start + line.len() + 1).min(src.len());
    Some(error.with_fix(Span::at(start, next), ""))
}

/// The error of a guard that is written `!@p`.
fn reversed_guard(src: &[u8], start: usize) -> Option<Diagnostic> {
    let guard = src.get(start..)?.strip_prefix(b"!")?;
    let gap = guard.iter().take_while(|b| **b == b' ').count();
    (*guard.get(gap)? == b'@').then_some(())?;
    let span = Span::at(start, start + gap + 2);
    let error = Diagnostic::error(Code::UnexpectedToken, span, "expected `@!`, found `!@`");
    Some(
        error
            .with_help("a negated guard is written `@!%p`")
            .with_fix(span, "@!")
            .machine_applicable(),
    )
}

/// The escapes of a string in C, such as `\n\t`, which are at `offset` outside of a string.
fn escapes(src: &[u8], offset: usize) -> Option<Span> {
    let count = src[offset..line_end(src, offset)]
        .chunks(2)
        .take_while(|pair| matches!(pair, [b'\\', b'n' | b't' | b'r']))
        .count();
    (count > 0).then(|| Span::at(offset, offset + 2 * count))
}

/// Adds the edit that removes a mark before a statement.
fn remove_mark(src: &[u8], start: usize, error: Diagnostic) -> Diagnostic {
    let mark = src.get(start).copied().unwrap_or(0);
    let is_name_next = scan::starts_ident(src, start + 1) && !src[start + 1..].starts_with(b"%%");
    if !error.fix.is_empty() || !is_name_next || !b"~^*!`\\?&='".contains(&mark) {
        return error;
    }
    if let Some(span) = escapes(src, start) {
        return error
            .with_help("escapes of strings in C are not PTX: remove it")
            .with_fix(span, "");
    }
    error
        .with_help(format!("remove this `{}`", mark as char))
        .with_fix(Span::at(start, start + 1), "")
}

/// Adds the `;` of an instruction that another statement follows on a later line.
fn end_instruction(src: &[u8], start: usize, error: Diagnostic) -> Diagnostic {
    let offset = error.span.start as usize;
    let end = src[..offset].trim_ascii_end().len();
    let gap = &src[end..offset];
    let following = &src[offset..];
    let word = Lexer::fragment(following)
        .next()
        .map(|t| t.span.of(following))
        .unwrap_or_default();
    let begins_statement = is_opcode(word) || Directive::from_text(word).is_some() || word == b"@";
    let has_separator = src[..end].last().is_some_and(|b| b";,{".contains(b));
    let is_instruction = src.get(start) != Some(&b'.');
    if !error.fix.is_empty()
        || !is_instruction
        || !begins_statement
        || has_separator
        || !gap.contains(&b'\n')
    {
        return error;
    }
    error
        .with_label(
            Span::at(end.saturating_sub(1), end),
            "expected `;` after this",
        )
        .with_help("a statement ends with `;`")
        .with_fix(Span::at(end, end), ";")
        .machine_applicable()
}

/// Makes a comment of a line of text in the place of a statement: a comment of another language.
fn comment_out(src: &[u8], start: usize, error: Diagnostic) -> Diagnostic {
    let line = &src[start..line_end(src, start)];
    let has_punctuation = line.iter().skip(1).any(|b| b";{}".contains(b));
    let has_letters = line.iter().any(u8::is_ascii_alphabetic);
    if is(
        line.first().copied().unwrap_or(0),
        class::WORD | class::START,
    ) && !line.starts_with(b"%%")
        || matches!(line.first(), Some(b'.' | b'@'))
        || !has_letters
        || has_punctuation
        || !scan::at_line_start(src, start)
    {
        return error;
    }
    if let Some(text) = line.strip_prefix(b"#") {
        return make_comment(preprocessor(text.trim_ascii(), error), src, start);
    }
    error
        .with_help("a comment begins with `//`")
        .with_fix(Span::at(start, start), "// ")
}

/// Explains the error of a line that begins with `#`. `line` is the text after it.
fn preprocessor(line: &[u8], mut error: Diagnostic) -> Diagnostic {
    const DIRECTIVES: &[&[u8]] = &[
        b"define", b"undef", b"include", b"if", b"ifdef", b"ifndef", b"else", b"elif", b"endif",
        b"error", b"warning", b"line",
    ];
    let word = line
        .split(|b| !b.is_ascii_alphanumeric())
        .next()
        .unwrap_or_default();
    let dotted = [b".", word].concat();
    if let Some(directive) = Directive::from_text(&dotted) {
        return error.with_help(format!(
            "did you mean the directive `{directive}`, which takes a string?"
        ));
    }
    if DIRECTIVES.contains(&word) {
        return error;
    }
    error.message = String::from("expected a statement or a line marker, found text after `#`");
    let span = Span::new(error.span.start, error.span.start + 1);
    error
        .with_help("a comment begins with `//`")
        .with_fix(span, "//")
}

/// Explains the syntax error of the header of the function at `start` by marks that do not belong there.
#[cold]
pub(crate) fn header(src: &[u8], start: usize, error: Diagnostic) -> Diagnostic {
    let error = other_notations::explain(src, start, error);
    if error.fix.is_empty() {
        superfluous_mark(src, error)
    } else {
        error
    }
}

/// Adds the edit that removes or replaces a mark: a second comma or bracket, a character that PTX does not use.
fn superfluous_mark(src: &[u8], error: Diagnostic) -> Diagnostic {
    let offset = error.span.start as usize;
    let preceding = src[..offset].trim_ascii_end();
    let previous_byte = preceding.last().copied().unwrap_or(0);
    let byte = src.get(offset).copied().unwrap_or(0);
    let mark_span = |offset: usize| Span::at(offset, offset + 1);
    let following = &src[(offset + 1).min(src.len())..line_end(src, offset)];
    // An operand may follow the `;`.
    let ends_list =
        byte != b';' || matches!(following.trim_ascii().first(), None | Some(b'/' | b'}'));
    let is_last_on_line = following.trim_ascii().is_empty();
    let (mark, span) = match byte {
        b':' | b'.'
            if is_last_on_line
                && is(previous_byte, class::IDENT)
                && error.span.end as usize == offset + 1 =>
        {
            return error
                .with_help("a statement ends with `;`")
                .with_fix(mark_span(offset), ";");
        }
        b'#' if previous_byte == b','
            && unclosed_bracket(preceding)
            && following.first().is_some_and(u8::is_ascii_digit) =>
        {
            let comma = Span::at(preceding.len() - 1, offset + 1);
            return error
                .with_help("an offset is added to the address with `+`")
                .with_fix(comma, "+");
        }
        // The mark is a part of the conditional operator of C.
        b'?' if following.contains(&b':') => return error,
        // A number after a word belongs to it in other assemblers: `lsl #2`.
        b'#' if is(previous_byte, class::IDENT) && preceding.contains(&b',') => return error,
        b'\'' if following.get(1) == Some(&b'\'') && following[0].is_ascii_graphic() => {
            let value = following[0].to_string();
            return error
                .with_help(format!("a character is a number: write `{value}`"))
                .with_fix(Span::at(offset, offset + 3), value);
        }
        b'#' | b'&' | b'@'
            if is(
                src.get(offset + 1).copied().unwrap_or(0),
                class::IDENT | class::START,
            ) && (byte != b'@'
                || preceding.len() < offset && !ends_with_name(&src[..offset])) =>
        {
            (byte, mark_span(offset))
        }
        b')' if previous_byte == b'(' => (b'(', Span::at(preceding.len() - 1, offset + 1)),
        b',' | b'[' | b']' | b')' if byte == previous_byte => (byte, mark_span(offset)),
        b';' | b']' | b')' | b'}' if previous_byte == b',' && ends_list => {
            (previous_byte, mark_span(preceding.len() - 1))
        }
        b'`' | b'\\' | b'\'' | b'?' | 1..=8 | 14..=25 | 27..=31 if error.fix.is_empty() => {
            (byte, mark_span(offset))
        }
        _ => return error,
    };
    let mark = match span.end - span.start {
        1 => format!("{}", (mark as char).escape_default()),
        _ => String::from("()"),
    };
    let error = error
        .with_help(format!("remove this `{mark}`"))
        .with_fix(span, "");
    // Other edits are not certain, as an operand or a word may be missing beside the mark.
    match byte {
        b'[' | b']' | b')' if byte == previous_byte => error.machine_applicable(),
        1..=8 | 14..=25 | 27..=31 => error.machine_applicable(),
        _ => error,
    }
}

/// Whether a text ends with a name in the place of an operand, and white space without a line break.
fn ends_with_name(text: &[u8]) -> bool {
    let word = text.trim_ascii_end();
    let start = word
        .iter()
        .rposition(|b| !is(*b, class::IDENT) && *b != b'.')
        .map_or(0, |i| i + 1);
    let opcode = word[start..].split(|b| *b == b'.').next();
    scan::starts_ident(word, start)
        && !is_opcode(opcode.unwrap_or_default())
        && !text[word.len()..].contains(&b'\n')
}

/// Adds a comma between two operands on the same line.
fn operand_without_comma(src: &[u8], context: StatementContext, error: Diagnostic) -> Diagnostic {
    let StatementContext { start, .. } = context;
    let offset = error.span.start as usize;
    let byte = src.get(offset).copied().unwrap_or(0);
    let preceding = &src[start..offset];
    let end = start + preceding.trim_ascii_end().len();
    let gap = &src[end..offset];
    let mut follows_opcode = false;
    let mut last_token = None;
    for token in Lexer::fragment(preceding).filter(|t| !t.kind.is_trivia()) {
        follows_opcode = last_token.is_some_and(|t: Token| is_opcode(t.span.of(preceding)));
        last_token = Some(token);
    }
    if let Some(modifier) = last_token.filter(|_| follows_opcode) {
        let text = modifier.span.of(preceding);
        let dotted = String::from_utf8_lossy(&[b".", text].concat()).into_owned();
        if Modifier::from_text(dotted.as_bytes()).is_some() {
            let start = start + modifier.span.start as usize;
            let gap = src[..start].trim_ascii_end().len();
            return error
                .with_help(format!("did you mean the modifier `{dotted}`?"))
                .with_fix(Span::at(gap, start), ".");
        }
    }
    let is_operand = last_token.is_some_and(|t| {
        let text = t.span.of(preceding);
        let number = [TokenKind::Integer, TokenKind::Single, TokenKind::Double];
        let word = t.kind == TokenKind::Ident || number.contains(&t.kind);
        word && !is_opcode(text) || matches!(text, b"]" | b"}" | b")")
    });
    let is_operand = is_operand && src[start] != b'.';
    if byte == b'(' {
        // Only a call has arguments.
        if !is_operand || gap.contains(&b'\n') || !takes_role(preceding, Role::Args) {
            return error;
        }
        return error
            .with_help("separate a function and its arguments with `,`")
            .with_fix(Span::at(end, offset), ", ")
            .machine_applicable();
    }
    let begins_operand =
        scan::starts_ident(src, offset) || is(byte, class::DIGIT) || matches!(byte, b'[' | b'{');
    if !is_operand
        || !begins_operand
        || gap.is_empty()
        || gap.contains(&b'\n')
        || !error.fix.is_empty()
    {
        return error;
    }
    let word = String::from_utf8_lossy(&src[offset..scan::ident_end(src, offset)]);
    let foreign = ForeignWord::from_text(&word).filter(|_| scan::starts_ident(src, offset));
    if let Some(help) = foreign.and_then(ForeignWord::help) {
        return error.with_help(help);
    }
    let error = error
        .with_help("separate operands with `,`")
        .with_fix(Span::at(end, end), ",");
    // Other words may belong to the operand beside them.
    let is_operand = |token: Token, base: usize, is_declared: bool| {
        let from = base + token.span.start as usize;
        token.kind != TokenKind::Ident || src[from] == b'%' || is_declared
    };
    let next = Lexer::fragment(&src[offset..]).next();
    let certain = last_token.is_some_and(|t| is_operand(t, start, context.follows_declared))
        && next.is_some_and(|t| is_operand(t, offset, context.is_declared))
        && !is(byte, class::DIGIT);
    if certain {
        error.machine_applicable()
    } else {
        error
    }
}

/// Whether a form of the opcode of a statement has an operand with this role.
fn takes_role(statement: &[u8], role: Role) -> bool {
    Lexer::fragment(statement)
        .find_map(|t| Opcode::from_text(t.span.of(statement)))
        .iter()
        .flat_map(|opcode| opcode.instructions())
        .flat_map(|instruction| instruction.forms())
        .flat_map(|form| form.operands())
        .any(|operand| operand.role() == role)
}

/// Whether the text ends in an address, whose bracket is open.
fn unclosed_bracket(text: &[u8]) -> bool {
    let last_mark = text.iter().rposition(|b| b"[];".contains(b));
    last_mark.is_some_and(|i| text.get(i) == Some(&b'['))
}

/// Explains an operator after an operand: PTX has expressions of constants only.
fn operator(src: &[u8], start: usize, error: Diagnostic) -> Diagnostic {
    let offset = error.span.start as usize;
    if !error.fix.is_empty() || scan::starts_ident(src, offset) {
        return error;
    }
    let following = &src[offset..];
    let len = match following {
        [b'<', b'<', ..] | [b'>', b'>', ..] => 2,
        _ => 1,
    };
    let Some(word) = following
        .get(..len)
        .and_then(|w| core::str::from_utf8(w).ok())
    else {
        return error;
    };
    let Some(instruction) = ForeignWord::from_text(word).and_then(ForeignWord::instead) else {
        return error;
    };
    let next_byte = following[len..].trim_ascii_start().first().copied();
    let ends_operand = next_byte.is_none_or(|b| b",;])}".contains(&b));
    let last_token = Lexer::fragment(&src[start..offset])
        .filter(|t| !t.kind.is_trivia())
        .last();
    // `%tid.x`, before any white space.
    let is_component = last_token.is_some_and(|token| {
        let text = token.span.of(&src[start..offset]);
        let previous = start + token.span.start as usize;
        text.starts_with(b".") && previous > start && is(src[previous - 1], class::IDENT)
    });
    let is_word = |t: Token| matches!(t.kind, TokenKind::Ident | TokenKind::Integer);
    let follows_operand = is_component || last_token.is_some_and(is_word);
    if !follows_operand
        && word == "*"
        && scan::starts_ident(src, offset + 1)
        && takes_role(&src[start..offset], Role::Addr)
    {
        let end = scan::ident_end(src, offset + 1);
        let name = String::from_utf8_lossy(&src[offset + 1..end]);
        return error
            .with_help(format!("an address is in brackets: write `[{name}]`"))
            .with_fix(Span::at(offset, offset + 1), "[")
            .with_fix(Span::at(end, end), "]");
    }
    let is_unary = "~^*!=&".contains(word);
    if is_unary && (ends_operand || !follows_operand) {
        return error
            .with_help(format!("remove this `{word}`"))
            .with_fix(Span::at(offset, offset + 1), "");
    }
    if word == "=" {
        return error
            .with_help("separate operands with `,`")
            .with_fix(Span::at(offset, offset + 1), ",");
    }
    let Some(register) = last_token.filter(|t| is_component || t.kind == TokenKind::Ident) else {
        return error;
    };
    let register = register.span.shifted(start as u32);
    let error = error.with_help(format!(
        "an operand is one register or constant: compute it with an instruction such as `{instruction}` first"
    ));
    if is_component {
        return error;
    }
    match computed_first(src, start, register, offset + len, instruction) {
        Some(edits) => edits
            .into_iter()
            .fold(error, |error, (span, text)| error.with_fix(span, text)),
        None => error,
    }
}

/// The edits that compute an operand in a block with a new register. The operator between `register` and the number
/// ends at `end`.
fn computed_first(
    src: &[u8],
    start: usize,
    register: Span,
    end: usize,
    instruction: &str,
) -> Option<[(Span, String); 3]> {
    let line = src.get(end..line_end(src, end))?;
    let number = Lexer::fragment(line)
        .find(|t| !t.kind.is_trivia())
        .filter(|t| t.kind == TokenKind::Integer)?;
    let statement_end = end + memchr::memchr(b';', line)? + 1;
    let mnemonic = src.get(start..register.start as usize)?;
    let operand_type = Lexer::fragment(mnemonic)
        .filter_map(|t| ScalarType::from_text(t.span.of(mnemonic)))
        .last()?;
    let opcode = Opcode::from_text(instruction.as_bytes())?;
    let integers = ScalarType::ALL
        .iter()
        .copied()
        .filter(|t| t.bits() == operand_type.bits())
        .filter(|t| matches!(t.kind(), TypeKind::Signed | TypeKind::Bits));
    let usual_modifiers: Vec<Modifier> = Modifier::ALL
        .iter()
        .copied()
        .filter(|m| m.is_usual(opcode))
        .collect();
    let (ty, modifiers) = core::iter::once(operand_type)
        .chain(integers)
        .find_map(|ty| {
            let type_modifier = Modifier::from_text(ty.text().as_bytes())?;
            let with_usual = usual_modifiers.iter().map(|m| vec![*m, type_modifier]);
            let modifiers = core::iter::once(vec![type_modifier])
                .chain(with_usual)
                .find(|modifiers| find_form(opcode, modifiers).is_some())?;
            Some((ty, modifiers))
        })?;
    let name = String::from_utf8_lossy(register.of(src));
    let value = String::from_utf8_lossy(number.span.of(line));
    let fraction = if ty.is_float() { ".0" } else { "" };
    let mut compute = format!("{{\n\t.reg {ty} %computed;\n\t{instruction}");
    modifiers.iter().for_each(|m| compute.push_str(m.text()));
    compute.push_str(&format!(" %computed, {name}, {value}{fraction};\n\t"));
    let operand = Span::at(register.start as usize, end + number.span.end as usize);
    Some([
        (Span::at(start, start), compute),
        (operand, String::from("%computed")),
        (
            Span::at(statement_end, statement_end),
            String::from("\n\t}"),
        ),
    ])
}
