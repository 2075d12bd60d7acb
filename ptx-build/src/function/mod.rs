//! The builder of a kernel or a function.

mod blocks;
pub(crate) mod body;
mod completion;
mod debug_info;
mod header;
mod import;
mod labels;
mod names;
mod parallel_copy;
mod parameters;
mod registers;
mod statements;
mod variables;

use ptx_ir::{Code, FuncId, FunctionKind};
use ptx_isa::Opcode;

use crate::error::{BuildError, BuildErrorKind, unplaced_label};
use crate::handle::Func;
use crate::handle_owner::Handle;
use crate::module::ModuleBuilder;
use crate::module::tables::Function;
use crate::name_table::Meaning;
use crate::statement::InstBuilder;
use body::Body;
pub use labels::BranchTarget;

#[cold]
pub(crate) fn no_results(kernel: &str, result: &str) -> BuildError {
    BuildError::new(
        BuildErrorKind::Argument,
        format!("`{kernel}` is a kernel and cannot return `{result}`"),
        "store what it computes to memory that a parameter points to",
    )
    .with_code(Code::Parameter)
}

/// Makes a kernel or a function: interface, registers, labels, scopes, statements.
///
/// Every opcode has a method that begins a [`InstBuilder`]. A refused statement changes nothing.
#[derive(Debug)]
pub struct FunctionBuilder<'m> {
    pub(crate) module: &'m mut ModuleBuilder,
    pub(crate) body: Body,
    func: Func,
    /// The declaration of the function before it was begun.
    declaration: Option<Function>,
    is_finished: bool,
    /// Whether its state was moved to a [`PausedFunction`].
    is_paused: bool,
}

impl<'m> FunctionBuilder<'m> {
    /// Begins a function that the module may have declared before.
    pub(crate) fn new(
        module: &'m mut ModuleBuilder,
        func: Func,
        record: FuncId,
        kind: FunctionKind,
        name: &str,
        declaration: Option<Function>,
    ) -> Self {
        let body = Body::new(func.index, record, kind, name);
        module.tables.handle_owners.begin(body.owner, name);
        Self {
            module,
            body,
            func,
            declaration,
            is_finished: false,
            is_paused: false,
        }
    }

    /// The module it belongs to, to declare variables in.
    pub fn module(&mut self) -> &mut ModuleBuilder {
        self.module
    }

    /// The function itself, to be called.
    #[must_use]
    pub fn handle(&self) -> Func {
        self.func
    }

    /// Completes the function and adds it to its module.
    ///
    /// # Errors
    ///
    /// A statement or a scope is not complete, a label that is mentioned is not placed, or the parameters and directives are
    /// illegal. The function is [abandoned](Self::abandon) then: it can be built again under the same name.
    ///
    /// ```
    /// # use ptx_build::ModuleBuilder;
    /// # use ptx_isa::{PtxVersion, Target};
    /// let mut m = ModuleBuilder::new(PtxVersion::new(8, 0), Target::Sm80);
    /// let mut k = m.kernel("k")?;
    /// let exit = k.label();
    /// k.bra().emit(exit)?;
    /// assert!(k.finish().is_err());
    /// let mut k = m.kernel("k")?;
    /// k.ret().emit(())?;
    /// k.finish()?;
    /// m.finish()?;
    /// # Ok::<(), ptx_build::BuildError>(())
    /// ```
    pub fn finish(mut self) -> Result<Func, BuildError> {
        self.check_complete()?;
        self.check_labels()?;
        let header = self.interface().map(core::mem::take).unwrap_or_default();
        let checked = self.check_header(&header, true);
        if let Some(interface) = self.interface() {
            *interface = header;
        }
        let parsed = checked?;
        let fresh = self.declare_fresh_registers();
        self.is_finished = true;
        self.body.declared.push(self.func.index);
        self.complete(&parsed, fresh);
        Ok(self.func)
    }

    /// Refuses an incomplete statement or scope.
    fn check_complete(&mut self) -> Result<(), BuildError> {
        self.body.abandon();
        if let Some(error) = self.body.pending.unfinished.take() {
            return Err(error);
        }
        if let Some(guard) = self.body.pending.guard.take() {
            let message = format!(
                "no statement follows the guard `{}` in `{}`",
                self.name_of(guard.predicate),
                self.body.name
            );
            let help = "call `guard` right before the statement that it is for";
            return Err(BuildError::new(BuildErrorKind::Unfinished, message, help));
        }
        if self.body.scopes.len() > 1 {
            let message = format!("a scope of `{}` is not closed", self.body.name);
            let help = "`close` closes it";
            return Err(BuildError::new(BuildErrorKind::Scope, message, help));
        }
        Ok(())
    }

    /// Refuses labels that are mentioned and not placed, or whose name means something else.
    fn check_labels(&self) -> Result<(), BuildError> {
        let mut mentioned = self.body.labels.iter().filter(|l| !l.waiting.is_empty());
        if let Some(label) = mentioned.clone().find(|l| l.place.is_none()) {
            let message = format!(
                "the label `{}` is used in `{}` but not placed",
                label.name, self.body.name
            );
            let help =
                "`place` puts it before the statement that it leads to; `switch_to` begins a block";
            return Err(BuildError::new(BuildErrorKind::Unplaced, message, help));
        }
        // A name of the module that was given after a jump to the label.
        let names = &self.module.tables.names;
        match mentioned.find(|l| names.contains(&l.name)) {
            Some(label) => Err(unplaced_label(&label.name)),
            None => Ok(()),
        }
    }

    /// Discards the function: the module is restored, except for declarations through [`module`](Self::module). Dropping the builder
    /// has the same effect.
    pub fn abandon(self) {}
}

impl Drop for FunctionBuilder<'_> {
    fn drop(&mut self) {
        if self.is_paused {
            return;
        }
        if !self.is_finished {
            let declaration = self.declaration.take();
            let nested = core::mem::take(&mut self.body.declared);
            self.module.restore(self.func.index, declaration, &nested);
            self.module.draft.abandon_function();
        }
        let names = self.body.take_names();
        self.module.tables.handle_owners.end(self.body.owner, names);
    }
}

/// For the methods of opcodes.
impl<'m> FunctionBuilder<'m> {
    #[inline]
    pub(crate) fn statement<const COUNTS: u32>(
        &mut self,
        opcode: Opcode,
    ) -> InstBuilder<'_, 'm, COUNTS> {
        InstBuilder::new(self, opcode)
    }
}

/// A function that was begun and borrows no module, as an object of another language needs it.
///
/// [`ModuleBuilder::resume`] goes on. A function that is dropped while it is paused is never complete.
#[derive(Debug)]
pub struct PausedFunction {
    body: Body,
    func: Func,
    declaration: Option<Function>,
}

impl FunctionBuilder<'_> {
    /// Sets the function aside, so that the module is free.
    ///
    /// ```
    /// # use ptx_build::ModuleBuilder;
    /// # use ptx_isa::{PtxVersion, Target};
    /// let mut m = ModuleBuilder::new(PtxVersion::new(8, 0), Target::Sm80);
    /// let paused = m.kernel("k")?.pause();
    /// let mut k = m.resume(paused)?;
    /// k.ret().emit(())?;
    /// k.finish()?;
    /// assert!(m.finish()?.function("k").is_some());
    /// # Ok::<(), ptx_build::BuildError>(())
    /// ```
    #[must_use]
    pub fn pause(mut self) -> PausedFunction {
        let empty = Body::new(0, FuncId::new(0), FunctionKind::Func, "");
        self.is_paused = true;
        PausedFunction {
            body: core::mem::replace(&mut self.body, empty),
            func: self.func,
            declaration: self.declaration.take(),
        }
    }
}

impl ModuleBuilder {
    /// Goes on with a function that was paused.
    ///
    /// # Errors
    ///
    /// The function belongs to another module.
    pub fn resume(&mut self, paused: PausedFunction) -> Result<FunctionBuilder<'_>, BuildError> {
        let PausedFunction {
            body,
            func,
            declaration,
        } = paused;
        if func.owner != self.tables.owner {
            return Err(self.tables.handle_owners.refuse(Handle::Func(func), None));
        }
        Ok(FunctionBuilder {
            module: self,
            body,
            func,
            declaration,
            is_finished: false,
            is_paused: false,
        })
    }
}
