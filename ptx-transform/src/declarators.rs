//! Edits the text of variable declarations.

use alloc::vec::Vec;

use ptx_ir::raw::{DeclarationSpans, DeclaratorSpans, TextPatches};
use ptx_ir::{Module, Span};

/// A declaration such as `.visible .global .u32 a, b[2] = {1, 2};`.
pub(crate) struct Declaration(Option<DeclarationSpans>);

impl Declaration {
    /// Reads the declaration at `span`.
    pub(crate) fn read(module: &Module, span: Span) -> Self {
        Self(DeclarationSpans::read(span.of(module.source()), span.start))
    }

    /// Sets the alignment, in bytes.
    pub(crate) fn align(&self, bytes: i64, patches: &mut TextPatches) {
        let Some(spans) = &self.0 else { return };
        match spans.align {
            Some(number) => patches.replace(number, format!("{bytes}")),
            None => patches.insert(spans.ty.start, format!(".align {bytes} ")),
        }
    }

    /// Removes the names that do not stay and inserts other declarations before the remaining ones, each with its newline. Returns
    /// `false` if no text would be left.
    pub(crate) fn replace(
        &self,
        patches: &mut TextPatches,
        span: Span,
        stays: &[bool],
        declarations: &[u8],
    ) -> bool {
        if stays.contains(&true) {
            patches.insert(span.start, declarations);
            let names = self.0.as_ref().map_or(&[][..], |spans| &spans.declarators);
            for span in removed(names, stays) {
                patches.remove(span);
            }
        } else if !declarations.is_empty() {
            patches.replace(span, declarations.trim_ascii_end());
        }
        stays.contains(&true) || !declarations.is_empty()
    }

    /// An external declaration of one of the names.
    pub(crate) fn external(&self, module: &Module, index: usize) -> Option<Vec<u8>> {
        let spans = self.0.as_ref()?;
        let name = spans.declarators.get(index)?.name;
        let source = module.source();
        let mut text = b".extern ".to_vec();
        text.extend_from_slice(spans.prefix.of(source).trim_ascii());
        text.push(b' ');
        text.extend_from_slice(name.of(source));
        text.push(b';');
        Some(text)
    }
}

/// The spans to remove so that only some names of a declaration stay, at least one. Before the first name that stays, a name is
/// removed with the comma after it; after it, with the comma before it.
pub(crate) fn removed(names: &[DeclaratorSpans], stays: &[bool]) -> Vec<Span> {
    let first = stays.iter().position(|s| *s).unwrap_or_default();
    let mut spans = Vec::new();
    if let (Some(start), Some(end)) = (names.first(), names.get(first))
        && first > 0
    {
        spans.push(Span::new(start.name.start, end.name.start));
    }
    let pairs = names
        .iter()
        .zip(names.iter().skip(1))
        .zip(stays.iter().skip(1));
    for ((previous, name), _) in pairs.skip(first).filter(|(_, stays)| !**stays) {
        spans.push(Span::new(previous.whole().end, name.whole().end));
    }
    spans
}

#[cfg(test)]
mod tests {
    use alloc::string::String;

    use super::*;
    use crate::items::items;

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
            assert!(d.replace(&mut patches, Span::default(), &stays, b""));
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
