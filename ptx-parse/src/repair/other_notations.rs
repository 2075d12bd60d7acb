//! Declarations, guards and operands in other notations: brackets of another kind, the `*` of a pointer, a string instead of
//! bytes, a cast.

use alloc::string::String;
use alloc::vec::Vec;
use ptx_ir::raw::scan::{self, class, is};
use ptx_ir::{Code, Diagnostic, Span};
use ptx_isa::internals::ForeignWord;
use ptx_isa::{Directive, Opcode, ScalarType, StateSpace};

use crate::statement_extent::line_end;

/// The negation of a guard in words.
const NEGATION: &[u8] = b"not ";
/// The longest string that is written as bytes.
const LONGEST_STRING: usize = 64;

/// Adds edits to the syntax error of the statement or item at `start` that write it in the notation of PTX.
pub(crate) fn explain(src: &[u8], start: usize, diagnostic: Diagnostic) -> Diagnostic {
    let offset = diagnostic.span.start as usize;
    let preceding = src.get(start..offset).unwrap_or_default().trim_ascii_end();
    let line = &src[offset..line_end(src, offset)];
    let notation = guard(src, start, offset).or_else(|| declaration(src, start, offset));
    let Some((help, edits)) = notation else {
        return diagnostic;
    };
    let mut diagnostic = diagnostic.with_help(help);
    diagnostic.fix = [].into();
    diagnostic.add_fix(edits);
    if is_certain(line, preceding) {
        diagnostic.machine_applicable()
    } else {
        diagnostic
    }
}

/// A declaration or directive at `start` in another notation, with an error at `offset`: the help and the edits.
fn declaration(
    src: &[u8],
    start: usize,
    offset: usize,
) -> Option<(&'static str, Vec<(Span, String)>)> {
    let preceding = src.get(start..offset).unwrap_or_default().trim_ascii_end();
    let line = &src[offset..line_end(src, offset)];
    let mark = Span::at(offset, (offset + 1).min(src.len()));
    Some(match line.first() {
        Some(b'(') if preceding.ends_with(Directive::Entry.text().as_bytes()) => {
            let close = memchr::memchr(b')', line).filter(|close| {
                let name = line[close + 1..].trim_ascii_start();
                scan::starts_ident(name, 0)
            })?;
            let list = Span::at(offset, offset + close + 1);
            (
                "a kernel has no results: it writes them to memory",
                vec![(list, String::new())],
            )
        }
        Some(b'[' | b'(') if preceding.ends_with(b"=") => {
            let close = if line.starts_with(b"[") { b']' } else { b')' };
            let edits = replaced_brackets(src, offset, close, ["{", "}"])?;
            ("the values of an array are in braces", edits)
        }
        Some(b'(')
            if preceding.starts_with(b".") && line.get(1).is_some_and(u8::is_ascii_digit) =>
        {
            let is_register = preceding.starts_with(StateSpace::Reg.text().as_bytes());
            let (open, close, help) = if is_register {
                ("<", ">", "the number of registers is in angle brackets")
            } else {
                ("[", "]", "the length of an array is in square brackets")
            };
            (help, replaced_brackets(src, offset, b')', [open, close])?)
        }
        Some(b'=') if in_directive(src, offset) => ("remove the `=`", vec![(mark, String::new())]),
        Some(b',') if in_directive(src, offset) && !preceding.ends_with(b",") => {
            let help = "numbers of this directive are separated with spaces";
            let commas = commas_between_numbers(line).map(|i| Span::at(offset + i, offset + i + 1));
            (help, commas.map(|span| (span, String::new())).collect())
        }
        Some(b'0'..=b'9') if in_directive(src, offset) && ends_with_number(preceding) => {
            let end = start + preceding.len();
            let gaps = gaps_between_numbers(line).map(|i| offset + i);
            let places = core::iter::once(end).chain(gaps);
            let edits = places.map(|place| (Span::at(place, place), String::from(",")));
            ("separate the numbers with `,`", edits.collect())
        }
        Some(b'*') if ends_with_type(preceding) => (
            "a pointer is a parameter of type `.u64`, perhaps with `.ptr`",
            vec![(mark, String::new())],
        ),
        Some(b'"') if preceding.ends_with(b"=") => {
            let edit = string_as_bytes(src, offset)?;
            ("write the values of the characters", vec![edit])
        }
        _ => return None,
    })
}

/// A guard of the statement at `start` in another notation, with an error at `offset`: the help and the edits.
fn guard(src: &[u8], start: usize, offset: usize) -> Option<(&'static str, Vec<(Span, String)>)> {
    const NEGATED: &str = "a negated guard is written `@!%p`";
    let preceding = src.get(start..offset)?.trim_ascii_end();
    let line = &src[offset..line_end(src, offset)];
    let replacement =
        |text: &str, len: usize| vec![(Span::at(offset, offset + len), String::from(text))];
    match line.first()? {
        b':' if preceding.starts_with(b"@") && !preceding.contains(&b'{') => {
            Some(("remove the `:`", replacement("", 1)))
        }
        b'@' if preceding.last().is_some_and(|b| is(*b, class::IDENT)) && !is_call(preceding) => {
            Some((
                "a guard precedes its instruction",
                moved_guard(src, start, offset)?,
            ))
        }
        b'~' if preceding == b"@" => Some((NEGATED, replacement("!", 1))),
        b'n' if preceding == b"@" && line.starts_with(NEGATION) => {
            Some((NEGATED, replacement("!", NEGATION.len())))
        }
        b'(' if matches!(preceding, b"@" | b"@!") && encloses_name(line) => Some((
            "a guard has no parentheses",
            replaced_brackets(src, offset, b')', ["", ""])?,
        )),
        _ => None,
    }
}

/// The error of a name such as `%%laneid` at `offset`, which inline assembly in C writes for `%laneid`.
pub(crate) fn doubled_percent(src: &[u8], offset: usize) -> Diagnostic {
    let end = scan::ident_end(src, offset + 1);
    let name = String::from_utf8_lossy(&src[offset + 1..end]);
    let message = format!("expected `{name}`, found `%{name}`");
    let error = Diagnostic::error(Code::UnexpectedToken, Span::at(offset, end), message)
        .with_help(format!(
            "`%%` means `%` in inline assembly only: write `{name}`"
        ))
        .with_fix(Span::at(offset, offset + 1), "");
    // The edits include the other doubled `%` of the statement.
    let line = &src[end..line_end(src, offset)];
    let operands = &line[..memchr::memchr(b';', line).unwrap_or(line.len())];
    memchr::memmem::find_iter(operands, "%%").fold(error, |error, index| {
        let percent = end + index;
        error.with_fix(Span::at(percent, percent + 1), "")
    })
}

/// The error of a cast of C: a type in parentheses before an operand. `error` is in the parentheses or right after them.
pub(crate) fn cast(src: &[u8], start: usize, error: &Diagnostic) -> Option<Diagnostic> {
    let offset = error.span.start as usize;
    let preceding = src.get(start..offset)?.trim_ascii_end();
    let open = start + memchr::memrchr(b'(', preceding)?;
    let line = &src[..line_end(src, offset)];
    let close = open + memchr::memchr(b')', &line[open..])?;
    let inner = core::str::from_utf8(&src[open + 1..close]).ok()?.trim();
    let first_word = inner.split([' ', '*']).next().unwrap_or_default();
    let is_type = inner
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | ' ' | '*'))
        && (ForeignWord::from_text(first_word).is_some() || first_word.ends_with("_t"));
    let following = line[close + 1..].trim_ascii_start();
    let end = following.iter().position(|b| b",;]})".contains(b))?;
    let value = String::from_utf8_lossy(following[..end].trim_ascii_end());
    let is_near = offset <= close || src[close + 1..offset].trim_ascii().is_empty();
    if value.is_empty() || !is_near || !is_type {
        return None;
    }
    let cast = Span::at(open, close + 1);
    let message = format!("expected an operand, found the cast `({inner})`");
    let cast_error = Diagnostic::error(Code::UnexpectedToken, cast, message).with_help(format!(
        "PTX has no casts: write `{value}`, or convert a register with `{}` first",
        ForeignWord::from_text("sext").and_then(ForeignWord::instead)?
    ));
    Some(cast_error.with_fix(cast, ""))
}

/// Whether a statement without its operands is a call, whose first operand may be a function.
fn is_call(statement: &[u8]) -> bool {
    let opcode = statement
        .split(|b| *b == b'.')
        .next()
        .and_then(Opcode::from_text);
    opcode.is_some_and(Opcode::takes_lists)
}

/// Whether the edits of the statement with an error at `line`, which `preceding` precedes, neither add nor remove an operand.
fn is_certain(line: &[u8], preceding: &[u8]) -> bool {
    match line.first() {
        Some(b':' | b'[') => true,
        Some(b'(') => !preceding.ends_with(Directive::Entry.text().as_bytes()),
        _ => false,
    }
}

/// The edits that replace the bracket at `open` and the next `close` on its line.
fn replaced_brackets(
    src: &[u8],
    open: usize,
    close: u8,
    [opening_text, closing_text]: [&str; 2],
) -> Option<Vec<(Span, String)>> {
    let end = open + memchr::memchr(close, &src[open..line_end(src, open)])?;
    Some(vec![
        (Span::at(open, open + 1), opening_text.into()),
        (Span::at(end, end + 1), closing_text.into()),
    ])
}

/// Whether a line begins with a name in parentheses.
fn encloses_name(line: &[u8]) -> bool {
    let inner = line.get(1..).unwrap_or_default().trim_ascii_start();
    scan::starts_ident(inner, 0)
        && inner[scan::ident_end(inner, 0)..]
            .trim_ascii_start()
            .starts_with(b")")
}

/// The guard at the beginning of `line`, if only `;` follows.
pub(crate) fn trailing_guard(line: &[u8]) -> Option<&[u8]> {
    let guard = line.get(..memchr::memchr(b';', line)?)?.trim_ascii_end();
    let operand = guard.strip_prefix(b"@")?;
    let name = operand.strip_prefix(b"!").unwrap_or(operand);
    let is_name = scan::starts_ident(name, 0) && scan::ident_end(name, 0) == name.len();
    is_name.then_some(guard)
}

/// The edits that move the guard at `offset` of `bra L @%p;` to the beginning of the statement.
fn moved_guard(src: &[u8], start: usize, offset: usize) -> Option<Vec<(Span, String)>> {
    let guard = trailing_guard(&src[offset..line_end(src, offset)])?;
    let end = src[..offset].trim_ascii_end().len();
    Some(vec![
        (
            Span::at(start, start),
            format!("{} ", String::from_utf8_lossy(guard)),
        ),
        (Span::at(end, offset + guard.len()), String::new()),
    ])
}

/// Whether the line up to `offset` consists of a directive and numbers.
fn in_directive(src: &[u8], offset: usize) -> bool {
    let start = memchr::memrchr(b'\n', &src[..offset]).map_or(0, |i| i + 1);
    let mut words = src[start..offset]
        .trim_ascii()
        .split(|b| b.is_ascii_whitespace());
    let directive = words.next().and_then(Directive::from_text);
    directive.is_some() && words.flatten().all(|b| b.is_ascii_digit() || *b == b',')
}

/// The numbers at the start of a text, with the commas and spaces between them.
fn numbers(text: &[u8]) -> &[u8] {
    let len = text
        .iter()
        .take_while(|b| b.is_ascii_digit() || matches!(b, b',' | b' '))
        .count();
    &text[..len]
}

fn starts_with_number(text: &[u8]) -> bool {
    let first = text.trim_ascii_start().first();
    first.is_some_and(u8::is_ascii_digit)
}

/// The commas between numbers at the start of a text.
fn commas_between_numbers(text: &[u8]) -> impl Iterator<Item = usize> {
    let list = numbers(text);
    (0..list.len()).filter(|&i| list[i] == b',' && starts_with_number(&list[i + 1..]))
}

/// The ends of numbers at the start of a text that a number follows without a comma.
fn gaps_between_numbers(text: &[u8]) -> impl Iterator<Item = usize> {
    let list = numbers(text);
    (1..list.len())
        .filter(|&i| list[i] == b' ' && list[i - 1].is_ascii_digit())
        .filter(|&i| starts_with_number(&list[i..]))
}

fn ends_with_number(text: &[u8]) -> bool {
    text.last().is_some_and(u8::is_ascii_digit)
}

fn ends_with_type(text: &[u8]) -> bool {
    let dot = memchr::memrchr(b'.', text);
    dot.is_some_and(|dot| ScalarType::from_text(&text[dot..]).is_some())
}

/// The edit that writes the string at `offset` as a list of bytes, with the zero that C adds.
fn string_as_bytes(src: &[u8], offset: usize) -> Option<(Span, String)> {
    let (end, is_closed) = scan::string_end(src, offset);
    let text = src.get(offset + 1..end.checked_sub(1)?)?;
    if !is_closed || text.len() > LONGEST_STRING || text.contains(&b'\\') {
        return None;
    }
    let values: Vec<String> = text.iter().chain(&[0]).map(|b| format!("{b}")).collect();
    Some((Span::at(offset, end), format!("{{{}}}", values.join(", "))))
}
