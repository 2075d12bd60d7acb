//! The directives of a function between its parameters and its body, such as `.maxntid`.

use alloc::string::String;
use alloc::vec::Vec;

use ptx_ir::lex::{Lexer, Token, TokenKind};
use ptx_ir::raw::{NewText, Patch, RawModule};
use ptx_ir::{DirectiveStmt, FuncId, FunctionKind, ItemId, Module, Operand, Span, TableRange};
use ptx_isa::{Directive, DirectivePosition, Ending};

use crate::operand_grammar::check_arguments;
use crate::signature::inserted_list;
use crate::{EditError, ModuleEditor};

/// A directive in the source.
struct Written {
    directive: Directive,
    /// From its dot to its last argument or `;`.
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
        let mut all = directives_of(self.module, function)?;
        match all.iter_mut().find(|d| d.directive == directive) {
            Some(old) => *old = new,
            None => all.push(new),
        }
        self.write_directives(function, &all)
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
        let mut all = directives_of(self.module, function)?;
        let before = all.len();
        all.retain(|d| d.directive != directive);
        if all.len() == before {
            return Err(EditError::Missing(directive.text()));
        }
        self.write_directives(function, &all)
    }

    /// Replaces the directives of a function in its record, and patches its text where it differs.
    fn write_directives(
        &mut self,
        function: FuncId,
        all: &[DirectiveStmt],
    ) -> Result<(), EditError> {
        let item = self.module.item_of(function);
        let item = item.ok_or(EditError::Missing("function of this id"))?;
        let (written, end) = written_directives(self.module, item, function);
        let first = written.first();
        let start = first.map_or(end, |w| with_space_before(self.module, w.span).start);
        // In the order of the text.
        let (mut all, rest, patches) = merge(self.module, all, written, end);
        let mut interned = Vec::new();
        let lists = self.inserted_lists(item);
        for (span, mut text) in patches {
            // A list at this place is part of the same patch.
            if let Some((_, list)) = lists.iter().find(|(at, _)| *at == span) {
                text.insert_str(0, list);
            }
            let text = NewText::Text(self.intern(&text));
            interned.push(Patch { span, text });
        }
        let edits = self.edits();
        if let (Some(first), Some(last)) = (interned.first(), interned.last()) {
            // Those of an earlier edit.
            let part = Span::new(first.span.start.min(start), last.span.end);
            let is_list = |p: &Patch| lists.iter().any(|(at, _)| *at == p.span);
            let outside = |p: &Patch| p.span.start < part.start || p.span.end > part.end;
            edits.retain_patches(item, |p| outside(p) || is_list(p));
        }
        for patch in interned {
            edits.patch(item, patch);
        }
        all.extend_from_slice(&rest);
        let table = self.module.interface_directives_mut();
        let start = table.len() as u32;
        table.extend_from_slice(&all);
        let len = all.len() as u32;
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
        let patches = self.module.edits().map_or(&[][..], |e| e.patches(item));
        let lists = patches.iter().filter_map(|p| match p.text {
            NewText::Text(text) if p.span.is_empty() => {
                let (list, _) = inserted_list(self.module.name(text));
                (!list.is_empty()).then(|| (p.span, String::from(list)))
            }
            _ => None,
        });
        lists.collect()
    }
}

fn directives_of(module: &Module, function: FuncId) -> Result<Vec<DirectiveStmt>, EditError> {
    let function = module.functions().get(function);
    let function = function.ok_or(EditError::NoStatement)?;
    if function.raw_header {
        return EditError::kind("function with a valid header");
    }
    let all = function
        .interface
        .directives
        .of(module.interface_directives());
    Ok(all.to_vec())
}

/// Assigns new directives to those in the source, of several of a kind the first to the first. Gives the assigned ones, the
/// others, and the patches.
fn merge(
    module: &Module,
    new: &[DirectiveStmt],
    written: Vec<Written>,
    end: u32,
) -> (Vec<DirectiveStmt>, Vec<DirectiveStmt>, Vec<(Span, String)>) {
    let mut rest = new.to_vec();
    let mut all = Vec::with_capacity(rest.len());
    let mut patches = Vec::new();
    for old in written {
        let comments = comments_in(module, old.span);
        match rest.iter().position(|d| d.directive == old.directive) {
            Some(i) => {
                let stmt = rest.remove(i);
                all.push(stmt);
                patches.push((old.span, directive_text(module, stmt) + &comments));
            }
            None if comments.is_empty() => {
                patches.push((with_space_before(module, old.span), comments));
            }
            None => patches.push((old.span, comments)),
        }
    }
    let (end, line) = after_header(module, end);
    let added = rest.iter().map(|d| {
        let text = directive_text(module, *d);
        format!("{line}{text}")
    });
    patches.push((Span::new(end, end), added.collect()));
    (all, rest, patches)
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
    let mut all: Vec<Written> = Vec::new();
    let (mut depth, mut named) = (0usize, false);
    let ends =
        |last: Option<&Written>| last.is_none_or(|w| w.directive.ending() != Ending::Semicolon);
    let mut end = span.start;
    for token in &tokens {
        let word = token.span.of(text);
        let outside = depth == 0;
        match word {
            b"(" => depth += 1,
            b")" => depth = depth.saturating_sub(1),
            b"{" => break,
            // The end of a declaration.
            b";" if outside && ends(all.last()) => {
                break;
            }
            _ => {}
        }
        named |= outside && token.kind == TokenKind::Ident;
        let at = token.span.shifted(span.start);
        end = at.end;
        match (Directive::from_text(word), all.last_mut()) {
            (Some(directive), _) if outside && named => all.push(Written {
                directive,
                span: at,
            }),
            (_, Some(last)) if outside => last.span.end = at.end,
            _ => {}
        }
    }
    (all, end)
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
    let before = Span::new(0, span.start).of(source);
    let spaces = before
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
    // Without the newline, a line comment before it would include what follows.
    let line = head.rsplit(|b| *b == b'\n').nth(1).unwrap_or_default();
    let rest = source.get(span.end as usize..).unwrap_or_default();
    let mut rest = rest
        .iter()
        .skip_while(|b| matches!(b, b' ' | b'\t' | b'\r'));
    let alone = rest.next() == Some(&b'\n');
    if !alone && line.windows(2).any(|w| w == b"//") {
        return span;
    }
    Span::new(start, span.end)
}

/// The place of new directives after the last token of the header, which ends at `end`, and the comments on its line;
/// and what precedes each: a newline if the brace is on a separate line.
fn after_header(module: &Module, end: u32) -> (u32, &'static str) {
    let rest = module.source().get(end as usize..).unwrap_or_default();
    let newline = |text: &[u8]| match text {
        [.., b'\r', b'\n'] => "\r\n",
        _ => "\n",
    };
    let (mut at, mut line) = (end, " ");
    for token in Lexer::fragment(rest).take_while(|t| t.kind.is_trivia()) {
        let text = token.span.of(rest);
        if token.kind != TokenKind::Whitespace {
            let trimmed = text.len() - text.trim_ascii_end().len();
            at = end + token.span.end - trimmed as u32;
        }
        if let Some(i) = text.iter().position(|b| *b == b'\n')
            && token.kind != TokenKind::BlockComment
        {
            line = newline(text.get(..=i).unwrap_or_default());
            break;
        }
        if token.kind == TokenKind::LineComment {
            line = "\n";
        }
    }
    (at, line)
}
