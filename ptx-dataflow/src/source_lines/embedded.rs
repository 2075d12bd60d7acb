//! Sources that a module contains. Manual 11.5.6.

use alloc::borrow::Cow;
use alloc::string::String;

use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::{Module, Operand, Span};
use ptx_isa::Directive;

/// A source that a module contains: a `.code_block` of `.nv_intermediate_source_section`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct EmbeddedSource<'m> {
    /// The number of its `.file`.
    pub file: i64,
    /// The name of its language, such as `TileIR`.
    pub language: Cow<'m, str>,
    /// Its text, without the newline before `.source_end`.
    pub text: Cow<'m, str>,
}

/// Where the parts of a `.code_block` are in a text.
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
/// use ptx_dataflow::source_lines::code_blocks;
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

/// The lines between the one of `.source_begin` and that of `.source_end`.
fn trim_lines(section: &[u8], token: Span) -> Span {
    let text = token.of(section);
    let newline = |b: &u8| *b == b'\n';
    let start = text.iter().position(newline).map_or(0, |at| at + 1);
    let end = text.trim_ascii_end().iter().rposition(newline);
    let start = token.start + start as u32;
    Span::new(start, (token.start + end.unwrap_or(0) as u32).max(start))
}

/// The sources that a module contains, in order.
pub(super) fn sources(module: &Module) -> impl Iterator<Item = EmbeddedSource<'_>> {
    let all = module.directives().values();
    let all = all.filter(|d| d.directive == Directive::NvIntermediateSourceSection);
    let of_section = move |d: &ptx_ir::DirectiveStmt| {
        let args = module.pool().slice(d.args);
        let (section, numbers) = match args {
            [Operand::Str(text), numbers @ ..] => (module.name_bytes(*text), numbers),
            _ => (&[][..], args),
        };
        let part = move |span: Span| String::from_utf8_lossy(span.of(section));
        let source = move |(block, number): (CodeBlock, &Operand)| {
            Some(EmbeddedSource {
                file: module.pool().integer(*number)?,
                language: part(block.language),
                text: part(block.text),
            })
        };
        code_blocks(section).zip(numbers).filter_map(source)
    };
    all.flat_map(of_section)
}
