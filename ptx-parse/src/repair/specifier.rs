//! Declarations and parameters without a type or a state space: which one is missing.

use alloc::string::String;
use alloc::vec::Vec;

use ptx_ir::lex::Lexer;
use ptx_ir::lex::scan::{self, Trivia};
use ptx_ir::{Diagnostic, Span};
use ptx_isa::{Directive, ScalarType, StateSpace, TypeKind};

use crate::repair::keyword::suggestion;
use crate::repair::missing_declaration::{space_by_use, type_by_use};
use crate::repair::undeclared::register_class_of;
use crate::statement_extent::line_end;

/// The error of a word that is not a keyword of a declaration: it lacks a dot, or its type is missing before it.
pub(crate) fn undotted_type(src: &[u8], d: Diagnostic) -> Diagnostic {
    let name = d.span;
    let mut word = Vec::from(*b".");
    word.extend_from_slice(name.of(src));
    let is_keyword =
        ScalarType::from_text(&word).is_some() || Directive::from_text(&word).is_some();
    let insertion = Span::new(name.start, name.start);
    if is_keyword {
        let help = suggestion(&String::from_utf8_lossy(&word));
        return d
            .with_help(help)
            .with_fix(insertion, ".")
            .machine_applicable();
    }
    // `.reg %rd<4>`
    match register_class_of(name.of(src)).or_else(|| class_by_use(src, name)) {
        Some(ty) => {
            let help = format!("add its type, for example `{ty}`");
            d.with_help(help).with_fix(insertion, format!("{ty} "))
        }
        None => d,
    }
}

/// The class of a register that is declared without a type.
fn class_by_use(src: &[u8], name: Span) -> Option<ScalarType> {
    let ty = type_by_use(src, name.end as usize, name.of(src))?;
    let mut all = ScalarType::ALL.iter().copied();
    match ty.kind() {
        TypeKind::Predicate => Some(ty),
        _ => all.find(|t| t.kind() == TypeKind::Bits && t.bits() == ty.bits().max(16)),
    }
}

/// The error of a type without a state space before it, and with a name after it.
pub(crate) fn missing_space(src: &[u8], d: Diagnostic, name: usize, in_body: bool) -> Diagnostic {
    // Only registers have such names.
    let register = scan::peek(src, name) == b'%';
    let space = if in_body && !register {
        space_by_use(src, name)
    } else {
        None
    };
    let usual = if in_body {
        StateSpace::Reg
    } else {
        StateSpace::Global
    };
    let insertion = Span::new(d.span.start, d.span.start);
    d.with_fix(insertion, format!("{} ", space.unwrap_or(usual).text()))
}

/// The error of a parameter without a type: that of its first use, of a pointer that of an address, of an array bytes.
pub(crate) fn missing_parameter_type(src: &[u8], d: Diagnostic) -> Diagnostic {
    let (start, end) = (d.span.start as usize, d.span.end as usize);
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
        Some(ty) => d
            .with_help(format!("add its type, for example `{ty}`"))
            .with_fix(Span::at(start, start), format!("{ty} ")),
        None => d,
    }
}
