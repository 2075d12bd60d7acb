//! The text of an edited module: copies of the source, and between them the texts of edited statements.

use alloc::vec::Vec;

use ptx_ir::RemovedComments;
use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::raw::trivia_map::{Extent, TriviaMap};
use ptx_ir::raw::{Change, Edits, NewText, Patch, Piece, pieces};
use ptx_ir::{
    Body, EntityId, FuncId, Item, ItemId, Module, OffsetMap, Rewritten, Span, Statement, StmtId,
};

use crate::Style;
use crate::buffer::Out;
use crate::canonical::Printer;

/// The number of statements that are searched for a neighbor whose indentation a new statement takes.
const NEIGHBORS: usize = 16;

/// Marks a new statement that began a line, and therefore ends it.
const NEW_LINE: u32 = u32::MAX;

/// The text of a module, with the correspondence between its bytes and those of the source.
pub(crate) fn print(module: &Module) -> Rewritten {
    let mut written = Vec::new();
    let mut splice = Splice::new(module, &mut written);
    splice.module();
    Rewritten::new(splice.text, splice.map)
}

/// The text of an item as it is now.
pub(crate) fn print_item(module: &Module, id: ItemId, item: Item) -> Vec<u8> {
    let mut written = Vec::new();
    let mut splice = Splice::new(module, &mut written);
    let edits = module.edits();
    let change = edits.and_then(|e| e.change(id));
    match (item, change) {
        _ if edits.is_some_and(|e| !e.was_read(id)) => splice.write_item(item),
        (Item::Function(function), _) => {
            splice.source_end = Some(module.span(id).start);
            splice.function(id, function);
        }
        (_, Some(Change::Patched(patches))) => splice.copy_patched(module.span(id), patches, None),
        _ => splice.write_item(item),
    }
    splice.text
}

/// The text of the header of a function with a change.
pub(crate) fn print_header(module: &Module, header: Span, change: &Change) -> Vec<u8> {
    let mut written = Vec::new();
    let mut splice = Splice::new(module, &mut written);
    splice.header(header, Some(change));
    splice.text
}

/// The text of a statement as it is now.
pub(crate) fn print_statement(module: &Module, body: &Body, stmt: StmtId) -> Vec<u8> {
    let mut written = Vec::new();
    let mut splice = Splice::new(module, &mut written);
    splice.printer.enter(body);
    splice.write_statement(body, stmt);
    splice.text
}

struct Splice<'m, 'o> {
    module: &'m Module,
    text: Vec<u8>,
    map: OffsetMap,
    /// The end of the copied part of the source if the text ends with one, [`NEW_LINE`] in a new statement that began a line.
    source_end: Option<u32>,
    newline: &'static [u8],
    /// Whether the source ends in a comment that extends to the end of its line.
    ends_in_comment: bool,
    /// Whether the text ends with that comment.
    in_comment: bool,
    /// Prints the statements that are not copied.
    printer: Printer<'m, 'o, Vec<u8>>,
    written: Vec<u8>,
}

impl<'m, 'o> Splice<'m, 'o> {
    fn new(module: &'m Module, written: &'o mut Vec<u8>) -> Self {
        let source = module.source();
        let newline = source.iter().position(|&b| b == b'\n');
        let has_return = newline.is_some_and(|i| i > 0 && source.get(i - 1) == Some(&b'\r'));
        Self {
            module,
            text: Vec::new(),
            map: OffsetMap::new(),
            source_end: None,
            newline: if has_return { b"\r\n" } else { b"\n" },
            ends_in_comment: ends_in_comment(module),
            in_comment: false,
            printer: Printer::new(module, &Style::default(), Out::new(written)),
            written: Vec::new(),
        }
    }

    // --- copying ---

    fn copy(&mut self, span: Span) {
        let bytes = span.of(self.module.source());
        let new = self.text.len() as u32;
        self.map.push(span.start, new, bytes.len() as u32);
        self.text.extend_from_slice(bytes);
        self.source_end = Some(span.end);
        let is_last = !bytes.is_empty() && span.end as usize == self.module.source().len();
        self.in_comment = self.ends_in_comment && is_last;
    }

    /// Ends a comment at the end of the source before other text.
    fn end_comment(&mut self) {
        if core::mem::take(&mut self.in_comment) {
            self.text.extend_from_slice(self.newline);
        }
    }

    fn begins_line(&self) -> bool {
        matches!(self.text.last(), None | Some(b'\n'))
    }

    /// Prepares for text of the source that begins at `start`, which need not follow the text so far in the source.
    fn join(&mut self, start: u32, indent: &[u8]) {
        if self.source_end == Some(start) {
            return;
        }
        self.end_comment();
        let starts_source_line = (start as usize)
            .checked_sub(1)
            .is_none_or(|preceding| self.module.source().get(preceding) == Some(&b'\n'));
        match (starts_source_line, self.begins_line()) {
            (true, false) => self.text.extend_from_slice(self.newline),
            (false, true) => self.text.extend_from_slice(indent),
            (false, false) => self.separate(),
            (true, true) => {}
        }
    }

    /// Adds a space, unless the text ends with whitespace.
    fn separate(&mut self) {
        if !matches!(self.text.last(), None | Some(b' ' | b'\t' | b'\n')) {
            self.text.push(b' ');
        }
    }

    fn line_start(&self) -> usize {
        let newline = self.text.iter().rposition(|&b| b == b'\n');
        newline.map_or(0, |i| i + 1)
    }

    /// The indentation of the current line.
    fn line_indent(&self) -> Vec<u8> {
        indentation(self.text.get(self.line_start()..).unwrap_or_default())
    }

    /// Adds the output of the printer, with the line endings of the source.
    fn add_written(&mut self) {
        self.written.clear();
        self.printer.out.take(&mut self.written);
        if self.newline == b"\n" {
            self.text.extend_from_slice(&self.written);
        } else {
            for line in self.written.split_inclusive(|&b| b == b'\n') {
                match line.strip_suffix(b"\n") {
                    Some(line) => {
                        self.text.extend_from_slice(line);
                        self.text.extend_from_slice(self.newline);
                    }
                    None => self.text.extend_from_slice(line),
                }
            }
        }
    }

    /// The comments inside a statement, before it.
    fn inner_comments(&mut self, statement: Span) {
        let indent = self.line_indent();
        for (kind, span) in comments(self.module.source(), statement) {
            let begins_line = self.line_start() + indent.len() == self.text.len();
            self.copy(span);
            if begins_line || kind != TokenKind::BlockComment {
                self.text.extend_from_slice(self.newline);
                self.text.extend_from_slice(&indent);
            } else {
                self.text.push(b' ');
            }
        }
    }

    /// Copies a part of the source with patches; `statement` is the statement that they belong to.
    fn copy_patched(
        &mut self,
        span: Span,
        patches: &[Patch],
        statement: Option<(&'m Body, StmtId)>,
    ) {
        pieces(span, patches, |piece| match piece {
            Piece::Kept(span) => self.copy(span),
            Piece::New(patch) => match (patch.text, statement) {
                (NewText::Text(text), _) => {
                    let piece_start = self.text.len();
                    self.text.extend_from_slice(self.module.name_bytes(text));
                    self.divide(piece_start, patch.span);
                }
                (part, Some((body, id))) => {
                    let piece_start = self.text.len();
                    self.printer.inst_part(body, id, part);
                    self.add_written();
                    self.divide(piece_start, patch.span);
                    self.comments_after(patch.span);
                }
                _ => {}
            },
        });
    }

    /// Adds a space before a new piece that would continue the word before it, unlike the replaced piece: the name `a` for `%r` in
    /// `mov.b32%r,1`.
    fn divide(&mut self, piece_start: usize, replaced: Span) {
        let is_word = |b: Option<&u8>| {
            b.is_some_and(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$'))
        };
        let preceding = piece_start.checked_sub(1).and_then(|i| self.text.get(i));
        let joins_words = is_word(preceding) && is_word(self.text.get(piece_start));
        if joins_words && !is_word(replaced.of(self.module.source()).first()) {
            self.text.insert(piece_start, b' ');
        }
    }

    /// Copies the comments of a replaced piece of the source after its replacement.
    fn comments_after(&mut self, span: Span) {
        for (kind, span) in comments(self.module.source(), span) {
            let is_marker = kind == TokenKind::LineMarker;
            self.text
                .extend_from_slice(if is_marker { self.newline } else { b" " });
            self.copy(span);
            if kind != TokenKind::BlockComment {
                self.text.extend_from_slice(self.newline);
            }
        }
    }

    /// Copies the remaining text of a removed statement: its comments unless they are removed too, and its line if other text is on it.
    fn removed(&mut self, mut extent: Extent, comments: RemovedComments) {
        match comments {
            RemovedComments::None => {}
            RemovedComments::All => return self.removed_with_comments(extent),
            _ => extent.has_comments = false,
        }
        let source = self.module.source();
        let has_comment =
            |span: Span| Lexer::fragment(span.of(source)).any(|t| t.kind != TokenKind::Whitespace);
        let leading_lines = extent
            .leading
            .of(source)
            .iter()
            .rposition(|&b| b == b'\n')
            .map_or(0, |i| i as u32 + 1);
        let lines = Span::new(extent.leading.start, extent.leading.start + leading_lines);
        let same_line = Span::new(lines.end, extent.leading.end);
        let ends_line = extent.trailing.of(source).ends_with(b"\n");
        self.join(extent.leading.start, b"");
        self.copy(lines);
        if has_comment(same_line) || extent.has_comments || has_comment(extent.trailing) {
            self.copy(same_line);
            if extent.has_comments {
                self.inner_comments(extent.statement);
            }
            let spaces = indentation(extent.trailing.of(source)).len() as u32;
            self.copy(Span::new(
                extent.trailing.start + spaces,
                extent.trailing.end,
            ));
            return;
        }
        match (self.begins_line(), ends_line) {
            (true, false) => self.copy(same_line),
            (false, true) => self.copy(extent.trailing),
            _ => {}
        }
        self.source_end = Some(extent.trailing.end);
    }

    /// Copies the remaining text of a statement that was removed with its comments.
    fn removed_with_comments(&mut self, extent: Extent) {
        self.join(extent.leading.start, b"");
        self.copy(Span::new(extent.leading.start, extent.attached));
        let trailing = extent.trailing.of(self.module.source());
        if !self.begins_line() && trailing.ends_with(b"\n") {
            // The line has other statements.
            let len = self.newline.len().min(trailing.len()) as u32;
            self.copy(Span::new(extent.trailing.end - len, extent.trailing.end));
        }
        self.source_end = Some(extent.trailing.end);
    }

    // --- statements ---

    /// Writes a body with its braces.
    fn body(&mut self, body: &'m Body) {
        let Some(edits) = body.edits() else {
            return self.copy(Span::new(body.base(), body.base() + body.end()));
        };
        self.printer.enter(body);
        let trivia = TriviaMap::of_body(self.module, body);
        self.copy(trivia.head());
        let mut next = edits.first();
        // The indentation of consecutive new statements: of labels, and of others.
        let mut indents = [None, None];
        while let Some(id) = next {
            let mut last = id;
            if !edits.was_read(id) {
                let statement = body.statement(id);
                if statement != Some(Statement::Removed) {
                    let kind = usize::from(!matches!(statement, Some(Statement::Label(_))));
                    let is_brace =
                        matches!(statement, Some(Statement::Open(_) | Statement::Close(_)));
                    if is_brace {
                        indents = [None, None];
                    }
                    let indent = indents[kind]
                        .get_or_insert_with(|| self.indent_of(body, edits, &trivia, id))
                        .clone();
                    self.begin_new(&indent);
                    self.write_statement(body, id);
                    self.end_new();
                    if is_brace {
                        indents = [None, None];
                    }
                }
            } else {
                indents = [None, None];
                let extent = trivia.extent(id.index());
                match edits.change(id) {
                    None => {
                        last = edits.unchanged_run(id);
                        let end = trivia.extent(last.index()).trailing.end;
                        self.join(
                            extent.leading.start,
                            trivia.indent(id.index()).unwrap_or(b"\t"),
                        );
                        self.copy(Span::new(extent.leading.start, end));
                    }
                    Some(&Change::Removed(comments)) => self.removed(extent, comments),
                    Some(_) => {
                        let indent = self.indent_of(body, edits, &trivia, id);
                        self.join(extent.leading.start, &indent);
                        self.copy(extent.leading);
                        self.write_statement(body, id);
                        self.copy(extent.trailing);
                    }
                }
            }
            next = edits.next(last);
        }
        let tail = trivia.tail();
        self.join(tail.start, b"");
        self.copy(Span::new(tail.start, body.base() + body.end()));
    }

    /// Writes a statement, which an edit may have changed or created.
    fn write_statement(&mut self, body: &'m Body, id: StmtId) {
        let edits = body.edits();
        let was_read = edits.is_none_or(|e| e.was_read(id));
        let change = edits.and_then(|e| e.change(id));
        let span = body.source_span(id);
        match change {
            Some(Change::Patched(patches)) => self.copy_patched(span, patches, Some((body, id))),
            None if was_read => self.copy(span),
            _ => {
                let has_comments = body
                    .stmt_spans()
                    .get(id.index())
                    .is_some_and(|span| span.has_comments());
                if was_read && has_comments {
                    self.inner_comments(span);
                }
                self.printer.statement(body, id);
                self.add_written();
            }
        }
    }

    fn begin_new(&mut self, indent: &[u8]) {
        self.end_comment();
        if self.begins_line() {
            self.text.extend_from_slice(indent);
            self.source_end = Some(NEW_LINE);
        } else {
            self.separate();
            self.source_end = None;
        }
    }

    fn end_new(&mut self) {
        if self.source_end == Some(NEW_LINE) {
            self.text.extend_from_slice(self.newline);
        }
        self.source_end = None;
    }

    /// The indentation for a statement: that of the nearest statement of the same kind which begins a line.
    fn indent_of(
        &self,
        body: &Body,
        edits: &Edits<StmtId>,
        trivia: &TriviaMap<'_>,
        id: StmtId,
    ) -> Vec<u8> {
        let (outermost, depth) = outermost_new_brace(body, edits, id);
        let mut indent = self.indent_near(body, edits, trivia, outermost);
        if !matches!(body.statement(id), Some(Statement::Label(_))) {
            indent.resize(indent.len() + depth, b'\t');
        }
        indent
    }

    fn indent_near(
        &self,
        body: &Body,
        edits: &Edits<StmtId>,
        trivia: &TriviaMap<'_>,
        id: StmtId,
    ) -> Vec<u8> {
        let statement = |id: StmtId| body.statement(id).unwrap_or(Statement::Removed);
        let is_label = matches!(statement(id), Statement::Label(_));
        // The first parsed neighbor of the same kind in one direction. Only labels look across braces.
        let neighbor_indent = |next: &dyn Fn(StmtId) -> Option<StmtId>| {
            core::iter::successors(next(id), |&id| next(id))
                .take(NEIGHBORS)
                .map(|id| (id, statement(id)))
                .take_while(|(_, s)| {
                    is_label || !matches!(s, Statement::Open(_) | Statement::Close(_))
                })
                .filter(|(id, s)| {
                    let is_same_kind = match s {
                        Statement::Label(_) => is_label,
                        Statement::Open(_) | Statement::Close(_) | Statement::Removed => false,
                        _ => !is_label,
                    };
                    is_same_kind && edits.was_read(*id)
                })
                .find_map(|(id, _)| trivia.indent(id.index()).map(<[u8]>::to_vec))
        };
        neighbor_indent(&|id| edits.previous(id))
            .or_else(|| neighbor_indent(&|id| edits.next(id)))
            .unwrap_or_else(|| {
                let mut indent = self.brace_indent(body);
                if !is_label {
                    indent.push(b'\t');
                }
                indent
            })
    }

    /// The indentation of the line of the `}` of a body.
    fn brace_indent(&self, body: &Body) -> Vec<u8> {
        let brace = (body.base() + body.end()).saturating_sub(1);
        let preceding = Span::new(0, brace).of(self.module.source());
        let line_start = preceding
            .iter()
            .rposition(|&b| b == b'\n')
            .map_or(0, |i| i + 1);
        indentation(preceding.get(line_start..).unwrap_or_default())
    }

    // --- items ---

    fn module(&mut self) {
        let module = self.module;
        let trivia = TriviaMap::of_module(module);
        // The items of functions with edited bodies.
        let edited_functions: Vec<usize> = module
            .item_table()
            .iter()
            .filter(|(_, item)| match item {
                Item::Function(f) => module.body(*f).is_some_and(|b| b.edits().is_some()),
                _ => false,
            })
            .map(|(id, _)| id.index())
            .collect();
        self.text
            .reserve(module.source().len() + module.source().len() / 16);
        self.copy(trivia.head());
        let no_edits = Edits::<ItemId>::new(module.item_table().len());
        let edits = module.edits().unwrap_or(&no_edits);
        let mut next = edits.first();
        while let Some(id) = next {
            let mut last = id;
            let item = module.item(id).unwrap_or(Item::Removed);
            if !edits.was_read(id) {
                if item != Item::Removed {
                    self.begin_new(b"");
                    self.write_item(item);
                    self.end_new();
                }
            } else {
                let extent = trivia.extent(id.index());
                let change = edits.change(id);
                let edited_function = edited_functions.binary_search(&id.index());
                if let Some(&Change::Removed(comments)) = change {
                    self.removed(extent, comments);
                } else if let Item::Function(f) = item
                    && (edited_function.is_ok() || change.is_some())
                {
                    self.join(extent.leading.start, b"");
                    self.copy(extent.leading);
                    self.function(id, f);
                    self.copy(extent.trailing);
                } else if let Some(change) = change {
                    self.join(extent.leading.start, b"");
                    self.copy(extent.leading);
                    match change {
                        Change::Patched(patches) => {
                            self.copy_patched(extent.statement, patches, None)
                        }
                        _ => {
                            if extent.has_comments {
                                self.inner_comments(extent.statement);
                            }
                            self.write_item(item);
                        }
                    }
                    self.copy(extent.trailing);
                } else {
                    let run_end = edits.unchanged_run(id).index();
                    let next_edited = edited_function
                        .err()
                        .and_then(|index| edited_functions.get(index));
                    let last_index = next_edited.map_or(run_end, |&e| run_end.min(e - 1));
                    last = ItemId::from_index(last_index);
                    let end = trivia.extent(last_index).trailing.end;
                    self.join(extent.leading.start, b"");
                    self.copy(Span::new(extent.leading.start, end));
                }
            }
            next = edits.next(last);
        }
        let tail = trivia.tail();
        self.join(tail.start, b"");
        self.copy(tail);
    }

    /// Prints an item from its record.
    fn write_item(&mut self, item: Item) {
        self.printer.new_item(item);
        self.add_written();
    }

    /// Copies the header of a parsed function, with its patches.
    fn header(&mut self, header: Span, change: Option<&Change>) {
        match change {
            Some(Change::Patched(patches)) => self.copy_patched(header, patches, None),
            _ => self.copy(header),
        }
    }

    /// Writes a parsed function.
    fn function(&mut self, item: ItemId, function: FuncId) {
        let span = self.module.span(item);
        let body = self.module.body(function);
        let end = body.map_or(span.end, |b| b.base());
        let header = Span::new(span.start, end);
        self.header(header, self.module.edits().and_then(|e| e.change(item)));
        if let Some(body) = body {
            self.body(body);
            self.copy(Span::new(body.base() + body.end(), span.end));
        }
    }
}

/// The kinds and spans of the comments and line markers in a part of a source, without whitespace at their ends.
fn comments(source: &[u8], part: Span) -> impl Iterator<Item = (TokenKind, Span)> {
    let text = part.of(source);
    Lexer::fragment(text)
        .filter(|t| t.kind.is_trivia() && t.kind != TokenKind::Whitespace)
        .map(move |token| {
            let start = part.start + token.span.start;
            let len = token.span.of(text).trim_ascii_end().len() as u32;
            (token.kind, Span::new(start, start + len))
        })
}

/// The spaces and tabs at the start of a line.
fn indentation(line: &[u8]) -> Vec<u8> {
    line.iter()
        .take_while(|b| matches!(b, b' ' | b'\t'))
        .copied()
        .collect()
}

/// Whether the last token of the source of a module is a comment that extends to the end of its line.
fn ends_in_comment(module: &Module) -> bool {
    let source = module.source();
    if matches!(source.last(), None | Some(b'\n')) {
        return false;
    }
    let ends = module
        .item_table()
        .iter()
        .map(|(id, _)| module.span(id).end);
    let start = ends.max().unwrap_or(0) as usize;
    let last = Lexer::fragment(source.get(start..).unwrap_or_default()).last();
    let kind = last.map(|token| token.kind);
    matches!(kind, Some(TokenKind::LineComment | TokenKind::LineMarker))
}

/// The outermost new `{` around a new statement, and the number of new `{` around it; the statement itself if there is none. A `}`
/// is treated like its `{`.
fn outermost_new_brace(body: &Body, edits: &Edits<StmtId>, id: StmtId) -> (StmtId, usize) {
    let (mut outer, mut depth) = (id, 0);
    let mut enclosing = body.scope_around(id);
    if let Some(Statement::Close(scope)) = body.statement(id)
        && let Some(scope) = body.scope(scope)
    {
        (outer, enclosing) = (scope.open, scope.parent);
    }
    while let Some(scope) = body.scope(enclosing).filter(|s| !edits.was_read(s.open)) {
        (outer, enclosing) = (scope.open, scope.parent);
        depth += 1;
    }
    (outer, depth)
}
