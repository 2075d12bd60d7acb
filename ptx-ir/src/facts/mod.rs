//! Facts about instructions: registers, memory accesses, control flow, effects. All analyses are based on them.
//!
//! They come from the table of instructions; no opcode is named here. The facts that follow from a mnemonic and the shape
//! of its operands are computed once; one pass over a module gives every instruction the number of its
//! facts ([`ModuleFacts`]), and a [`Facts`] reads them together with the operands of one instruction without
//! allocating.
//!
//! An instruction that is not in the table has *unknown* facts: each register in it may be read and written, it may access
//! any memory, and control may go to any label.

mod control;
mod facts_view;
mod inst_facts;
mod memory;
mod module;
mod operands;
mod registers;
mod stale;

pub use control::{Callees, Flow, TargetList, Targets};
pub use facts_view::Facts;
use inst_facts::FormFacts;
pub use memory::{MemoryAccess, Space};
pub use module::{FactTables, FunctionFacts, ModuleFacts};
pub use operands::TypedOperand;
pub use registers::{Mentions, RegAccess, RegUse, RegisterComponent};
pub use stale::StaleFacts;
#[doc(hidden)]
pub use stale::Stamp;
