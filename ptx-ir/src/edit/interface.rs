//! What stands around the name of a function or variable: its linkage, and the directives before the body.

use alloc::string::String;
use alloc::vec::Vec;

use ptx_isa::{Directive, DirectivePosition, Ending};

use super::EditError;
use super::edit_log::Patch;
use crate::decl::{Linkage, TableRange};
use crate::function::{DirectiveStmt, FunctionKind};
use crate::lex::{Lexer, Token, TokenKind};
use crate::operand::Operand;
use crate::{FuncId, Item, ItemId, Module, NameId, Span};

/// A directive where the source has it.
struct Written {
    directive: Directive,
    /// From its dot to its last argument or `;`.
    span: Span,
}

impl Module {
    /// Gives a function a directive such as `.maxntid` or `.pragma`, or the one it has other arguments: see [`DirectiveStmt`].
    /// Linear in the items of the module.
    ///
    /// ```
    /// use ptx_ir::Operand;
    /// use ptx_isa::Directive;
    /// let text = b".version 8.0 .target sm_80\n.entry k()\n.maxntid 128 // a warp of warps\n{ ret; }";
    /// let mut module = ptx_parse::parse(text).module;
    /// let k = module.function("k").expect("it is there");
    /// module.set_directive(k, Directive::Maxntid, &[Operand::Small(256)])?;
    /// module.set_directive(k, Directive::Minnctapersm, &[Operand::Small(2)])?;
    /// let now = String::from_utf8(ptx_print::verbatim(&module))?;
    /// assert!(now.ends_with(".maxntid 256 // a warp of warps\n.minnctapersm 2\n{ ret; }"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_directive(
        &mut self,
        function: FuncId,
        directive: Directive,
        args: &[Operand],
    ) -> Result<(), EditError> {
        let place = match self.functions.get(function).map(|f| f.kind) {
            Some(FunctionKind::Entry) => DirectivePosition::Entry,
            _ => DirectivePosition::Func,
        };
        if !directive.is_allowed_in(place) {
            let wanted = "directive of such a function";
            return Err(EditError::Kind { wanted });
        }
        self.are_arguments(&self.pool, directive, args)?;
        let new = DirectiveStmt {
            directive,
            args: self.pool.extend(args),
        };
        let mut all = self.directives_of(function)?;
        match all.iter_mut().find(|d| d.directive == directive) {
            Some(old) => *old = new,
            None => all.push(new),
        }
        self.write_directives(function, &all)
    }

    /// Takes every directive of this kind away from a function. Linear in the items of the module.
    pub fn remove_directive(
        &mut self,
        function: FuncId,
        directive: Directive,
    ) -> Result<(), EditError> {
        let mut all = self.directives_of(function)?;
        let before = all.len();
        all.retain(|d| d.directive != directive);
        if all.len() == before {
            return Err(EditError::Missing(directive.text()));
        }
        self.write_directives(function, &all)
    }

    /// Gives a function or variable of the module another linkage, or takes it away. Other declarations of a function keep theirs; a
    /// variable has to be declared but once. Linear in the items of the module.
    pub fn set_linkage(&mut self, id: ItemId, linkage: Option<Linkage>) -> Result<(), EditError> {
        let wanted = "function or variable";
        if let Some(&item @ Item::Decl(_)) = self.items.get(id) {
            let names = self.declared_by(item);
            let mut others = self.items().filter(|(other, _)| *other != id);
            let again = |i: Item| self.declared_by(i).into_iter().find(|s| names.contains(s));
            // Whether a variable may be declared twice depends on both linkages.
            if let Some(symbol) = others.find_map(|(_, i)| again(i)) {
                let name = self.symbols.get(symbol).map(|s| self.name(s.name));
                return Err(EditError::Taken(String::from(name.unwrap_or_default())));
            }
        }
        let was_read = self.edits().is_none_or(|e| e.was_read(id));
        let (old, raw) = match self.items.get(id) {
            Some(&Item::Function(f)) => {
                let function = self.functions.get(f).ok_or(EditError::NoStatement)?;
                (function.linkage, function.raw_header)
            }
            Some(&Item::Decl(d)) => {
                let decl = self.declarations.decls.get(d);
                (decl.ok_or(EditError::NoStatement)?.linkage, false)
            }
            _ => return Err(EditError::Kind { wanted }),
        };
        if raw {
            return Err(EditError::Kind { wanted });
        }
        if old == linkage {
            return Ok(());
        }
        if was_read {
            let span = self.span(id);
            let text = span.of(self.source());
            let written = Lexer::fragment(text).find(|t| {
                Directive::from_text(t.span.of(text))
                    .and_then(Linkage::from_directive)
                    .is_some()
            });
            // Without one in the source, it stands before everything else.
            let at = written.map_or(Span::new(span.start, span.start), |t| {
                let rest = text.get(t.span.end as usize..).unwrap_or_default();
                let blank = rest.first().is_some_and(|b| matches!(b, b' ' | b'\t'));
                Span::new(t.span.start, t.span.end + u32::from(blank)).shifted(span.start)
            });
            let new = linkage.map_or(String::new(), |l| {
                alloc::format!("{} ", l.directive().text())
            });
            let text = NameId::new(self.names.intern(new.as_bytes()).0);
            self.item_edits().patch(id, Patch { span: at, text });
        } else {
            self.item_edits();
        }
        match self.items.get(id) {
            Some(&Item::Function(f)) => self.functions[f].linkage = linkage,
            Some(&Item::Decl(d)) => self.declarations.decls[d].linkage = linkage,
            _ => {}
        }
        for symbol in self
            .items
            .get(id)
            .map_or(Vec::new(), |i| self.declared_by(*i))
        {
            self.symbol_revisions.insert(symbol, self.revision);
        }
        Ok(())
    }

    fn directives_of(&self, function: FuncId) -> Result<Vec<DirectiveStmt>, EditError> {
        let function = self.functions.get(function).ok_or(EditError::NoStatement)?;
        if function.raw_header {
            let wanted = "function whose header was understood";
            return Err(EditError::Kind { wanted });
        }
        let all = function.interface.directives.of(&self.interface_directives);
        Ok(all.to_vec())
    }

    /// Writes the directives of a function into its record, and into its text what the source has otherwise.
    fn write_directives(
        &mut self,
        function: FuncId,
        all: &[DirectiveStmt],
    ) -> Result<(), EditError> {
        let mut items = self.items();
        let item = items.find(|(_, i)| *i == Item::Function(function));
        let item = item.ok_or(EditError::Missing("function of this id"))?.0;
        let mut patches = Vec::new();
        let (written, end) = self.written_directives(item, function);
        let first = written.first().map(|w| self.with_blanks(w.span).start);
        let start = first.unwrap_or(end);
        let mut rest = all.to_vec();
        // In the order of the text.
        let mut all = Vec::with_capacity(rest.len());
        for old in written {
            // Of several of a kind the first stands for the first.
            let comments = self.comments_in(old.span);
            match rest.iter().position(|d| d.directive == old.directive) {
                Some(i) => {
                    let stmt = rest.remove(i);
                    all.push(stmt);
                    patches.push((old.span, self.directive_text(stmt) + &comments));
                }
                None if comments.is_empty() => {
                    patches.push((self.with_blanks(old.span), comments));
                }
                None => patches.push((old.span, comments)),
            }
        }
        let (end, line) = self.behind_header(end);
        let new = rest.iter().map(|d| {
            let text = self.directive_text(*d);
            alloc::format!("{line}{text}")
        });
        patches.push((Span::new(end, end), new.collect()));
        let patches: Vec<Patch> = patches
            .into_iter()
            .map(|(span, text)| Patch {
                span,
                text: NameId::new(self.names.intern(text.as_bytes()).0),
            })
            .collect();
        let edits = self.item_edits();
        if let (Some(first), Some(last)) = (patches.first(), patches.last()) {
            // Those of an earlier edit.
            edits.unpatch(item, Span::new(first.span.start.min(start), last.span.end));
        }
        for patch in patches {
            edits.patch(item, patch);
        }
        let start = self.interface_directives.len() as u32;
        all.extend_from_slice(&rest);
        self.interface_directives.extend_from_slice(&all);
        let len = all.len() as u32;
        let record = &mut self.functions[function];
        record.interface.directives = TableRange { start, len };
        if let Some(symbol) = record.symbol {
            self.symbol_revisions.insert(symbol, self.revision);
        }
        Ok(())
    }

    /// The directives between the parameters and the body of the source, and where the last part of the header ends.
    fn written_directives(&self, item: ItemId, function: FuncId) -> (Vec<Written>, u32) {
        let mut span = self.span(item);
        if let Some(body) = self.body(function) {
            span.end = body.base;
        }
        let text = span.of(self.source());
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
            let own = depth == 0;
            match word {
                b"(" => depth += 1,
                b")" => depth = depth.saturating_sub(1),
                b"{" => break,
                // The end of a declaration.
                b";" if own && ends(all.last()) => {
                    break;
                }
                _ => {}
            }
            named |= own && token.kind == TokenKind::Ident;
            let at = token.span.shifted(span.start);
            end = at.end;
            match (Directive::from_text(word), all.last_mut()) {
                (Some(directive), _) if own && named => all.push(Written {
                    directive,
                    span: at,
                }),
                (_, Some(last)) if own => last.span.end = at.end,
                _ => {}
            }
        }
        (all, end)
    }

    fn directive_text(&self, stmt: DirectiveStmt) -> String {
        let mut text = String::from(stmt.directive.text());
        for (nth, arg) in self.pool.slice(stmt.args).iter().enumerate() {
            text.push_str(if nth == 0 { " " } else { ", " });
            match *arg {
                Operand::Small(n) => text += &alloc::format!("{n}"),
                Operand::Imm(id) => {
                    let name = self.pool.immediate(id).map(|i| self.name(i.text));
                    text += name.unwrap_or_default();
                }
                Operand::Str(name) => text += self.name(name),
                _ => {}
            }
        }
        if stmt.directive.ending() == Ending::Semicolon {
            text.push(';');
        }
        text
    }

    /// The comments of a piece of the source, a blank before each.
    fn comments_in(&self, span: Span) -> String {
        let text = span.of(self.source());
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

    /// A span with the blanks before it, up to and with a newline.
    fn with_blanks(&self, span: Span) -> Span {
        let before = Span::new(0, span.start).of(self.source());
        let blanks = before
            .iter()
            .rev()
            .take_while(|b| matches!(b, b' ' | b'\t'));
        let mut start = span.start - blanks.count() as u32;
        let head = Span::new(0, start).of(self.source());
        if head.ends_with(b"\r\n") {
            start -= 2;
        } else if head.ends_with(b"\n") {
            start -= 1;
        }
        // A comment before it would swallow what follows.
        let line = head.rsplit(|b| *b == b'\n').nth(1).unwrap_or_default();
        let rest = self.source().get(span.end as usize..).unwrap_or_default();
        let mut rest = rest
            .iter()
            .skip_while(|b| matches!(b, b' ' | b'\t' | b'\r'));
        let alone = rest.next() == Some(&b'\n');
        if !alone && line.windows(2).any(|w| w == b"//") {
            return span;
        }
        Span::new(start, span.end)
    }

    /// Where new directives go behind the header's last token, its comments on the same line too, and what each begins with:
    /// a new line where the brace has one of its own.
    fn behind_header(&self, end: u32) -> (u32, &'static str) {
        let rest = self.source().get(end as usize..).unwrap_or_default();
        let newline = |text: &[u8]| match text {
            [.., b'\r', b'\n'] => "\r\n",
            _ => "\n",
        };
        let (mut at, mut line) = (end, " ");
        for token in Lexer::fragment(rest).take_while(|t| t.kind.is_trivia()) {
            let text = token.span.of(rest);
            if token.kind != TokenKind::Whitespace {
                let lost = text.len() - text.trim_ascii_end().len();
                at = end + token.span.end - lost as u32;
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
}
