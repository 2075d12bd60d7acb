//! Statements that are built and inserted into functions that exist.

use ptx_build::{Argument, InsertStatements as _, at};
use ptx_edit::{EditModule as _, Editor};
use ptx_ir::{Module, Operand, RegId, Severity, Statement, StmtId};
use ptx_isa::ScalarType as T;

const SOURCE: &str = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .global .u32 counter;\n.func (.param .b32 r) twice(.param .b32 x)\n{\n\
    .reg .b32 %r<3>;\n\tld.param.b32 %r1, [x];\n\tadd.s32 %r2, %r1, %r1;\n\tst.param.b32 [r], %r2;\n\tret;\n}\n\
    .visible .entry k(.param .u64 p)\n{\n\t.reg .b32 %r<4>;\n\t.reg .b64 %rd<3>;\n\t.reg .pred %p;\n\t.shared .align 4 .b8 tile[64];\n\
    \tld.param.u64 %rd1, [p];\n\tld.global.u32 %r1, [%rd1];\n\tsetp.eq.s32 %p, %r1, 0;\n\t@%p bra DONE;\n\tst.global.u32 [%rd1], %r1;\nDONE:\n\tret;\n}\n";

fn module() -> Module {
    ptx_parse::parse_str(SOURCE).into_result().unwrap()
}

/// The statement with the text.
fn find(editor: &Editor<'_>, text: &str) -> StmtId {
    let (module, body) = (editor.module(), editor.body());
    let mut statements = body.statements().map(|(id, _)| id);
    let display = |id| ptx_print::display_statement(module, body, id).to_string();
    statements.find(|id| display(*id).contains(text)).unwrap()
}

/// The register with a name.
fn register(editor: &Editor<'_>, name: &str) -> RegId {
    let (module, body) = (editor.module(), editor.body());
    let mut registers = body.registers().ids();
    registers
        .find(|id| body.register_name(module, *id) == name)
        .unwrap()
}

/// The text of the module, which must be legal.
fn legal_text(module: &Module) -> String {
    let text = ptx_print::display(module).to_string();
    let printed = ptx_parse::parse_str(&text).into_result().unwrap();
    let diagnostics = ptx_verify::verify(&printed, &ptx_verify::Options::default());
    let errors: Vec<_> = diagnostics
        .iter()
        .filter(|d| d.severity == Severity::Error)
        .collect();
    assert!(errors.is_empty(), "{errors:?}\n{text}");
    text
}

#[test]
fn existing_names_are_used_and_new_ones_differ() {
    let mut module = module();
    let (kernel, twice) = (
        module.function("k").unwrap(),
        module.function("twice").unwrap(),
    );
    let counter = module
        .symbols()
        .iter()
        .find(|(_, s)| module.name(s.name) == "counter")
        .unwrap()
        .0;
    let mut editor = module.edit(kernel).unwrap();
    let store = find(&editor, "st.global");
    let (value, pointer, predicate) = (
        register(&editor, "%r1"),
        register(&editor, "%rd1"),
        register(&editor, "%p"),
    );
    let variable = |text: &str| {
        let (id, _) = editor
            .body()
            .vars()
            .iter()
            .find(|(_, v)| editor.module().name(v.name) == text)
            .unwrap();
        Operand::Var(id)
    };
    let (tile, parameter) = (variable("tile"), variable("p"));
    let done = editor.body().labels().iter().next().unwrap().0;
    let new = editor
        .build_before(store, |code| {
            let [value, pointer] = [code.register(value)?, code.register(pointer)?];
            let (sum, address, skip) = (code.reg(T::B32), code.reg(T::B64), code.label());
            let [tile, parameter] = [code.variable(tile)?, code.variable(parameter)?];
            let counter = code.variable(Operand::Symbol(counter))?;
            let predicate = code.register(predicate)?;
            code.guard(predicate).bra().emit(skip)?;
            code.ld().param().u64((address, at(parameter)))?;
            code.ld().shared().u32((sum, tile + 4))?;
            code.red().global().add().u32((at(counter), sum))?;
            let twice = code.function(twice)?;
            code.call_function(twice, &[Argument::from(sum)], &[Argument::from(value)])?;
            code.st().global().u32((at(pointer), sum))?;
            let done = code.label_of(done)?;
            code.bra().emit(done)?;
            code.place(skip)
        })
        .unwrap();
    assert!(new.len() > 10);
    let text = legal_text(&module);
    for expected in [
        "\t.reg .b32 %r_<2>;\n",
        "\t.reg .b64 %rd_<2>;\n",
        "\tld.param.u64 %rd_1, [p];\n",
        "\tld.shared.u32 %r_1, [tile+4];\n",
        "\tred.global.add.u32 [counter], %r_1;\n",
        "\tst.global.u32 [%rd1], %r_1;\n\tbra DONE;\n",
    ] {
        assert!(text.contains(expected), "{expected}{text}");
    }
    // Nothing is declared twice.
    for declaration in ["%p;", "tile[64]", "counter;", "twice(", "DONE:"] {
        let count = text.matches(declaration).count();
        assert_eq!(count, 1, "{declaration} {text}");
    }
}

#[test]
fn what_is_refused_changes_nothing() {
    let mut module = module();
    let kernel = module.function("k").unwrap();
    let original = ptx_print::display(&module).to_string();
    let mut editor = module.edit(kernel).unwrap();
    let store = find(&editor, "st.global");
    let illegal = editor.build_before(store, |code| {
        let (a, b) = (code.reg(T::F32), code.reg(T::B64));
        code.add().f32((a, b, a))
    });
    assert_eq!(illegal.unwrap_err().code().to_string(), "PTX0506");
    let unplaced = editor.build_after(store, |code| {
        let label = code.label();
        code.bra().emit(label)
    });
    assert!(unplaced.is_err());
    // Needs a newer target than that of the module.
    let newer = editor.build_before(store, |code| code.wgmma().fence().sync().aligned().emit(()));
    assert!(newer.is_err());
    let nowhere = editor.build_before(StmtId::new(1000), |code| code.ret().emit(()));
    assert!(nowhere.is_err());
    assert_eq!(ptx_print::display(&module).to_string(), original);
}

#[test]
fn statements_are_inserted_into_each_function_of_the_corpus() {
    let mut functions = 0;
    for entry in test_support::corpus::small(200_000).into_iter().step_by(7) {
        let mut module = ptx_parse::parse(&entry.read()).into_result().unwrap();
        let defined: Vec<_> = module.definitions().map(|(id, ..)| id).collect();
        for function in defined {
            let mut editor = module.edit(function).unwrap();
            let insts = editor
                .body()
                .statements()
                .filter(|(_, s)| matches!(s, Statement::Inst(_)));
            let Some((middle, _)) = insts.clone().nth(insts.count() / 2) else {
                continue;
            };
            editor
                .build_before(middle, |code| {
                    let (value, predicate, end) =
                        (code.reg(T::B32), code.reg(T::Pred), code.label());
                    code.mov().u32((value, 7))?;
                    code.setp().eq().u32((predicate, value, 7))?;
                    code.guard(predicate).bra().emit(end)?;
                    code.mov().u32((value, 8))?;
                    code.place(end)
                })
                .unwrap_or_else(|error| panic!("{}: {error}", entry.name));
            functions += 1;
        }
        legal_text(&module);
    }
    assert!(functions > 20, "{functions}");
}

#[test]
fn a_statement_is_replaced() {
    let mut module = module();
    let function = module.function("twice").unwrap();
    let mut editor = module.edit(function).unwrap();
    let sum = find(&editor, "add.s32");
    let (source, result) = (register(&editor, "%r1"), register(&editor, "%r2"));
    editor
        .build_instead(sum, |code| {
            let (source, result) = (code.register(source)?, code.register(result)?);
            code.shl().b32((result, source, 1))
        })
        .unwrap();
    let (declaration, _) = editor.body().statements().next().unwrap();
    assert!(editor.build_instead(declaration, |_| Ok(())).is_err());
    let text = legal_text(&module);
    assert!(
        text.contains("\tshl.b32 %r2, %r1, 1;\n") && !text.contains("add.s32"),
        "{text}"
    );
}

/// A name of one scope is not taken for the same name of another one.
#[test]
fn names_of_other_scopes_are_refused() {
    let source = ".version 8.0\n.target sm_80\n.entry k()\n{\n\
        {\n.reg .b32 %x;\nmov.b32 %x, 1;\n}\n{\n.reg .b64 %x;\nmov.b64 %x, 2;\n}\nret;\n}\n";
    let mut module = ptx_parse::parse_str(source).into_result().unwrap();
    let kernel = module.function("k").unwrap();
    let mut editor = module.edit(kernel).unwrap();
    let places = ["mov.b32", "mov.b64", "ret"].map(|text| find(&editor, text));
    let registers: Vec<_> = editor.body().registers().ids().collect();
    let [narrow, wide] = registers[..] else {
        panic!("two registers")
    };
    let mut store = |place, register, ty| {
        editor
            .build_before(place, |code| {
                let register = code.register(register)?;
                code.mov().typed(ty, (register, 3))
            })
            .is_ok()
    };
    assert!(store(places[0], narrow, T::B32));
    for (place, register, ty) in [
        (places[1], narrow, T::B32),
        (places[2], narrow, T::B32),
        (places[0], wide, T::B64),
        (places[2], wide, T::B64),
    ] {
        assert!(!store(place, register, ty), "{register:?}");
    }
    legal_text(&module);
}
