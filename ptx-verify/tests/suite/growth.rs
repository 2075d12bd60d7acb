//! Modules in which two things grow at once: the product of their numbers would take minutes.
#![allow(missing_docs)]

use ptx_ir::Code;
use ptx_verify::Options;

const HEADER: &str = ".version 9.0\n.target sm_90\n.address_size 64\n";
const N: usize = 50_000;

fn many(count: usize, one: impl Fn(usize) -> String) -> String {
    (0..count).map(one).collect()
}

#[test]
fn many_calls_through_a_table_of_many_functions() {
    let functions = many(N, |i| format!(".func f{i}(.param .b32 x{i}) {{ ret; }}\n"));
    let names: Vec<String> = (0..N).map(|i| format!("f{i}")).collect();
    let kernel = |calls: &str| {
        format!(
            "{HEADER}{functions}.func other() {{ ret; }}\n.entry k() {{ .reg .u64 %d; .param .b32 a; mov.u64 %d, f0;\n\
             T: .calltargets {}, other;\nU: .calltargets {};\n{calls}ret; }}\n",
            names.join(", "),
            names.join(", ")
        )
    };
    let check = |text: &str| {
        let module = ptx_parse::parse_str(text).module;
        ptx_verify::verify(&module, &Options::default())
    };
    assert_eq!(check(&kernel(&"call %d, (a), U;\n".repeat(N))), []);
    // The last function of the table has another interface.
    let found = check(&kernel("call %d, (a), T;\ncall %d, T;\n"));
    assert_eq!(found.len(), 2);
}

#[test]
fn many_kernels_with_a_large_call_graph() {
    let chain = |n: usize, last: &str| {
        let functions = many(n, |i| match n - 1 - i {
            0 => format!(".func f0() {{ .reg .u64 %d; mov.u64 %d, {last}; ret; }}\n"),
            i => format!(
                ".func f{i}() {{ .reg .u64 %d; mov.u64 %d, s; call f{}; ret; }}\n",
                i - 1
            ),
        });
        let declared = many(n, |i| format!(".func f{i}();\n"));
        let kernels = many(n, |i| format!(".entry k{i}() {{ call f{i}; ret; }}\n"));
        format!(
            "{HEADER}.shared .b8 s[4]; .shared .b8 large[49152];\n{declared}{functions}{kernels}"
        )
    };
    let found = |text: &str| {
        let module = ptx_parse::parse_str(text).module;
        let found = ptx_verify::codegen_limits(&module).into_iter();
        found
            .filter(|d| d.code == Code::SharedMemory)
            .collect::<Vec<_>>()
    };
    // All kernels but the first, which does not use the other variable.
    assert_eq!(found(&chain(100, "large")).len(), 99);
    assert_eq!(found(&chain(100, "s")), []);
    // Every kernel reaches all functions before its own: this stops at a limit.
    let found = found(&chain(10_000, "s"));
    assert_eq!(found.len(), 1);
    assert!(
        found[0].message.contains("were not added up"),
        "{:?}",
        found[0]
    );
}

#[test]
fn one_wrong_instruction_with_many_parts() {
    let errors = |instruction: &str| {
        let text = format!("{HEADER}.entry k() {{ .reg .b32 %r; {instruction}; ret; }}\n");
        let module = ptx_parse::parse_str(&text).module;
        ptx_verify::verify(&module, &Options::default()).len()
    };
    assert_eq!(errors(&format!("add.s32 %r{}", ", %r".repeat(N))), 1);
    assert_eq!(errors(&format!("add{} %r, %r, %r", ".s32".repeat(N))), 1);
}

#[test]
fn many_errors_about_a_parameter_and_a_large_variable() {
    let values = vec!["1"; N].join(", ");
    let wrong = "add.s32 %r, %r, n;\nld.shared.b32 %r, [g];\n".repeat(N / 4);
    let text = format!(
        "{HEADER}.global .b32 g[{N}] = {{{values}}};\n.entry k(.param .b32 n) {{ .reg .b32 %r;\n{wrong}ret; }}\n"
    );
    let module = ptx_parse::parse_str(&text).module;
    let found = ptx_verify::verify(&module, &Options::default());
    let first = found.first().map(|d| d.labels.len());
    assert_eq!((found.is_empty(), first), (false, Some(1)));
}

#[test]
fn a_header_with_many_directives() {
    let directives = ".maxntid 1, 1, 1\n".repeat(8 * N);
    let text = format!("{HEADER}.entry k()\n{directives}.maxntid 0, 1, 1\n{{ ret; }}\n");
    let module = ptx_parse::parse_str(&text).module;
    let found = ptx_verify::verify(&module, &Options::default());
    let places: Vec<usize> = found.iter().map(|d| d.span.start as usize).collect();
    assert_eq!(Some(places), text.rfind(".maxntid").map(|at| vec![at]));
}
