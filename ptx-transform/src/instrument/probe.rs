//! The interface for writing a probe: its site, the accesses there, and methods that insert statements.

use alloc::vec::Vec;

use ptx_edit::{EditError, Editor, NewStmt};
use ptx_ir::facts::MemoryAccess;
use ptx_ir::{Body, GuardSense, LabelId, Module, Operand, RegId, StmtId};
use ptx_isa::internals::{Control, EffectKind};
use ptx_isa::{Opcode, ScalarType};

use super::error::Error;
use super::host::FunctionInstrumenter;
use super::mnemonics;
use super::plan::{Site, Timing};

/// The position at which statements are inserted.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum InsertionPoint {
    /// Before the instruction.
    Before,
    /// After the instruction, and after the statements that were inserted there before.
    After,
    /// At the entry of the function.
    Entry,
}

impl From<Timing> for InsertionPoint {
    fn from(timing: Timing) -> Self {
        match timing {
            Timing::Before => Self::Before,
            Timing::After => Self::After,
        }
    }
}

/// A probe while it is written; see the [module](super).
#[derive(Debug)]
pub struct Probe<'h, 'm> {
    host: &'h mut FunctionInstrumenter<'m>,
    site: &'h Site,
    /// The position at which statements are inserted now.
    insertion_point: InsertionPoint,
    /// The last statement after the instruction.
    last: StmtId,
    /// The first and the last statement of the probe itself, around which the carry flag is preserved.
    extent: Option<(StmtId, StmtId)>,
    changes_carry: bool,
    /// For each type, the number of registers in use.
    used: [usize; ScalarType::ALL.len()],
    /// The labels that are not placed yet, in the order of their ids.
    labels: Vec<(LabelId, NewStmt)>,
    /// The guard as it was before the instruction.
    guard: Option<(RegId, GuardSense)>,
}

impl<'h, 'm> Probe<'h, 'm> {
    pub(super) fn new(host: &'h mut FunctionInstrumenter<'m>, site: &'h Site) -> Self {
        Self {
            host,
            site,
            insertion_point: site.when.into(),
            last: site.statement,
            extent: None,
            changes_carry: false,
            used: [0; ScalarType::ALL.len()],
            labels: Vec::new(),
            guard: None,
        }
    }

    /// The site: its number, the function, the instruction and its accesses.
    #[must_use]
    pub fn site(&self) -> &'h Site {
        self.site
    }

    /// The number of the site, as an operand.
    pub fn id(&mut self) -> Operand {
        self.host.editor.integer(i64::from(self.site.id))
    }

    /// An access of the instruction.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`] if there is no such access.
    pub fn access(&self, nth: usize) -> Result<&'h MemoryAccess, Error> {
        self.site
            .accesses
            .get(nth)
            .ok_or(Error::Missing("place in the list"))
    }

    /// The editor, for constants and other operands. Statements that are inserted with it directly are not under the guard, and
    /// the carry flag is not preserved for them.
    pub fn editor(&mut self) -> &mut Editor<'m> {
        &mut self.host.editor
    }

    pub(super) fn body(&self) -> &Body {
        self.host.editor.body()
    }

    pub(super) fn module(&self) -> &Module {
        self.host.editor.module()
    }

    /// Whether the instruction may overwrite a register before the probe reads it.
    pub(super) fn is_overwritten(&self, register: RegId) -> bool {
        self.site.overwritten.iter().any(|p| p.register == register)
    }

    /// A temporary register for this probe. Other probes use the same register.
    ///
    /// # Errors
    ///
    /// An [edit](Error::Edit) was refused.
    pub fn register(&mut self, ty: ScalarType) -> Result<RegId, Error> {
        let mut number = 0;
        if let Some(used) = self.used.get_mut(ty as usize) {
            number = *used;
            *used += 1;
        }
        Ok(self.host.register(ty, number)?)
    }

    /// A register that is computed at the entry of the function, once for all probes that use the same key. `make` emits the
    /// computation, which has no guard.
    ///
    /// # Errors
    ///
    /// An error of `make`, or an [edit](Error::Edit) was refused.
    pub fn at_entry(
        &mut self,
        key: u32,
        ty: ScalarType,
        make: impl FnOnce(&mut Self, Operand) -> Result<(), Error>,
    ) -> Result<Operand, Error> {
        if let Some(register) = self.host.entry_register(key) {
            return Ok(Operand::Reg(register));
        }
        let register = Operand::Reg(self.host.declare_entry_register(ty, key)?);
        self.insert_at(InsertionPoint::Entry, |probe| make(probe, register))?;
        Ok(register)
    }

    /// Runs `insert` with its statements before the instruction, even if the probe is after it, so that they read the values from
    /// before the instruction.
    pub(super) fn before<T>(
        &mut self,
        insert: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.insert_at(InsertionPoint::Before, insert)
    }

    /// Runs `insert` with another insertion point.
    fn insert_at<T>(
        &mut self,
        insertion_point: InsertionPoint,
        insert: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let outer = core::mem::replace(&mut self.insertion_point, insertion_point);
        let result = insert(self);
        self.insertion_point = outer;
        result
    }

    /// Inserts an instruction under the guard of the probed one.
    ///
    /// # Errors
    ///
    /// An [edit](Error::Edit) was refused, such as an unknown mnemonic.
    pub fn emit(&mut self, mnemonic: &str, operands: &[Operand]) -> Result<(), Error> {
        match self.guard()? {
            Some((register, sense)) if self.insertion_point != InsertionPoint::Entry => {
                let editor = &mut self.host.editor;
                let draft = editor.guarded(register, sense, mnemonic, operands)?;
                self.place_inst(mnemonic, draft)
            }
            _ => self.emit_always(mnemonic, operands),
        }
    }

    /// Inserts an instruction that is executed even if the guard is false.
    ///
    /// # Errors
    ///
    /// An error of [`emit`](Self::emit).
    pub fn emit_always(&mut self, mnemonic: &str, operands: &[Operand]) -> Result<(), Error> {
        let draft = self.host.editor.inst(mnemonic, operands)?;
        self.place_inst(mnemonic, draft)
    }

    /// Inserts an instruction under a predicate and the guard.
    ///
    /// # Errors
    ///
    /// An error of [`emit`](Self::emit).
    pub fn emit_if(
        &mut self,
        predicate: RegId,
        mnemonic: &str,
        operands: &[Operand],
    ) -> Result<(), Error> {
        let conjunction = self.and_guard(predicate)?;
        let draft =
            self.host
                .editor
                .guarded(conjunction, GuardSense::Positive, mnemonic, operands)?;
        self.place_inst(mnemonic, draft)
    }

    /// The conjunction of a predicate and the guard.
    fn and_guard(&mut self, predicate: RegId) -> Result<RegId, Error> {
        let Some((guard, sense)) = self.guard()? else {
            return Ok(predicate);
        };
        let mut condition = guard;
        if sense.is_negated() {
            condition = self.register(ScalarType::Pred)?;
            let operands = [condition, guard].map(Operand::Reg);
            self.emit_always(mnemonics::NOT, &operands)?;
        }
        let conjunction = self.register(ScalarType::Pred)?;
        let operands = [conjunction, predicate, condition].map(Operand::Reg);
        self.emit_always(mnemonics::AND, &operands)?;
        Ok(conjunction)
    }

    /// The guard with the value from before the instruction and its sense.
    ///
    /// # Errors
    ///
    /// An [edit](Error::Edit) was refused.
    pub fn guard(&mut self) -> Result<Option<(RegId, GuardSense)>, Error> {
        let Some((register, sense)) = self.site.guard else {
            return Ok(None);
        };
        if self.guard.is_none() {
            let mut old_guard = register;
            if self.is_overwritten(register) {
                old_guard = self.register(ScalarType::Pred)?;
                let operands = [old_guard, register].map(Operand::Reg);
                self.before(|p| p.emit_always(&mnemonics::copy(ScalarType::Pred), &operands))?;
            }
            self.guard = Some((old_guard, sense));
        }
        Ok(self.guard)
    }

    /// Calls a function of the module whose parameters are registers, under the guard and an optional predicate.
    ///
    /// # Errors
    ///
    /// An error of [`emit`](Self::emit).
    pub fn call(
        &mut self,
        predicate: Option<RegId>,
        function: Operand,
        arguments: &[Operand],
    ) -> Result<(), Error> {
        let arguments = self.editor().list(arguments)?;
        let call = control_mnemonic(Control::Call)?;
        match predicate {
            Some(predicate) => self.emit_if(predicate, call, &[function, arguments]),
            None => self.emit(call, &[function, arguments]),
        }
    }

    /// Aborts the kernel under a predicate and the guard.
    ///
    /// # Errors
    ///
    /// An error of [`emit`](Self::emit).
    pub fn trap_if(&mut self, predicate: RegId) -> Result<(), Error> {
        self.emit_if(predicate, control_mnemonic(Control::Trap)?, &[])
    }

    /// A label for jumps within the probe.
    ///
    /// # Errors
    ///
    /// An [edit](Error::Edit) was refused.
    pub fn label(&mut self) -> Result<Operand, Error> {
        let (id, draft) = self.host.label()?;
        self.labels.push((id, draft));
        Ok(Operand::Label(id))
    }

    /// Places a label of this probe.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`] if it is not an unplaced label of this probe.
    pub fn place_label(&mut self, label: Operand) -> Result<(), Error> {
        let index = match label {
            Operand::Label(id) => self.labels.binary_search_by_key(&id, |(id, _)| *id).ok(),
            _ => None,
        }
        .ok_or(Error::Missing("label of this probe"))?;
        let (_, draft) = self.labels.remove(index);
        self.place(draft)
    }

    fn place_inst(&mut self, mnemonic: &str, draft: NewStmt) -> Result<(), Error> {
        if self.site.carry.is_some()
            && self.insertion_point != InsertionPoint::Entry
            && !self.changes_carry
        {
            self.changes_carry = self.host.may_change_carry(mnemonic);
        }
        self.place(draft)
    }

    fn place(&mut self, draft: NewStmt) -> Result<(), Error> {
        let editor = &mut self.host.editor;
        let id = match self.insertion_point {
            InsertionPoint::Entry => self.host.place_at_entry(draft)?,
            InsertionPoint::Before => editor.insert_before(self.site.statement, draft)?,
            InsertionPoint::After => {
                self.last = editor.insert_after(self.last, draft)?;
                self.last
            }
        };
        if self.insertion_point == self.site.when.into() {
            self.extent = Some((self.extent.map_or(id, |(first, _)| first), id));
        }
        Ok(())
    }

    /// Ends the probe: preserves the carry flag around it if necessary.
    pub(super) fn finish(mut self) -> Result<(), Error> {
        if let Some((label, _)) = self.labels.first() {
            let label = self.host.editor.body().labels().get(*label).map(|l| l.name);
            let name = label.map(|n| self.host.editor.module().name(n).into());
            return Err(EditError::Hidden(name.unwrap_or_default()).into());
        }
        let (Some(family), Some((first, last)), true) =
            (self.site.carry, self.extent, self.changes_carry)
        else {
            return Ok(());
        };
        let saved = Operand::Reg(self.register(ScalarType::B32)?);
        let unused_result = Operand::Reg(self.register(ScalarType::B32)?);
        let editor = &mut self.host.editor;
        let (mnemonic, [a, b]) = family.save();
        let save = editor.inst(mnemonic, &[saved, a, b])?;
        editor.insert_before(first, save)?;
        let (mnemonic, [a, b]) = family.restore(saved);
        let restore = editor.inst(mnemonic, &[unused_result, a, b])?;
        editor.insert_after(last, restore)?;
        Ok(())
    }
}

/// The mnemonic of the instruction without modifiers that has this effect on control flow.
fn control_mnemonic(control: Control) -> Result<&'static str, Error> {
    Opcode::ALL
        .iter()
        .find(|opcode| {
            opcode.instructions().iter().any(|instruction| {
                let mut effects = instruction.forms().iter().flat_map(|form| form.effects());
                instruction.words().is_empty()
                    && effects.any(|effect| effect.kind() == EffectKind::Control(control))
            })
        })
        .map(|opcode| opcode.text())
        .ok_or(Error::Missing("instruction"))
}
