//! Finds accesses to shared memory through generic addresses, which cost more than `ld.shared` and `st.shared`: a dataflow analysis by
//! instruction. `cargo run -p ptx-examples --bin generic_pointers -- FILE…`

use std::error::Error;
use std::path::Path;

use ptxkit::analysis::dataflow::{Direction, InstAnalysis, MapLattice, solve_insts};
use ptxkit::analysis::function_analysis::FunctionAnalysis;
use ptxkit::ir::facts::{Facts, ModuleFacts, RegisterComponent, Space};
use ptxkit::ir::{LineIndex, Operand, Statement, StmtId};
use ptxkit::isa::{Modifier, Opcode, StateSpace};

/// The kind of an address of shared memory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SharedAddress {
    /// An offset in the window of shared memory.
    Window,
    /// A generic address.
    Generic,
}

/// The registers that contain an address of shared memory on every path.
type State = MapLattice<RegisterComponent, SharedAddress>;

/// Returns the kind of address that an operand is, if it is one of shared memory.
fn shared_address(facts: Facts<'_>, operand: Operand, state: &State) -> Option<SharedAddress> {
    if let Some(register) = facts.places(&operand).next() {
        return state.get(&register).copied();
    }
    let space = facts.body().variable_space(facts.module(), operand)?;
    (space.base() == StateSpace::Shared).then_some(SharedAddress::Window)
}

struct SharedAddresses;

impl InstAnalysis for SharedAddresses {
    type Domain = State;
    const DIRECTION: Direction = Direction::Forward;

    fn bottom(&self) -> State {
        State::new()
    }

    fn inst(&self, facts: Facts<'_>, _: StmtId, state: &mut State) {
        let has_space = |space| facts.has_modifier(space);
        let result = match facts.opcode() {
            Some(Opcode::Cvta) if has_space(Modifier::Shared) && !has_space(Modifier::To) => {
                Some(SharedAddress::Generic)
            }
            Some(Opcode::Mov | Opcode::Add | Opcode::Sub | Opcode::Cvt) => facts
                .sources()
                .find_map(|source| shared_address(facts, source.operand, state)),
            _ => None,
        };
        for register in facts.writes().chain(facts.conditional_writes()) {
            match result {
                Some(address) if facts.guard().is_none() => state.set(register, address),
                _ => state.forget(&register),
            }
        }
    }
}

/// Prints the accesses of a file, one per line.
fn report(path: &Path) -> Result<(), Box<dyn Error>> {
    let text = std::fs::read(path)?;
    let module = ptxkit::parse::parse(&text).module;
    let lines = LineIndex::new(&text);
    let module_facts = ModuleFacts::new(&module);
    for (id, _, body) in module.definitions() {
        let facts = module_facts.function(id).ok_or("a body has facts")?;
        let function = FunctionAnalysis::new(facts);
        let solution = solve_insts(&function, &SharedAddresses, 1_000_000)?;
        solution.visit(&function, &SharedAddresses, |statement, before, _| {
            let Some(Statement::Inst(inst)) = body.statement(statement) else {
                return;
            };
            let facts = facts.inst(inst);
            let is_generic = facts.memory().any(|access| {
                access.space == Space::Generic
                    && access
                        .operand
                        .and_then(|address| shared_address(facts, address, before))
                        == Some(SharedAddress::Generic)
            });
            if is_generic {
                let line = lines.position(body.source_span(statement).start).line;
                let text = ptxkit::print::display_statement(&module, body, statement);
                println!("{}:{line}: {text}", path.display());
            }
        });
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    std::env::args_os()
        .skip(1)
        .try_for_each(|path| report(path.as_ref()))
}
