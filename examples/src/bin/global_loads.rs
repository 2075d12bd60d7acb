//! Prints the line and the width of each load from global memory, and whether it is guarded.
//!
//! `cargo run -p ptx-examples --bin global_loads -- FILE`

use ptx_ir::{LineIndex, Statement};
use ptx_isa::{Opcode, StateSpace};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("which file?")?;
    let source = std::fs::read(path)?;
    let lines = LineIndex::new(&source);
    let module = ptx_parse::parse(&source).module;
    for (_, function, body) in module.definitions() {
        for (id, statement) in body.statements() {
            let Statement::Inst(inst) = statement else {
                continue;
            };
            let inst = &body.inst_table()[inst];
            let signature = module.signature(inst.sig);
            let is_load = signature.opcode() == Some(Opcode::Ld);
            if !is_load || signature.state_space() != Some(StateSpace::Global) {
                continue;
            }
            let bits = signature.types().next().map_or(0, |t| t.bits());
            let bytes = bits as usize / 8 * signature.vector_len() as usize;
            let line = lines.position(body.source_span(id).start).line;
            let guarded = if inst.guard().is_some() {
                ", guarded"
            } else {
                ""
            };
            println!(
                "{}:{line}: {bytes} bytes{guarded}",
                module.name(function.name)
            );
        }
    }
    Ok(())
}
