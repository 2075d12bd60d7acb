//! Edits the text of variable declarations.

use alloc::format;
use alloc::vec::Vec;

use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::{Module, Span, TextPatches};

/// A declaration such as `.visible .global .u32 a, b[2] = {1, 2};`.
pub(crate) struct Declaration {
    /// Its linkage directive, if there is one.
    pub(crate) linkage: Option<Span>,
    /// The text before the first name, without the linkage.
    pub(crate) prefix: Span,
    /// The names, in order.
    pub(crate) names: Vec<Declared>,
}

/// A name of a declaration.
pub(crate) struct Declared {
    /// Name, dimensions and initializer.
    pub(crate) whole: Span,
    /// The same without the initializer.
    pub(crate) bare: Span,
}

impl Declaration {
    /// Sets its alignment.
    pub(crate) fn align(&self, module: &Module, wanted: i64, patches: &mut TextPatches) {
        let prefix = self.prefix;
        let text = prefix.of(module.source());
        let (mut found, mut vector) = (false, false);
        let mut place = None;
        for token in Lexer::fragment(text).filter(|t| !t.kind.is_trivia()) {
            let at = token.span.shifted(prefix.start);
            match (token.kind, token.span.of(text)) {
                (TokenKind::DotWord, b".align") => found = true,
                (TokenKind::Integer, _) if found => {
                    patches.replace(at, format!("{wanted}"));
                    return;
                }
                // Before the type, and before a `.v4`.
                (TokenKind::DotWord, word) => {
                    if !vector {
                        place = Some(at.start);
                    }
                    vector = word.starts_with(b".v");
                }
                _ => {}
            }
        }
        if let Some(place) = place {
            patches.insert(place, format!(".align {wanted} "));
        }
    }

    /// Reads the declaration at `span`.
    pub(crate) fn read(module: &Module, span: Span) -> Self {
        let text = span.of(module.source());
        let mut depth = 0usize;
        let mut found = Self {
            linkage: None,
            prefix: Span::new(span.start, span.start),
            names: Vec::new(),
        };
        // The current name, and where its dimensions end.
        let mut name: Option<(u32, Option<u32>)> = None;
        let mut last = span.start;
        for token in Lexer::fragment(text).filter(|t| !t.kind.is_trivia()) {
            let at = token.span.shifted(span.start);
            match (token.kind, token.span.of(text)) {
                (TokenKind::DotWord, b".extern" | b".visible" | b".weak" | b".common")
                    if found.linkage.is_none() && name.is_none() =>
                {
                    found.linkage = Some(at);
                    found.prefix = Span::new(at.end, at.end);
                    last = at.end;
                    continue;
                }
                (_, b"(" | b"{" | b"[") => depth += 1,
                (_, b")" | b"}" | b"]") => depth = depth.saturating_sub(1),
                (TokenKind::Ident, _) if depth == 0 && name.is_none() => {
                    if found.names.is_empty() {
                        found.prefix.end = last;
                    }
                    name = Some((at.start, None));
                }
                (_, b"=") if depth == 0 => {
                    if let Some((_, end @ None)) = &mut name {
                        *end = Some(last);
                    }
                }
                (_, b"," | b";") if depth == 0 => {
                    if let Some((start, end)) = name.take() {
                        found.names.push(Declared {
                            whole: Span::new(start, last),
                            bare: Span::new(start, end.unwrap_or(last)),
                        });
                    }
                }
                _ => {}
            }
            last = at.end;
        }
        found
    }

    /// Removes names; at least one stays.
    fn keep(&self, patches: &mut TextPatches, stays: impl Fn(usize) -> bool) {
        // A name is removed with the comma before it; before the first one that stays, with the comma after it.
        let mut before: Option<&Declared> = None;
        let mut gone: Option<u32> = None;
        for (i, name) in self.names.iter().enumerate() {
            if stays(i) {
                if let (Some(from), None) = (gone, before) {
                    patches.remove(Span::new(from, name.whole.start));
                }
                before = Some(name);
            } else if before.is_some() {
                let previous = i.checked_sub(1).and_then(|i| self.names.get(i));
                let from = previous.map_or(name.whole.start, |p| p.whole.end);
                patches.remove(Span::new(from, name.whole.end));
            } else {
                gone.get_or_insert(name.whole.start);
            }
        }
    }

    /// Removes names and inserts other declarations before the rest, each with its newline; `false` if nothing would be left.
    pub(crate) fn replace(
        &self,
        patches: &mut TextPatches,
        span: Span,
        stays: &[bool],
        others: &[u8],
    ) -> bool {
        if stays.contains(&true) {
            patches.insert(span.start, others);
            self.keep(patches, |i| stays.get(i).copied().unwrap_or(true));
        } else if !others.is_empty() {
            patches.replace(span, others.trim_ascii_end());
        }
        stays.contains(&true) || !others.is_empty()
    }

    /// An external declaration of one of the names.
    pub(crate) fn external(&self, module: &Module, index: usize) -> Option<Vec<u8>> {
        let name = self.names.get(index)?;
        let source = module.source();
        let mut text = b".extern ".to_vec();
        text.extend_from_slice(self.prefix.of(source).trim_ascii());
        text.push(b' ');
        text.extend_from_slice(name.bare.of(source));
        text.push(b';');
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::String;

    use super::*;
    use crate::item_text::items;

    const TEXT: &str = ".version 8.0\n.target sm_80\n.address_size 64\n.visible /*v*/ .global .align 4 .b8 a[4] = {1, 2}, b [ 2 ], // b\n c = {(1), 2};";

    fn read() -> (Module, Declaration) {
        let module = ptx_parse::parse_str(TEXT).module;
        let span = items(&module)[3].extent.statement;
        let declaration = Declaration::read(&module, span);
        (module, declaration)
    }

    #[test]
    fn any_of_the_names_may_stay() {
        let kept = |stays: [bool; 3]| {
            let (module, d) = read();
            let mut patches = TextPatches::new();
            d.keep(&mut patches, |i| stays[i]);
            let text = String::from_utf8(patches.apply(module.source()).text).unwrap();
            String::from(text.split(".b8 ").nth(1).unwrap())
        };
        assert_eq!(kept([true, false, false]), "a[4] = {1, 2};");
        assert_eq!(kept([false, true, false]), "b [ 2 ];");
        assert_eq!(kept([false, false, true]), "c = {(1), 2};");
        assert_eq!(
            kept([true, false, true]),
            "a[4] = {1, 2}, // b\n c = {(1), 2};"
        );
        assert_eq!(kept([false, true, true]), "b [ 2 ], // b\n c = {(1), 2};");
    }

    #[test]
    fn the_definition_may_be_left_to_others() {
        let (module, d) = read();
        let text = d.external(&module, 0).unwrap();
        assert_eq!(text, b".extern /*v*/ .global .align 4 .b8 a[4];");
    }
}
