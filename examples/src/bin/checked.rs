//! Prints a file with bounds checks: [`ptx_examples::checked`].

use std::io::Write;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let source = std::fs::read(arguments.next().ok_or("which file?")?)?;
    let mut end = |default| arguments.next().map_or(Ok(default), |a| a.parse());
    let (low, high) = (end(0)?, end(u64::MAX)?);
    let module = ptx_parse::parse(&source).module;
    let (checked, places) = ptx_examples::checked::check(&module, low, high)?;
    std::io::stdout().write_all(&ptx_print::verbatim(&checked))?;
    eprintln!("{places} accesses are checked");
    Ok(())
}
