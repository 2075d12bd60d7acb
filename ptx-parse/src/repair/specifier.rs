//! Repairs of declarations and parameters without a type or a state space.

use alloc::string::String;
use alloc::vec::Vec;

use ptx_ir::lex::Lexer;
use ptx_ir::raw::scan::{self, Trivia};
use ptx_ir::{Diagnostic, Span};
use ptx_isa::{Directive, ScalarType, StateSpace, TypeKind};

use crate::repair::keyword::{self, suggestion};
use crate::repair::missing_declaration::{space_by_use, type_by_use};
use crate::repair::undeclared::register_class_of;
use crate::statement_extent::line_end;

/// Completes the error of a word that is not a keyword of a declaration: it lacks its dot, or a type before it.
pub(crate) fn undotted_type(src: &[u8], diagnostic: Diagnostic) -> Diagnostic {
    let name = diagnostic.span;
    let mut word = Vec::from(*b".");
    word.extend_from_slice(name.of(src));
    let is_keyword =
        ScalarType::from_text(&word).is_some() || Directive::from_text(&word).is_some();
    let insertion = Span::new(name.start, name.start);
    if is_keyword {
        let help = suggestion(&String::from_utf8_lossy(&word));
        return diagnostic
            .with_help(help)
            .with_fix(insertion, ".")
            .machine_applicable();
    }
    if is_name_next(src, name)
        && let Some(corrected) = keyword::undotted_foreign_type(src, &diagnostic)
    {
        return corrected;
    }
    // `.reg %rd<4>`
    match register_class_of(name.of(src)).or_else(|| class_by_use(src, name)) {
        Some(ty) => {
            let help = format!("add its type, for example `{ty}`");
            diagnostic
                .with_help(help)
                .with_fix(insertion, format!("{ty} "))
        }
        None => diagnostic,
    }
}

/// Whether a name follows a word, as after a type.
fn is_name_next(src: &[u8], word: Span) -> bool {
    let next = scan::skip_trivia(src, word.end as usize, &mut Trivia::default());
    scan::starts_ident(src, next)
}

/// The type of a register that is declared without a type: its uses tell the width.
fn class_by_use(src: &[u8], name: Span) -> Option<ScalarType> {
    let ty = type_by_use(src, name.end as usize, name.of(src))?;
    if ty.kind() == TypeKind::Predicate {
        return Some(ty);
    }
    ScalarType::ALL
        .iter()
        .copied()
        .find(|t| t.kind() == TypeKind::Bits && t.bits() == ty.bits().max(16))
}

/// Adds a state space to the error of a type without a state space before it, and with the name at `name_start` after it.
pub(crate) fn missing_space(
    src: &[u8],
    diagnostic: Diagnostic,
    name_start: usize,
    in_body: bool,
) -> Diagnostic {
    // Only names of registers begin with `%`.
    let register = scan::peek(src, name_start) == b'%';
    let space = if in_body && !register {
        space_by_use(src, name_start)
    } else {
        None
    };
    let usual = if in_body {
        StateSpace::Reg
    } else {
        StateSpace::Global
    };
    let insertion = Span::new(diagnostic.span.start, diagnostic.span.start);
    diagnostic.with_fix(insertion, format!("{} ", space.unwrap_or(usual).text()))
}

/// Adds a type to the error of a parameter without a type: the type of its first use. A pointer has the type of an address, and
/// an array consists of bytes.
pub(crate) fn missing_parameter_type(src: &[u8], diagnostic: Diagnostic) -> Diagnostic {
    if is_name_next(src, diagnostic.span)
        && let Some(corrected) = keyword::undotted_type(src, &diagnostic)
    {
        return corrected;
    }
    let (start, end) = (diagnostic.span.start as usize, diagnostic.span.end as usize);
    let next = scan::skip_trivia(src, end, &mut Trivia::default());
    let following = &src[end..line_end(src, end)];
    let has_type = Lexer::fragment(following)
        .map(|t| t.span.of(following))
        .take_while(|t| !matches!(*t, b"," | b")"))
        .any(|t| ScalarType::from_text(t).is_some());
    let ty = match (scan::peek(src, start), scan::peek(src, next)) {
        _ if has_type => None,
        (b'.', _) => Some(ScalarType::U64),
        (_, b'[') => Some(ScalarType::B8),
        _ => type_by_use(src, next, &src[start..end]),
    };
    match ty.filter(|ty| ty.is_parameter_type()) {
        Some(ty) => diagnostic
            .with_help(format!("add its type, for example `{ty}`"))
            .with_fix(Span::at(start, start), format!("{ty} ")),
        None => diagnostic,
    }
}
