//! Resolves names: finds the meaning of a spelling, and binds declared names.

use ptx_ir::raw::name::{plain_wins, split_numeric_suffix, suffix_number};
use ptx_ir::raw::scan::{class, is};
use ptx_ir::raw::{RawBody, RawModule};
use ptx_ir::{
    Code, Diagnostic, Label, LabelId, NameId, Operand, OperandRef, RegDeclId, RegId, Register,
    Selector, Span, SymbolId, Var, VarId,
};
use ptx_isa::SpecialReg;

use crate::declaration::DeclaredName;
use crate::labels::UNDEFINED;
use crate::parser::Parser;
use crate::ranges::{EXACT_KEY_LEN, RangeKind, prefix_key};
use crate::scope::Meaning;
use crate::swar;

impl Parser<'_> {
    /// Takes a short member of a range, such as `%r17`, without hashing its name. `None` if the name at the cursor has to be
    /// looked up by [`name_operand`](Self::name_operand).
    #[inline(always)]
    pub(crate) fn numbered_name(&mut self) -> Option<Operand> {
        let numbered = swar::numbered(swar::load(self.cursor.src, self.cursor.pos)?)?;
        let end = self.cursor.pos + numbered.len as usize;
        if is(self.cursor.src[end], class::IDENT) {
            return None;
        }
        let index = self.scopes.ranges.find_recent(numbered.key)?;
        let range = self.scopes.ranges.get(index);
        if range.ambiguous || numbered.number >= range.count {
            return None;
        }
        self.cursor.pos = end;
        self.cursor.last = end;
        Some(self.member(index, numbered.number))
    }

    /// The operand for the name at `start..end`.
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

    /// The member of a range with a number. Its first mention creates it.
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

    /// The operand for a name that is a member of the range at `index` or a plain name with the spelling of a member. Its
    /// number begins at `digits_start`.
    #[inline(never)]
    fn ambiguous_name(
        &mut self,
        index: usize,
        start: usize,
        digits_start: usize,
        end: usize,
    ) -> Operand {
        let src = self.cursor.src;
        let prefix = &src[start..digits_start];
        let number = suffix_number(&src[digits_start..end]);
        let name = self.intern(start, end);
        let plain_depth = self.scopes.find(name).map(|b| b.depth);
        let ranges = &self.scopes.ranges;
        let range = ranges
            .with_member(index, number)
            .find(|&i| self.out.module.name_bytes(ranges.get(i).name) == prefix);
        match range {
            Some(i) if !plain_depth.is_some_and(|depth| plain_wins(depth, ranges.get(i).depth)) => {
                self.member(i, number)
            }
            _ => self.plain_name(start, end),
        }
    }

    /// Whether the name at `start..end` is declared and visible.
    pub(crate) fn is_declared(&self, start: usize, end: usize) -> bool {
        let name = self.out.module.find_name(&self.cursor.src[start..end]);
        name.is_some_and(|n| self.scopes.find(n).is_some())
    }

    /// Whether a name is declared, by itself or as a member of a range of registers.
    pub(crate) fn is_declared_or_member(&mut self, start: usize, end: usize) -> bool {
        let name = &self.cursor.src[start..end];
        let digits = name.iter().rev().take_while(|b| b.is_ascii_digit());
        let prefix_len = name.len() - digits.count();
        let is_member = prefix_len < name.len() && {
            let key = prefix_key(self.cursor.src, start, prefix_len);
            self.scopes.ranges.find(key).is_some()
        };
        is_member || self.is_declared(start, end)
    }

    /// The operand for a name that is not a member of a range.
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

    /// The operand for a name without a visible declaration: a label, whose definition may follow.
    fn forward_label(&mut self, name: NameId, start: usize) -> Operand {
        let scope = self.scopes.current;
        let label = Label::new(name, scope, UNDEFINED);
        let id = self.out.body.labels_mut().push(label);
        self.scopes.bind_undefined(name, id, start);
        self.scopes.labels.uses.push((id, start as u32));
        Operand::Label(id)
    }

    // --- declaring ---

    /// Reports a name that the current scope already declares. Returns whether it does.
    pub(crate) fn report_duplicate(&mut self, declared: DeclaredName) -> bool {
        let DeclaredName { name, start, end } = declared;
        let Some(first) = self.scopes.find_here(name) else {
            return false;
        };
        if !self.doubts_declaration(start) {
            let text = self.out.module.name(name);
            let message = format!("duplicate declaration of `{text}` in this scope");
            let first_span = Span::new(first.offset, first.offset + text.len() as u32);
            self.report(
                Diagnostic::error(Code::DuplicateName, Span::at(start, end), message)
                    .with_label(first_span, "first declared here"),
            );
        }
        true
    }

    /// Reports a declared name that is reserved.
    pub(crate) fn check_reserved(&mut self, start: usize, end: usize) {
        if &self.cursor.src[start..end] == b"WARP_SZ" {
            let message = "`WARP_SZ` is a predefined constant; expected another name";
            self.report_error(Code::ReservedName, start, end, message);
        }
    }

    /// Binds a plain name in the current scope. Reports it if the scope already declares it.
    pub(crate) fn declare(&mut self, declared: DeclaredName, meaning: Meaning) {
        let DeclaredName { name, start, end } = declared;
        self.check_reserved(start, end);
        // An earlier use of the name is bound to an undefined label.
        let used_label = self
            .scopes
            .find_here(name)
            .and_then(|b| b.undefined_label());
        if let Some(id) = used_label {
            self.scopes.labels.declared_after_use.insert(id);
        } else if self.report_duplicate(declared) {
            return;
        }
        // A label can be spelled like a member of a range.
        let src = self.cursor.src;
        if !matches!(meaning, Meaning::Label { .. }) && is(src[end - 1], class::DIGIT) {
            let prefix_len = split_numeric_suffix(&src[start..end]).0.len();
            if prefix_len > 0 {
                let key = prefix_key(src, start, prefix_len);
                self.check_member(key, declared);
                self.scopes.add_numbered(key, name);
            }
        }
        self.scopes.bind(name, meaning, start);
    }

    /// Reports a plain name that a range of the same scope already declares. `key` is that of the name without its number.
    fn check_member(&mut self, key: u64, declared: DeclaredName) {
        let DeclaredName { name, start, end } = declared;
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
    pub(crate) fn declare_range(&mut self, declared: DeclaredName, kind: RangeKind, count: u32) {
        let DeclaredName { name, start, end } = declared;
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
                let error = Diagnostic::error(Code::DuplicateName, Span::at(start, end), message);
                let first_stmt = match range.kind {
                    RangeKind::Reg(id) => self.out.body.reg_decls().get(id).and_then(|r| r.stmt),
                    RangeKind::Var(id) => self.out.body.vars().get(id).and_then(|v| v.stmt),
                    RangeKind::Symbol(_) => None,
                };
                self.report(match first_stmt {
                    Some(stmt) => {
                        error.with_label(self.out.body.source_span(stmt), "first declared here")
                    }
                    None => error,
                });
            }
        }
        if self.scopes.numbered(key).next().is_some() {
            self.check_plain_members(key, declared, count);
        }
        self.scopes.bind_range(key, name, kind, count);
    }

    /// Reports a plain name of this scope that the range `declared` declares as well. Like ptxas, it reports nothing if the
    /// plain name with number 0 exists.
    #[cold]
    fn check_plain_members(&mut self, key: u64, declared: DeclaredName, count: u32) {
        let prefix = self.out.module.name_bytes(declared.name);
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
        let Some(first) = first.filter(|_| !self.doubts_declaration(declared.start)) else {
            return;
        };
        let text = self.out.module.name(first.name);
        let message =
            format!("duplicate declaration of `{text}` in this scope: this range declares it too");
        let span = Span::at(declared.start, declared.end);
        let first_span = Span::new(first.offset, first.offset + text.len() as u32);
        self.report(
            Diagnostic::error(Code::DuplicateName, span, message)
                .with_label(first_span, "first declared here"),
        );
    }

    /// Adds the register that a declaration without a range declares.
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
        let meaning = Meaning::Label { id, defined: true };
        self.declare(DeclaredName { name, start, end }, meaning);
        id
    }

    /// A selector or component operand of `base`.
    pub(crate) fn select_component(&mut self, selector: Selector, base: Operand) -> Operand {
        let base_ref: OperandRef = self.out.pool().extend(&[base]).at(0);
        Operand::Component(selector, base_ref)
    }
}

/// The number at the end of a plain name. `None` if it is too large for a member of a range; [`suffix_number`] would wrap.
fn member_number(digits: &[u8]) -> Option<u32> {
    core::str::from_utf8(digits).ok()?.parse().ok()
}
