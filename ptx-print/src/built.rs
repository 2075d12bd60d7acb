//! Bodies and modules that are in no source: each statement and item is printed from its record, between its comments.

use ptx_ir::raw::{Change, Edits};
use ptx_ir::{Body, CommentPlace, Comments, EntityId, Item, RemovedComments, Statement};

use crate::canonical::{Printer, level};
use crate::sink::Sink;

/// Whether an edit removed the comments of a statement or item together with it.
fn are_comments_removed<K: EntityId>(edits: Option<&Edits<K>>, id: K) -> bool {
    let change = edits.and_then(|e| e.change(id));
    matches!(change, Some(Change::Removed(RemovedComments::All)))
}

impl<'m, S: Sink> Printer<'m, '_, S> {
    pub(crate) fn built_body(&mut self, body: &'m Body) {
        self.out.text(b"{\n");
        let comments = body.comments();
        let mut depth = 0;
        for (id, statement) in body.all_statements() {
            if statement == Statement::Removed {
                if !are_comments_removed(body.edits(), id) {
                    self.comments_alone(comments, id, depth + 1);
                }
                continue;
            }
            let level = level(statement, &mut depth);
            self.comment_lines(comments, Some(id), CommentPlace::Above, depth + 1);
            self.indent(level);
            self.statement_of(body, id, statement);
            self.end_line(comments, id);
            depth += usize::from(matches!(statement, Statement::Open(_)));
        }
        self.comment_lines(comments, None, CommentPlace::Above, 1);
        self.out.byte(b'}');
    }

    pub(crate) fn built_module(&mut self) {
        let module = self.module;
        let comments = module.comments();
        for (id, item) in module.all_items() {
            if item == Item::Removed {
                if !are_comments_removed(module.edits(), id) {
                    self.comments_alone(comments, id, 0);
                }
                continue;
            }
            self.comment_lines(comments, Some(id), CommentPlace::Above, 0);
            self.new_item(item);
            self.end_line(comments, id);
        }
        self.comment_lines(comments, None, CommentPlace::Above, 0);
    }

    /// The comments at a place, each on a separate line.
    #[inline(always)]
    fn comment_lines<K: EntityId>(
        &mut self,
        comments: &Comments<K>,
        id: Option<K>,
        place: CommentPlace,
        level: usize,
    ) {
        if !comments.is_empty() {
            self.comments_at(comments, id, place, level);
        }
    }

    #[inline(never)]
    fn comments_at<K: EntityId>(
        &mut self,
        comments: &Comments<K>,
        id: Option<K>,
        place: CommentPlace,
        level: usize,
    ) {
        for text in comments.at(id, place) {
            self.indent(level);
            self.out.text(text.as_bytes());
            self.out.byte(b'\n');
        }
    }

    /// The comments of a statement or item that was removed.
    fn comments_alone<K: EntityId>(&mut self, comments: &Comments<K>, id: K, level: usize) {
        self.comment_lines(comments, Some(id), CommentPlace::Above, level);
        self.comment_lines(comments, Some(id), CommentPlace::EndOfLine, level);
    }

    /// The end of the line of a statement or item, with its comments.
    #[inline(always)]
    fn end_line<K: EntityId>(&mut self, comments: &Comments<K>, id: K) {
        if !comments.is_empty() {
            for text in comments.at(Some(id), CommentPlace::EndOfLine) {
                self.out.byte(b' ');
                self.out.text(text.as_bytes());
            }
        }
        self.out.byte(b'\n');
    }
}
