//! Prints a file in the canonical style with four spaces, or its errors.
//!
//! `cargo run -p ptx-examples --bin reformat -- FILE`

use std::io::Write;

use ptx_ir::LineIndex;
use ptx_print::{Indent, IoSink, Style};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("which file?")?;
    let source = std::fs::read(&path)?;
    let parsed = ptx_parse::parse(&source);
    let lines = LineIndex::new(&source);
    for d in &parsed.diagnostics {
        let at = lines.position(d.span.start);
        eprintln!(
            "{path}:{}:{}: {}[{}]: {}",
            at.line,
            at.column,
            d.severity.name(),
            d.code,
            d.message
        );
    }
    if parsed.has_errors() {
        return Err("the file has errors".into());
    }
    let mut out = std::io::stdout().lock();
    let style = Style::default().with_indent(Indent::Spaces(4));
    ptx_print::write_canonical(&parsed.module, &style, &mut IoSink(&mut out))?;
    out.flush()?;
    Ok(())
}
