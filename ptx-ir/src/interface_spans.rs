//! The spans of the parts of the header of a function.

use alloc::vec::Vec;

use ptx_isa::Directive;

use crate::lex::{Lexer, Token, TokenKind};
use crate::{FuncId, Module, Span, Statement};

/// The spans of the parts of a header as it was parsed, from the start of the source.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct InterfaceSpans {
    /// The name of the function.
    pub name: Span,
    /// The results.
    pub results: Option<ListSpans>,
    /// The parameters.
    pub params: Option<ListSpans>,
}

/// The spans of a list of parameters or results.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ListSpans {
    /// From `(` to `)`.
    pub list: Span,
    /// Each parameter, from its state space to its name or dimensions.
    pub elements: Vec<Span>,
}

impl ListSpans {
    /// The list at the start of a text, which counts from `base` in the source.
    #[doc(hidden)]
    #[must_use]
    pub fn read(text: &[u8], base: u32) -> Option<Self> {
        let tokens: Vec<Token> = Lexer::fragment(text)
            .filter(|t| !t.kind.is_trivia())
            .collect();
        let (list, _) = list_at(text, &tokens, 0)?;
        Some(list.shifted(base))
    }

    fn shifted(&self, base: u32) -> Self {
        Self {
            list: self.list.shifted(base),
            elements: self.elements.iter().map(|s| s.shifted(base)).collect(),
        }
    }
}

/// The list whose `(` is token `open`, and the index of the token after its `)`.
fn list_at(text: &[u8], tokens: &[Token], open: usize) -> Option<(ListSpans, usize)> {
    let first = tokens.get(open).filter(|t| t.span.of(text) == b"(")?;
    let mut elements = Vec::new();
    let mut current: Option<Span> = None;
    let mut depth = 0usize;
    for (index, token) in tokens.iter().enumerate().skip(open + 1) {
        match token.span.of(text) {
            b")" if depth == 0 => {
                elements.extend(current);
                let list = first.span.join(token.span);
                return Some((ListSpans { list, elements }, index + 1));
            }
            b"," if depth == 0 => {
                elements.extend(current.take());
                continue;
            }
            b"(" | b"[" | b"{" => depth += 1,
            b")" | b"]" | b"}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        current = Some(current.map_or(token.span, |c| c.join(token.span)));
    }
    None
}

impl InterfaceSpans {
    /// The spans of a header of a function or a prototype, which counts from `base` in the source. The name of a prototype is
    /// `_`.
    #[doc(hidden)]
    #[must_use]
    pub fn read(text: &[u8], base: u32) -> Option<Self> {
        let tokens: Vec<Token> = Lexer::fragment(text)
            .filter(|t| !t.kind.is_trivia())
            .collect();
        let mut results = None;
        let mut after_attribute = false;
        let mut index = 0;
        loop {
            let token = tokens.get(index)?;
            let word = token.span.of(text);
            if token.kind == TokenKind::Ident || word == b"_" {
                break;
            }
            if word == b"(" {
                let (list, next) = list_at(text, &tokens, index)?;
                if !after_attribute {
                    results = Some(list.shifted(base));
                }
                index = next;
            } else {
                after_attribute = Directive::from_text(word) == Some(Directive::Attribute);
                index += 1;
            }
        }
        let name = tokens.get(index)?.span;
        let params = list_at(text, &tokens, index + 1).map(|(list, _)| list.shifted(base));
        Some(InterfaceSpans {
            name: name.shifted(base),
            results,
            params,
        })
    }
}

impl Module {
    /// The spans of the parts of the header of a function: of its item, or of the statement that declares it inside
    /// another function. `None` if an edit created the function or its header could not be parsed. Linear in the module.
    ///
    /// ```
    /// let text = b".version 8.0\n.target sm_80\n.func (.reg .b32 r) f(.reg .b32 a, .reg .b32 b) { ret; }\n";
    /// let module = ptx_parse::parse(text).module;
    /// let f = module.function("f").unwrap();
    /// let spans = module.interface_spans(f).unwrap();
    /// assert_eq!(spans.name.of(text), b"f");
    /// assert_eq!(spans.params.unwrap().elements[1].of(text), b".reg .b32 b");
    /// ```
    #[doc(hidden)]
    #[must_use]
    pub fn interface_spans(&self, function: FuncId) -> Option<InterfaceSpans> {
        let record = self.functions().get(function).filter(|f| !f.raw_header)?;
        let mut span = match self.item_of(function) {
            Some(item) => self.span(item),
            None => self.definitions().find_map(|(_, _, body)| {
                let (stmt, _) = body
                    .statements()
                    .find(|(_, s)| *s == Statement::Function(function))?;
                Some(body.source_span(stmt))
            })?,
        };
        if let Some(body) = record.body.and_then(|b| self.bodies().get(b)) {
            span.end = body.base();
        }
        InterfaceSpans::read(span.of(self.source()), span.start)
    }
}
