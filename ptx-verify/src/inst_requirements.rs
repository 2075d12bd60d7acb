//! The targets and versions that single instructions require.

use alloc::vec::Vec;
use core::fmt;

use ptx_ir::query::Queries;
use ptx_ir::{Body, FuncId, InstId, Module};
use ptx_isa::{PtxVersion, Target};

use crate::requires::availability;

/// The targets and versions that single instructions require. The answer for a mnemonic with operands of the same kinds and types
/// is computed once.
///
/// ```
/// use ptx_isa::{PtxVersion, Target};
/// let text = b".version 8.7 .target sm_90 .address_size 64 .entry k() { griddepcontrol.wait; ret; }";
/// let module = ptx_parse::parse(text).module;
/// let (function, _, body) = module.definitions().next().expect("a kernel");
/// let (wait, _) = body.insts().next().expect("an instruction");
/// let mut requirements = ptx_verify::InstRequirements::new(&module);
/// requirements.enter(&module, function, body);
/// let minimal = requirements.minimal(&module, body, wait);
/// assert_eq!(minimal, [(Target::Sm90, PtxVersion::new(7, 8))]);
/// ```
pub struct InstRequirements {
    /// Indices into `minimal`; `None` for what is not legal anywhere.
    queries: Queries<Option<u32>>,
    minimal: Vec<Vec<(Target, PtxVersion)>>,
}

impl InstRequirements {
    /// Prepares for the instructions of a module. Linear in its declarations.
    #[must_use]
    pub fn new(module: &Module) -> Self {
        Self {
            queries: Queries::new(module),
            minimal: Vec::new(),
        }
    }

    /// Enters a function of the module: the next instructions are those of its body. Linear in its declarations.
    pub fn enter(&mut self, module: &Module, function: FuncId, body: &Body) {
        self.queries.enter(module, function, body);
    }

    /// The lowest target of each architecture family on which an instruction of the entered body is legal, with the first version
    /// there, as [`Availability::minimal`](crate::Availability::minimal) gives them. Empty if it is not legal anywhere.
    pub fn minimal(
        &mut self,
        module: &Module,
        body: &Body,
        inst: InstId,
    ) -> &[(Target, PtxVersion)] {
        let Some(sig) = body.inst(inst).map(|i| i.sig) else {
            return &[];
        };
        let (queries, minimal) = (&mut self.queries, &mut self.minimal);
        let index = queries.answer(module, body, sig, body.operands(inst), |query| {
            minimal.push(availability(query)?.minimal());
            Some(minimal.len() as u32 - 1)
        });
        let found = index.flatten().and_then(|i| minimal.get(i as usize));
        found.map_or(&[], Vec::as_slice)
    }
}

impl fmt::Debug for InstRequirements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InstRequirements").finish_non_exhaustive()
    }
}
