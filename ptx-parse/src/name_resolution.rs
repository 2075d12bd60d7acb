//! Resolves names: what a spelling means, and the declarations that give it a meaning.

use ptx_ir::lex::scan::{class, is};
use ptx_ir::name::{plain_wins, split_numeric_suffix, suffix_number};
use ptx_ir::raw::{RawBody, RawModule};
use ptx_ir::{
    Code, Diagnostic, Label, LabelId, NameId, Operand, OperandRef, RegDeclId, RegId, Register,
    Selector, Span, SymbolId, Var, VarId,
};
use ptx_isa::SpecialReg;

use crate::labels::UNDEFINED;
use crate::parser::Parser;
use crate::ranges::{EXACT_KEY_LEN, RangeKind, prefix_key};
use crate::scope::Meaning;
use crate::swar;

impl Parser<'_> {
    /// The member of a range that begins here, if it is short and plain. `%r17` costs no hashing.
    #[inline(always)]
    pub(crate) fn numbered_name(&mut self) -> Option<Operand> {
        let n = swar::numbered(swar::load(self.cursor.src, self.cursor.pos)?)?;
        let end = self.cursor.pos + n.len as usize;
        if is(self.cursor.src[end], class::IDENT) {
            return None;
        }
        let index = self.scopes.ranges.find_recent(n.key)?;
        let range = self.scopes.ranges.get(index);
        if range.ambiguous || n.number >= range.count {
            return None;
        }
        self.cursor.pos = end;
        self.cursor.last = end;
        Some(self.member(index, n.number))
    }

    /// The operand that the name at `start..end` is.
    #[inline]
    pub(crate) fn name_operand(&mut self, start: usize, end: usize) -> Operand {
        let src = self.cursor.src;
        if is(src[end - 1], class::DIGIT) {
            let (prefix, digits) = split_numeric_suffix(&src[start..end]);
            let len = prefix.len();
            if len > 0 && (len <= EXACT_KEY_LEN || self.scopes.ranges.has_long_prefixes()) {
                let key = prefix_key(src, start, len);
                if let Some(index) = self.scopes.ranges.find(key) {
                    let range = self.scopes.ranges.get(index);
                    if !range.ambiguous && len <= EXACT_KEY_LEN && digits.len() < 10 {
                        let number = suffix_number(digits);
                        if number < range.count {
                            return self.member(index, number);
                        }
                    }
                    return self.ambiguous_name(index, start, start + len, end);
                }
            }
        }
        self.plain_name(start, end)
    }

    #[inline(always)]
    fn member(&mut self, index: usize, number: u32) -> Operand {
        let (body, module) = (&mut self.out.body, &mut self.out.module);
        let (kind, id) = self.scopes.ranges.member(index, number, |kind| match kind {
            RangeKind::Reg(decl) => {
                let register = Register::new(decl, number);
                body.registers_mut().push(register).as_u32()
            }
            RangeKind::Var(first) => {
                let number = Some(number);
                let var = Var {
                    number,
                    ..body.vars()[first]
                };
                body.vars_mut().push(var).as_u32()
            }
            RangeKind::Symbol(first) => {
                let number = Some(number);
                let mut symbol = module.symbols()[first];
                symbol.number = number;
                module.symbols_mut().push(symbol).as_u32()
            }
        });
        match kind {
            RangeKind::Reg(_) => Operand::Reg(RegId::new(id)),
            RangeKind::Var(_) => Operand::Var(VarId::new(id)),
            RangeKind::Symbol(_) => Operand::Symbol(SymbolId::new(id)),
        }
    }

    /// A name that may be a member of the range at `index`, or a plain name spelled like one; its
    /// number begins at `at`.
    #[inline(never)]
    fn ambiguous_name(&mut self, index: usize, start: usize, at: usize, end: usize) -> Operand {
        let src = self.cursor.src;
        let (prefix, number) = (&src[start..at], suffix_number(&src[at..end]));
        let full = self.intern(start, end);
        let plain = self.scopes.find(full).map(|b| b.depth);
        let ranges = &self.scopes.ranges;
        let named = |&i: &usize| self.out.module.name_bytes(ranges.get(i).name) == prefix;
        let holder = ranges.with_member(index, number).find(named);
        match holder {
            Some(i) if !plain.is_some_and(|depth| plain_wins(depth, ranges.get(i).depth)) => {
                self.member(i, number)
            }
            _ => self.plain_name(start, end),
        }
    }

    /// Whether something visible has this name.
    pub(crate) fn is_declared(&self, start: usize, end: usize) -> bool {
        let name = self.out.module.find_name(&self.cursor.src[start..end]);
        name.is_some_and(|n| self.scopes.find(n).is_some())
    }

    /// Whether a name is declared, by itself or as a member of a range of registers.
    pub(crate) fn is_declared_or_member(&mut self, start: usize, end: usize) -> bool {
        let name = &self.cursor.src[start..end];
        let digits = name.iter().rev().take_while(|b| b.is_ascii_digit());
        let len = name.len() - digits.count();
        let is_range = len < name.len() && {
            let key = prefix_key(self.cursor.src, start, len);
            self.scopes.ranges.find(key).is_some()
        };
        is_range || self.is_declared(start, end)
    }

    /// The operand that a name is that is not a member of a range.
    fn plain_name(&mut self, start: usize, end: usize) -> Operand {
        let name = self.intern(start, end);
        if let Some(binding) = self.scopes.find(name) {
            return match binding.meaning {
                Meaning::Reg(id) => Operand::Reg(id),
                Meaning::Var(id) => Operand::Var(id),
                Meaning::Symbol(id) => Operand::Symbol(id),
                Meaning::Label { id, defined: true } => Operand::Label(id),
                Meaning::Label { id, .. } if binding.depth == self.scopes.depth() => {
                    self.scopes.labels.uses.push((id, start as u32));
                    Operand::Label(id)
                }
                Meaning::Label { .. } => self.forward_label(name, start),
            };
        }
        let src = self.cursor.src;
        if src[start] == b'%'
            && let Some(special) = SpecialReg::from_text(&src[start..end])
        {
            return Operand::Special(special);
        }
        if !self.out.in_body() {
            return Operand::Name(name);
        }
        self.forward_label(name, start)
    }

    /// A name that no visible declaration has: a label defined later, or an error.
    fn forward_label(&mut self, name: NameId, start: usize) -> Operand {
        let scope = self.scopes.current;
        let label = Label::new(name, scope, UNDEFINED);
        let id = self.out.body.labels_mut().push(label);
        self.scopes.bind_undefined(name, id, start);
        self.scopes.labels.uses.push((id, start as u32));
        Operand::Label(id)
    }

    // --- declaring ---

    /// Reports a name declared twice in the current scope; true if it was.
    pub(crate) fn is_duplicate(&mut self, name: NameId, start: usize, end: usize) -> bool {
        let Some(first) = self.scopes.find_here(name) else {
            return false;
        };
        let at = first.at;
        if !self.doubts_declaration(start) {
            let text = self.out.module.name(name);
            let message = format!("duplicate declaration of `{text}` in this scope");
            let d = Diagnostic::error(Code::DuplicateName, Span::at(start, end), message);
            let first = Span::new(at, at + text.len() as u32);
            self.report(d.with_label(first, "first declared here"));
        }
        true
    }

    pub(crate) fn check_reserved(&mut self, start: usize, end: usize) {
        if &self.cursor.src[start..end] == b"WARP_SZ" {
            let message = "`WARP_SZ` is a predefined constant; expected another name";
            self.report_error(Code::ReservedName, start, end, message);
        }
    }

    /// Binds a plain name, unless the scope has it already.
    pub(crate) fn declare(&mut self, name: NameId, meaning: Meaning, start: usize, end: usize) {
        self.check_reserved(start, end);
        // A use before was taken for that of a label.
        let used = self
            .scopes
            .find_here(name)
            .and_then(|b| b.undefined_label());
        if let Some(id) = used {
            self.scopes.labels.declared_after_use.insert(id);
        } else if self.is_duplicate(name, start, end) {
            return;
        }
        // A label can be spelled like a member of a range.
        let src = self.cursor.src;
        if !matches!(meaning, Meaning::Label { .. }) && is(src[end - 1], class::DIGIT) {
            let prefix = split_numeric_suffix(&src[start..end]).0.len();
            if prefix > 0 {
                let key = prefix_key(src, start, prefix);
                self.check_member(key, name, start, end);
                self.scopes.note_numbered(key, name);
            }
        }
        self.scopes.bind(name, meaning, start);
    }

    /// Reports a plain name that a range of the same scope already declares.
    fn check_member(&mut self, key: u64, name: NameId, start: usize, end: usize) {
        let Some(index) = self.scopes.ranges.find(key) else {
            return;
        };
        let range = self.scopes.ranges.get(index);
        let (prefix, digits) = split_numeric_suffix(&self.cursor.src[start..end]);
        if range.depth == self.scopes.depth()
            && member_number(digits).is_some_and(|n| n < range.count)
            && self.out.module.name_bytes(range.name) == prefix
            && !self.doubts_declaration(start)
        {
            let message = format!(
                "duplicate declaration of `{}` in this scope: `{}<{}>` declares it",
                self.out.module.name(name),
                self.out.module.name(range.name),
                range.count
            );
            self.report_error(Code::DuplicateName, start, end, message);
        }
    }

    /// Binds the members of a range.
    pub(crate) fn declare_range(
        &mut self,
        name: NameId,
        kind: RangeKind,
        count: u32,
        (start, end): (usize, usize),
    ) {
        self.check_reserved(start, end);
        let key = prefix_key(self.cursor.src, start, end - start);
        if let Some(index) = self.scopes.ranges.find(key) {
            let range = self.scopes.ranges.get(index);
            if range.depth == self.scopes.depth()
                && range.name == name
                && !self.doubts_declaration(start)
            {
                let text = self.out.module.name(name);
                let message = format!("duplicate declaration of `{text}<{count}>` in this scope");
                let d = Diagnostic::error(Code::DuplicateName, Span::at(start, end), message);
                let first = match range.kind {
                    RangeKind::Reg(id) => self.out.body.reg_decls().get(id).and_then(|r| r.stmt),
                    RangeKind::Var(id) => self.out.body.vars().get(id).and_then(|v| v.stmt),
                    RangeKind::Symbol(_) => None,
                };
                self.report(match first {
                    Some(stmt) => {
                        let first = self.out.body.source_span(stmt);
                        d.with_label(first, "first declared here")
                    }
                    None => d,
                });
            }
        }
        if self.scopes.numbered(key).next().is_some() {
            self.check_plain_members(key, name, count, (start, end));
        }
        self.scopes.bind_range(key, name, kind, count);
    }

    /// Reports a plain name of this scope that a range declares as well. ptxas looks no further where
    /// number 0 is taken.
    #[cold]
    fn check_plain_members(
        &mut self,
        key: u64,
        range: NameId,
        count: u32,
        (start, end): (usize, usize),
    ) {
        let prefix = self.out.module.name_bytes(range);
        let mut first = None;
        for name in self.scopes.numbered(key) {
            let Some(binding) = self.scopes.find_here(name) else {
                continue;
            };
            let text = self.out.module.name_bytes(name);
            let digits = text.strip_prefix(prefix).unwrap_or_default();
            if digits == b"0" {
                return;
            }
            let number = member_number(digits);
            if !digits.starts_with(b"0") && number.is_some_and(|n| n < count) {
                first.get_or_insert(binding);
            }
        }
        let Some(first) = first.filter(|_| !self.doubts_declaration(start)) else {
            return;
        };
        let (text, at) = (self.out.module.name(first.name), first.at);
        let message =
            format!("duplicate declaration of `{text}` in this scope: this range declares it too");
        let d = Diagnostic::error(Code::DuplicateName, Span::at(start, end), message)
            .with_label(Span::new(at, at + text.len() as u32), "first declared here");
        self.report(d);
    }

    /// A register declared by a plain name.
    pub(crate) fn plain_register(&mut self, decl: RegDeclId) -> RegId {
        let register = Register::new(decl, 0);
        self.out.body.registers_mut().push(register)
    }

    /// Defines a label at the statement that comes next.
    pub(crate) fn define_label(&mut self, start: usize, end: usize) -> LabelId {
        let stmt = self.out.body.statement_table().next_id();
        let name = self.intern(start, end);
        let scope = self.scopes.current;
        let label = Label::new(name, scope, stmt);
        if let Some(id) = self.scopes.define_label(name, start) {
            self.out.body.labels_mut()[id] = label;
            return id;
        }
        let id = self.out.body.labels_mut().push(label);
        self.declare(name, Meaning::Label { id, defined: true }, start, end);
        id
    }

    /// A selector or component operand of `base`.
    pub(crate) fn lane(&mut self, selector: Selector, base: Operand) -> Operand {
        let at: OperandRef = self.out.pool().extend(&[base]).at(0);
        Operand::Lane(selector, at)
    }
}

/// The number of a plain name that a range could declare; larger ones do not wrap here.
fn member_number(digits: &[u8]) -> Option<u32> {
    core::str::from_utf8(digits).ok()?.parse().ok()
}
