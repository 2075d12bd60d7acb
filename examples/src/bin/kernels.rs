//! Lists the kernels of a file with their parameters and registers.
//!
//! `cargo run -p ptx-examples --bin kernels -- FILE`

use ptx_ir::{Binding, FunctionKind, Statement};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("which file?")?;
    let module = ptx_parse::parse(&std::fs::read(path)?).module;
    for (_, function, body) in module.definitions() {
        if function.kind != FunctionKind::Entry {
            continue;
        }
        println!("{}", module.name(function.name));
        for param in function.interface.params.of(module.params()) {
            let name = param.name.map_or("_", |n| module.name(n));
            let ty = param.ty.known().map_or("?", |t| t.text());
            println!("  parameter {name}: {ty}");
        }
        for (_, statement) in body.statements() {
            let Statement::Decl(decl) = statement else {
                continue;
            };
            for declarator in body.declarations().declarators(decl) {
                if let Binding::Register(reg) = declarator.binding {
                    let reg = &body.reg_decls()[reg];
                    let ty = reg.ty.known().map_or("?", |t| t.text());
                    println!("  {} registers {ty}", reg.count.unwrap_or(1));
                }
            }
        }
    }
    Ok(())
}
