//! What an instruction does: registers, memory, control flow, effects. All analyses are based on this.
//!
//! Everything comes from the table of instructions; no opcode is named here. What follows from a mnemonic and the shape
//! of its operands is computed once; one pass over a module gives every instruction the number of its
//! facts ([`ModuleFacts`]), and a [`Facts`] reads them together with the operands of one instruction without
//! allocating.
//!
//! An instruction that the table does not take has *unknown* facts: each register it mentions may be read and written,
//! it may reach any memory, and control may go anywhere.

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
pub use registers::{Mentions, RegAccess, RegLane, RegUse};
pub use stale::StaleFacts;
#[doc(hidden)]
pub use stale::Stamp;
