//! Parameters and results of functions, with their declarations, prototypes and calls.
#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

use ptx_edit::{EditError, EditModule as _, NewParam, ParamList};
use ptx_ir::{FuncId, Module, Operand};
use ptx_isa::ScalarType;

const HEAD: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";

fn module(text: &str) -> Module {
    let parsed = ptx_parse::parse_str(&format!("{HEAD}{text}"));
    assert!(!parsed.has_errors(), "{:?}", parsed.diagnostics);
    parsed.module
}

/// The text of an edited module, which has to parse as the module.
fn text(module: &Module) -> String {
    let text = String::from_utf8(ptx_print::verbatim(module)).unwrap();
    let parsed = ptx_parse::parse_str(&text);
    assert!(!parsed.has_errors(), "{text}\n{:?}", parsed.diagnostics);
    assert_eq!(
        ptx_ir::compare::compare(module, &parsed.module),
        Ok(()),
        "{text}"
    );
    text.strip_prefix(HEAD).unwrap().to_owned()
}

#[track_caller]
fn changed(
    before: &str,
    after: &str,
    edit: impl FnOnce(&mut Module, FuncId) -> Result<(), EditError>,
) {
    let mut module = module(before);
    let f = module.function("f").unwrap();
    edit(&mut module, f).unwrap();
    assert_eq!(text(&module), after);
}

#[track_caller]
fn refused(
    before: &str,
    edit: impl FnOnce(&mut Module, FuncId) -> Result<(), EditError>,
) -> EditError {
    let mut module = module(before);
    let f = module.function("f").unwrap();
    let error = edit(&mut module, f).unwrap_err();
    assert_eq!(text(&module), before);
    error
}

fn insert_seven(module: &mut Module, f: FuncId) -> Result<(), EditError> {
    let new = NewParam::register(ScalarType::B32, "b");
    let seven = |_: &mut ptx_edit::Editor<'_>, _| Ok(Operand::Small(7));
    let bound = module
        .editor()
        .insert_param(f, ParamList::Parameters, 1, &new, seven)?;
    assert!(matches!(bound, None | Some(Operand::Reg(_))));
    Ok(())
}

#[test]
fn parameters_are_inserted_into_declarations_and_calls() {
    changed(
        ".func f(.reg .b32 a); // first\n.func f(.reg .b32 a) { ret; }\n.entry k() { call f, (1); call.uni f, ( 2 ); ret; }\n",
        ".func f(.reg .b32 a, .reg .b32 b); // first\n.func f(.reg .b32 a, .reg .b32 b) { ret; }\n.entry k() { call f, (1, 7); call.uni f, (2, 7); ret; }\n",
        insert_seven,
    );
}

#[test]
fn results_are_inserted_and_removed() {
    let without = ".func f() { ret; }\n.entry k() { .reg .b32 x; call f; ret; }\n";
    let with = ".func (.reg .b32 r) f() { ret; }\n.entry k() { .reg .b32 x; call (x), f; ret; }\n";
    changed(without, with, |module, f| {
        let new = NewParam::register(ScalarType::B32, "r");
        let results = ParamList::Results;
        module
            .editor()
            .insert_param(f, results, 0, &new, |editor, _| {
                let x = editor.body().reg_decls().ids().next().unwrap();
                Ok(Operand::Reg(editor.register(x, 0)?))
            })?;
        Ok(())
    });
    changed(
        with,
        ".func () f() { ret; }\n.entry k() { .reg .b32 x; call f; ret; }\n",
        |module, f| module.editor().remove_param(f, ParamList::Results, 0),
    );
}

#[test]
fn parameters_are_removed() {
    let before = ".func f(.reg .b32 a, .reg .b32 b) { .reg .b32 c; mov.b32 c, b; ret; }\n.entry k() { call f, (1, 2); ret; }\n";
    changed(
        before,
        ".func f(.reg .b32 b) { .reg .b32 c; mov.b32 c, b; ret; }\n.entry k() { call f, (2); ret; }\n",
        |module, f| module.editor().remove_param(f, ParamList::Parameters, 0),
    );
    let error = refused(before, |module, f| {
        module.editor().remove_param(f, ParamList::Parameters, 1)
    });
    assert_eq!(
        error.to_string(),
        "`b` is still used by `mov.b32 c, b;` in line 4, in function `f`; change or remove its uses first"
    );
    let error = refused(before, |module, f| {
        module.editor().remove_param(f, ParamList::Parameters, 2)
    });
    assert!(matches!(error, EditError::NoPart(_)), "{error}");
}

#[test]
fn types_of_parameters_change() {
    changed(
        ".func f(.reg .b32 a) { ret; }\n.entry k() { call f, (1); ret; }\n",
        ".func f(.reg .b64 a) { ret; }\n.entry k() { call f, (2); ret; }\n",
        |module, f| {
            let list = ParamList::Parameters;
            let ty = ScalarType::B64;
            module.editor().set_param_type(f, list, 0, ty, |_, _, old| {
                assert_eq!(old, Operand::Small(1));
                Ok(Operand::Small(2))
            })
        },
    );
}

const INDIRECT: &str = ".func f(.reg .b32 a) { ret; }\n.func g(.reg .b64 a) { ret; }\n.entry k() { .reg .b64 p, q; mov.u64 p, f; mov.u64 q, g;\nP: .callprototype _ (.reg .b32 _);\nQ: .callprototype _ (.reg .b64 _);\ncall p, (1), P; call q, (1), Q; call f, (3); ret; }\n";

#[test]
fn prototypes_of_indirect_calls_change() {
    let after = INDIRECT
        .replace("f(.reg .b32 a)", "f(.reg .b32 a, .reg .b32 b)")
        .replace("_ (.reg .b32 _)", "_ (.reg .b32 _, .reg .b32 _)")
        .replace("call p, (1)", "call p, (1, 7)")
        .replace("call f, (3)", "call f, (3, 7)");
    changed(INDIRECT, &after, insert_seven);
    changed(
        INDIRECT,
        &INDIRECT
            .replace("f(.reg .b32 a)", "f(.reg .u32 a)")
            .replace("_ (.reg .b32 _)", "_ (.reg .u32 _)"),
        |module, f| {
            let list = ParamList::Parameters;
            let ty = ScalarType::U32;
            module
                .editor()
                .set_param_type(f, list, 0, ty, |_, _, old| Ok(old))
        },
    );
}

#[test]
fn tables_of_one_function_are_followed() {
    let before = ".func f(.reg .b32 a) { ret; }\n.entry k() { .reg .b64 p; mov.u64 p, f;\nT: .calltargets f;\nP: .callprototype _ (.reg .b32 _);\ncall p, (1), P; call p, (2), T; ret; }\n";
    let after = before
        .replace("f(.reg .b32 a)", "f(.reg .b32 a, .reg .b32 b)")
        .replace("_ (.reg .b32 _)", "_ (.reg .b32 _, .reg .b32 _)")
        .replace("(1), P", "(1, 7), P")
        .replace("(2), T", "(2, 7), T");
    changed(before, &after, insert_seven);
}

/// Calls that may reach other functions, or that are not in the module.
#[test]
fn undetermined_calls_are_refused() {
    let same_type = INDIRECT
        .replace("g(.reg .b64 a)", "g(.reg .b32 a)")
        .replace("call q, (1), Q; ", "");
    let no_call = INDIRECT.replace("call p, (1), P; ", "");
    let no_prototype = INDIRECT.replace("_ (.reg .b32 _)", "_ (.reg .f32 _)");
    let table = ".func f(.reg .b32 a) { ret; }\n.func g(.reg .b32 a) { ret; }\n.entry k() { .reg .b64 p; mov.u64 p, f;\nT: .calltargets f, g;\ncall p, (2), T; ret; }\n".to_owned();
    let initializer = ".func f(.reg .b32 a) { ret; }\n.global .u64 t = f;\n".to_owned();
    let alias = ".func f(.reg .b32 a) { ret; }\n.func g(.reg .b32 a);\n.alias g, f;\n".to_owned();
    let arguments =
        ".func f(.reg .b32 a) { ret; }\n.entry k() { call f, (1, 2); ret; }\n".to_owned();
    let copy = "change a copy of the function with another name";
    for (before, expected) in [
        (
            same_type,
            format!("the address of `f` is used by `mov.u64 p, f;` in line 6, in function `k`, and that of `g`, which has the same type, as well, so a call may reach either; {copy}"),
        ),
        (
            no_call,
            format!("the address of `f` is used by `mov.u64 p, f;` in line 6, in function `k`, and the module has no call with a prototype of its type, so its calls are unknown; {copy}"),
        ),
        (
            no_prototype,
            format!("the address of `f` is used by `mov.u64 p, f;` in line 6, in function `k`, and the module has no call with a prototype of its type, so its calls are unknown; {copy}"),
        ),
        (
            table,
            format!("`f` may be called by `call p, (2), T;` in line 8, in function `k`, which may call other functions as well; {copy}"),
        ),
        (
            initializer,
            format!("the address of `f` is used by `.global .u64 t = f;` in line 5, and the module has no call with a prototype of its type, so its calls are unknown; {copy}"),
        ),
        (
            alias,
            "`f` is still used by `.alias g, f;` in line 6; change or remove its uses first".to_owned(),
        ),
        (
            arguments,
            "`f` has another number of parameters than `call f, (1, 2);` in line 5, in function `k` has arguments; correct the call first".to_owned(),
        ),
    ] {
        assert_eq!(refused(&before, insert_seven).to_string(), expected, "{before}");
    }
}

#[test]
fn declarations_inside_functions_change() {
    changed(
        ".entry k() { .func f(.reg .b32 a); call f, (1); ret; }\n.func f(.reg .b32 a) { ret; }\n",
        ".entry k() { .func f(.reg .b32 a, .reg .b32 b); call f, (1, 7); ret; }\n.func f(.reg .b32 a, .reg .b32 b) { ret; }\n",
        insert_seven,
    );
}

#[test]
fn names_and_sizes_of_new_parameters_are_checked() {
    let before = ".func f(.reg .b32 a) { .reg .b32 b; ret; }\n";
    let error = refused(before, insert_seven);
    assert_eq!(error, EditError::Taken("b".to_owned()));
    for new in [
        NewParam::new(ScalarType::B8, "c").with_align(3),
        NewParam::new(ScalarType::B8, "c").with_elements(u32::MAX),
    ] {
        let error = refused(before, |module, f| {
            let list = ParamList::Parameters;
            let zero = |_: &mut ptx_edit::Editor<'_>, _| Ok(Operand::Small(0));
            module
                .editor()
                .insert_param(f, list, 0, &new, zero)
                .map(drop)
        });
        assert!(matches!(error, EditError::Spelling { .. }), "{error}");
    }
    changed(
        ".func f() { ret; }\n",
        ".func f(.param .align 8 .b8 c[16]) { ret; }\n",
        |module, f| {
            let new = NewParam::new(ScalarType::B8, "c")
                .with_align(8)
                .with_elements(16);
            let list = ParamList::Parameters;
            let zero = |_: &mut ptx_edit::Editor<'_>, _| Ok(Operand::Small(0));
            module
                .editor()
                .insert_param(f, list, 0, &new, zero)
                .map(drop)
        },
    );
}
