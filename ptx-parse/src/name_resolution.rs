//! From a spelling to what it stands for, and the bookkeeping of labels mentioned before they are
//! set.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::vec::Vec;
use ptx_ir::lex::scan::{class, is};
use ptx_ir::{
    Code, Diagnostic, EntityId, Label, LabelId, NameId, Operand, OperandRef, RegDeclId, RegId,
    Register, ScopeId, Span, Statement, StmtId, Symbol, SymbolId, Var, VarId,
};
use ptx_isa::{Opcode, ScalarType, SpecialReg};

use crate::parser::Parser;
use crate::scope::{Meaning, RangeKind, SHORT, prefix_key};
use crate::swar;

/// The statement of a label that is mentioned and not yet set.
pub(crate) const UNSET: StmtId = StmtId::new(u32::MAX);

/// Labels of one body that are mentioned before they are set.
#[derive(Default)]
pub(crate) struct Forward {
    /// Each such mention: the label and the place of the name.
    mentions: Vec<(LabelId, u32)>,
    /// Labels that turned out to be a label of an outer scope.
    merged: Vec<(LabelId, LabelId)>,
    /// Labels that were never set.
    unset: Vec<LabelId>,
}

impl Forward {
    pub(crate) fn mark(&self) -> usize {
        self.mentions.len()
    }

    /// Forgets mentions made since `mark`: they stand in a statement that is reported already.
    pub(crate) fn rewind(&mut self, mark: usize) {
        self.mentions.truncate(mark);
    }

    /// Forgets the last mention if it stands right before `end`.
    pub(crate) fn rewind_last(&mut self, src: &[u8], end: usize) {
        let word = src[..end]
            .iter()
            .rev()
            .take_while(|&&b| is(b, class::IDENT));
        self.rewind_to(end - word.count());
    }

    /// Forgets mentions from the place `start` of the source on.
    pub(crate) fn rewind_to(&mut self, start: usize) {
        while self
            .mentions
            .last()
            .is_some_and(|&(_, at)| at as usize >= start)
        {
            self.mentions.pop();
        }
    }
}

/// What a body declares, to say more of a name that nothing visible has.
struct Known {
    labels: BTreeMap<NameId, StmtId>,
    ranges: BTreeMap<NameId, u32>,
    late: BTreeSet<LabelId>,
}

/// A name that ends in a number: where the number begins.
#[inline(always)]
fn number_start(src: &[u8], start: usize, end: usize) -> usize {
    let mut at = end;
    while at > start && is(src[at - 1], class::DIGIT) {
        at -= 1;
    }
    at
}

impl Parser<'_> {
    /// The member of a range that begins here, if it is short and plain. `%r17` costs no hashing.
    #[inline(always)]
    pub(crate) fn numbered_name(&mut self) -> Option<Operand> {
        let n = swar::numbered(swar::load(self.src, self.pos)?)?;
        let end = self.pos + n.len as usize;
        if is(self.src[end], class::IDENT) {
            return None;
        }
        let index = self.names.hinted_range(n.key)?;
        let range = self.names.range(index);
        if range.ambiguous || n.number >= range.count {
            return None;
        }
        self.pos = end;
        self.last = end;
        Some(self.member(index, n.number))
    }

    /// What the name at `start..end` stands for.
    #[inline]
    pub(crate) fn name_operand(&mut self, start: usize, end: usize) -> Operand {
        if is(self.src[end - 1], class::DIGIT) {
            let at = number_start(self.src, start, end);
            let len = at - start;
            if len > 0 && (len <= SHORT || self.names.has_long_ranges()) {
                let key = prefix_key(self.src, start, len);
                if let Some(index) = self.names.find_range(key) {
                    let range = self.names.range(index);
                    if !range.ambiguous && len <= SHORT && end - at < 10 {
                        let number = self.src[at..end]
                            .iter()
                            .fold(0u32, |n, &b| n * 10 + (b - b'0') as u32);
                        if number < range.count {
                            return self.member(index, number);
                        }
                    }
                    return self.contested_name(index, start, at, end);
                }
            }
        }
        self.plain_name(start, end)
    }

    #[inline(always)]
    fn member(&mut self, index: usize, number: u32) -> Operand {
        let (body, module) = (&mut self.body, &mut self.module);
        let (kind, id) = self.names.member(index, number, |kind| match kind {
            RangeKind::Reg(decl) => body.registers.push(Register { decl, number }).as_u32(),
            RangeKind::Var(first) => {
                let var = Var {
                    number: Some(number),
                    ..body.vars[first]
                };
                body.vars.push(var).as_u32()
            }
            RangeKind::Symbol(first) => {
                let symbol = Symbol {
                    number: Some(number),
                    ..module.symbols[first]
                };
                module.symbols.push(symbol).as_u32()
            }
        });
        match kind {
            RangeKind::Reg(_) => Operand::Reg(RegId::new(id)),
            RangeKind::Var(_) => Operand::Var(VarId::new(id)),
            RangeKind::Symbol(_) => Operand::Symbol(SymbolId::new(id)),
        }
    }

    /// A name that may be a member of the range, or a plain name spelled like one.
    #[inline(never)]
    fn contested_name(&mut self, index: usize, start: usize, at: usize, end: usize) -> Operand {
        // The assembler counts in 32 bits: `%r4294967297` is `%r1`.
        let number = self.src[at..end].iter().fold(0u32, |n, &b| {
            n.wrapping_mul(10).wrapping_add((b - b'0') as u32)
        });
        let prefix = &self.src[start..at];
        let full = self.intern(start, end);
        let plain = self.names.find(full).map(|b| b.depth);
        let holder = self.names.ranges_outward(index).find(|&i| {
            let range = self.names.range(i);
            number < range.count && self.module.name_bytes(range.name) == prefix
        });
        match holder {
            Some(i) if plain.is_none_or(|d| d < self.names.range(i).depth) => {
                self.member(i, number)
            }
            _ => self.plain_name(start, end),
        }
    }

    /// Whether something visible has this name.
    pub(crate) fn is_declared(&self, start: usize, end: usize) -> bool {
        let name = self.module.names.find(&self.src[start..end]);
        name.is_some_and(|n| self.names.find(NameId::new(n)).is_some())
    }

    /// What a name that is no member of a range stands for.
    fn plain_name(&mut self, start: usize, end: usize) -> Operand {
        let name = self.intern(start, end);
        if let Some(binding) = self.names.find(name) {
            return match binding.meaning {
                Meaning::Reg(id) => Operand::Reg(id),
                Meaning::Var(id) => Operand::Var(id),
                Meaning::Symbol(id) => Operand::Symbol(id),
                Meaning::Label { id, set } => {
                    if !set && binding.depth == self.names.depth() {
                        self.forward.mentions.push((id, start as u32));
                        return Operand::Label(id);
                    }
                    if !set {
                        return self.forward_label(name, start);
                    }
                    Operand::Label(id)
                }
            };
        }
        if self.src[start] == b'%'
            && let Some(special) = SpecialReg::from_text(&self.src[start..end])
        {
            return Operand::Special(special);
        }
        if !self.in_body {
            return Operand::Name(name);
        }
        self.forward_label(name, start)
    }

    /// A name that nothing visible has: a label set later, or a mistake.
    fn forward_label(&mut self, name: NameId, start: usize) -> Operand {
        let label = Label {
            name,
            scope: self.scope,
            stmt: UNSET,
        };
        let id = self.body.labels.push(label);
        self.names
            .bind(name, Meaning::Label { id, set: false }, start);
        self.forward.mentions.push((id, start as u32));
        Operand::Label(id)
    }

    // --- declaring ---

    /// Reports a name declared twice in the current scope; true if it was.
    pub(crate) fn is_duplicate(&mut self, name: NameId, start: usize, end: usize) -> bool {
        let Some(first) = self.names.find_here(name) else {
            return false;
        };
        let first = first.at;
        if self.is_doubtful_declaration(start) {
            return true;
        }
        let text = self.module.name(name);
        let d = Diagnostic::error(
            Code::DuplicateName,
            Span::at(start, end),
            format!("`{text}` is declared twice in one scope"),
        )
        .with_label(
            Span::new(first, first + text.len() as u32),
            "first declared here",
        );
        self.report(d);
        true
    }

    /// If `name` was mentioned before and taken for a label, that mention was too early.
    fn declared_after_use(&mut self, name: NameId) {
        let Some(binding) = self.names.find_here(name) else {
            return;
        };
        if let Meaning::Label { id, set: false } = binding.meaning {
            self.late.push(id);
        }
    }

    fn check_reserved(&mut self, start: usize, end: usize) {
        if &self.src[start..end] == b"WARP_SZ" {
            let d = Diagnostic::error(
                Code::ReservedName,
                Span::at(start, end),
                "`WARP_SZ` is a constant of the language and cannot be declared",
            );
            self.report(d);
        }
    }

    /// Binds a plain name, unless the scope has it already.
    pub(crate) fn declare(&mut self, name: NameId, meaning: Meaning, start: usize, end: usize) {
        self.check_reserved(start, end);
        self.declared_after_use(name);
        let unset = self
            .names
            .find_here(name)
            .is_some_and(|b| matches!(b.meaning, Meaning::Label { set: false, .. }));
        if !unset && self.is_duplicate(name, start, end) {
            return;
        }
        // A label may be spelled like a member of a range.
        if !matches!(meaning, Meaning::Label { .. }) && is(self.src[end - 1], class::DIGIT) {
            let at = number_start(self.src, start, end);
            if at > start {
                let key = prefix_key(self.src, start, at - start);
                self.check_member(key, name, start, at, end);
                self.names.note_numbered(key, name);
            }
        }
        self.names.bind(name, meaning, start);
    }

    /// A plain name that an open range of the same scope already has.
    fn check_member(&mut self, key: u64, name: NameId, start: usize, at: usize, end: usize) {
        let Some(index) = self.names.find_range(key) else {
            return;
        };
        let range = self.names.range(index);
        let number = core::str::from_utf8(&self.src[at..end])
            .ok()
            .and_then(|d| d.parse::<u32>().ok());
        if range.depth == self.names.depth()
            && number.is_some_and(|n| n < range.count)
            && self.module.name_bytes(range.name) == &self.src[start..at]
            && !self.is_doubtful_declaration(start)
        {
            let message = format!(
                "`{}` is declared twice in one scope: `{}<{}>` has it",
                self.module.name(name),
                self.module.name(range.name),
                range.count
            );
            self.report(Diagnostic::error(
                Code::DuplicateName,
                Span::at(start, end),
                message,
            ));
        }
    }

    /// Binds the numbered names of a range.
    pub(crate) fn declare_range(
        &mut self,
        name: NameId,
        kind: RangeKind,
        count: u32,
        start: usize,
        end: usize,
    ) {
        let key = prefix_key(self.src, start, end - start);
        if let Some(index) = self.names.find_range(key) {
            let range = self.names.range(index);
            if range.depth == self.names.depth()
                && range.name == name
                && !self.is_doubtful_declaration(start)
            {
                let text = self.module.name(name);
                let message = format!("`{text}<{count}>` is declared twice in one scope");
                self.report(Diagnostic::error(
                    Code::DuplicateName,
                    Span::at(start, end),
                    message,
                ));
            }
        }
        if self.names.numbered(key).next().is_some() {
            self.check_plain_members(key, name, count, start, end);
        }
        self.names.bind_range(key, name, kind, count);
    }

    /// Reports a plain name of this scope that a range declared now has as well. The assembler looks
    /// no further where number 0 is taken.
    #[cold]
    fn check_plain_members(
        &mut self,
        key: u64,
        range: NameId,
        count: u32,
        start: usize,
        end: usize,
    ) {
        let prefix = self.module.name_bytes(range);
        let mut first = None;
        for name in self.names.numbered(key) {
            let Some(binding) = self.names.find_here(name) else {
                continue;
            };
            let digits = self
                .module
                .name_bytes(name)
                .strip_prefix(prefix)
                .unwrap_or_default();
            if digits == b"0" {
                return;
            }
            let number = core::str::from_utf8(digits)
                .ok()
                .and_then(|d| d.parse::<u32>().ok());
            if !digits.starts_with(b"0") && number.is_some_and(|n| n < count) {
                first.get_or_insert(*binding);
            }
        }
        let Some(first) = first.filter(|_| !self.is_doubtful_declaration(start)) else {
            return;
        };
        let (text, at) = (self.module.name(first.name), first.at);
        let message = format!("`{text}` is declared twice in one scope: this range has it too");
        let d = Diagnostic::error(Code::DuplicateName, Span::at(start, end), message)
            .with_label(Span::new(at, at + text.len() as u32), "first declared here");
        self.report(d);
    }

    /// A register declared by a plain name.
    pub(crate) fn plain_register(&mut self, decl: RegDeclId) -> RegId {
        self.body.registers.push(Register { decl, number: 0 })
    }

    /// Sets a label at the statement that comes next.
    pub(crate) fn set_label(&mut self, start: usize, end: usize) -> LabelId {
        let stmt = self.body.statements.next_id();
        let name = self.intern(start, end);
        if let Some(b) = self.names.find_here_mut(name)
            && let Meaning::Label {
                id,
                set: set @ false,
            } = &mut b.meaning
        {
            *set = true;
            b.at = start as u32;
            let id = *id;
            self.body.labels[id].stmt = stmt;
            return id;
        }
        let id = self.body.labels.push(Label {
            name,
            scope: self.scope,
            stmt,
        });
        self.declare(name, Meaning::Label { id, set: true }, start, end);
        id
    }

    // --- closing scopes ---

    /// Closes the innermost scope: labels still missing may belong to the scope around it.
    pub(crate) fn close_scope(&mut self, outer: ScopeId) {
        let missing: Vec<(NameId, LabelId, u32)> = self
            .names
            .scope_bindings()
            .iter()
            .filter_map(|b| match b.meaning {
                Meaning::Label { id, set: false } => Some((b.name, id, b.at)),
                _ => None,
            })
            .collect();
        let last = self.names.depth() == 1;
        self.names.close_scope();
        for (name, id, at) in missing {
            if last {
                self.forward.unset.push(id);
                continue;
            }
            match self.names.find_here(name).map(|b| b.meaning) {
                Some(Meaning::Label { id: other, .. }) => self.forward.merged.push((id, other)),
                Some(_) => self.forward.unset.push(id),
                None => {
                    self.body.labels[id].scope = outer;
                    self.names
                        .bind(name, Meaning::Label { id, set: false }, at as usize);
                }
            }
        }
    }

    /// At the end of a body: replaces labels that were merged or never set, and reports the latter.
    pub(crate) fn settle_labels(&mut self) {
        let mut forward = core::mem::take(&mut self.forward);
        if !(forward.merged.is_empty() && forward.unset.is_empty()) {
            self.rewrite_labels(&mut forward);
        }
        forward.mentions.clear();
        forward.merged.clear();
        forward.unset.clear();
        self.forward = forward;
        self.late.clear();
        self.excuses.end_function();
    }

    #[inline(never)]
    fn rewrite_labels(&mut self, forward: &mut Forward) {
        // What each label becomes: another label, or the name that nothing declares.
        let old = self.body.labels.clone();
        self.body.labels.clear();
        let mut becomes: Vec<Operand> = old.ids().map(Operand::Label).collect();
        for &id in &forward.unset {
            becomes[id.index()] = Operand::Name(old[id].name);
        }
        // A merge goes outward, into a scope that closes later: follow from the outermost in.
        for &(inner, outer) in forward.merged.iter().rev() {
            becomes[inner.index()] = becomes[outer.index()];
        }
        let mut renumbered: Vec<Option<LabelId>> = alloc::vec![None; old.len()];
        for (id, label) in old.iter() {
            if becomes[id.index()] == Operand::Label(id) {
                renumbered[id.index()] = Some(self.body.labels.push(*label));
            }
        }
        for target in &mut becomes {
            if let Operand::Label(id) = *target
                && let Some(new) = renumbered[id.index()]
            {
                *target = Operand::Label(new);
            }
        }
        let settled = |o: Operand| match o {
            Operand::Label(id) => becomes.get(id.index()).copied().unwrap_or(o),
            _ => o,
        };
        let pool = &mut self.body.pool;
        pool.map_names(settled);
        for statement in self.body.statements.values_mut() {
            if let Statement::Label(id) = statement
                && let Operand::Label(new) = settled(Operand::Label(*id))
            {
                *id = new;
            }
        }
        if forward.unset.is_empty() {
            return;
        }
        let known = Known {
            labels: self
                .body
                .labels
                .values()
                .map(|l| (l.name, l.stmt))
                .collect(),
            ranges: self
                .body
                .reg_decls
                .values()
                .filter_map(|d| Some((d.name, d.count?)))
                .collect(),
            late: self.late.iter().copied().collect(),
        };
        if self.ends_early() {
            self.excuse_all();
        }
        for i in 0..forward.mentions.len() {
            let (id, at) = forward.mentions[i];
            if let Operand::Name(name) = becomes[id.index()] {
                self.undefined(&known, id, name, at);
            }
        }
    }

    /// Reports a name that nothing declares.
    #[cold]
    fn undefined(&mut self, known: &Known, id: LabelId, name: NameId, at: u32) {
        let text = self.module.name(name);
        let excused = match self.range_of(known, text) {
            Some(_) => self.is_excused_itself(text.as_bytes()),
            None => self.is_excused(text.as_bytes()),
        };
        if excused {
            return;
        }
        let span = Span::new(at, at + text.len() as u32);
        let d = if known.late.contains(&id) {
            Diagnostic::error(
                Code::LateDeclaration,
                span,
                format!("`{text}` is used before its declaration; only labels may be"),
            )
        } else if let Some(&label) = known.labels.get(&name) {
            if self.trouble.doubts_braces() {
                return;
            }
            let place = self.body.source_span(label);
            let d = Diagnostic::error(
                Code::LabelOutOfScope,
                span,
                format!("the label `{text}` is set in another scope and cannot be named here"),
            );
            d.with_label(place, "set here")
        } else if let Some((prefix, count)) = self.range_of(known, text) {
            Diagnostic::error(
                Code::OutsideRange,
                span,
                format!(
                    "`{text}` is outside its range: `{prefix}<{count}>` declares `{prefix}0` to `{prefix}{}`",
                    count.saturating_sub(1)
                ),
            )
        } else if self.excuse_unknown(&self.src[at as usize..][..text.len()]) {
            return;
        } else {
            let text = self.module.name(name);
            let mut d = Diagnostic::error(
                Code::UndefinedName,
                span,
                format!("nothing declares `{text}`"),
            );
            if text.starts_with('%') || Opcode::from_text(text.as_bytes()).is_some() {
                d = d.with_help(format!(
                    "declare it before its first use: `.reg .b32 {text};`"
                ));
            }
            d
        };
        self.report(d);
    }

    /// The range of registers that `text` would belong to if its number were smaller.
    fn range_of(&self, known: &Known, text: &str) -> Option<(&str, u32)> {
        let prefix = text.trim_end_matches(|c: char| c.is_ascii_digit());
        let name = NameId::new(self.module.names.find(prefix.as_bytes())?);
        let count = *known.ranges.get(&name)?;
        (prefix.len() < text.len()).then_some((self.module.name(name), count))
    }

    /// The type that a dotted word names.
    pub(crate) fn type_of(word: &[u8]) -> Option<ScalarType> {
        ScalarType::from_text(word)
    }

    /// A selector or component operand of `base`.
    pub(crate) fn lane(&mut self, selector: ptx_ir::Selector, base: Operand) -> Operand {
        let at: OperandRef = self.pool().extend(&[base]).at(0);
        Operand::Lane(selector, at)
    }

    /// Names reported as undefined that the module declares further down are used too early.
    #[cold]
    pub(crate) fn used_before_decl(&self, diagnostics: &mut [Diagnostic]) {
        for d in diagnostics
            .iter_mut()
            .filter(|d| d.code == Code::UndefinedName)
        {
            let text = d.span.of(self.src);
            let name = self.module.names.find(text).map(NameId::new);
            let Some(binding) = name.and_then(|n| self.names.find(n)) else {
                continue;
            };
            if binding.at > d.span.start {
                let text = alloc::string::String::from_utf8_lossy(text);
                *d = Diagnostic::error(
                    Code::LateDeclaration,
                    d.span,
                    format!("`{text}` is used before its declaration; only labels may be"),
                )
                .with_label(
                    Span::new(binding.at, binding.at + text.len() as u32),
                    "declared here",
                );
            }
        }
    }
}
