//! Named extremes: odd bytes, huge names, deep nesting, many of everything. Deep texts are read on
//! a thread with a small stack, so that recursion on depth could not go unnoticed.
#![allow(clippy::expect_used, reason = "tests fail by panics")]

use ptx_ir::{Code, Severity};
use ptx_parse::Parsed;
use test_support::check;

const HEADER: &str = ".version 8.5\n.target sm_90\n.address_size 64\n";
const DEEP: usize = 100_000;

fn kernel(statements: &str) -> String {
    format!("{HEADER}.visible .entry f(.param .u64 p)\n{{\n{statements}\nret;\n}}\n")
}

/// Runs on 256 KB of stack.
fn with_small_stack<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> T {
    let thread = std::thread::Builder::new()
        .stack_size(256 * 1024)
        .spawn(run);
    thread
        .expect("a thread")
        .join()
        .unwrap_or_else(|p| std::panic::resume_unwind(p))
}

fn errors(parsed: &Parsed) -> Vec<Code> {
    let errors = parsed
        .diagnostics
        .iter()
        .filter(|d| d.severity == Severity::Error);
    errors.map(|d| d.code).collect()
}

/// All promises hold for the text; gives its errors.
fn codes(text: impl Into<Vec<u8>>) -> Vec<Code> {
    let text: Vec<u8> = text.into();
    with_small_stack(move || errors(&check::everything(&text)))
}

fn fine(text: impl Into<Vec<u8>>) {
    let text: Vec<u8> = text.into();
    let start = String::from_utf8_lossy(&text[..text.len().min(200)]).into_owned();
    assert_eq!(codes(text), [], "{start}");
}

fn wrong(text: impl Into<Vec<u8>>, code: Code) {
    let text: Vec<u8> = text.into();
    let start = String::from_utf8_lossy(&text[..text.len().min(200)]).into_owned();
    let found = codes(text);
    assert!(found.contains(&code), "{code} is not in {found:?}: {start}");
}

fn around(open: &str, inner: &str, close: &str, depth: usize) -> String {
    format!("{}{inner}{}", open.repeat(depth), close.repeat(depth))
}

// --- bytes ---

#[test]
fn carriage_returns() {
    let text =
        kernel(".reg .b32 %r<4>;\nmov.u32 %r1, 1; // c\n/* a\nb */\nL:\nadd.s32 %r1,\n%r1, 2;");
    fine(text.replace('\n', "\r\n"));
    fine(text.replace('\n', "\r\n\r\n"));
}

#[test]
fn byte_order_mark() {
    wrong(
        [b"\xEF\xBB\xBF".as_slice(), HEADER.as_bytes()].concat(),
        Code::ByteOrderMark,
    );
    wrong(b"\xEF\xBB\xBF".as_slice(), Code::ByteOrderMark);
    wrong(format!("{HEADER}\u{feff}"), Code::StrayByte);
}

/// Parsing ends, which a separate thread monitors.
#[test]
fn byte_order_mark_before_a_brace_or_a_statement() {
    for text in [
        ".entry f() { \u{feff} }",
        "\u{feff}\n.global .b32 x;",
        ".entry f() { ret;\n\u{feff}\nL: ret; }",
    ] {
        let text = format!("{HEADER}{text}\n");
        let (sender, receiver) = std::sync::mpsc::channel();
        let copy = text.clone();
        std::thread::spawn(move || sender.send(errors(&ptx_parse::parse_str(&copy))));
        let found = receiver.recv_timeout(std::time::Duration::from_secs(20));
        assert_eq!(found, Ok(vec![Code::StrayByte]), "{text:?}");
    }
}

#[test]
fn bytes_that_are_not_text() {
    for byte in [0u8, 1, 0x0b, 0x1b, 0x7f, 0x80, 0xC3, 0xFF] {
        for place in [
            "@",
            ".reg .b32 %r@;",
            "mov.u32 @, 1;",
            "// @",
            "/* @ */",
            ".pragma \"@\";",
        ] {
            let text = kernel(place);
            let (before, behind) = text.split_once('@').expect("a place");
            let bytes = [before.as_bytes(), &[byte], behind.as_bytes()].concat();
            let found = codes(bytes);
            if place.starts_with(".pragma") && (1..0x80).contains(&byte) {
                continue;
            }
            // ptxas takes a NUL byte for the end of the file, even in a comment.
            let comment = place.starts_with('/') && byte != 0;
            assert_eq!(found.is_empty(), comment, "{byte:#x} in {place}: {found:?}");
        }
    }
    wrong(
        [b"\0".as_slice(), HEADER.as_bytes()].concat(),
        Code::StrayByte,
    );
    wrong(vec![0u8; 1000], Code::StrayByte);
    wrong(vec![0xFFu8; 1000], Code::StrayByte);
    assert!(!codes((0..=255u8).cycle().take(10_000).collect::<Vec<u8>>()).is_empty());
}

#[test]
fn nothing_and_nearly_nothing() {
    wrong("", Code::MissingVersion);
    wrong("\n", Code::MissingVersion);
    wrong("// only a comment", Code::MissingVersion);
    wrong(".version 8.5", Code::MissingTarget);
    fine(".version 8.5 .target sm_90");
    fine(HEADER);
}

#[test]
fn no_final_newline() {
    for text in [
        kernel(""),
        format!("{HEADER}.func g();\n"),
        format!("{HEADER}// c\n"),
    ] {
        fine(text.trim_end());
    }
}

#[test]
fn every_prefix_of_a_small_module() {
    let text = kernel(
        ".reg .b64 %rd<3>; .reg .pred %p;\nld.param.u64 %rd1, [p+0x10]; // c\n@!%p bra L;\n{ .shared .align 8 .b8 s[1+2*3]; }\nL: call (%rd1), f, (%rd1, -1);\n.pragma \"nounroll\";",
    );
    for end in 0..text.len() {
        check::everything(&text.as_bytes()[..end]);
        check::everything(&text.as_bytes()[end..]);
    }
}

// --- unfinished ends ---

#[test]
fn unterminated_comment() {
    for text in [
        "/*",
        "/* open\n",
        "/**",
        "/*/",
        "ret; /* open",
        "add /* open",
        "{ { /*",
    ] {
        wrong(
            format!("{HEADER}.entry f() {{ {text}"),
            Code::UnterminatedComment,
        );
        wrong(format!("{HEADER}{text}"), Code::UnterminatedComment);
    }
    wrong(
        format!("{HEADER}.global .b32 x[] = {{1, /*"),
        Code::UnterminatedComment,
    );
    wrong(
        format!("{HEADER}.section .debug_x {{ .b8 1 /*"),
        Code::UnterminatedComment,
    );
    wrong("/*", Code::UnterminatedComment);
    wrong(".version /*", Code::UnterminatedComment);
}

#[test]
fn unterminated_string() {
    wrong(format!("{HEADER}.file 1 \"open"), Code::UnterminatedString);
    wrong(
        format!("{HEADER}.entry f() {{ .pragma \"open"),
        Code::UnterminatedString,
    );
    wrong(
        format!("{HEADER}.entry f() {{ .pragma \"open;\nret;\n}}\n"),
        Code::UnterminatedString,
    );
}

#[test]
fn unclosed_braces() {
    wrong(format!("{HEADER}.entry f() {{"), Code::UnclosedBrace);
    wrong(
        format!("{HEADER}.entry f() {{ {{ ret; }}"),
        Code::UnclosedBrace,
    );
    wrong(format!("{HEADER}}}"), Code::StrayBrace);
    wrong(
        around(&format!("{HEADER}.entry f() {{"), "", "}", 1) + "}",
        Code::StrayBrace,
    );
}

// --- long ---

#[test]
fn long_names() {
    for len in [500, 100_000] {
        let name = "n".repeat(len);
        fine(kernel(&format!(
            ".reg .b32 %{name}; .reg .b32 {name}<5>; mov.u32 %{name}, {name}3; bra $L{name}; $L{name}:"
        )));
        fine(format!(
            "{HEADER}.global .b32 {name};\n.global .u64 p_{name} = {name}+4;\n"
        ));
        fine(format!(
            "{HEADER}.func {name}(.param .b32 _{name}) {{ ret; }}\n"
        ));
        wrong(kernel(&format!("{name} %r1;")), Code::UnknownOpcode);
        wrong(kernel(&format!("add.{name} %r1;")), Code::UnknownModifier);
        wrong(kernel(&format!(".{name} %r1;")), Code::UnknownDirective);
        wrong(kernel(&format!("mov.u32 {name}, 1;")), Code::UndefinedName);
    }
}

#[test]
fn long_numbers() {
    let digits = "0".repeat(100_000);
    fine(format!("{HEADER}.global .b32 x = {digits};\n"));
    fine(format!("{HEADER}.global .b32 x = 0x{digits}1;\n"));
    fine(format!("{HEADER}.global .f64 x = 1.{digits};\n"));
    wrong(
        format!("{HEADER}.global .b32 x = {};\n", "9".repeat(100_000)),
        Code::NumberOverflow,
    );
    fine(kernel(&format!(".reg .b32 %r<5>; mov.u32 %r{digits}1, 1;")));
    assert!(!codes(format!(".version {digits}9.{digits}\n")).is_empty());
}

#[test]
fn long_initializers() {
    let numbers: Vec<String> = (0..40_000).map(|i| i.to_string()).collect();
    let list = numbers.join(", ");
    assert!(list.len() > 200_000);
    fine(format!("{HEADER}.global .b32 x[40000] = {{{list}}};\n"));
    fine(format!(
        "{HEADER}.global .b32 x[2][20000] = {{{{{list}}}, {{{list}}}}};\n"
    ));
    let sum = numbers.join("+");
    fine(format!("{HEADER}.global .b32 x = {sum};\n"));
    fine(format!("{HEADER}.section .debug_x {{\n.b8 {list}\n}}\n"));
}

#[test]
fn one_long_line() {
    let line = kernel(&"add.s32 %r1, %r1, 1; ".repeat(250_000)).replace('\n', " ");
    assert!(line.len() > 5_000_000);
    let text = line.replacen("{ ", "{ .reg .b32 %r<4>; ", 1);
    fine(text);
}

// --- deep ---

/// Indentation must not make the text of deep blocks grow with the square of their depth.
#[test]
fn canonical_text_of_deep_blocks_is_linear() {
    let grown = |depth| {
        let text = kernel(&around("{", "", "}", depth));
        let module = ptx_parse::parse_str(&text).module;
        ptx_print::canonical(&module, &ptx_print::Style::default()).len()
    };
    let (one, two) = (grown(2000), grown(4000));
    assert!(two < 3 * one, "{one} bytes for 2000 levels, {two} for 4000");
}

#[test]
fn deep_blocks() {
    let exact = |text: String| {
        let parsed = with_small_stack(move || check::verbatim_is_exact(text.as_bytes()));
        errors(&parsed)
    };
    assert_eq!(exact(kernel(&around("{", "", "}", DEEP))), []);
    assert_eq!(
        exact(kernel(&(around("{", "bra L;", "}", DEEP) + "L:"))),
        []
    );
    assert!(exact(kernel(&"{".repeat(DEEP))).contains(&Code::UnclosedBrace));
    assert_eq!(
        exact(kernel(&around(
            "{ .reg .b32 %r<5>; ",
            "",
            " mov.u32 %r4, 1; }",
            DEEP / 10
        ))),
        []
    );
    fine(kernel(&around("{", "bra L;", "}", 2000)).replace("ret;", "L: ret;"));
    wrong(kernel(&"}".repeat(DEEP)), Code::StrayBrace);
}

#[test]
fn deep_initializers() {
    fine(format!(
        "{HEADER}.global .b32 x = {};\n",
        around("{", "1", "}", DEEP)
    ));
    fine(format!(
        "{HEADER}.global .b32 x = {};\n",
        around("{1, ", "1", ", 2}", DEEP)
    ));
    assert!(!codes(format!("{HEADER}.global .b32 x = {};\n", "{".repeat(DEEP))).is_empty());
    fine(kernel(&format!(
        ".global .b32 x = {};",
        around("{", "1", "}", DEEP)
    )));
}

#[test]
fn deep_expressions() {
    for expression in [
        around("(", "1", ")", DEEP),
        around("1+(", "1", ")", DEEP),
        around("-", "1", "", DEEP),
        around("~", "1", "", DEEP),
        around("!", "1", "", DEEP),
        around("+-~", "1", "", DEEP),
        around("(.s64)", "1", "", DEEP),
        around("1?", "1", ":2", DEEP),
        around("1?2:", "1", "", DEEP),
        around("( ", "1", " )", DEEP),
    ] {
        fine(format!("{HEADER}.global .b32 x = {expression};\n"));
        assert!(!codes(format!("{HEADER}.global .b32 x[{expression}];\n")).is_empty());
        fine(kernel(&format!(".reg .b32 %r; mov.u32 %r, {expression};")));
        fine(kernel(&format!(
            ".reg .b32 %r; st.u32 [p+{expression}], 1;"
        )));
    }
    assert!(!codes(kernel(&format!("mov.u32 %r, {};", "(".repeat(DEEP)))).is_empty());
    assert!(!codes(kernel(&format!("mov.u32 %r, {};", "-".repeat(DEEP)))).is_empty());
}

#[test]
fn deep_operands() {
    for (open, close) in [("{", "}"), ("[", "]"), ("(", ")"), ("!", "")] {
        check_only(kernel(&format!(
            "mov.b32 {};",
            around(open, "p", close, DEEP)
        )));
    }
    let shapes = [
        ("{", "}"),
        ("[", "]"),
        ("(", ")"),
        ("{[", "]}"),
        ("p|", ""),
        ("a[", "]"),
        ("generic(", ")"),
    ];
    for (open, close) in shapes {
        let operand = around(open, "p", close, DEEP / 20);
        check_only(kernel(&format!("call {operand};")));
        check_only(kernel(&format!("mov.b32 p, {operand}")));
        check_only(format!("{HEADER}.global .b32 x = {operand};\n"));
        check_only(format!("{HEADER}.global .b32 x{operand};\n"));
        check_only(format!("{HEADER}.func {operand} f {operand};\n"));
        check_only(format!("{HEADER}.section .debug_x {{ .b8 {operand} }}\n"));
    }
}

fn check_only(text: String) {
    codes(text);
}

// --- many ---

#[test]
fn large_ranges() {
    fine(kernel(
        ".reg .b32 %r<2000000000>; mov.u32 %r0, %r1999999999;",
    ));
    fine(kernel(
        ".reg .b32 %r<4294967295>; mov.u32 %r0, %r4294967294;",
    ));
    fine(kernel(
        ".local .b32 v<4294967295>; st.local.u32 [v4294967294], 1;",
    ));
    fine(format!(
        "{HEADER}.global .b32 v<4294967295>;\n.global .u64 x = v4294967294;\n"
    ));
    // ptxas takes 2^64 for 0: its test of overflow looks at 63 bits before the last digit.
    fine(kernel(".reg .b32 %r<18446744073709551616>;"));
    for count in ["4294967296", "99999999999999999999"] {
        let found = codes(kernel(&format!(".reg .b32 %r<{count}>;")));
        assert!(
            matches!(found[..], [Code::BadCount | Code::NumberOverflow]),
            "{count}: {found:?}"
        );
    }
}

fn many(one: impl Fn(usize) -> String, count: usize) -> String {
    (0..count).map(one).collect()
}

#[test]
fn many_labels() {
    fine(kernel(&many(|i| format!("$L{i}:\nbra $L{i};\n"), DEEP)));
    fine(kernel(&many(|i| format!("bra $L{i};\n$L{i}:\n"), DEEP)));
    let table: Vec<String> = (0..DEEP).map(|i| format!("$L{i}")).collect();
    let labels = many(|i| format!("$L{i}:\n"), DEEP);
    fine(kernel(&format!(
        "T: .branchtargets {};\n{labels}",
        table.join(", ")
    )));
}

#[test]
fn many_registers() {
    fine(kernel(&many(
        |i| format!(".reg .b32 %x{i};\nmov.u32 %x{i}, {i};\n"),
        DEEP,
    )));
    fine(kernel(&many(
        |i| format!(".reg .b32 x{i}y;\nmov.u32 x{i}y, {i};\n"),
        DEEP,
    )));
    let uses = many(|i| format!("mov.u32 %r{i}, {i};\n"), DEEP);
    fine(kernel(&format!(".reg .b32 %r<{DEEP}>;\n{uses}")));
    fine(kernel(&format!(
        ".reg .b32 %some_long_prefix<{DEEP}>;\n{}",
        uses.replace("%r", "%some_long_prefix")
    )));
}

#[test]
fn many_ranges() {
    fine(kernel(&many(
        |i| format!(".reg .b32 r{i}_<2>;\nmov.u32 r{i}_1, {i};\n"),
        10_000,
    )));
    fine(kernel(&many(
        |i| format!("{{ .reg .b32 %r<{i}>; }}\n"),
        DEEP,
    )));
}

#[test]
fn many_errors() {
    assert!(codes(kernel(&"nonsense %r1;\n".repeat(30_000))).len() >= 30_000);
    assert!(codes(kernel(&many(|i| format!("mov.u32 a{i}, b{i};\n"), 15_000))).len() >= 30_000);
    assert!(codes(kernel(&";\n".repeat(30_000))).len() >= 30_000);
    assert!(codes(format!("{HEADER}{}", ".nonsense;\n".repeat(30_000))).len() >= 30_000);
    assert!(
        codes(kernel(&many(
            |i| format!("{{ X{i}: }} bra X{i};\n"),
            30_000
        )))
        .len()
            >= 30_000
    );
}

#[test]
fn many_functions() {
    fine(format!(
        "{HEADER}{}",
        many(|i| format!(".func f{i}() {{ ret; }}\n"), 20_000)
    ));
    fine(format!(
        "{HEADER}{}",
        many(|i| format!(".global .b32 g{i};\n"), DEEP)
    ));
}

#[test]
fn many_small_things_that_lead_nowhere() {
    for piece in [
        ".visible\n",
        ".extern ",
        ".func\n",
        ".entry ",
        ".reg ",
        ".section\n",
        "@",
        "@p ",
        "\"",
        "\"\n",
        "{ }",
        "foo {} ",
        "[",
        "/**/",
        "# ",
        "#\n",
        "\n# 1 \"f\"\n",
        "<",
        ":",
        "::",
        ".",
        "..",
        "%",
        "a.b::",
        "1 ",
        "-",
        "!",
        "call ((",
        "\u{feff}",
        "# 1 \"f\" ",
        ".global .b32 x = {",
        ".pragma \"a\",\n",
        ".loc 1 2\n",
        "L: ",
        "L:\n",
        "a b\n",
        "_ ",
        "ret\n",
        "add.\n",
        "?1:",
        "| ",
    ] {
        check_only(kernel(&piece.repeat(2_000)));
        check_only(format!("{HEADER}{}", piece.repeat(2_000)));
        check_only(piece.repeat(2_000));
    }
}
