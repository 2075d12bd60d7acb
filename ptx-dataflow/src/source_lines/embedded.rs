//! Intermediate sources that a module contains. Manual 11.5.6.

use alloc::borrow::Cow;
use alloc::string::String;

use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::{DirectiveStmt, Module, Operand, Span};
use ptx_isa::Directive;

/// A source that a module contains: a `.code_block` of `.nv_intermediate_source_section`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct EmbeddedSource<'m> {
    /// The number of its `.file`.
    pub file: i64,
    /// The name of its language, such as `TileIR`.
    pub language: Cow<'m, str>,
    /// The text, without the newline before `.source_end`.
    pub text: Cow<'m, str>,
}

/// The positions of the parts of a `.code_block` in a text.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct CodeBlock {
    /// The name of its language, without its quotes.
    pub language: Span,
    /// The number of its `.file`.
    pub file: Span,
    /// The source.
    pub text: Span,
}

/// The code blocks in the text of a `.nv_intermediate_source_section`. Linear in its length.
///
/// ```
/// use ptx_dataflow::internals::code_blocks;
/// let section = b".code_block { .ir_name: \"TileIR\" .sourceFileName: 2 .source_begin\nfirst\nsecond\n.source_end\n}";
/// let blocks: Vec<_> = code_blocks(section).collect();
/// assert_eq!(blocks.len(), 1);
/// assert_eq!(blocks[0].language.of(section), b"TileIR");
/// assert_eq!(blocks[0].text.of(section), b"first\nsecond");
/// ```
pub fn code_blocks(section: &[u8]) -> impl Iterator<Item = CodeBlock> + '_ {
    let (mut language, mut file) = (Span::default(), Span::default());
    Lexer::fragment(section).filter_map(move |token| {
        match token.kind {
            TokenKind::String => language = Span::new(token.span.start + 1, token.span.end - 1),
            TokenKind::Integer => file = token.span,
            TokenKind::SourceText => {
                let text = trim_lines(section, token.span);
                return Some(CodeBlock {
                    language,
                    file,
                    text,
                });
            }
            _ => {}
        }
        None
    })
}

/// The lines after that of `.source_begin` and before that of `.source_end`.
fn trim_lines(section: &[u8], token: Span) -> Span {
    let text = token.of(section);
    let is_newline = |byte: &u8| *byte == b'\n';
    let first_newline = text.iter().position(is_newline);
    let last_newline = text.trim_ascii_end().iter().rposition(is_newline);
    let start = token.start + first_newline.map_or(0, |newline| newline + 1) as u32;
    let end = token.start + last_newline.unwrap_or(0) as u32;
    Span::new(start, end.max(start))
}

/// The sources that a module contains, in order.
pub(super) fn sources(module: &Module) -> impl Iterator<Item = EmbeddedSource<'_>> {
    module
        .directives()
        .values()
        .filter(|d| d.directive == Directive::NvIntermediateSourceSection)
        .flat_map(|directive| sources_of_section(module, directive))
}

/// The sources of a `.nv_intermediate_source_section`, in order.
fn sources_of_section<'m>(
    module: &'m Module,
    directive: &DirectiveStmt,
) -> impl Iterator<Item = EmbeddedSource<'m>> + use<'m> {
    let args = module.pool().slice(directive.args);
    let (section, file_numbers) = match args {
        [Operand::Str(text), file_numbers @ ..] => (module.name_bytes(*text), file_numbers),
        _ => (&[][..], args),
    };
    code_blocks(section)
        .zip(file_numbers)
        .filter_map(move |(block, number)| {
            Some(EmbeddedSource {
                file: module.pool().integer(*number)?,
                language: String::from_utf8_lossy(block.language.of(section)),
                text: String::from_utf8_lossy(block.text.of(section)),
            })
        })
}
