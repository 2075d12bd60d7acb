//! The state that the probes of a function share: registers, and values that are computed once at the entry of the function.

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
    /// The registers of values that are computed at the entry, sorted by the keys of the caller.
    entry_registers: Vec<(u32, RegId)>,
    /// The prefix of new names.
    stem: String,
    /// The last of the new declarations at the entry.
    last_declaration: Option<StmtId>,
    /// The last of the new statements at the entry.
    last_entry_statement: Option<StmtId>,
    /// The number of labels.
    labels: u32,
    /// The mnemonics of emitted instructions.
    mnemonics: Signatures,
    /// For each of `mnemonics`, whether it may change the carry flag.
    change_carry: Vec<bool>,
}

/// The prefix of new names, possibly followed by a number.
const STEM: &str = "probe";

impl<'m> FunctionInstrumenter<'m> {
    pub(super) fn new(editor: Editor<'m>) -> Self {
        Self {
            editor,
            registers: [const { Vec::new() }; ScalarType::ALL.len()],
            entry_registers: Vec::new(),
            stem: String::from(STEM),
            last_declaration: None,
            last_entry_statement: None,
            labels: 0,
            mnemonics: Signatures::new(Default::default(), 1),
            change_carry: Vec::new(),
        }
    }

    /// Register `number` of a type, for use within a probe. The registers with lower numbers were requested before.
    pub(super) fn register(&mut self, ty: ScalarType, number: usize) -> Result<RegId, EditError> {
        let registers = self.registers.get(ty as usize);
        if let Some(&register) = registers.and_then(|registers| registers.get(number)) {
            return Ok(register);
        }
        let kind = ty.text().trim_start_matches('.');
        let register = self.declare(ty, &format!("{kind}_{number}"))?;
        if let Some(registers) = self.registers.get_mut(ty as usize) {
            registers.push(register);
        }
        Ok(register)
    }

    /// The register with this key that is computed at the entry, if there is one.
    pub(super) fn entry_register(&self, key: u32) -> Option<RegId> {
        let index = self
            .entry_registers
            .binary_search_by_key(&key, |(k, _)| *k)
            .ok()?;
        Some(self.entry_registers.get(index)?.1)
    }

    /// Declares a register that is computed at the entry, with a new key. It is live in the whole function.
    pub(super) fn declare_entry_register(
        &mut self,
        ty: ScalarType,
        key: u32,
    ) -> Result<RegId, EditError> {
        let register = self.declare(ty, &format!("kept_{key}"))?;
        let index = self.entry_registers.partition_point(|(k, _)| *k < key);
        self.entry_registers.insert(index, (key, register));
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
            self.declare_named('%', name, |editor, name| editor.registers(ty, name, None))?;
        let id = match self.last_declaration {
            Some(last) => self.editor.insert_after(last, draft)?,
            None => self.editor.prepend(draft)?,
        };
        self.last_declaration = Some(id);
        self.editor.register(decl, 0)
    }

    /// Declares an entity with an unused name. While a name is in use, the number in the prefix of new names is increased.
    fn declare_named<T>(
        &mut self,
        sigil: char,
        name: &str,
        declare: impl Fn(&mut Editor<'m>, &str) -> Result<T, EditError>,
    ) -> Result<T, EditError> {
        let mut nth = 0u32;
        loop {
            match declare(&mut self.editor, &format!("{sigil}{}_{name}", self.stem)) {
                Err(EditError::Taken(_)) => nth += 1,
                result => return result,
            }
            self.stem = format!("{STEM}{nth}");
        }
    }

    /// A label that is not placed yet.
    pub(super) fn label(&mut self) -> Result<(LabelId, NewStmt), EditError> {
        let name = format!("after_{}", self.labels);
        self.labels += 1;
        self.declare_named('$', &name, |editor, name| editor.label(name))
    }

    /// Places a statement at the entry of the function, after the statements that were placed there before.
    pub(super) fn place_at_entry(&mut self, draft: NewStmt) -> Result<StmtId, EditError> {
        let id = match self.last_entry_statement.or(self.last_declaration) {
            Some(last) => self.editor.insert_after(last, draft)?,
            None => self.editor.prepend(draft)?,
        };
        self.last_entry_statement = Some(id);
        Ok(id)
    }
}
