//! Shared by the probes of a function: registers, and values that are computed once at its entry.

use alloc::string::String;
use alloc::vec::Vec;

use ptx_edit::{EditError, Editor, NewStmt};
use ptx_ir::{EntityId, LabelId, RegId, Signatures, StmtId};
use ptx_isa::ScalarType;

use super::carry_flag;

/// A function with its probes.
#[derive(Debug)]
pub(super) struct FunctionInstrumenter<'m> {
    pub(super) editor: Editor<'m>,
    /// For each type, the temporary registers of probes; all probes use the same ones.
    registers: [Vec<RegId>; ScalarType::ALL.len()],
    /// The values that are live in the whole function, sorted by the caller's keys.
    kept: Vec<(u32, RegId)>,
    /// The prefix of new names.
    stem: String,
    /// The last of the new declarations at the entry, and the last of the new statements there.
    declared: Option<StmtId>,
    entry: Option<StmtId>,
    labels: u32,
    /// A cache: mnemonics, and whether they may change the carry flag.
    mnemonics: Signatures,
    change_carry: Vec<bool>,
}

/// The prefix of new names, possibly followed by a number.
const STEM: &str = "probe";

impl<'m> FunctionInstrumenter<'m> {
    pub(super) fn new(editor: Editor<'m>) -> Self {
        Self {
            editor,
            registers: [const { Vec::new() }; ScalarType::ALL.len()],
            kept: Vec::new(),
            stem: String::from(STEM),
            declared: None,
            entry: None,
            labels: 0,
            mnemonics: Signatures::new(Default::default(), 1),
            change_carry: Vec::new(),
        }
    }

    /// Register `number` of a type, for use within a probe; those with lower numbers were given before.
    pub(super) fn register(&mut self, ty: ScalarType, number: usize) -> Result<RegId, EditError> {
        let known = self.registers.get(ty as usize).and_then(|r| r.get(number));
        if let Some(&register) = known {
            return Ok(register);
        }
        let kind = ty.text().trim_start_matches('.');
        let register = self.declare(ty, &format!("{kind}_{number}"))?;
        if let Some(registers) = self.registers.get_mut(ty as usize) {
            registers.push(register);
        }
        Ok(register)
    }

    /// The register with this key that is live in the whole function, if there is one.
    pub(super) fn kept(&self, key: u32) -> Option<RegId> {
        let at = self.kept.binary_search_by_key(&key, |(k, _)| *k).ok()?;
        Some(self.kept.get(at)?.1)
    }

    /// A new register that is live in the whole function.
    pub(super) fn keep(&mut self, ty: ScalarType, key: u32) -> Result<RegId, EditError> {
        let register = self.declare(ty, &format!("kept_{key}"))?;
        let at = self.kept.partition_point(|(k, _)| *k < key);
        self.kept.insert(at, (key, register));
        Ok(register)
    }

    /// Whether an instruction with this mnemonic may change the carry flag.
    pub(super) fn may_change_carry(&mut self, mnemonic: &str) -> bool {
        let id = self.mnemonics.intern(mnemonic.as_bytes());
        if id.index() == self.change_carry.len() {
            let changes = carry_flag::may_change(self.mnemonics.get(id));
            self.change_carry.push(changes);
        }
        self.change_carry.get(id.index()).copied().unwrap_or(true)
    }

    fn declare(&mut self, ty: ScalarType, name: &str) -> Result<RegId, EditError> {
        let (decl, draft) =
            self.name('%', name, |editor, name| editor.registers(ty, name, None))?;
        let id = match self.declared {
            Some(last) => self.editor.insert_after(last, draft)?,
            None => self.editor.prepend(draft)?,
        };
        self.declared = Some(id);
        self.editor.register(decl, 0)
    }

    /// Declares something with an unused name.
    fn name<T>(
        &mut self,
        sigil: char,
        name: &str,
        make: impl Fn(&mut Editor<'m>, &str) -> Result<T, EditError>,
    ) -> Result<T, EditError> {
        let mut nth = 0u32;
        loop {
            match make(&mut self.editor, &format!("{sigil}{}_{name}", self.stem)) {
                Err(EditError::Taken(_)) => nth += 1,
                done => return done,
            }
            self.stem = format!("{STEM}{nth}");
        }
    }

    /// A label that is not placed yet.
    pub(super) fn label(&mut self) -> Result<(LabelId, NewStmt), EditError> {
        let name = format!("after_{}", self.labels);
        self.labels += 1;
        self.name('$', &name, |editor, name| editor.label(name))
    }

    /// Places a statement at the entry of the function, after those that were placed there before.
    pub(super) fn place_at_entry(&mut self, draft: NewStmt) -> Result<StmtId, EditError> {
        let id = match self.entry.or(self.declared) {
            Some(last) => self.editor.insert_after(last, draft)?,
            None => self.editor.prepend(draft)?,
        };
        self.entry = Some(id);
        Ok(id)
    }
}
