//! Shared by the probes of a function: registers, and values that are computed once at its entry.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;

use ptx_edit::{EditError, Editor, NewStmt};
use ptx_ir::{LabelId, RegId, StmtId};
use ptx_isa::ScalarType;

/// A function with its probes.
#[derive(Debug)]
pub(super) struct FunctionInstrumenter<'m> {
    pub(super) editor: Editor<'m>,
    /// The temporary registers of probes, by type and number; all probes use the same ones.
    registers: BTreeMap<(ScalarType, u32), RegId>,
    /// The values that are live in the whole function, by the caller's key.
    pub(super) kept: BTreeMap<u32, RegId>,
    /// The prefix of new names.
    stem: String,
    /// The last of the new declarations at the entry, and the last of the new statements there.
    declared: Option<StmtId>,
    entry: Option<StmtId>,
    labels: u32,
    /// A cache: which mnemonics may change the carry flag.
    pub(super) changes_carry: BTreeMap<String, bool>,
}

/// The prefix of new names, possibly followed by a number.
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

    /// A register that is live in the whole function.
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
