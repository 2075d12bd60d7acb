//! What names mean: ranges of registers, scopes, labels, parameters. ptxas 13.2 accepts and refuses
//! what is accepted and refused here.
#![allow(clippy::expect_used, reason = "tests fail by panics")]

use ptx_ir::{Body, Code, InstId, Operand, Severity, Statement};
use ptx_parse::{Parsed, parse_str};

const HEADER: &str = ".version 8.5\n.target sm_90\n.address_size 64\n";

/// A kernel `f(.param .u64 p)` with these statements, after these items.
fn kernel_after(items: &str, statements: &str) -> Parsed {
    parse_str(&format!(
        "{HEADER}{items}\n.visible .entry f(.param .u64 p) {{\n{statements}\nret;\n}}\n"
    ))
}

fn kernel(statements: &str) -> Parsed {
    kernel_after("", statements)
}

fn errors(parsed: &Parsed) -> Vec<Code> {
    let errors = parsed
        .diagnostics
        .iter()
        .filter(|d| d.severity == Severity::Error);
    errors.map(|d| d.code).collect()
}

fn body(parsed: &Parsed) -> &Body {
    parsed
        .module
        .definitions()
        .last()
        .expect("a function with a body")
        .2
}

/// The spelling of what an operand denotes: the declared name, of a range with the number.
fn meaning(parsed: &Parsed, operand: Operand) -> String {
    let (m, b) = (&parsed.module, body(parsed));
    match operand {
        Operand::Reg(id) => {
            let r = b.registers()[id];
            let d = b.reg_decls()[r.decl];
            let (name, scope) = (m.name(d.name), d.scope.as_u32());
            match d.count {
                Some(n) => format!("reg {name}<{n}>@{scope} #{}", r.number),
                None => format!("reg {name}@{scope}"),
            }
        }
        Operand::Var(id) => {
            let v = b.vars()[id];
            let number = v.number.map_or(String::new(), |n| format!(" #{n}"));
            format!("{} {}{number}", v.space.text(), m.name(v.name))
        }
        Operand::Label(id) => {
            let l = b.labels()[id];
            format!("label {}@{}", m.name(l.name), l.scope.as_u32())
        }
        Operand::Symbol(id) => format!("symbol {}", m.name(m.symbols()[id].name)),
        Operand::Special(s) => format!("special {}", s.text()),
        Operand::Name(n) => format!("nothing {}", m.name(n)),
        Operand::Address(id) => {
            let address = b.pool().address(id).expect("an address");
            meaning(parsed, address.base)
        }
        other => format!("{other:?}"),
    }
}

/// What the operand at `index` of instruction number `inst` denotes.
fn operand(parsed: &Parsed, inst: u32, index: usize) -> String {
    meaning(parsed, body(parsed).operands(InstId::new(inst))[index])
}

/// Statements, the errors they have, and what the first operand of each instruction means.
fn check(statements: &str, codes: &[Code], meanings: &[&str]) {
    check_after("", statements, codes, meanings);
}

fn check_after(items: &str, statements: &str, codes: &[Code], meanings: &[&str]) {
    let parsed = kernel_after(items, statements);
    assert_eq!(
        errors(&parsed),
        codes,
        "{statements}: {:?}",
        parsed.diagnostics
    );
    for (i, want) in meanings.iter().enumerate() {
        assert_eq!(
            operand(&parsed, i as u32, 0),
            *want,
            "instruction {i} of {statements}"
        );
    }
}

#[test]
fn leading_zeros_are_ignored() {
    for spelling in ["%r1", "%r01", "%r001", "%r0000000000000000001"] {
        check(
            &format!(".reg .b32 %r<10>; mov.u32 {spelling}, 1;"),
            &[],
            &["reg %r<10>@0 #1"],
        );
    }
    check(
        ".reg .b32 %r<10>; mov.u32 %r00, 1;",
        &[],
        &["reg %r<10>@0 #0"],
    );
    check(
        ".reg .b32 %r<10>; mov.u32 %r009, 1;",
        &[],
        &["reg %r<10>@0 #9"],
    );
    check(
        ".reg .b32 %r<10>; mov.u32 %r010, 1;",
        &[Code::OutsideRange],
        &[],
    );
}

#[test]
fn each_register_has_one_id() {
    let parsed = kernel(".reg .b32 %r<10>; mov.u32 %r1, 1; mov.u32 %r01, 2; mov.u32 %r2, 3;");
    let at = |i| body(&parsed).operands(InstId::new(i))[0];
    assert_eq!(at(0), at(1));
    assert_ne!(at(0), at(2));
}

/// A large number is kept apart until the table of small ones reaches it.
#[test]
fn registers_with_large_numbers_have_one_id() {
    let small: String = (0..5000).map(|i| format!("mov.u32 %r{i}, 1;\n")).collect();
    let parsed = kernel(&format!(
        ".reg .b32 %r<20000>; mov.u32 %r9000, 1;\n{small}mov.u32 %r9000, 1; mov.u32 %r09001, 1;"
    ));
    assert_eq!(errors(&parsed), []);
    let at = |i| body(&parsed).operands(InstId::new(i))[0];
    assert_eq!(at(0), at(5001));
    assert_ne!(at(0), at(5002));
    assert_eq!(body(&parsed).registers().len(), 5002);
}

#[test]
fn members_belong_to_the_innermost_range_that_has_them() {
    let counts: Vec<u32> = (0..60).map(|i| (i * 37 + 11) % 101 + 1).collect();
    let mut text: String = counts
        .iter()
        .map(|c| format!("{{ .reg .b32 %r<{c}>; "))
        .collect();
    let mut expected = Vec::new();
    for number in 0..101 {
        let Some(scope) = counts.iter().rposition(|c| *c > number) else {
            continue;
        };
        text += &format!("mov.u32 %r{number}, 1; ");
        expected.push(format!("reg %r<{}>@{} #{number}", counts[scope], scope + 1));
    }
    text += &"}".repeat(counts.len());
    let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
    check(&text, &[], &expected);
}

#[test]
fn range_bounds() {
    check(".reg .b32 %r<1>; mov.u32 %r0, 1;", &[], &["reg %r<1>@0 #0"]);
    check(
        ".reg .b32 %r<1>; mov.u32 %r1, 1;",
        &[Code::OutsideRange],
        &[],
    );
    check(
        ".reg .b32 %r<0>; mov.u32 %r0, 1;",
        &[Code::OutsideRange],
        &[],
    );
    check(
        ".reg .b32 %r<0x10>; mov.u32 %r15, 1;",
        &[],
        &["reg %r<16>@0 #15"],
    );
    check(
        ".reg .b32 %r<010>; mov.u32 %r7, 1;",
        &[],
        &["reg %r<8>@0 #7"],
    );
    check(
        ".reg .b32 %r<010>; mov.u32 %r8, 1;",
        &[Code::OutsideRange],
        &[],
    );
    check(
        ".reg .b32 %r<10U>; mov.u32 %r7, 1;",
        &[],
        &["reg %r<10>@0 #7"],
    );
    check(
        ".reg .b32 %r < 10 >; mov.u32 %r7, 1;",
        &[],
        &["reg %r<10>@0 #7"],
    );
    check(
        ".reg .b32 %r<2000000000>; mov.u32 %r1999999999, 1;",
        &[],
        &["reg %r<2000000000>@0 #1999999999"],
    );
    check(
        ".reg .b32 %r<2147483648>; mov.u32 %r2147483647, 1;",
        &[],
        &["reg %r<2147483648>@0 #2147483647"],
    );
    check(
        ".reg .b32 %r<4294967295>; mov.u32 %r4294967294, 1;",
        &[],
        &["reg %r<4294967295>@0 #4294967294"],
    );
    assert!(kernel(".reg .b32 %r<4294967296>;").has_errors());
    assert!(kernel(".reg .b32 %r<5+5>;").has_errors());
    // ptxas accepts the constant, too.
    check(
        ".reg .b32 %r<WARP_SZ>; mov.u32 %r31, 1;",
        &[],
        &["reg %r<32>@0 #31"],
    );
}

#[test]
fn register_numbers_wrap_at_32_bits() {
    check(
        ".reg .b32 %r<10>; mov.u32 %r4294967297, 1;",
        &[],
        &["reg %r<10>@0 #1"],
    );
}

#[test]
fn range_prefix_ending_in_a_digit() {
    // `%r1<10>` does not have `%r15`; neither do its members in ptxas collide with `%r`.
    assert!(kernel(".reg .b32 %r1<10>; mov.u32 %r15, 1;").has_errors());
    check(
        ".reg .b32 %r1<10>; .reg .b32 %r<200>; mov.u32 %r15, 1;",
        &[],
        &["reg %r<200>@0 #15"],
    );
}

#[test]
fn inner_ranges_shadow_their_members_only() {
    check(
        ".reg .b32 %r<100>; { .reg .f32 %r<5>; mov.u32 %r50, 1; mov.f32 %r4, 0f00000000; mov.u32 %r5, 1; } mov.u32 %r4, 1;",
        &[],
        &[
            "reg %r<100>@0 #50",
            "reg %r<5>@1 #4",
            "reg %r<100>@0 #5",
            "reg %r<100>@0 #4",
        ],
    );
    check(
        ".reg .b32 %r<100>; { .reg .f32 %r5; mov.f32 %r5, 0f00000000; mov.u32 %r4, 1; } mov.u32 %r5, 1;",
        &[],
        &["reg %r5@1", "reg %r<100>@0 #4", "reg %r<100>@0 #5"],
    );
    check(
        ".reg .b32 %r5; { .reg .f32 %r<10>; mov.f32 %r5, 0f00000000; } mov.u32 %r5, 1;",
        &[],
        &["reg %r<10>@1 #5", "reg %r5@0"],
    );
    // The same with names too long for a word.
    check(
        ".reg .b32 %long_name_r<100>; { .reg .f32 %long_name_r<5>; mov.u32 %long_name_r50, 1; mov.f32 %long_name_r4, 0f00000000; }",
        &[],
        &["reg %long_name_r<100>@0 #50", "reg %long_name_r<5>@1 #4"],
    );
}

#[test]
fn plain_names_and_ranges() {
    check(
        ".reg .b32 %r<10>; .reg .b32 %r10; mov.u32 %r10, 1; mov.u32 %r9, 1;",
        &[],
        &["reg %r10@0", "reg %r<10>@0 #9"],
    );
    check(
        ".reg .b32 %r<10>; .reg .b32 %r5;",
        &[Code::DuplicateName],
        &[],
    );
    check(
        ".reg .b32 %r5; .reg .b32 %r<10>;",
        &[Code::DuplicateName],
        &[],
    );
    check(
        ".reg .b32 %r<10>; .reg .f32 %r01;",
        &[Code::DuplicateName],
        &[],
    );
    check(
        ".reg .b32 %r<10>; .reg .b32 %r<5>;",
        &[Code::DuplicateName],
        &[],
    );
    check(
        ".reg .b32 %r<0>; .reg .b32 %r<5>;",
        &[Code::DuplicateName],
        &[],
    );
    // Declared first, a spelling with a zero in front is a separate name.
    check(
        ".reg .f32 %r05; .reg .b32 %r<10>; mov.b32 %r5, 1;",
        &[],
        &["reg %r<10>@0 #5"],
    );
}

#[test]
fn labels_are_scoped() {
    check("bra L; { L: }", &[Code::LabelOutOfScope], &["nothing L"]);
    check("{ bra L; } L:", &[], &["label L@0"]);
    check("{ { { bra L; } } } L:", &[], &["label L@0"]);
    check("L: { bra L; }", &[], &["label L@0"]);
    check(
        "{ L: bra L; } { L: bra L; }",
        &[],
        &["label L@1", "label L@2"],
    );
    check("{ bra L; L: } L: bra L;", &[], &["label L@1", "label L@0"]);
    check(
        "{ bra L; } { bra L; L: } L:",
        &[],
        &["label L@0", "label L@2"],
    );
    check(
        "{ { bra L; } L: bra L; } L: bra L;",
        &[],
        &["label L@1", "label L@1", "label L@0"],
    );
    check("bra L;", &[Code::UndefinedName], &["nothing L"]);
    check(
        "{ bra L; { L: } }",
        &[Code::LabelOutOfScope],
        &["nothing L"],
    );
    check("L: L:", &[Code::DuplicateName], &[]);
}

#[test]
fn forward_uses_resolve_to_the_label() {
    let parsed = kernel("{ { bra L; } bra L; } bra L; L: bra L;");
    let labels = &body(&parsed).labels();
    assert_eq!(labels.len(), 1);
    for i in 0..4 {
        assert_eq!(operand(&parsed, i, 0), "label L@0");
    }
    let stmt = labels.values().next().expect("a label").stmt;
    assert!(matches!(
        body(&parsed).statement_table()[stmt],
        Statement::Label(_)
    ));
}

#[test]
fn visible_names_win_over_later_labels() {
    check(".reg .b32 L; { mov.u32 L, 1; L: }", &[], &["reg L@0"]);
    check(
        ".reg .b32 L; { bra L; L: bra L; }",
        &[],
        &["reg L@0", "label L@1"],
    );
    check_after(
        ".global .b32 L;",
        "{ .reg .b64 %rd; st.global.b32 [L], 1; L: bra L; }",
        &[],
        &["symbol L", "label L@1"],
    );
    check_after(".global .b32 L;", "L: bra L;", &[], &["label L@0"]);
    check_after(".func g() { ret; }", "bra g; g:", &[], &["symbol g"]);
    check("bra p; { p: bra p; }", &[], &[".param p", "label p@1"]);
}

#[test]
fn uses_before_declarations() {
    check(
        "mov.u32 %a, 1; .reg .b32 %a;",
        &[Code::LateDeclaration],
        &[],
    );
    check(
        ".reg .b32 x; { mov.u32 x, 1; .reg .f32 x; mov.f32 x, 0f00000000; }",
        &[],
        &["reg x@0", "reg x@1"],
    );
    check("L: .reg .b32 L;", &[Code::DuplicateName], &[]);
    check(".reg .b32 L; L:", &[Code::DuplicateName], &[]);
}

#[test]
fn parameters_are_visible_in_the_body() {
    let load = ".reg .b64 %rd; ld.param.u64 %rd, [p];";
    let parsed = kernel(load);
    assert_eq!(operand(&parsed, 0, 1), ".param p");
    check(".reg .b64 p;", &[Code::DuplicateName], &[]);
    check("{ .reg .b64 p; mov.u64 p, 1; }", &[], &["reg p@1"]);
    // The function's name is not in the scope of its body.
    check(".reg .b64 f; mov.u64 f, 1;", &[], &["reg f@0"]);
    let same =
        format!("{HEADER}.entry f(.param .u64 f) {{ .reg .b64 %rd; ld.param.u64 %rd, [f]; ret; }}");
    let parsed = parse_str(&same);
    assert_eq!(errors(&parsed), []);
    assert_eq!(operand(&parsed, 0, 1), ".param f");
    let func = format!(
        "{HEADER}.func (.reg .b32 r) g(.reg .b32 a, .param .b32 q) {{ add.s32 r, a, 1; ret; }}"
    );
    let parsed = parse_str(&func);
    assert_eq!(errors(&parsed), []);
    assert_eq!(
        (operand(&parsed, 0, 0), operand(&parsed, 0, 1)),
        ("reg r@0".into(), "reg a@0".into())
    );
}

#[test]
fn parameters_are_local_to_their_function() {
    let text = format!(
        "{HEADER}.entry a(.param .u64 p, .param .u64 q) {{ ret; }}\n.entry b(.param .u64 p) {{ .reg .b64 %rd; ld.param.u64 %rd, [q]; ret; }}"
    );
    assert_eq!(errors(&parse_str(&text)), [Code::UndefinedName]);
}

#[test]
fn special_registers_can_be_redeclared() {
    check(".reg .b32 %tid; mov.u32 %tid, 1;", &[], &["reg %tid@0"]);
    check(
        ".reg .b32 %pm<4>; mov.u32 %pm0, 1;",
        &[],
        &["reg %pm<4>@0 #0"],
    );
    let parsed = kernel(".reg .b32 %r; mov.u32 %r, %pm0;");
    assert_eq!(operand(&parsed, 0, 1), "special %pm0");
}

#[test]
fn ranges_of_variables() {
    check_after(
        ".global .b32 g<4>;",
        "st.global.b32 [g3], 1; st.global.b32 [g03], 1;",
        &[],
        &["symbol g", "symbol g"],
    );
    check(
        ".shared .b32 s<4>; st.shared.b32 [s2], 1;",
        &[],
        &[".shared s #2"],
    );
    check(
        ".local .b32 s<4>; st.local.b32 [s4], 1;",
        &[Code::UndefinedName],
        &[],
    );
}

#[test]
fn an_initializer_names_a_label_that_is_defined_later() {
    let text = b".version 8.0 .target sm_80 .address_size 64 .global .b32 g; .entry k() { \
        .shared .b64 x = g; bra A; .shared .b64 y = B; { bra B; } A: ret; B: ret; }";
    let module = ptx_parse::parse(text).module;
    let (_, _, body) = module.definitions().next().unwrap();
    let declarators = body.declarations().all_declarators().iter();
    let labels: Vec<_> = declarators
        .filter_map(|d| match d.init {
            Operand::Label(id) => Some(body.label_name(&module, id)),
            _ => None,
        })
        .collect();
    assert_eq!(labels, ["B"]);
    let text = b".entry k() { .shared .b64 x = A; { bra B; B: ret; } }";
    let module = ptx_parse::parse(text).module;
    let (_, _, body) = module.definitions().next().unwrap();
    let init = body.declarations().all_declarators()[0].init;
    assert!(
        matches!(init, Operand::Name(n) if module.name(n) == "A"),
        "{init:?}"
    );
}

/// The message, the help and the number of further places of each error in a kernel.
fn undeclared(body: &str) -> Vec<(String, String, usize)> {
    let text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.func reduce() {{ ret; }}\n.entry k(.param .u32 size)\n{{\n\
         .reg .b32 %r<8>;\n.reg .b64 %rd<4>;\n{body}\nret;\n}}\n"
    );
    let found = ptx_parse::parse(text.as_bytes()).diagnostics;
    let shown = found
        .into_iter()
        .map(|d| (d.message, d.help.unwrap_or_default(), d.repeats.len()));
    shown.collect()
}

#[test]
fn a_missing_declaration_is_one_error() {
    let found = undeclared("mov.b64 %fd1, %fd2;\nadd.f64 %fd3, %fd1, %fd2;");
    let (message, help) = (
        "undeclared register `%fd1` and 2 more (used 5 times)",
        "`.reg .f64 %fd<4>;`",
    );
    assert_eq!(found.len(), 1);
    assert_eq!((&*found[0].0, found[0].2), (message, 4));
    assert!(found[0].1.contains(help), "{}", found[0].1);
    let found = undeclared("mov.b32 %r8, 1;\nmov.b32 %r11, %r8;");
    assert_eq!(found.len(), 1);
    assert_eq!((&*found[0].1, found[0].2), ("declare `%r<12>`", 2));
}

#[test]
fn similar_names_are_of_the_kind_that_is_used() {
    for (body, similar) in [
        ("LOOP: bra LOP;", "`LOOP`"),
        ("call redcue;", "`reduce`"),
        ("ld.param.u32 %r1, [sze];", "`size`"),
        ("mov.u32 %r1, %tif.x;", "`%tid`"),
        ("mov.b64 %rd1, rd2;", "`%rd2`"),
    ] {
        let found = undeclared(body);
        assert_eq!(found.len(), 1, "{body}");
        assert!(
            found[0].1.starts_with(&format!("did you mean {similar}")),
            "{}",
            found[0].1
        );
    }
}
