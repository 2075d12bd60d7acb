//! Format strings of `printf`.
#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

use ptx_vm::{Launch, Machine};

/// What `printf` prints for a format and arguments of 64 bits.
fn printed(format: &str, arguments: &[u64]) -> String {
    let bytes: Vec<String> = format.bytes().map(|b| b.to_string()).collect();
    let words: Vec<String> = arguments.iter().map(|a| format!("{a:#x}")).collect();
    let text = format!(
        ".version 8.5\n.target sm_90\n.address_size 64\n\
         .extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n\
         .global .b8 text[] = {{{}, 0}};\n.global .align 8 .b64 values[] = {{{}}};\n\
         .visible .entry k()\n{{\n.reg .b64 %a, %b;\nmov.u64 %a, text;\nmov.u64 %b, values;\n\
         {{\n.param .b64 f;\n.param .b64 v;\n.param .b32 r;\nst.param.b64 [f], %a;\nst.param.b64 [v], %b;\n\
         call.uni (r), vprintf, (f, v);\n}}\nret;\n}}\n",
        bytes.join(", "),
        words.join(", ")
    );
    let parsed = ptx_parse::parse_str(&text);
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
    let mut machine = Machine::new(&parsed.module);
    let outcome = machine.launch(&Launch::new("k")).unwrap();
    String::from_utf8(outcome.output).unwrap()
}

#[test]
fn numbers_are_printed_in_hexadecimal_digits() {
    let of = |format: &str, value: f64| printed(format, &[value.to_bits()]);
    assert_eq!(of("%a", 1.0), "0x1p+0");
    assert_eq!(of("%a", -12.5), "-0x1.9p+3");
    assert_eq!(of("%A", 1.0 / 3.0), "0X1.5555555555555P-2");
    assert_eq!(of("%.2a", 1.0 / 3.0), "0x1.55p-2");
    assert_eq!(of("%.0a", 1.5), "0x2p+0");
    assert_eq!(of("%.15a", 1.5), "0x1.800000000000000p+0");
    assert_eq!(of("%a", 0.0), "0x0p+0");
    assert_eq!(of("%a", f64::from_bits(1)), "0x0.0000000000001p-1022");
    assert_eq!(of("%012a", 1.0), "0x0000001p+0");
}

#[test]
fn lengths_and_flags_are_those_of_c() {
    assert_eq!(printed("%hd %hhu", &[0x0001_0000_ffff_8001]), "-32767 0");
    assert_eq!(printed("%hhd %hu", &[0xffff_ffff_0000_01ff]), "-1 65535");
    assert_eq!(
        printed("%#08x|%08x", &[0x0000_00ff_0000_002a]),
        "0x00002a|000000ff"
    );
    assert_eq!(printed("%p %s", &[0, 0]), "(nil) (null)");
    assert_eq!(printed("%06.1f|", &[f64::INFINITY.to_bits()]), "   inf|");
}
