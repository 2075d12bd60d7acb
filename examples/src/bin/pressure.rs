//! Prints the memory accesses of each kernel and its greatest number of live registers.
//!
//! `cargo run -p ptx-examples --bin pressure -- FILE`

use std::collections::BTreeMap;

use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_ir::facts::{ModuleFacts, Space};
use ptx_ir::{FunctionKind, LineIndex};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("which file?")?;
    let source = std::fs::read(path)?;
    let lines = LineIndex::new(&source);
    let module = ptx_parse::parse(&source).module;
    let facts = ModuleFacts::new(&module);
    for (id, function, body) in module.definitions() {
        let Some(facts) = facts
            .function(id)
            .filter(|_| function.kind == FunctionKind::Entry)
        else {
            continue;
        };
        println!("{}", module.name(function.name));
        let mut accesses: BTreeMap<(String, String), u32> = BTreeMap::new();
        for (inst, _) in body.insts() {
            for access in facts.inst(inst).memory() {
                let space = match access.space {
                    Space::State(space) => space.text().to_owned(),
                    other => format!("{other:?}").to_lowercase(),
                };
                let access = format!("{:?}", access.access).to_lowercase();
                *accesses.entry((space, access)).or_default() += 1;
            }
        }
        for ((space, access), count) in accesses {
            println!("  {space}: {access} by {count} instructions");
        }
        let analysis = FunctionAnalysis::new(facts);
        let pressure = analysis.pressure();
        if let Some(stmt) = pressure.at {
            let line = lines.position(body.source_span(stmt).start).line;
            println!(
                "  {} registers of 32 bits live in line {line}",
                pressure.units
            );
        }
    }
    Ok(())
}
