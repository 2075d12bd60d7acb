//! The executable form of a module: decoded functions, and variables with their addresses.

mod accesses;
mod action_operands;
mod calls;
mod decode;
mod frame;
mod instruction;
mod layout;
mod operands;
mod parts;
mod selected_form;
mod shared;
mod sharing;
mod step;
mod users;
mod variables;

use ptx_ir::{FuncId, Module};

pub(crate) use calls::MALLOC;
pub(crate) use frame::Frame;
pub(crate) use selected_form::{TypedOperand, typed_operands};
pub(crate) use step::{
    Access, Act, ActOperand, Address, Argument, Atomic, Base, Call, Callee, ChangedElement, Fold,
    Guard, Passed, Step, Target, Window,
};
pub(crate) use variables::{
    CODE, CODE_BYTES, HANDLE, LOCAL, Object, PARAMETERS, Placement, SHARED, SHARED_STRIDE,
    Variables, window,
};

use sharing::Sharing;

use crate::lanes::Place;
use crate::lower::Code;
use ptx_analysis::reg_lanes::Variables as Numbers;
use ptx_isa::SpecialReg;

/// A function that can be executed.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) is_entry: bool,
    pub(crate) code: Code,
    /// The steps, in the order of the text.
    pub(crate) steps: Vec<Target>,
    /// The place of each variable, by its number.
    pub(crate) registers: Vec<Place>,
    pub(crate) numbers: Numbers,
    /// The offsets of parameters, results and local variables.
    pub(crate) frame: Frame,
    /// The special registers that have a place, and which of their components.
    pub(crate) special: Vec<(SpecialReg, u8, Place)>,
    /// The offsets in shared memory whose addresses are values, and the places of the addresses.
    pub(crate) shared_addresses: Vec<(u64, Place)>,
}

/// A module that can be executed.
#[derive(Debug)]
pub(crate) struct Program {
    functions: Vec<Option<Function>>,
    /// The use of the memory of other CTAs by each function.
    sharing: Vec<Option<Sharing>>,
    pub(crate) variables: Variables,
}

impl Program {
    /// Decodes all functions of a module. Linear.
    pub(crate) fn new(module: &Module, placement: Placement<'_>) -> Self {
        let facts = ptx_ir::facts::ModuleFacts::new(module);
        let variables = Variables::new(module, &users::UsersOf::new(&facts), placement);
        let mut queries = ptx_ir::raw::query::Queries::new(module);
        let (mut functions, mut sharing) = (Vec::new(), Vec::new());
        for (id, _) in module.functions().iter() {
            let facts = facts.function(id);
            let function = facts.map(|facts| decode::function(facts, id, &variables, &mut queries));
            let decoded = facts.zip(function.as_ref());
            sharing.push(decoded.map(|(facts, function)| Sharing::new(facts, &function.steps)));
            functions.push(function);
        }
        Self {
            functions,
            sharing,
            variables,
        }
    }

    /// Whether the CTAs of a kernel do not depend on each other.
    pub(crate) fn is_independent(&self, kernel: FuncId) -> bool {
        Sharing::is_independent(kernel, &self.sharing)
    }

    /// Whether a kernel may request that clusters are canceled.
    pub(crate) fn may_cancel(&self, kernel: FuncId) -> bool {
        Sharing::may_cancel(kernel, &self.sharing)
    }

    /// Whether a function reads a special register that does not change.
    pub(crate) fn reads_special(&self, register: SpecialReg) -> bool {
        let special = self.functions.iter().flatten().flat_map(|f| &f.special);
        special.into_iter().any(|(read, ..)| *read == register)
    }

    /// The steps of all functions.
    pub(crate) fn steps(&self) -> impl Iterator<Item = &Step> {
        let functions = self.functions.iter().flatten();
        functions.flat_map(|function| function.steps.iter().map(|target| &target.step))
    }

    /// Whether a function calls one of the system.
    pub(crate) fn calls_system(&self, name: &str) -> bool {
        self.steps().any(|step| match step {
            Step::Call(call) => matches!(&call.callee, Callee::System(called) if **called == *name),
            _ => false,
        })
    }

    /// A function that has a body.
    #[inline]
    pub(crate) fn function(&self, id: FuncId) -> Option<&Function> {
        self.functions.get(id.as_u32() as usize)?.as_ref()
    }
}
