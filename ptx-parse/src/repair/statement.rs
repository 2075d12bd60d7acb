//! Malformed statements and items: which mistake explains them best. Only errors cost something.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use ptx_ir::lex::number::scan_number;
use ptx_ir::lex::scan::{self, class, is};
use ptx_ir::lex::{Lexer, Token, TokenKind};
use ptx_ir::{Code, Diagnostic, Span};
use ptx_isa::{Directive, ForeignWord, Modifier, Opcode, Role, ScalarType, TypeKind, find_form};

use crate::record::{StatementContext, split_statement};
use crate::repair::unknown_opcode::commented;
use crate::repair::{brackets, other_notations};
use crate::statement_extent::{is_opcode, line_end, statement_end};

/// The length of a marker of a merge conflict.
const MARKER: usize = 7;

/// The syntax error `d` of a statement or an item, explained by the mistake that most likely led to it. `is_first` means that no
/// other error was found before.
#[cold]
pub(crate) fn explain(
    src: &[u8],
    context: StatementContext,
    d: Diagnostic,
    is_first: bool,
) -> Diagnostic {
    let StatementContext { start, .. } = context;
    let offset = d.span.start as usize;
    if src.get(offset) == Some(&0) {
        return d;
    }
    let in_code = !src[start..offset].starts_with(b".");
    if in_code && src[offset..].starts_with(b"%%") && scan::starts_ident(src, offset + 2) {
        return other_notations::doubled_percent(src, offset);
    }
    if offset == start {
        let mistake = conflict_marker(src, start, is_first)
            .or_else(|| reversed_guard(src, start))
            .or_else(|| operand_after_semicolon(src, context));
        return match mistake {
            Some(mistake) => mistake,
            None => stray(src, start, comment(src, start, d)),
        };
    }
    let end = statement_end(src, start).max(offset);
    let d = match other_notations::cast(src, start, &d) {
        Some(mistake) => return mistake,
        None => other_notations::explain(src, start, d),
    };
    if !d.fix.is_empty() {
        return d;
    }
    let d = extra(src, d);
    if d.fix.is_empty()
        && let Some(mistake) = brackets::explain(src, start, end, offset)
    {
        return mistake;
    }
    let d = operand_without_comma(src, context, d);
    unfinished(src, start, operator(src, start, d))
}

/// An operand where a statement should be, on the line of the one before it.
fn operand_after_semicolon(src: &[u8], context: StatementContext) -> Option<Diagnostic> {
    let StatementContext { start, .. } = context;
    let semicolon = context.semicolon?;
    let end = match scan::peek(src, start) {
        b'[' => line_end(src, start).min(start + 40),
        b'0'..=b'9' => scan_number(src, start).0,
        _ => return None,
    };
    let operand = String::from_utf8_lossy(&src[start..end]);
    let operand = operand.split(|c| ";,".contains(c)).next()?;
    Some(split_statement(semicolon, operand))
}

/// The error of a marker that a failed merge leaves in a file.
fn conflict_marker(src: &[u8], start: usize, is_first: bool) -> Option<Diagnostic> {
    let line = &src[start..line_end(src, start)];
    let first = *line.first().filter(|b| b"<=>|".contains(b))?;
    let len = line.iter().take_while(|b| **b == first).count();
    let alone = matches!(line.get(len), None | Some(b' ' | b'\r'));
    if len != MARKER || !alone || start > 0 && src[start - 1] != b'\n' {
        return None;
    }
    let message = "expected a statement, found a marker of a merge conflict";
    let end = start + line.trim_ascii_end().len();
    let d = Diagnostic::error(Code::UnexpectedToken, Span::at(start, end), message)
        .with_help("resolve the conflict and remove its markers");
    let markers = [
        memchr::memmem::find(src, b"\n<<<<<<< "),
        memchr::memmem::find(src, b"\n=======\n"),
        memchr::memmem::find(src, b"\n>>>>>>> "),
    ];
    let markers = markers.into_iter().flatten().filter(|i| i + 1 != start);
    if !is_first || markers.count() > 0 {
        return Some(d);
    }
    // A single marker is left over.
    let next = (start + line.len() + 1).min(src.len());
    Some(d.with_fix(Span::at(start, next), ""))
}

/// `!@p`
fn reversed_guard(src: &[u8], start: usize) -> Option<Diagnostic> {
    let guard = src.get(start..)?.strip_prefix(b"!")?;
    let gap = guard.iter().take_while(|b| **b == b' ').count();
    (*guard.get(gap)? == b'@').then_some(())?;
    let span = Span::at(start, start + gap + 2);
    let d = Diagnostic::error(Code::UnexpectedToken, span, "expected `@!`, found `!@`");
    Some(
        d.with_help("a negated guard is written `@!%p`")
            .with_fix(span, "@!")
            .machine_applicable(),
    )
}

/// The escapes of a string in C at `at`, such as `\n\t`, without their string.
fn escapes(src: &[u8], at: usize) -> Option<Span> {
    let pairs = src[at..line_end(src, at)].chunks(2);
    let escapes = pairs.take_while(|p| matches!(p, [b'\\', b'n' | b't' | b'r']));
    let end = at + 2 * escapes.count();
    (end > at).then(|| Span::at(at, end))
}

/// A mark before a statement.
fn stray(src: &[u8], start: usize, d: Diagnostic) -> Diagnostic {
    let mark = src.get(start).copied().unwrap_or(0);
    let next = scan::starts_ident(src, start + 1) && !src[start + 1..].starts_with(b"%%");
    if !d.fix.is_empty() || !next || !b"~^*!`\\?&='".contains(&mark) {
        return d;
    }
    if let Some(span) = escapes(src, start) {
        return d
            .with_help("escapes of strings in C are not PTX: remove it")
            .with_fix(span, "");
    }
    d.with_help(format!("remove this `{}`", mark as char))
        .with_fix(Span::at(start, start + 1), "")
}

/// An instruction that another statement follows on a later line.
fn unfinished(src: &[u8], start: usize, d: Diagnostic) -> Diagnostic {
    let offset = d.span.start as usize;
    let end = src[..offset].trim_ascii_end().len();
    let gap = &src[end..offset];
    let next = &src[offset..];
    let word = Lexer::fragment(next).next().map(|t| t.span.of(next));
    let word = word.unwrap_or_default();
    let begins = is_opcode(word) || Directive::from_text(word).is_some() || word == b"@";
    let ended = src[..end].last().is_some_and(|b| b";,{".contains(b));
    let instruction = src.get(start) != Some(&b'.');
    if !d.fix.is_empty() || !instruction || !begins || ended || !gap.contains(&b'\n') {
        return d;
    }
    d.with_label(
        Span::at(end.saturating_sub(1), end),
        "expected `;` after this",
    )
    .with_help("a statement ends with `;`")
    .with_fix(Span::at(end, end), ";")
    .machine_applicable()
}

/// A line of text where a statement should be: a comment of another language.
fn comment(src: &[u8], start: usize, d: Diagnostic) -> Diagnostic {
    let line = &src[start..line_end(src, start)];
    let statement = line.iter().skip(1).any(|b| b";{}".contains(b));
    let text = line.iter().any(u8::is_ascii_alphabetic);
    if is(
        line.first().copied().unwrap_or(0),
        class::WORD | class::START,
    ) && !line.starts_with(b"%%")
        || matches!(line.first(), Some(b'.' | b'@'))
        || !text
        || statement
        || !scan::at_line_start(src, start)
    {
        return d;
    }
    if let Some(rest) = line.strip_prefix(b"#") {
        return commented(preprocessor(rest.trim_ascii(), d), src, start);
    }
    d.with_help("a comment begins with `//`")
        .with_fix(Span::at(start, start), "// ")
}

/// A line that begins with `#`.
fn preprocessor(line: &[u8], mut d: Diagnostic) -> Diagnostic {
    const DIRECTIVES: &[&[u8]] = &[
        b"define", b"undef", b"include", b"if", b"ifdef", b"ifndef", b"else", b"elif", b"endif",
        b"error", b"warning", b"line",
    ];
    let word = line.split(|b| !b.is_ascii_alphanumeric()).next();
    let word = word.unwrap_or_default();
    let dotted = [b".", word].concat();
    if let Some(directive) = Directive::from_text(&dotted) {
        return d.with_help(format!(
            "did you mean the directive `{directive}`, which takes a string?"
        ));
    }
    if DIRECTIVES.contains(&word) {
        return d;
    }
    d.message = String::from("expected a statement or a line marker, found text after `#`");
    let span = Span::new(d.span.start, d.span.start + 1);
    d.with_help("a comment begins with `//`")
        .with_fix(span, "//")
}

/// The syntax error of the header of the function at `start`, explained by marks that do not belong there.
#[cold]
pub(crate) fn header(src: &[u8], start: usize, d: Diagnostic) -> Diagnostic {
    let d = other_notations::explain(src, start, d);
    if d.fix.is_empty() { extra(src, d) } else { d }
}

/// A mark that only has to be removed: a second comma or bracket, a character that PTX does not use.
fn extra(src: &[u8], d: Diagnostic) -> Diagnostic {
    let at = d.span.start as usize;
    let preceding = src[..at].trim_ascii_end();
    let last = preceding.last().copied().unwrap_or(0);
    let here = src.get(at).copied().unwrap_or(0);
    let remove = |at: usize| Span::at(at, at + 1);
    let following = &src[(at + 1).min(src.len())..line_end(src, at)];
    // An operand may follow in the wrong place.
    let ends = here != b';' || matches!(following.trim_ascii().first(), None | Some(b'/' | b'}'));
    let alone = following.trim_ascii().is_empty();
    let (mark, span) = match here {
        b':' | b'.' if alone && is(last, class::IDENT) && d.span.end as usize == at + 1 => {
            return d
                .with_help("a statement ends with `;`")
                .with_fix(remove(at), ";");
        }
        b'#' if last == b','
            && unclosed_bracket(preceding)
            && following.first().is_some_and(u8::is_ascii_digit) =>
        {
            let comma = Span::at(preceding.len() - 1, at + 1);
            return d
                .with_help("an offset is added to the address with `+`")
                .with_fix(comma, "+");
        }
        // The operator of C.
        b'?' if following.contains(&b':') => return d,
        // A number after a word belongs to it in other assemblers: `lsl #2`.
        b'#' if is(last, class::IDENT) && preceding.contains(&b',') => return d,
        b'\'' if following.get(1) == Some(&b'\'') && following[0].is_ascii_graphic() => {
            let value = following[0].to_string();
            return d
                .with_help(format!("a character is a number: write `{value}`"))
                .with_fix(Span::at(at, at + 3), value);
        }
        b'#' | b'&' | b'@'
            if is(
                src.get(at + 1).copied().unwrap_or(0),
                class::IDENT | class::START,
            ) && (here != b'@' || preceding.len() < at && !ends_with_name(&src[..at])) =>
        {
            (here, remove(at))
        }
        b')' if last == b'(' => (b'(', Span::at(preceding.len() - 1, at + 1)),
        b',' | b'[' | b']' | b')' if here == last => (here, remove(at)),
        b';' | b']' | b')' | b'}' if last == b',' && ends => (last, remove(preceding.len() - 1)),
        b'`' | b'\\' | b'\'' | b'?' | 1..=8 | 14..=25 | 27..=31 if d.fix.is_empty() => {
            (here, remove(at))
        }
        _ => return d,
    };
    let mark = match span.end - span.start {
        1 => format!("{}", (mark as char).escape_default()),
        _ => String::from("()"),
    };
    let d = d
        .with_help(format!("remove this `{mark}`"))
        .with_fix(span, "");
    // Where an operand or a word may be missing beside the mark, it is not clear what is meant.
    match here {
        b'[' | b']' | b')' if here == last => d.machine_applicable(),
        1..=8 | 14..=25 | 27..=31 => d.machine_applicable(),
        _ => d,
    }
}

/// Whether a text ends with a name and white space on one line: a name in the place of an operand, not a mnemonic.
fn ends_with_name(text: &[u8]) -> bool {
    let word = text.trim_ascii_end();
    let is_part = |b: &u8| is(*b, class::IDENT) || *b == b'.';
    let start = word.iter().rposition(|b| !is_part(b)).map_or(0, |i| i + 1);
    let first = word[start..].split(|b| *b == b'.').next();
    scan::starts_ident(word, start)
        && !is_opcode(first.unwrap_or_default())
        && !text[word.len()..].contains(&b'\n')
}

/// An operand after another one on the same line.
fn operand_without_comma(src: &[u8], context: StatementContext, d: Diagnostic) -> Diagnostic {
    let StatementContext { start, .. } = context;
    let offset = d.span.start as usize;
    let here = src.get(offset).copied().unwrap_or(0);
    let preceding = &src[start..offset];
    let end = start + preceding.trim_ascii_end().len();
    let gap = &src[end..offset];
    let mut opcode = false;
    let mut last = None;
    for token in Lexer::fragment(preceding).filter(|t| !t.kind.is_trivia()) {
        opcode = last.is_some_and(|t: Token| is_opcode(t.span.of(preceding)));
        last = Some(token);
    }
    if let Some(modifier) = last.filter(|_| opcode) {
        let text = modifier.span.of(preceding);
        let dotted = String::from_utf8_lossy(&[b".", text].concat()).into_owned();
        if Modifier::from_text(dotted.as_bytes()).is_some() {
            let start = start + modifier.span.start as usize;
            let gap = src[..start].trim_ascii_end().len();
            return d
                .with_help(format!("did you mean the modifier `{dotted}`?"))
                .with_fix(Span::at(gap, start), ".");
        }
    }
    let operand = last.is_some_and(|t| {
        let text = t.span.of(preceding);
        let number = [TokenKind::Integer, TokenKind::Single, TokenKind::Double];
        let word = t.kind == TokenKind::Ident || number.contains(&t.kind);
        word && !is_opcode(text) || matches!(text, b"]" | b"}" | b")")
    });
    let operand = operand && src[start] != b'.';
    if here == b'(' {
        // Only a call has arguments.
        if !operand || gap.contains(&b'\n') || !takes_role(preceding, Role::Args) {
            return d;
        }
        return d
            .with_help("separate a function and its arguments with `,`")
            .with_fix(Span::at(end, offset), ", ")
            .machine_applicable();
    }
    let begins =
        scan::starts_ident(src, offset) || is(here, class::DIGIT) || matches!(here, b'[' | b'{');
    if !operand || !begins || gap.is_empty() || gap.contains(&b'\n') || !d.fix.is_empty() {
        return d;
    }
    let word = String::from_utf8_lossy(&src[offset..scan::ident_end(src, offset)]);
    let foreign = ForeignWord::from_text(&word).filter(|_| scan::starts_ident(src, offset));
    if let Some(help) = foreign.and_then(ForeignWord::help) {
        return d.with_help(help);
    }
    let d = d
        .with_help("separate operands with `,`")
        .with_fix(Span::at(end, end), ",");
    // Other words may belong to the operand beside them.
    let is_operand = |token: Token, base: usize, is_declared: bool| {
        let from = base + token.span.start as usize;
        token.kind != TokenKind::Ident || src[from] == b'%' || is_declared
    };
    let next = Lexer::fragment(&src[offset..]).next();
    let certain = last.is_some_and(|t| is_operand(t, start, context.follows_declared))
        && next.is_some_and(|t| is_operand(t, offset, context.is_declared))
        && !is(here, class::DIGIT);
    if certain { d.machine_applicable() } else { d }
}

/// Whether the opcode at the beginning of a statement has a form with such an operand.
fn takes_role(statement: &[u8], role: Role) -> bool {
    let mut tokens = Lexer::fragment(statement);
    let opcode = tokens.find_map(|t| Opcode::from_text(t.span.of(statement)));
    let forms = opcode
        .iter()
        .flat_map(|o| o.instructions())
        .flat_map(|i| i.forms());
    let mut operands = forms.flat_map(|f| f.operands());
    operands.any(|o| o.role() == role)
}

/// Whether the text ends in an address, whose bracket is open.
fn unclosed_bracket(text: &[u8]) -> bool {
    let last = text.iter().rposition(|b| b"[];".contains(b));
    last.is_some_and(|i| text.get(i) == Some(&b'['))
}

/// An operator after an operand: PTX has expressions of constants only.
fn operator(src: &[u8], start: usize, d: Diagnostic) -> Diagnostic {
    let offset = d.span.start as usize;
    if !d.fix.is_empty() || scan::starts_ident(src, offset) {
        return d;
    }
    let rest = &src[offset..];
    let len = match rest {
        [b'<', b'<', ..] | [b'>', b'>', ..] => 2,
        _ => 1,
    };
    let Some(word) = rest.get(..len).and_then(|w| core::str::from_utf8(w).ok()) else {
        return d;
    };
    let Some(instruction) = ForeignWord::from_text(word).and_then(ForeignWord::instead) else {
        return d;
    };
    let next = rest[len..].trim_ascii_start().first().copied();
    let closed = next.is_none_or(|b| b",;])}".contains(&b));
    let last_token = Lexer::fragment(&src[start..offset])
        .filter(|t| !t.kind.is_trivia())
        .last();
    let operand = last_token
        .is_some_and(|t| matches!(t.kind, TokenKind::Ident) || t.kind == TokenKind::Integer);
    let accesses = || takes_role(&src[start..offset], Role::Addr);
    if !operand && word == "*" && scan::starts_ident(src, offset + 1) && accesses() {
        let end = scan::ident_end(src, offset + 1);
        let name = String::from_utf8_lossy(&src[offset + 1..end]);
        return d
            .with_help(format!("an address is in brackets: write `[{name}]`"))
            .with_fix(Span::at(offset, offset + 1), "[")
            .with_fix(Span::at(end, end), "]");
    }
    let stray = "~^*!=&".contains(word);
    if stray && (closed || !operand) {
        return d
            .with_help(format!("remove this `{word}`"))
            .with_fix(Span::at(offset, offset + 1), "");
    }
    if word == "=" {
        return d
            .with_help("separate operands with `,`")
            .with_fix(Span::at(offset, offset + 1), ",");
    }
    let Some(register) = last_token.filter(|t| t.kind == TokenKind::Ident) else {
        return d;
    };
    let register = register.span.shifted(start as u32);
    let d = d.with_help(format!(
        "an operand is one register or constant: compute it with an instruction such as `{instruction}` first"
    ));
    match computed_first(src, start, register, offset + len, instruction) {
        Some(edits) => edits
            .into_iter()
            .fold(d, |d, (span, text)| d.with_fix(span, text)),
        None => d,
    }
}

/// The edits that compute an operand in a block with another register. The operator between `register` and the number
/// ends at `end`.
fn computed_first(
    src: &[u8],
    start: usize,
    register: Span,
    end: usize,
    instruction: &str,
) -> Option<[(Span, String); 3]> {
    let line = src.get(end..line_end(src, end))?;
    let number = Lexer::fragment(line).find(|t| !t.kind.is_trivia());
    let number = number.filter(|t| t.kind == TokenKind::Integer)?;
    let semicolon = end + memchr::memchr(b';', line)? + 1;
    let mnemonic = src.get(start..register.start as usize)?;
    let types =
        Lexer::fragment(mnemonic).filter_map(|t| ScalarType::from_text(t.span.of(mnemonic)));
    let operand_type = types.last()?;
    let opcode = Opcode::from_text(instruction.as_bytes())?;
    let modifier = |ty: ScalarType| Modifier::from_text(ty.text().as_bytes());
    let same_width = ScalarType::ALL
        .iter()
        .copied()
        .filter(|t| t.bits() == operand_type.bits());
    let integers = same_width.filter(|t| matches!(t.kind(), TypeKind::Signed | TypeKind::Bits));
    let usual = Modifier::ALL.iter().copied().filter(|m| m.is_usual(opcode));
    let usual: Vec<Modifier> = usual.collect();
    let mut types = core::iter::once(operand_type).chain(integers);
    let (ty, modifiers) = types.find_map(|ty| {
        let ty_word = modifier(ty)?;
        let with_usual = usual.iter().map(|m| vec![*m, ty_word]);
        let mut forms = core::iter::once(vec![ty_word]).chain(with_usual);
        Some((ty, forms.find(|m| find_form(opcode, m).is_some())?))
    })?;
    let name = String::from_utf8_lossy(register.of(src));
    let value = String::from_utf8_lossy(number.span.of(line));
    let point = if ty.is_float() { ".0" } else { "" };
    let mut compute = format!("{{\n\t.reg {ty} %computed;\n\t{instruction}");
    modifiers.iter().for_each(|m| compute.push_str(m.text()));
    compute.push_str(&format!(" %computed, {name}, {value}{point};\n\t"));
    let operand = Span::at(register.start as usize, end + number.span.end as usize);
    Some([
        (Span::at(start, start), compute),
        (operand, String::from("%computed")),
        (Span::at(semicolon, semicolon), String::from("\n\t}")),
    ])
}
