//! The check of a parsed module: every byte of the source belongs to exactly one statement or to the gap between two, and gaps
//! contain only whitespace and comments.

use alloc::string::String;

use crate::lex::Lexer;
use crate::{Body, EntityId, Item, Module, Span};

/// A violation of the rules.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Violation {
    /// The place, from the start of the source.
    pub span: Span,
    /// A sentence about the violated rule.
    pub message: String,
}

/// Checks that the statements of a module tile its source. For tests and tools; linear in the source.
///
/// # Errors
///
/// The first violation.
pub fn check(module: &Module) -> Result<(), Violation> {
    let source = module.source();
    let mut walk = Walk { source, end: 0 };
    for (id, item) in module.items() {
        let span = module.span(id);
        walk.statement(span)?;
        if let Item::Function(f) = item
            && let Some(body) = module.body(f)
        {
            walk.body(body, span)?;
        }
    }
    walk.gap(source.len() as u32)
}

struct Walk<'s> {
    source: &'s [u8],
    /// The end of the last statement.
    end: u32,
}

impl Walk<'_> {
    fn statement(&mut self, span: Span) -> Result<(), Violation> {
        if span.start < self.end || span.end < span.start || span.end as usize > self.source.len() {
            let end = self.end;
            let message =
                format!("a statement at {span:?} overlaps another one that ends at {end}");
            return Err(Violation { span, message });
        }
        self.gap(span.start)?;
        self.end = span.end;
        Ok(())
    }

    /// Checks that there is only trivia between the last statement and `end`.
    fn gap(&mut self, end: u32) -> Result<(), Violation> {
        let gap = Span::new(self.end, end);
        let bytes = gap.of(self.source);
        let mut lexer = if self.end == 0 {
            Lexer::new(bytes)
        } else {
            Lexer::fragment(bytes)
        };
        match lexer.find(|t| !t.kind.is_trivia()) {
            None => Ok(()),
            Some(token) => {
                let message = String::from("a token between two statements");
                Err(Violation {
                    span: token.span.shifted(self.end),
                    message,
                })
            }
        }
    }

    fn body(&mut self, body: &Body, item: Span) -> Result<(), Violation> {
        let end = body.base + body.end;
        if body.base < item.start || end > item.end {
            let message = format!("a body at {}..{end} outside its function", body.base);
            return Err(Violation {
                span: item,
                message,
            });
        }
        let mut inner = Walk {
            source: self.source,
            end: body.base + 1,
        };
        for id in body.statements.ids() {
            inner.statement(body.source_span(id))?;
            if body.origins.get(id.index()).is_none() {
                let message = String::from("a statement without a place");
                return Err(Violation {
                    span: item,
                    message,
                });
            }
        }
        let close = end - body.closed as u32;
        if inner.end > end {
            let message = String::from("a statement after the end of its body");
            return Err(Violation {
                span: item,
                message,
            });
        }
        inner.gap(close.max(inner.end))
    }
}
