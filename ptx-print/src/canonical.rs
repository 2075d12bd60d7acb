//! Statements in the canonical style.

use alloc::vec::Vec;
use ptx_ir::raw::{Change, NewText, scan};
use ptx_ir::{
    Attribute, Binding, Body, DeclId, Declarations, Declarator, DirectiveStmt, EntityId, FuncId,
    Function, FunctionKind, Guard, Interface, Item, Linkage, Module, NameId, Operand, OperandPool,
    Param, Section, SectionEntry, SigId, Span, Statement, StmtId, TableRange, TypeName, VarDecl,
};
use ptx_isa::Directive;
use ptx_isa::internals::Ending;

use crate::buffer::Out;
use crate::operand::TableViews;
use crate::sink::Sink;
use crate::trivia::Preceding;
use crate::{Indent, Style};

/// Indentation grows up to here, so that deep nesting does not grow the text with its square.
const DEEPEST: usize = 32;

/// The first gap of a file without its byte order mark, which is dropped.
pub(crate) fn without_mark(gap: &[u8]) -> &[u8] {
    gap.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(gap)
}

/// The indentation of a statement; `}` ends a level.
#[inline(always)]
pub(crate) fn level(statement: Statement, depth: &mut usize) -> usize {
    match statement {
        Statement::Label(_) => *depth,
        Statement::Close(_) => {
            *depth = depth.saturating_sub(1);
            *depth + 1
        }
        _ => *depth + 1,
    }
}

/// The layout of a list of parameters.
#[derive(Copy, Clone, PartialEq, Eq)]
enum ParamLayout {
    OneLine,
    /// Each parameter on a separate line.
    LineEach,
}

pub(crate) struct Printer<'m, 'o, S: Sink> {
    pub(crate) module: &'m Module,
    style: Style,
    pub(crate) out: Out<'o, S>,
    /// Mnemonics in canonical order, one after the other, padded.
    mnemonics: Vec<u8>,
    /// The position of the mnemonic of each signature in `mnemonics`; length 0 before first use.
    places: Vec<(u32, u32)>,
    pub(crate) tables: TableViews<'m>,
    /// The change of the text of the current item by edits.
    pub(crate) change: Option<&'m Change>,
    /// Operands waiting to be printed; nesting needs memory, not stack.
    pub(crate) worklist: Vec<crate::operand::Pending>,
}

impl<'m, 'o, S: Sink> Printer<'m, 'o, S> {
    pub(crate) fn new(module: &'m Module, style: &Style, out: Out<'o, S>) -> Self {
        Self {
            module,
            style: *style,
            out,
            mnemonics: Vec::new(),
            places: vec![(0, 0); module.signatures().len()],
            tables: TableViews::default(),
            change: None,
            worklist: Vec::new(),
        }
    }

    pub(crate) fn finish(self) -> Result<(), S::Error> {
        self.out.finish()
    }

    pub(crate) fn module(&mut self) {
        if !self.module.has_source() {
            return self.built_module();
        }
        if let Some(edits) = self.module.edits() {
            return self.edited_module(edits);
        }
        let preceding = |last| match last {
            0 => Preceding::Start,
            _ => Preceding::Statement,
        };
        let source = self.module.source();
        let mut last = 0;
        for (id, item) in self.module.items() {
            let span = self.module.span(id);
            let text = Span::new(last, span.start).of(source);
            let gap = if last == 0 { without_mark(text) } else { text };
            self.gap(gap, preceding(last), 0);
            if self
                .module
                .item_spans()
                .get(id.index())
                .is_some_and(|o| o.has_comments())
            {
                let end = match item {
                    Item::Function(f) => self.module.body(f).map_or(span.end, |b| b.base()),
                    _ => span.end,
                };
                self.inner_comments(Span::new(span.start, end).of(source), 0);
            }
            self.item(item, span);
            last = span.end;
        }
        let text = Span::new(last, source.len() as u32).of(source);
        let gap = if last == 0 { without_mark(text) } else { text };
        self.end_gap(gap, preceding(last), 0);
    }

    /// The last gap of a file or a body: no blank line at its end.
    pub(crate) fn end_gap(&mut self, gap: &[u8], preceding: Preceding, level: usize) {
        let trailing_spaces = gap
            .iter()
            .rev()
            .take_while(|b| scan::is(**b, scan::class::WHITESPACE))
            .count();
        // The first newline belongs to the preceding statement.
        self.gap(&gap[..gap.len() - trailing_spaces], preceding, level);
    }

    /// An item other than a function.
    pub(crate) fn new_item(&mut self, item: Item) {
        self.item(item, Span::default());
    }

    pub(crate) fn item(&mut self, item: Item, span: Span) {
        let m = self.module;
        match item {
            Item::Directive(id) => self.directive(m.pool(), None, m.directives()[id]),
            Item::Decl(id) => self.declaration(m.pool(), None, m.declarations(), id),
            Item::Function(id) => self.function(id, span),
            Item::Section(id) => self.section(&m.sections()[id]),
            _ => self.out.text(&m.patched_text(span, self.change)),
        }
    }

    #[inline(always)]
    pub(crate) fn indent(&mut self, level: usize) {
        for _ in 0..level.min(DEEPEST) {
            match self.style.indent {
                Indent::Tab => self.out.byte(b'\t'),
                Indent::Spaces(n) => (0..n).for_each(|_| self.out.byte(b' ')),
            }
        }
    }

    #[inline]
    pub(crate) fn name(&mut self, id: NameId) {
        self.out.text(self.module.name_bytes(id));
    }

    fn word(&mut self, word: &str) {
        self.out.text(word.as_bytes());
    }

    // --- functions ---

    pub(crate) fn function(&mut self, id: FuncId, span: Span) {
        let f = &self.module.functions()[id];
        let body = self.module.body(id);
        if f.raw_header {
            let end = body.map_or(span.end, |b| b.base());
            let header_span = Span::new(span.start, end);
            let text = self.module.patched_text(header_span, self.change);
            let header = text.trim_ascii_end();
            self.out.text(header);
            if body.is_some() && !header.is_empty() {
                self.out.byte(b'\n');
            }
        } else {
            self.header(f);
            match body {
                None => self.out.byte(b';'),
                Some(_) => self.out.byte(b'\n'),
            }
        }
        if let Some(body) = body {
            self.body(body);
        }
    }

    /// The header of a function that is in no source.
    pub(crate) fn function_header(&mut self, id: FuncId) {
        if let Some(function) = self.module.functions().get(id) {
            self.header(function);
        }
    }

    /// Everything before the body, on one line for each parameter and directive.
    fn header(&mut self, f: &Function) {
        self.linkage(f.linkage);
        self.word(match f.kind {
            FunctionKind::Entry => Directive::Entry.text(),
            FunctionKind::Func => Directive::Func.text(),
        });
        self.out.byte(b' ');
        let attributes = f.attributes.of(self.module.declarations().attributes());
        self.attributes(self.module.pool(), attributes);
        if f.interface.has_returns {
            self.params(f.interface.returns, ParamLayout::OneLine);
            self.out.byte(b' ');
        }
        self.name(f.name);
        self.params_and_directives(&f.interface);
    }

    fn params_and_directives(&mut self, interface: &Interface) {
        if interface.has_params {
            let layout = match interface.params.len {
                0 => ParamLayout::OneLine,
                _ => ParamLayout::LineEach,
            };
            self.params(interface.params, layout);
        }
        for d in interface.directives.of(self.module.interface_directives()) {
            self.out.byte(b'\n');
            self.directive(self.module.pool(), None, *d);
        }
    }

    fn params(&mut self, range: TableRange, layout: ParamLayout) {
        let lines = layout == ParamLayout::LineEach;
        self.out.byte(b'(');
        for (i, param) in range.of(self.module.params()).iter().enumerate() {
            if i > 0 {
                self.out.byte(b',');
            }
            if lines {
                self.out.byte(b'\n');
                self.indent(1);
            } else if i > 0 {
                self.out.byte(b' ');
            }
            self.param(param);
        }
        if lines {
            self.out.byte(b'\n');
        }
        self.out.byte(b')');
    }

    fn param(&mut self, p: &Param) {
        let pool = self.module.pool();
        if p.hidden {
            self.word(Directive::Hidden.text());
            self.out.byte(b' ');
        }
        self.word(p.space.text());
        self.align(pool, p.align);
        self.vector(p.vector);
        self.out.byte(b' ');
        self.ty(p.ty);
        self.align(pool, p.trailing_align);
        if let Some(pointer) = p.ptr {
            self.out.byte(b' ');
            self.word(Directive::Ptr.text());
            if let Some(space) = pointer.space {
                self.out.byte(b' ');
                self.word(space.text());
            }
            if let Some(ty) = pointer.opaque {
                self.out.byte(b' ');
                self.word(ty.text());
            }
            self.align(pool, pointer.align);
        }
        self.out.byte(b' ');
        match p.name {
            Some(name) => self.name(name),
            None => self.out.byte(b'_'),
        }
        self.dims(pool, pool.slice(p.dims));
    }

    // --- bodies ---

    fn body(&mut self, body: &'m Body) {
        self.tables.load(self.module, body);
        if !body.is_in_source() {
            return self.built_body(body);
        }
        if let Some(edits) = body.edits() {
            return self.edited_body(body, edits);
        }
        let source = self.module.source();
        let text = Span::new(body.base(), body.base() + body.end()).of(source);
        self.out.byte(b'{');
        let mut last = 1u32;
        let mut depth = 0usize;
        self.out.byte(b'\n');
        let mut preceding = Preceding::Start;
        // Nothing was edited: the order is that of the ids.
        for ((id, &statement), origin) in body.statement_table().iter().zip(body.stmt_spans()) {
            let span = origin.span();
            let level = level(statement, &mut depth);
            self.gap(Span::new(last, span.start).of(text), preceding, depth + 1);
            if origin.has_comments() && !matches!(statement, Statement::Opaque(_)) {
                self.inner_comments(span.of(text), depth + 1);
            }
            self.indent(level);
            self.statement_of(body, id, statement);
            depth += usize::from(matches!(statement, Statement::Open(_)));
            last = span.end;
            preceding = Preceding::Statement;
        }
        let close = text.len() as u32 - body.is_closed() as u32;
        self.end_gap(Span::new(last, close).of(text), preceding, 1);
        if body.is_closed() {
            self.out.byte(b'}');
        }
    }

    /// Makes ready for the statements of a body.
    pub(crate) fn enter(&mut self, body: &'m Body) {
        self.tables.load(self.module, body);
    }

    /// One statement of the body [entered](Self::enter), alone.
    pub(crate) fn statement(&mut self, body: &'m Body, id: StmtId) {
        if let Some(statement) = body.statement(id) {
            self.statement_of(body, id, statement);
        }
    }

    #[inline(always)]
    pub(crate) fn statement_of(&mut self, body: &Body, id: StmtId, statement: Statement) {
        match statement {
            Statement::Inst(inst) => {
                let Some(inst) = self.tables.insts.get(inst.index()) else {
                    return;
                };
                if let Some(guard) = inst.guard() {
                    self.out.byte(b'@');
                    self.predicate(body, guard);
                    self.out.byte(b' ');
                }
                self.mnemonic(inst.sig);
                let mut separator = b' ';
                for &operand in inst.operands().of(self.tables.operands) {
                    if separator == b',' {
                        self.out.byte(b',');
                    }
                    self.out.byte(b' ');
                    separator = b',';
                    self.operand(body.pool(), Some(body), operand);
                }
                self.out.byte(b';');
            }
            Statement::Label(label) => {
                self.name(body.labels()[label].name);
                self.out.byte(b':');
            }
            Statement::Open(_) => self.out.byte(b'{'),
            Statement::Close(_) => self.out.byte(b'}'),
            _ => self.other_statement(body, id, statement),
        }
    }

    #[inline(always)]
    fn predicate(&mut self, body: &Body, guard: Guard) {
        if guard.sense.is_negated() {
            self.out.byte(b'!');
        }
        self.operand(body.pool(), Some(body), body.pool().get(guard.predicate));
    }

    /// A part of an instruction of the body [entered](Self::enter), in the place of what the source has.
    pub(crate) fn inst_part(&mut self, body: &Body, id: StmtId, part: NewText) {
        let Some(Statement::Inst(inst)) = body.statement(id) else {
            return;
        };
        let guard = body.inst(inst).and_then(|i| i.guard());
        let operands = body.operands(inst);
        match (part, guard) {
            (NewText::Guard, Some(guard)) => {
                self.out.byte(b'@');
                self.predicate(body, guard);
                self.out.byte(b' ');
            }
            (NewText::Predicate, Some(guard)) => self.predicate(body, guard),
            (NewText::Operand { operand, part }, _) => {
                let operand = operands.get(operand as usize);
                let mut parts = Vec::new();
                if let Some(&operand) = operand {
                    parts.extend(body.pool().walk_operand(operand));
                }
                if let Some(&part) = parts.get(part as usize) {
                    self.operand(body.pool(), Some(body), part);
                }
            }
            (NewText::OperandsFrom(first), _) => {
                for (i, &operand) in (0..).zip(operands).skip(first as usize) {
                    self.out.text(if i == 0 { b" " } else { b", " });
                    self.operand(body.pool(), Some(body), operand);
                }
            }
            _ => {}
        }
    }

    #[inline(never)]
    fn other_statement(&mut self, body: &Body, id: StmtId, statement: Statement) {
        match statement {
            Statement::Directive(d) => {
                self.directive(body.pool(), Some(body), body.directives()[d]);
            }
            Statement::Decl(d) => {
                self.declaration(body.pool(), Some(body), body.declarations(), d);
            }
            Statement::Prototype(p) => {
                let interface = &body.prototypes()[p].interface;
                self.word(Directive::Callprototype.text());
                self.out.byte(b' ');
                if interface.has_returns {
                    self.params(interface.returns, ParamLayout::OneLine);
                    self.out.byte(b' ');
                }
                self.out.byte(b'_');
                if interface.has_params {
                    self.out.byte(b' ');
                    self.params(interface.params, ParamLayout::OneLine);
                }
                for d in interface.directives.of(self.module.interface_directives()) {
                    self.out.byte(b' ');
                    self.directive(self.module.pool(), None, *d);
                }
                self.out.byte(b';');
            }
            Statement::Function(f) => {
                self.header(&self.module.functions()[f]);
                self.out.byte(b';');
            }
            _ => {
                let change = body.edits().and_then(|e| e.change(id));
                let text = self.module.patched_text(body.source_span(id), change);
                self.out.text(&text);
            }
        }
    }

    /// A mnemonic in canonical order, worked out at its first use.
    #[inline(always)]
    fn mnemonic(&mut self, sig: SigId) {
        let (start, len) = match self.places.get(sig.index()) {
            Some(&(start, len)) if len > 0 => (start, len),
            _ => self.new_mnemonic(sig),
        };
        self.out
            .text_in(&self.mnemonics, start as usize, len as usize);
    }

    #[cold]
    fn new_mnemonic(&mut self, sig: SigId) -> (u32, u32) {
        let start = self.mnemonics.len();
        self.module
            .signature(sig)
            .write_canonical(&mut self.mnemonics);
        let place = (start as u32, (self.mnemonics.len() - start) as u32);
        self.mnemonics.extend_from_slice(&[0; 16]);
        if let Some(slot) = self.places.get_mut(sig.index()) {
            *slot = place;
        }
        place
    }

    // --- directives ---

    pub(crate) fn directive(&mut self, pool: &OperandPool, body: Option<&Body>, d: DirectiveStmt) {
        self.word(d.directive.text());
        let args = pool.slice(d.args);
        // No comma is between numbers that are all required.
        let required = d.directive.integers().map_or(0, |(least, _)| least);
        for (i, &arg) in args.iter().enumerate() {
            match (d.directive, i) {
                (_, 0) => self.out.byte(b' '),
                // The first argument is the whole text.
                (Directive::NvIntermediateSourceSection, _) => break,
                (_, i) if i < required.into() => self.out.byte(b' '),
                (Directive::Version, _) => self.out.byte(b'.'),
                // The string follows the index without a comma, the rest follows with one.
                (Directive::File, 1) | (Directive::Loc, 1 | 2 | 5 | 6) => self.out.byte(b' '),
                (Directive::Loc, 3) => self.word(", function_name "),
                (Directive::Loc, 4) => self.word(", inlined_at "),
                _ => self.word(", "),
            }
            self.operand(pool, body, arg);
        }
        if d.directive.ending() == Ending::Semicolon {
            self.out.byte(b';');
        }
    }

    fn section(&mut self, section: &Section) {
        self.word(Directive::Section.text());
        self.out.byte(b' ');
        self.name(section.name);
        self.word("\n{\n");
        let pool = self.module.pool();
        let mut open = false;
        for entry in &section.entries {
            let (ty, first) = match *entry {
                SectionEntry::Label(name) => {
                    if open {
                        self.out.byte(b'\n');
                        open = false;
                    }
                    self.name(name);
                    self.word(":\n");
                    continue;
                }
                SectionEntry::Int { ty, first, .. } | SectionEntry::Other { ty, first, .. } => {
                    (ty, first)
                }
                _ => continue,
            };
            if first {
                if open {
                    self.out.byte(b'\n');
                }
                self.indent(1);
                self.word(ty.text());
                self.out.byte(b' ');
                open = true;
            } else {
                self.word(", ");
            }
            match *entry {
                SectionEntry::Int { value, .. } => self.out.signed(value),
                SectionEntry::Other { value, .. } => self.operand(pool, None, pool.get(value)),
                _ => {}
            }
        }
        if open {
            self.out.byte(b'\n');
        }
        self.out.byte(b'}');
    }

    // --- declarations ---

    fn linkage(&mut self, linkage: Option<Linkage>) {
        if let Some(linkage) = linkage {
            self.word(linkage.directive().text());
            self.out.byte(b' ');
        }
    }

    fn attributes(&mut self, pool: &OperandPool, attributes: &[Attribute]) {
        if attributes.is_empty() {
            return;
        }
        self.word(Directive::Attribute.text());
        for (i, attribute) in attributes.iter().enumerate() {
            self.word(if i == 0 { "(" } else { ", " });
            match *attribute {
                Attribute::Managed => self.word(".managed"),
                Attribute::Unified(a, b) => {
                    self.word(".unified(");
                    self.operand(pool, None, a);
                    self.word(", ");
                    self.operand(pool, None, b);
                    self.out.byte(b')');
                }
                Attribute::Unknown(name) => self.name(name),
                _ => {}
            }
        }
        self.word(") ");
    }

    fn align(&mut self, pool: &OperandPool, align: Operand) {
        if align != Operand::Absent {
            self.out.byte(b' ');
            self.word(Directive::Align.text());
            self.out.byte(b' ');
            self.operand(pool, None, align);
        }
    }

    fn vector(&mut self, len: u8) {
        if len > 1 {
            self.word(" .v");
            self.out.unsigned(len as u32);
        }
    }

    fn ty(&mut self, ty: TypeName) {
        match ty {
            TypeName::Known(ty) => self.word(ty.text()),
            TypeName::Unknown(name) => self.name(name),
        }
    }

    fn dims(&mut self, pool: &OperandPool, dims: &[Operand]) {
        for &dim in dims {
            self.out.byte(b'[');
            if dim != Operand::Absent {
                self.operand(pool, None, dim);
            }
            self.out.byte(b']');
        }
    }

    fn declaration(
        &mut self,
        pool: &OperandPool,
        body: Option<&Body>,
        tables: &Declarations,
        id: DeclId,
    ) {
        let d: &VarDecl = &tables.decls[id];
        self.linkage(d.linkage);
        self.word(d.space.text());
        if d.bank != Operand::Absent {
            self.dims(pool, &[d.bank]);
        }
        self.out.byte(b' ');
        self.attributes(pool, d.attributes.of(&tables.attributes));
        if d.align != Operand::Absent {
            self.word(Directive::Align.text());
            self.out.byte(b' ');
            self.operand(pool, None, d.align);
            self.out.byte(b' ');
        }
        if d.vector > 1 {
            self.word(".v");
            self.out.unsigned(d.vector as u32);
            self.out.byte(b' ');
        }
        self.ty(d.ty);
        for (i, declarator) in d.declarators.of(&tables.declarators).iter().enumerate() {
            self.word(if i == 0 { " " } else { ", " });
            self.declarator(pool, body, declarator);
        }
        self.out.byte(b';');
    }

    fn declarator(&mut self, pool: &OperandPool, body: Option<&Body>, d: &Declarator) {
        debug_assert!(d.binding != Binding::None);
        self.name(d.name);
        if d.count != Operand::Absent {
            self.out.byte(b'<');
            self.operand(pool, body, d.count);
            self.out.byte(b'>');
        }
        self.dims(pool, pool.slice(d.dims));
        if d.init != Operand::Absent {
            self.word(" = ");
            self.operand(pool, body, d.init);
        }
    }
}
