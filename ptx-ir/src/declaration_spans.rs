//! The spans of the parts of a declaration.

use alloc::vec::Vec;

use ptx_isa::Directive;

use crate::lex::{Lexer, Token, TokenKind};
use crate::{Linkage, Span};

/// The spans of the parts of a declaration such as `.visible .global .align 8 .u32 a, b[2] = {1, 2};` as it was parsed, from
/// the start of the source.
#[doc(hidden)]
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct DeclarationSpans {
    /// The linkage.
    pub linkage: Option<Span>,
    /// From after the linkage to the type.
    pub prefix: Span,
    /// The number of `.align`.
    pub align: Option<Span>,
    /// The type, with the length of a vector before it.
    pub ty: Span,
    /// The declarators, in order.
    pub declarators: Vec<DeclaratorSpans>,
}

/// The spans of the parts of a declarator.
#[doc(hidden)]
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct DeclaratorSpans {
    /// The name with its count or dimensions.
    pub name: Span,
    /// The initializer.
    pub init: Option<Span>,
}

impl DeclaratorSpans {
    /// The declarator with its initializer.
    #[must_use]
    pub fn whole(&self) -> Span {
        self.init.map_or(self.name, |init| self.name.join(init))
    }
}

impl DeclarationSpans {
    /// Splits the text of a declaration, which begins at `base` in the source. `None` if it is malformed.
    ///
    /// ```
    /// let text = b".visible .global .align 8 .u32 a, b[2] = {1, 2};";
    /// let spans = ptx_ir::raw::DeclarationSpans::read(text, 0).unwrap();
    /// assert_eq!(spans.align.unwrap().of(text), b"8");
    /// assert_eq!(spans.declarators[1].name.of(text), b"b[2]");
    /// assert_eq!(spans.declarators[1].init.unwrap().of(text), b"{1, 2}");
    /// ```
    #[must_use]
    pub fn read(text: &[u8], base: u32) -> Option<Self> {
        let tokens: Vec<Token> = Lexer::fragment(text)
            .filter(|t| !t.kind.is_trivia())
            .collect();
        let directive = |t: &Token| Directive::from_text(t.span.of(text));
        let first_name = tokens.iter().position(|t| t.kind == TokenKind::Ident)?;
        let (specifiers, declarator_tokens) = tokens.split_at_checked(first_name)?;
        let linkage = specifiers
            .iter()
            .find(|t| directive(t).and_then(Linkage::from_directive).is_some())
            .map(|t| t.span.shifted(base));
        let align = specifiers
            .iter()
            .skip_while(|t| directive(t) != Some(Directive::Align))
            .nth(1)
            .filter(|t| t.kind == TokenKind::Integer)
            .map(|t| t.span.shifted(base));
        let mut types = specifiers
            .iter()
            .rev()
            .take_while(|t| t.kind == TokenKind::DotWord);
        let element_type = types.next()?.span.shifted(base);
        let vector = types
            .next()
            .filter(|t| t.span.of(text).starts_with(b".v") && directive(t).is_none());
        Some(Self {
            linkage,
            prefix: Span::new(linkage.map_or(base, |l| l.end), element_type.end),
            align,
            ty: vector.map_or(element_type, |t| t.span.shifted(base).join(element_type)),
            declarators: declarators(text, declarator_tokens, base),
        })
    }
}

/// The declarators among the tokens after a type.
fn declarators(text: &[u8], tokens: &[Token], base: u32) -> Vec<DeclaratorSpans> {
    let mut declarators = Vec::new();
    let mut current: Option<DeclaratorSpans> = None;
    let (mut depth, mut in_init) = (0usize, false);
    for token in tokens {
        let span = token.span.shifted(base);
        match token.span.of(text) {
            b"=" if depth == 0 && !in_init => {
                in_init = true;
                continue;
            }
            b"," | b";" if depth == 0 => {
                declarators.extend(current.take());
                in_init = false;
                continue;
            }
            b"(" | b"{" | b"[" => depth += 1,
            b")" | b"}" | b"]" => depth = depth.saturating_sub(1),
            _ => {}
        }
        match &mut current {
            None => {
                current = Some(DeclaratorSpans {
                    name: span,
                    init: None,
                })
            }
            Some(d) if in_init => d.init = Some(d.init.map_or(span, |init| init.join(span))),
            Some(d) => d.name = d.name.join(span),
        }
    }
    declarators.extend(current);
    declarators
}
