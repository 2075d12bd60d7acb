//! The directives of a function between its parameters and its body, such as `.maxntid`.

use alloc::string::String;
use alloc::vec::Vec;

use ptx_ir::lex::{Lexer, Token, TokenKind};
use ptx_ir::raw::{NewText, Patch, RawModule};
use ptx_ir::{DirectiveStmt, FuncId, FunctionKind, ItemId, Module, Operand, Span, TableRange};
use ptx_isa::Directive;
use ptx_isa::internals::{DirectivePosition, Ending};

use crate::operand_grammar::check_arguments;
use crate::signature::inserted_list;
use crate::{EditError, ModuleEditor};

/// A directive in the source.
struct Written {
    directive: Directive,
    /// The span from the dot of the directive to its last argument or `;`.
    span: Span,
}

impl ModuleEditor<'_> {
    /// Adds a directive such as `.maxntid` or `.pragma` to a function, or replaces the arguments of the one that it has: see
    /// [`DirectiveStmt`]. Linear in the items of the module.
    ///
    /// ```
    /// use ptx_edit::EditModule as _;
    /// use ptx_ir::Operand;
    /// use ptx_isa::Directive;
    /// let text = b".version 8.0 .target sm_80\n.entry k()\n.maxntid 128 // four warps\n{ ret; }";
    /// let mut module = ptx_parse::parse(text).module;
    /// let k = module.function("k").ok_or("no kernel")?;
    /// module.editor().set_directive(k, Directive::Maxntid, &[Operand::Small(256)])?;
    /// module.editor().set_directive(k, Directive::Minnctapersm, &[Operand::Small(2)])?;
    /// let now = String::from_utf8(ptx_print::verbatim(&module))?;
    /// assert!(now.ends_with(".maxntid 256 // four warps\n.minnctapersm 2\n{ ret; }"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`EditError::Kind`] if such a function cannot have the directive or it takes other arguments.
    pub fn set_directive(
        &mut self,
        function: FuncId,
        directive: Directive,
        args: &[Operand],
    ) -> Result<(), EditError> {
        let position = match self.module.functions().get(function).map(|f| f.kind) {
            Some(FunctionKind::Entry) => DirectivePosition::Entry,
            _ => DirectivePosition::Func,
        };
        if !directive.is_allowed_in(position) {
            return EditError::kind("directive of such a function");
        }
        check_arguments(self.module, self.module.pool(), directive, args)?;
        let args = self.module.pool_mut().extend(args);
        let new = DirectiveStmt::new(directive, args);
        let mut directives = directives_of(self.module, function)?;
        match directives.iter_mut().find(|d| d.directive == directive) {
            Some(old) => *old = new,
            None => directives.push(new),
        }
        self.write_directives(function, &directives)
    }

    /// Removes every directive of a kind from a function. Linear in the items of the module.
    ///
    /// # Errors
    ///
    /// [`EditError::Missing`] if the function has no such directive.
    pub fn remove_directive(
        &mut self,
        function: FuncId,
        directive: Directive,
    ) -> Result<(), EditError> {
        let mut directives = directives_of(self.module, function)?;
        let old_len = directives.len();
        directives.retain(|d| d.directive != directive);
        if directives.len() == old_len {
            return Err(EditError::Missing(directive.text()));
        }
        self.write_directives(function, &directives)
    }

    /// Replaces the directives of a function in its record, and patches its text where it differs.
    fn write_directives(
        &mut self,
        function: FuncId,
        directives: &[DirectiveStmt],
    ) -> Result<(), EditError> {
        let item = self
            .module
            .item_of(function)
            .ok_or(EditError::Missing("function of this id"))?;
        let (source_directives, header_end) = written_directives(self.module, item, function);
        let source_start = source_directives.first().map_or(header_end, |written| {
            with_space_before(self.module, written.span).start
        });
        let merged = merge(self.module, directives, source_directives, header_end);
        let mut patches = Vec::new();
        let lists = self.inserted_lists(item);
        for (span, mut text) in merged.patches {
            // A parameter list that is inserted at this place is part of the same patch.
            if let Some((_, list)) = lists.iter().find(|(list_span, _)| *list_span == span) {
                text.insert_str(0, list);
            }
            let text = NewText::Text(self.intern(&text));
            patches.push(Patch { span, text });
        }
        let edits = self.edits();
        if let (Some(first), Some(last)) = (patches.first(), patches.last()) {
            // The new patches replace the patches of earlier edits of directives.
            let patched_span = Span::new(first.span.start.min(source_start), last.span.end);
            edits.retain_patches(item, |p| {
                let is_outside = p.span.start < patched_span.start || p.span.end > patched_span.end;
                is_outside || lists.iter().any(|(list_span, _)| *list_span == p.span)
            });
        }
        for patch in patches {
            edits.patch(item, patch);
        }
        // The record has the directives in the order of the patched text.
        let directives = [merged.replaced, merged.added].concat();
        let table = self.module.interface_directives_mut();
        let start = table.len() as u32;
        table.extend_from_slice(&directives);
        let len = directives.len() as u32;
        let record = &mut self.module.functions_mut()[function];
        record.interface.directives = TableRange { start, len };
        if let Some(symbol) = record.symbol {
            self.symbol_changed(symbol);
        }
        Ok(())
    }
}

impl ModuleEditor<'_> {
    /// The lists of parameters that edits inserted into a header without one, with their places.
    fn inserted_lists(&self, item: ItemId) -> Vec<(Span, String)> {
        self.module
            .edits()
            .map_or(&[][..], |e| e.patches(item))
            .iter()
            .filter_map(|p| match p.text {
                NewText::Text(text) if p.span.is_empty() => {
                    let (list, _) = inserted_list(self.module.name(text));
                    (!list.is_empty()).then(|| (p.span, String::from(list)))
                }
                _ => None,
            })
            .collect()
    }
}

fn directives_of(module: &Module, function: FuncId) -> Result<Vec<DirectiveStmt>, EditError> {
    let function = module
        .functions()
        .get(function)
        .ok_or(EditError::NoStatement)?;
    if function.raw_header {
        return EditError::kind("function with a valid header");
    }
    let directives = function.interface.directives;
    Ok(directives.of(module.interface_directives()).to_vec())
}

/// The result of [`merge`].
struct MergedDirectives {
    /// The new directives that replace one of the source, in the order of the source.
    replaced: Vec<DirectiveStmt>,
    /// The new directives that are appended to the header.
    added: Vec<DirectiveStmt>,
    /// The new text of each span, in the order of the source.
    patches: Vec<(Span, String)>,
}

/// Assigns each new directive to the first unassigned directive of the same kind in the source. Directives of the source to
/// which none is assigned are removed, new ones that remain are added at `header_end`.
fn merge(
    module: &Module,
    new: &[DirectiveStmt],
    source_directives: Vec<Written>,
    header_end: u32,
) -> MergedDirectives {
    let mut added = new.to_vec();
    let mut replaced = Vec::with_capacity(added.len());
    let mut patches = Vec::new();
    for old in source_directives {
        let comments = comments_in(module, old.span);
        match added.iter().position(|d| d.directive == old.directive) {
            Some(i) => {
                let stmt = added.remove(i);
                replaced.push(stmt);
                patches.push((old.span, directive_text(module, stmt) + &comments));
            }
            None if comments.is_empty() => {
                patches.push((with_space_before(module, old.span), comments));
            }
            None => patches.push((old.span, comments)),
        }
    }
    let (insertion_offset, separator) = insertion_point(module, header_end);
    let added_text = added
        .iter()
        .map(|d| format!("{separator}{}", directive_text(module, *d)))
        .collect();
    patches.push((Span::new(insertion_offset, insertion_offset), added_text));
    MergedDirectives {
        replaced,
        added,
        patches,
    }
}

/// The directives between the parameters and the body in the source, and where the last part of the header ends.
fn written_directives(module: &Module, item: ItemId, function: FuncId) -> (Vec<Written>, u32) {
    let mut span = module.span(item);
    if let Some(body) = module.body(function) {
        span.end = body.base();
    }
    let text = span.of(module.source());
    let tokens: Vec<Token> = Lexer::fragment(text)
        .filter(|t| !t.kind.is_trivia())
        .collect();
    let mut directives: Vec<Written> = Vec::new();
    let (mut depth, mut is_after_name) = (0usize, false);
    let mut end = span.start;
    for token in &tokens {
        let word = token.span.of(text);
        let outside = depth == 0;
        match word {
            b"(" => depth += 1,
            b")" => depth = depth.saturating_sub(1),
            b"{" => break,
            // The `;` after a declaration without a body, unless it belongs to a directive such as `.pragma`.
            b";" if outside
                && directives
                    .last()
                    .is_none_or(|d| d.directive.ending() != Ending::Semicolon) =>
            {
                break;
            }
            _ => {}
        }
        is_after_name |= outside && token.kind == TokenKind::Ident;
        let token_span = token.span.shifted(span.start);
        end = token_span.end;
        match (Directive::from_text(word), directives.last_mut()) {
            (Some(directive), _) if outside && is_after_name => directives.push(Written {
                directive,
                span: token_span,
            }),
            (_, Some(last)) if outside => last.span.end = token_span.end,
            _ => {}
        }
    }
    (directives, end)
}

fn directive_text(module: &Module, stmt: DirectiveStmt) -> String {
    let mut text = String::from(stmt.directive.text());
    for (nth, arg) in module.pool().slice(stmt.args).iter().enumerate() {
        text.push_str(if nth == 0 { " " } else { ", " });
        match *arg {
            Operand::Small(n) => text += &format!("{n}"),
            Operand::Imm(id) => {
                let name = module.pool().immediate(id).map(|i| module.name(i.text));
                text += name.unwrap_or_default();
            }
            Operand::Str(name) => text += module.name(name),
            _ => {}
        }
    }
    if stmt.directive.ending() == Ending::Semicolon {
        text.push(';');
    }
    text
}

/// The comments of a piece of the source, each after a space.
fn comments_in(module: &Module, span: Span) -> String {
    let text = span.of(module.source());
    let mut comments = String::new();
    for token in Lexer::fragment(text).filter(|t| t.kind.is_trivia()) {
        if token.kind != TokenKind::Whitespace {
            let comment = token.span.of(text).trim_ascii_end();
            comments += " ";
            comments += &String::from_utf8_lossy(comment);
            if token.kind != TokenKind::BlockComment {
                comments += "\n";
            }
        }
    }
    comments
}

/// A span with the whitespace before it, up to and including a newline.
fn with_space_before(module: &Module, span: Span) -> Span {
    let source = module.source();
    let spaces = Span::new(0, span.start)
        .of(source)
        .iter()
        .rev()
        .take_while(|b| matches!(b, b' ' | b'\t'));
    let mut start = span.start - spaces.count() as u32;
    let head = Span::new(0, start).of(source);
    if head.ends_with(b"\r\n") {
        start -= 2;
    } else if head.ends_with(b"\n") {
        start -= 1;
    }
    // Without the newline, a line comment on the line before would include the text after the span.
    let previous_line = head.rsplit(|b| *b == b'\n').nth(1).unwrap_or_default();
    let is_last_of_line = source
        .get(span.end as usize..)
        .unwrap_or_default()
        .iter()
        .find(|b| !matches!(b, b' ' | b'\t' | b'\r'))
        == Some(&b'\n');
    if !is_last_of_line && previous_line.windows(2).any(|w| w == b"//") {
        return span;
    }
    Span::new(start, span.end)
}

/// The offset at which new directives are inserted, after the last token of the header, which ends at `header_end`, and the
/// comments on its line; and the separator before each of them: a newline if the brace is on a separate line.
fn insertion_point(module: &Module, header_end: u32) -> (u32, &'static str) {
    let text = module
        .source()
        .get(header_end as usize..)
        .unwrap_or_default();
    let (mut offset, mut separator) = (header_end, " ");
    for token in Lexer::fragment(text).take_while(|t| t.kind.is_trivia()) {
        let token_text = token.span.of(text);
        if token.kind != TokenKind::Whitespace {
            let trailing_space = token_text.len() - token_text.trim_ascii_end().len();
            offset = header_end + token.span.end - trailing_space as u32;
        }
        if let Some(i) = token_text.iter().position(|b| *b == b'\n')
            && token.kind != TokenKind::BlockComment
        {
            let has_carriage_return = token_text.get(..i).unwrap_or_default().ends_with(b"\r");
            separator = if has_carriage_return { "\r\n" } else { "\n" };
            break;
        }
        if token.kind == TokenKind::LineComment {
            separator = "\n";
        }
    }
    (offset, separator)
}
