//! Parses a kernel, reports its errors, lists its instructions and prints it.

use ptxkit::ir::LineIndex;
use ptxkit::{parse, print, verify};

fn main() {
    let source = "\
.version 8.0
.target sm_90
.address_size 64
.visible .entry scale(.param .u64 out)
{
    .reg .b64 %rd<2>;
    .reg .f32 %f<3>;
    ld.param.u64 %rd0, [out];
    ld.global.f32 %f0, [%rd0];
    mul.f32 %f1, %f0, %f2; // %f2 is never written
    st.global.f64 [%rd0], %f1;
    ret;
}
";
    let parsed = parse::parse_str(source);
    let module = &parsed.module;

    // Errors and warnings of the parser and of the verifier.
    let mut diagnostics = parsed.diagnostics.clone();
    diagnostics.extend(verify::verify(module, &verify::Options::default()));
    let lines = LineIndex::new(source.as_bytes());
    for diagnostic in &diagnostics {
        let line = lines.position(diagnostic.span.start).line;
        println!("line {line}: {}: {}", diagnostic.code, diagnostic.message);
    }
    assert_eq!(diagnostics.len(), 1); // `st.global.f64` of an `.f32` register

    // Instructions of every function.
    for (_, function, body) in module.definitions() {
        for (_, inst) in body.insts() {
            let mnemonic = module.signature(inst.sig).text();
            println!("{}: {mnemonic}", module.name(function.name));
        }
    }

    // Verbatim printing gives the source back, byte for byte; canonical printing formats it.
    assert_eq!(print::verbatim(module), source.as_bytes());
    let formatted = print::canonical(module, &print::Style::default());
    println!("{}", String::from_utf8_lossy(&formatted));
}
