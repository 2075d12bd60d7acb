//! A custom dataflow analysis: how many groups of `cp.async` may be in flight where a kernel waits for them.
//!
//! `cargo run -p ptx-examples --bin copies -- FILE`
use ptx_analysis::cfg::{BlockId, Cfg};
use ptx_analysis::dataflow::{Analysis, Cursor, Direction, JoinSemiLattice, solve};
use ptx_ir::facts::ModuleFacts;
use ptx_ir::{EntityId, LineIndex, Operand, Statement, StmtId};
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

/// For each block its commits and waits, and how many groups each wait leaves in flight.
struct Copies(Vec<Vec<(StmtId, AsyncPhase, u32)>>);
#[rustfmt::skip]
impl Analysis for Copies {
    type Node = BlockId;
    type Domain = Groups;
    const DIRECTION: Direction = Direction::Forward;
    fn bottom(&self) -> Groups { Groups(0) }
    fn boundary(&self) -> Groups { Groups(0) }
    fn len(&self, block: BlockId) -> u32 { self.0[block.index()].len() as u32 }
    fn effect(&self, block: BlockId, index: u32, state: &mut Groups) {
        match self.0[block.index()][index as usize] {
            (_, AsyncPhase::Wait, left) => state.0 = state.0.min(left),
            // A bound, so that counting in a loop ends.
            _ => state.0 = (state.0 + 1).min(99),
        }
    }
}

#[rustfmt::skip]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let source = std::fs::read(std::env::args().nth(1).ok_or("which file?")?)?;
    let (module, lines) = (ptx_parse::parse(&source).module, LineIndex::new(&source));
    let facts = ModuleFacts::new(&module);
    for (id, _, body) in module.definitions() {
        let of = facts.function(id).ok_or("no facts")?;
        let cfg = Cfg::new(of);
        let mut copies = Copies(vec![Vec::new(); cfg.len()]);
        for (stmt, statement) in body.statements() {
            let Statement::Inst(inst) = statement else { continue };
            let left = match body.operands(inst) { &[Operand::Small(n)] => n as u32, _ => 0 };
            let block = cfg.of_statement(stmt).ok_or("no block")?;
            // A guarded wait may not happen; a guarded commit may.
            let surely = of.inst(inst).guard().is_none();
            let steps = of.inst(inst).asynchronous().iter().filter(|s| s.0 == Completion::CpAsync && (s.1 == AsyncPhase::Commit || s.1 == AsyncPhase::Wait && surely));
            copies.0[block.index()].extend(steps.map(|s| (stmt, s.1, left)));
        }
        let solution = solve(&cfg, &copies, u64::MAX)?;
        let mut cursor = Cursor::new(&copies, &solution);
        for (block, steps) in (0..).map(BlockId::new).zip(&copies.0) {
            for (index, &(stmt, step, left)) in (0..).zip(steps) {
                if let (AsyncPhase::Wait, Some(Groups(most))) = (step, cursor.before(block, index)) {
                    let line = lines.position(body.source_span(stmt).start).line;
                    println!("{line}: up to {most} groups, waits for all but {left}");
                }
            }
        }
    }
    Ok(())
}
