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
    /// let spans = ptx_ir::DeclarationSpans::read(text, 0).unwrap();
    /// assert_eq!(spans.align.unwrap().of(text), b"8");
    /// assert_eq!(spans.declarators[1].name.of(text), b"b[2]");
    /// assert_eq!(spans.declarators[1].init.unwrap().of(text), b"{1, 2}");
    /// ```
    #[must_use]
    pub fn read(text: &[u8], base: u32) -> Option<Self> {
        let tokens: Vec<Token> = Lexer::fragment(text)
            .filter(|t| !t.kind.is_trivia())
            .collect();
        let source_span = |t: &Token| t.span.shifted(base);
        let word = |t: &Token| t.span.of(text);
        let first = tokens.iter().position(|t| t.kind == TokenKind::Ident)?;
        let (head, names) = tokens.split_at_checked(first)?;
        let is_linkage = |t: &&Token| {
            let directive = Directive::from_text(word(t));
            directive.and_then(Linkage::from_directive).is_some()
        };
        let linkage = head.iter().find(is_linkage).map(source_span);
        let mut types = head
            .iter()
            .rev()
            .take_while(|t| t.kind == TokenKind::DotWord);
        let last = types.next()?;
        let vector = types
            .next()
            .filter(|t| word(t).starts_with(b".v") && Directive::from_text(word(t)).is_none());
        let is_align = |t: &Token| word(t) == Directive::Align.text().as_bytes();
        let align = head.iter().position(is_align).and_then(|i| head.get(i + 1));
        Some(Self {
            linkage,
            prefix: Span::new(linkage.map_or(base, |l| l.end), source_span(last).end),
            align: align
                .filter(|t| t.kind == TokenKind::Integer)
                .map(source_span),
            ty: vector.map_or(source_span(last), |v| {
                source_span(v).join(source_span(last))
            }),
            declarators: declarators(text, names, base),
        })
    }
}

/// The declarators among the tokens after a type.
fn declarators(text: &[u8], tokens: &[Token], base: u32) -> Vec<DeclaratorSpans> {
    let mut all = Vec::new();
    let mut current: Option<DeclaratorSpans> = None;
    let (mut depth, mut in_init) = (0usize, false);
    for token in tokens {
        let at = token.span.shifted(base);
        match token.span.of(text) {
            b"=" if depth == 0 && !in_init => {
                in_init = true;
                continue;
            }
            b"," | b";" if depth == 0 => {
                all.extend(current.take());
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
                    name: at,
                    init: None,
                })
            }
            Some(d) if in_init => d.init = Some(d.init.map_or(at, |init| init.join(at))),
            Some(d) => d.name = d.name.join(at),
        }
    }
    all.extend(current);
    all
}
