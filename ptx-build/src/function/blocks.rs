//! Blocks, whose statements can be added in any order.

use core::mem;

use super::FunctionBuilder;
use super::body::Body;
use crate::error::{BuildError, BuildErrorKind};
use crate::handle::CodeLabel;
use crate::sequence::{Block, Sequence};

impl Body {
    /// Makes another block the current one.
    fn select(&mut self, block: Option<usize>) {
        self.abandon();
        if block == self.blocks.current {
            return;
        }
        for side in [self.blocks.current, block] {
            let sequence = match side {
                None => Some(&mut self.blocks.entry),
                Some(i) => self.blocks.blocks.get_mut(i).map(|b| &mut b.sequence),
            };
            if let Some(sequence) = sequence {
                mem::swap(sequence, &mut self.sequence);
            }
        }
        self.blocks.current = block;
    }

    /// Exchanges the statements of the current block and the declarations before all blocks.
    fn swap_declarations(&mut self) {
        mem::swap(&mut self.blocks.declarations, &mut self.sequence);
    }

    /// Takes the statements of all blocks in order, after `declarations`.
    pub(super) fn take_statements(&mut self, declarations: Sequence) -> Sequence {
        self.select(None);
        let mut statements = declarations;
        let mut first = mem::take(&mut self.sequence);
        if self.blocks.is_empty() {
            statements.append(first);
            return statements;
        }
        let entry_end = first.split_off(self.blocks.entry_start);
        let blocks = mem::take(&mut self.blocks);
        for sequence in [first, blocks.declarations, entry_end] {
            statements.append(sequence);
        }
        for block in blocks.blocks {
            statements.append(block.sequence);
        }
        statements
    }
}

impl FunctionBuilder<'_> {
    /// Creates a block, to be filled after [`switch_to`](Self::switch_to). Its label is the target of branches.
    ///
    /// Blocks follow each other in the order of their creation, after the entry: the statements added before the first
    /// `switch_to`. A block that does not end with a branch or return continues with the next one. A block that is neither
    /// filled nor mentioned is omitted. Registers, variables and tables that are declared outside inner scopes after the first
    /// block was created are declared before all blocks.
    ///
    /// ```
    /// # use ptx_build::ModuleBuilder;
    /// # use ptx_isa::{PtxVersion, ScalarType as T, Target};
    /// # let mut m = ModuleBuilder::new(PtxVersion::new(8, 0), Target::Sm80);
    /// let mut k = m.kernel("k")?;
    /// let (i, p) = (k.reg(T::B32), k.reg(T::Pred));
    /// let (body, exit) = (k.create_block(), k.create_block());
    /// k.switch_to(exit)?;
    /// k.ret().emit(())?;
    /// k.switch_to(body)?;
    /// k.add().s32((i, i, 1))?;
    /// k.setp().lt().s32((p, i, 10))?;
    /// k.guard(p).bra().emit(body)?;
    /// k.bra().emit(exit)?;
    /// k.switch_to_entry()?;
    /// k.mov().b32((i, 0))?;
    /// k.finish()?;
    /// assert!(m.text().contains("mov.b32 %r1, 0;\n$L_1:\n\tadd.s32 %r1, %r1, 1;"));
    /// # m.finish()?;
    /// # Ok::<(), ptx_build::BuildError>(())
    /// ```
    pub fn create_block(&mut self) -> CodeLabel {
        self.body.abandon();
        self.body.is_in_order = false;
        let label = self.label();
        if self.body.blocks.is_empty() {
            self.body.blocks.entry_start = self.body.sequence.mark();
        }
        self.body.blocks.blocks.push(Block {
            label: label.index,
            sequence: Sequence::default(),
        });
        label
    }

    /// Makes a block the current one: the statements that follow are appended to it, however much it has already.
    ///
    /// # Errors
    ///
    /// An inner scope is open ([`Scope`](BuildErrorKind::Scope)), or the label is not that of a block of this function.
    pub fn switch_to(&mut self, block: CodeLabel) -> Result<(), BuildError> {
        let info = self.label_info(block)?;
        let is_new = info.place.is_none();
        let blocks = &mut self.body.blocks.blocks.iter();
        let Some(index) = blocks.position(|b| b.label == block.index) else {
            let message = format!("the label `{}` is not that of a block", info.name);
            let help = "`create_block` makes a block and its label; `place` sets other labels";
            return Err(BuildError::new(BuildErrorKind::Argument, message, help));
        };
        self.check_switch()?;
        self.body.select(Some(index));
        if is_new { self.place(block) } else { Ok(()) }
    }

    /// Makes the entry the current block: the statements before the first block.
    ///
    /// # Errors
    ///
    /// An inner scope is open ([`Scope`](BuildErrorKind::Scope)).
    pub fn switch_to_entry(&mut self) -> Result<(), BuildError> {
        self.check_switch()?;
        self.body.select(None);
        Ok(())
    }

    /// Adds declarations: in a function of several blocks, before all blocks.
    pub(super) fn with_declarations<R>(&mut self, add: impl FnOnce(&mut Self) -> R) -> R {
        self.body.abandon();
        if self.body.blocks.is_empty() || self.body.is_in_scope() {
            return add(self);
        }
        self.body.swap_declarations();
        let result = add(self);
        self.body.swap_declarations();
        result
    }

    fn check_switch(&self) -> Result<(), BuildError> {
        if !self.body.is_in_scope() {
            return Ok(());
        }
        let message = format!(
            "a scope of `{}` is open in the current block",
            self.body.name
        );
        let help = "`close` closes it: a scope begins and ends in one block";
        Err(BuildError::new(BuildErrorKind::Scope, message, help))
    }
}
