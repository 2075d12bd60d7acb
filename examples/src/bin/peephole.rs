//! Prints a file after [`ptx_examples::peephole`].

use std::io::Write;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let source = std::fs::read(std::env::args().nth(1).ok_or("which file?")?)?;
    let mut module = ptx_parse::parse(&source).module;
    let changed = ptx_examples::peephole::peephole(&mut module)?;
    std::io::stdout().write_all(&ptx_print::verbatim(&module))?;
    eprintln!("{changed} instructions are simpler now");
    Ok(())
}
