//! Another target and version in the header, all other bytes unchanged.

use alloc::string::ToString;
use alloc::vec::Vec;
use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::{Item, Module, Span, TextPatches};
use ptx_isa::{Directive, PtxVersion, Target};

/// The source of a module with another target and version in its header, all other bytes unchanged. Nothing is checked:
/// call [`verify`](crate::verify) to find out whether the module is legal there. `None` where the header has no
/// `.version` or no known target.
///
/// ```
/// use ptx_isa::{PtxVersion, Target};
/// let module = ptx_parse::parse(b".version 7.8 // old\n.target sm_80, debug\n.address_size 64").module;
/// let text = ptx_verify::retarget(&module, Target::Sm90a, PtxVersion::new(8, 0)).expect("there is a header");
/// assert_eq!(text, b".version 8.0 // old\n.target sm_90a, debug\n.address_size 64");
/// ```
#[must_use]
pub fn retarget(module: &Module, target: Target, version: PtxVersion) -> Option<Vec<u8>> {
    let (number, name) = header_tokens(module)?;
    let mut patches = TextPatches::new();
    patches.replace(number, version.to_string());
    patches.replace(name, target.text());
    Some(patches.apply(module.source()).text)
}

/// The version and the target in the header.
pub(crate) fn header_tokens(module: &Module) -> Option<(Span, Span)> {
    let number = token(module, Directive::Version, |kind, _| {
        matches!(kind, TokenKind::Decimal | TokenKind::Integer)
    })?;
    let name = token(module, Directive::Target, |kind, text| {
        kind == TokenKind::Ident && Target::from_name(text).is_some()
    })?;
    Some((number, name))
}

/// The first token of a directive that is `wanted`.
fn token(
    module: &Module,
    directive: Directive,
    wanted: impl Fn(TokenKind, &[u8]) -> bool,
) -> Option<Span> {
    let of_directive = |item: Item| match item {
        Item::Directive(id) => module
            .directives()
            .get(id)
            .is_some_and(|d| d.directive == directive),
        _ => false,
    };
    let (id, _) = module.items().find(|(_, i)| of_directive(*i))?;
    let span = module.span(id);
    let text = span.of(module.source());
    let mut tokens = Lexer::fragment(text);
    let found = tokens.find(|t| wanted(t.kind, t.span.of(text)))?;
    Some(found.span.shifted(span.start))
}
