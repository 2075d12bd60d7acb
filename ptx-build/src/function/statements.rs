//! Instructions: their guards, their judgement, their lines.

use alloc::format;
use alloc::string::ToString;

use ptx_ir::FunctionKind;

use super::FunctionBuilder;
use crate::check;
use crate::error::BuildError;
use crate::lexical;
use crate::operand::{CodeLabel, IntoOperands, Reg};
use crate::writer::{Dependency, Writer};

impl<'m> FunctionBuilder<'m> {
    pub(super) fn writer(&mut self, values: bool) -> Writer<'_> {
        Writer {
            body: &mut self.body,
            tables: &self.module.tables,
            values,
            count: 0,
            in_offset: false,
        }
    }

    /// Puts the statement that follows under a guard: `@p`.
    pub fn guard(&mut self, predicate: Reg) -> &mut Self {
        self.body.guard = Some((predicate, false));
        self
    }

    /// Puts the statement that follows under an inverted guard: `@!p`.
    pub fn guard_not(&mut self, predicate: Reg) -> &mut Self {
        self.body.guard = Some((predicate, true));
        self
    }

    /// An instruction by its mnemonic.
    pub fn inst(&mut self, mnemonic: &str, operands: impl IntoOperands) -> Result<(), BuildError> {
        if let Err(error) = lexical::mnemonic(mnemonic) {
            self.body.abandon();
            self.body.guard = None;
            return Err(error);
        }
        self.begin(mnemonic);
        self.end(operands)
    }

    #[inline]
    pub(crate) fn begin(&mut self, opcode: &str) {
        self.body.abandon();
        self.body.key.clear();
        self.body.mentions.clear();
        // The place of the signature.
        self.body.key.extend_from_slice(&[0; 4]);
        self.body
            .key
            .push(u8::from(self.body.kind == FunctionKind::Entry));
        self.body.indent();
        if let Some((predicate, negated)) = self.body.guard.take() {
            self.body.text.push_str(if negated { "@!" } else { "@" });
            self.writer(true).register(predicate);
            self.body.text.push(' ');
        }
        self.body.mnemonic = self.body.text.len();
        self.body.is_open = true;
        self.body.text.push_str(opcode);
    }

    #[inline]
    pub(crate) fn end(&mut self, operands: impl IntoOperands) -> Result<(), BuildError> {
        let mnemonic = self.body.text.as_bytes().get(self.body.mnemonic..);
        let (signature, values) = self.module.known.signature(mnemonic.unwrap_or_default());
        operands.write_all(&mut self.writer(values));
        self.body.text.push_str(";\n");
        self.body.is_open = false;
        let result = match self.body.error.take() {
            Some(error) => Err(error),
            None => self.judge(signature),
        };
        match result {
            Ok(()) => {
                self.body.committed = self.body.text.len();
                self.body.note_use();
            }
            Err(_) => {
                self.body.rollback_refs();
                self.body.text.truncate(self.body.committed);
            }
        }
        result
    }

    #[inline]
    pub(super) fn judge(&mut self, signature: u32) -> Result<(), BuildError> {
        if let Some(place) = self.body.key.get_mut(..4) {
            place.copy_from_slice(&signature.to_le_bytes());
        }
        let known = &mut self.module.known;
        let (key, new) = known.keys.intern(&self.body.key);
        if !new && known.legal.get(key as usize) == Some(&true) {
            return Ok(());
        }
        self.ask(key as usize)
    }

    #[cold]
    pub(super) fn ask(&mut self, key: usize) -> Result<(), BuildError> {
        let text = self.body.text.get(self.body.committed..);
        let text = text.unwrap_or_default().trim().to_string();
        let result = self.judge_text(&text);
        let legal = &mut self.module.known.legal;
        if legal.len() <= key {
            legal.resize(key + 1, false);
        }
        if let Some(entry) = legal.get_mut(key) {
            *entry = result.is_ok();
        }
        if result.is_ok() {
            self.module.tables.fix(&self.body.mentions);
        }
        result
    }

    /// Judges a text that mentions what was noted.
    pub(super) fn judge_text(&self, text: &str) -> Result<(), BuildError> {
        self.judge_behind("", text)
    }

    /// The same behind other statements.
    pub(super) fn judge_behind(&self, before: &str, text: &str) -> Result<(), BuildError> {
        let both = format!("{before}{text}");
        let (whole, start) = check::minimal_context(&self.body, &self.module.tables, &both);
        let start = start + before.len();
        match check::errors(&whole, start, start + text.len()) {
            Ok(_) => Ok(()),
            Err(found) => Err(BuildError::illegal(text.to_string(), found)),
        }
    }

    /// Judges a text that mentions these.
    pub(crate) fn check(&mut self, text: &str, mentions: &[Dependency]) -> Result<(), BuildError> {
        self.body.mentions.clear();
        self.body.mentions.extend_from_slice(mentions);
        self.judge_text(text)?;
        self.module.tables.fix(mentions);
        Ok(())
    }

    pub(crate) fn any_writer(&mut self) -> Writer<'_> {
        self.writer(true)
    }

    /// Makes several statements, or none if one of them is refused. Under a guard, a jump goes over all of them.
    pub(crate) fn all_or_none<R>(
        &mut self,
        make: impl FnOnce(&mut Self) -> Result<R, BuildError>,
    ) -> Result<R, BuildError> {
        let guard = self.body.guard.take();
        let mark = self.mark();
        let end = guard.map(|_| self.label());
        let made = self.jump(guard, end).and_then(|()| make(self));
        match made {
            Ok(made) => end.map_or(Ok(()), |end| self.place(end)).map(|()| made),
            Err(error) => {
                self.reset(mark);
                if let Some(label) = end.and_then(|l| self.body.labels.get_mut(l.index as usize)) {
                    label.waiting.clear();
                }
                Err(error)
            }
        }
    }

    /// Goes to a label where the guard does not hold.
    pub(super) fn jump(
        &mut self,
        guard: Option<(Reg, bool)>,
        end: Option<CodeLabel>,
    ) -> Result<(), BuildError> {
        let (Some((predicate, negated)), Some(end)) = (guard, end) else {
            return Ok(());
        };
        self.body.guard = Some((predicate, !negated));
        self.bra().emit(end)
    }

    /// Up to where the text is good.
    pub(crate) fn mark(&mut self) -> usize {
        self.body.abandon();
        self.body.committed
    }

    /// Takes back the text behind a [mark](Self::mark).
    pub(crate) fn reset(&mut self, mark: usize) {
        self.body.text.truncate(mark);
        self.body.committed = mark;
    }

    /// Adds lines that were checked.
    pub(crate) fn add_lines(&mut self, text: &str) {
        for line in text.lines().map(str::trim).filter(|l| !l.is_empty()) {
            self.body.line(line);
        }
    }
}
