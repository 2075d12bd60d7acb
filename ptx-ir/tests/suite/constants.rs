//! Constant expressions: every row of `data/constants.tsv` holds what NVIDIA's assembler 13.2
//! computed for an element of a `.global .u64` (`int`) or `.global .f64` (`float`) array, read
//! from the object file; `error` where it refused the expression.
#![allow(clippy::expect_used, reason = "tests fail by panics")]

use ptx_ir::raw::ConstError;
use ptx_ir::raw::read_expression;

struct Row<'t> {
    int: bool,
    expression: &'t str,
    value: Option<u64>,
}

fn rows() -> impl Iterator<Item = Row<'static>> {
    let text = include_str!("../data/constants.tsv");
    text.lines().skip(1).map(|line| {
        let mut cells = line.split('\t');
        let mut cell = || cells.next().expect("three columns");
        let (kind, expression, value) = (cell(), cell(), cell());
        let value = value
            .strip_prefix("0x")
            .map(|v| u64::from_str_radix(v, 16).expect("hex"));
        Row {
            int: kind == "int",
            expression,
            value,
        }
    })
}

#[test]
fn values_equal_those_of_ptxas() {
    let mut wrong = Vec::new();
    for row in rows() {
        let read = read_expression(row.expression.as_bytes(), 0, 1000);
        let whole = read.end == row.expression.len();
        let found = match read.value {
            Ok(v) if row.int => v.as_int().map(|v| v as u64),
            Ok(v) => v.as_float().map(|_| v.bits()),
            Err(_) => None,
        };
        if found.filter(|_| whole) != row.value {
            let show = |v: Option<u64>| v.map_or(String::from("error"), |v| format!("{v:#x}"));
            wrong.push(format!(
                "{}: {} expected, found {:?} up to byte {}",
                row.expression,
                show(row.value),
                read.value,
                read.end
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} rows differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn whitespace_and_comments_do_not_matter() {
    for row in rows().filter(|r| r.value.is_some()) {
        let mut spaced = String::new();
        for token in ptx_ir::lex::Lexer::new(row.expression.as_bytes()) {
            let text = &row.expression[token.span.start as usize..token.span.end as usize];
            spaced.push_str(text);
            spaced.push_str(" /* c */\n");
        }
        let plain = read_expression(row.expression.as_bytes(), 0, 1000);
        let wide = read_expression(spaced.as_bytes(), 0, 1000);
        let meaning = |v: Result<_, (ConstError, _)>| v.map_err(|e| e.0);
        let bits = |v: Result<ptx_ir::ConstValue, _>| v.map(|v| (v.bits(), v.kind()));
        assert_eq!(
            bits(meaning(plain.value)),
            bits(meaning(wide.value)),
            "{} and {spaced}",
            row.expression
        );
    }
}

#[test]
fn depth_needs_no_stack() {
    let deep = |open: &str, close: &str| {
        const DEPTH: usize = 100_000;
        format!("{}1{}", open.repeat(DEPTH), close.repeat(DEPTH))
    };
    let texts = [
        (deep("(", ")"), Some(1)),
        (deep("-", ""), Some(1)),
        (deep("~", ""), Some(1)),
        (deep("!", ""), Some(1)),
        (deep("(.s64)", ""), Some(1)),
        (deep("1?", ":2"), Some(1)),
        (deep("0?1:", ""), Some(1)),
        (deep("1+(", ")"), Some(100_001)),
        (deep("(", ""), None),
        (deep("1?", ""), None),
    ];
    let small_stack = std::thread::Builder::new().stack_size(256 * 1024);
    let thread = small_stack.spawn(move || {
        for (text, value) in texts {
            let read = read_expression(text.as_bytes(), 0, 4_000_000);
            assert_eq!(
                read.value.ok().and_then(|v| v.as_int()),
                value,
                "{}…",
                &text[..20]
            );
            let shallow = read_expression(text.as_bytes(), 0, 99_999);
            assert_eq!(shallow.value.map_err(|e| e.0), Err(ConstError::TooDeep));
        }
    });
    thread.expect("a thread").join().expect("no overflow");
}
