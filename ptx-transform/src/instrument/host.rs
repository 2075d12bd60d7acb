//! What the probes of one function share: registers, and what is computed once at its entry.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;

use ptx_edit::{EditError, Editor, NewStmt};
use ptx_ir::{LabelId, RegId, StmtId};
use ptx_isa::ScalarType;

/// A function with its probes.
pub(super) struct FunctionInstrumenter<'m> {
    pub(super) editor: Editor<'m>,
    /// Registers of a probe, by type and number; each probe begins with the first again, since none outlives its probe.
    registers: BTreeMap<(ScalarType, u32), RegId>,
    /// What lives through the function, by the caller's key.
    pub(super) kept: BTreeMap<u32, RegId>,
    /// What new names begin with.
    stem: String,
    /// The last of the new declarations at the entry, and the last of the new statements there.
    declared: Option<StmtId>,
    entry: Option<StmtId>,
    labels: u32,
    /// Which mnemonics may change the carry flag, as far as that was asked.
    pub(super) changes_carry: BTreeMap<String, bool>,
}

/// New names begin with this, or with this and a number.
const STEM: &str = "probe";

impl<'m> FunctionInstrumenter<'m> {
    pub(super) fn new(editor: Editor<'m>) -> Self {
        Self {
            editor,
            registers: BTreeMap::new(),
            kept: BTreeMap::new(),
            stem: String::from(STEM),
            declared: None,
            entry: None,
            labels: 0,
            changes_carry: BTreeMap::new(),
        }
    }

    /// Register `number` of a type, for use within a probe.
    pub(super) fn register(&mut self, ty: ScalarType, number: u32) -> Result<RegId, EditError> {
        if let Some(&register) = self.registers.get(&(ty, number)) {
            return Ok(register);
        }
        let kind = ty.text().trim_start_matches('.');
        let register = self.declare(ty, &format!("{kind}_{number}"))?;
        self.registers.insert((ty, number), register);
        Ok(register)
    }

    /// A register that lives through the function.
    pub(super) fn keep(&mut self, ty: ScalarType, key: u32) -> Result<RegId, EditError> {
        let register = self.declare(ty, &format!("kept_{key}"))?;
        self.kept.insert(key, register);
        Ok(register)
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

    /// Makes something under a free name.
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

    /// A label that stands nowhere yet.
    pub(super) fn label(&mut self) -> Result<(LabelId, NewStmt), EditError> {
        let name = format!("after_{}", self.labels);
        self.labels += 1;
        self.name('$', &name, |editor, name| editor.label(name))
    }

    /// Places a statement at the entry of the function, behind all that was placed there before.
    pub(super) fn place_at_entry(&mut self, draft: NewStmt) -> Result<StmtId, EditError> {
        let id = match self.entry.or(self.declared) {
            Some(last) => self.editor.insert_after(last, draft)?,
            None => self.editor.prepend(draft)?,
        };
        self.entry = Some(id);
        Ok(id)
    }
}
