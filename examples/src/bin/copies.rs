//! A custom dataflow analysis: how many groups of `cp.async` may be in flight where a kernel waits for them.
//!
//! `cargo run -p ptx-examples --bin copies -- FILE`
use ptx_analysis::dataflow::{Direction, InstAnalysis, JoinSemiLattice, solve_insts};
use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_ir::facts::{Facts, ModuleFacts};
use ptx_ir::{LineIndex, Operand, Statement, StmtId};
use ptx_isa::{AsyncPhase, Completion};

/// The greatest possible number of groups.
#[derive(Clone)]
struct Groups(u32);
impl JoinSemiLattice for Groups {
    fn join(&mut self, other: &Self) -> bool {
        let old = self.0;
        self.0 = old.max(other.0);
        self.0 > old
    }
}

/// The number of groups that a wait leaves in flight. A guarded wait may not be executed.
fn groups_left(facts: Facts<'_>) -> Option<u32> {
    let is_wait = facts
        .asynchronous()
        .contains(&(Completion::CpAsync, AsyncPhase::Wait));
    let left = match facts.operand(0).map(|o| o.operand) {
        Some(Operand::Small(number)) => number as u32,
        _ => 0,
    };
    (is_wait && facts.guard().is_none()).then_some(left)
}

struct Copies;
impl InstAnalysis for Copies {
    type Domain = Groups;
    const DIRECTION: Direction = Direction::Forward;
    fn bottom(&self) -> Groups {
        Groups(0)
    }
    fn inst(&self, facts: Facts<'_>, _: StmtId, state: &mut Groups) {
        let phases = facts.asynchronous();
        if phases.contains(&(Completion::CpAsync, AsyncPhase::Commit)) {
            // The bound makes the lattice finite, so that the analysis of a loop terminates.
            state.0 = (state.0 + 1).min(99);
        }
        if let Some(left) = groups_left(facts) {
            state.0 = state.0.min(left);
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let source = std::fs::read(std::env::args().nth(1).ok_or("which file?")?)?;
    let (module, lines) = (ptx_parse::parse(&source).module, LineIndex::new(&source));
    let facts = ModuleFacts::new(&module);
    for (id, _, body) in module.definitions() {
        let function = FunctionAnalysis::new(facts.function(id).ok_or("no facts")?);
        let solution = solve_insts(&function, &Copies, u64::MAX)?;
        solution.visit(&function, &Copies, |stmt, Groups(most), _| {
            let Some(Statement::Inst(inst)) = body.statement(stmt) else {
                return;
            };
            if let Some(left) = groups_left(function.facts().inst(inst)) {
                let line = lines.position(body.source_span(stmt).start).line;
                println!("{line}: up to {most} groups, waits for all but {left}");
            }
        });
    }
    Ok(())
}
