//! Functions that are set aside while they are built.

use ptx_ir::{FuncId, FunctionKind};

use super::FunctionBuilder;
use super::body::Body;
use crate::error::BuildError;
use crate::handle::Func;
use crate::handle_owner::Handle;
use crate::module::ModuleBuilder;
use crate::module::tables::Function;

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
            return Err(self.tables.past.refuse(Handle::Func(func), None));
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
