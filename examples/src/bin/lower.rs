//! Prints the functions of files as a text like LLVM's. `cargo run -p ptx-examples --bin lower -- FILE…`

use ptx_examples::lower::Lowering;
use ptxkit::ir::facts::ModuleFacts;

fn main() -> std::io::Result<()> {
    for path in std::env::args_os().skip(1) {
        let module = ptxkit::parse::parse(&std::fs::read(path)?).module;
        let facts = ModuleFacts::new(&module);
        for function in module
            .definitions()
            .filter_map(|(id, ..)| facts.function(id))
        {
            let mut lowering = Lowering::new(function);
            lowering.lower();
            println!("{}", lowering.text);
            for refused in lowering.refused {
                eprintln!("not lowered: {refused}");
            }
        }
    }
    Ok(())
}
