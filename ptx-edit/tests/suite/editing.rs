//! What an edit does to the text, case by case: indentation, lines, comments, line endings; and what is refused.
#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

use ptx_edit::{Batch, Edit, EditError, EditModule as _, Editor, RemovedComments, UsedBy};
use ptx_ir::raw::Change;
use ptx_ir::{Item, Linkage, Module, Operand, Rewritten, Statement, StmtId};
use ptx_isa::{Directive, Modifier, PtxVersion, ScalarType, StateSpace};

const HEAD: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";

fn kernel(body: &str) -> Module {
    let text = format!("{HEAD}.entry k(.param .u64 p)\n{{{body}}}\n");
    let parsed = ptx_parse::parse_str(&text);
    assert!(!parsed.has_errors(), "{:?}", parsed.diagnostics);
    parsed.module
}

fn editor(module: &mut Module) -> Editor<'_> {
    let k = module.function("k").unwrap();
    module.edit(k).unwrap()
}

/// The statement whose text begins like this.
fn find(editor: &Editor<'_>, text: &str) -> StmtId {
    let body = editor.body();
    let found = |id: &StmtId| {
        let now = ptx_print::verbatim_statement(editor.module(), body, *id);
        now.starts_with(text.as_bytes())
    };
    body.statements().map(|(id, _)| id).find(found).unwrap()
}

/// The text between the braces of the kernel, which reads back.
fn body(module: &Module) -> String {
    let text = String::from_utf8(ptx_print::verbatim(module)).unwrap();
    let again = ptx_parse::parse_str(&text);
    assert!(!again.has_errors(), "{:?} in {text}", again.diagnostics);
    ptx_ir::compare::compare(module, &again.module).unwrap();
    let start = text.find('{').unwrap() + 1;
    text[start..text.rfind('}').unwrap()].to_owned()
}

/// Makes an edit and gives the text between the braces.
fn edited(text: &str, edit: impl FnOnce(&mut Editor<'_>)) -> String {
    let mut module = kernel(text);
    edit(&mut editor(&mut module));
    body(&module)
}

fn trap(editor: &mut Editor<'_>) -> ptx_edit::NewStmt {
    editor.inst("trap", &[]).unwrap()
}

#[test]
fn a_new_statement_takes_the_indentation_of_its_neighbors() {
    let text =
        "\n   .reg .b32 r;\nL:\n      mov.b32 r, 1; // one\n\n      // the end\n      ret;\n";
    let after = |what| {
        edited(text, |e| {
            let at = find(e, what);
            let new = trap(e);
            e.insert_after(at, new).unwrap();
        })
    };
    assert_eq!(after(".reg"), text.replace("r;\n", "r;\n   trap;\n"));
    assert_eq!(after("L:"), text.replace("L:\n", "L:\n   trap;\n"));
    assert_eq!(
        after("mov"),
        text.replace("// one\n", "// one\n      trap;\n")
    );
    assert_eq!(after("ret"), text.replace("ret;\n", "ret;\n      trap;\n"));
    let label = edited(text, |e| {
        let (_, label) = e.label("M").unwrap();
        let ret = find(e, "ret");
        e.insert_before(ret, label).unwrap();
    });
    assert_eq!(label, text.replace("// one\n", "// one\nM:\n"));
}

#[test]
fn what_moves_out_of_a_line_leaves_its_end() {
    let text = "\n\tbar.sync 0; /* x */ trap;\n\t// about ret\n\tret;\n";
    let moving = |e: &mut Editor<'_>| e.move_after(find(e, "trap"), find(e, "ret")).unwrap();
    let want = "\n\tbar.sync 0; /* x */ \n\t// about ret\n\tret;\n\ttrap;\n";
    assert_eq!(edited(text, moving), want);
    let mut module = kernel(text);
    moving(&mut editor(&mut module));
    let canonical = ptx_print::canonical(&module, &ptx_print::Style::default());
    let want = "{\n\tbar.sync 0; /* x */\n\t// about ret\n\tret;\n\ttrap;\n}\n";
    assert!(String::from_utf8(canonical).unwrap().ends_with(want));
}

#[test]
fn a_name_is_not_hidden_by_another() {
    let text = "\n\t.reg .b32 x;\n\tmov.b32 x, 1;\n\t{\n\t\t.reg .b32 x;\n\t\tmov.b32 x, 2;\n\t}\n\tret;\n";
    let mut module = kernel(text);
    let mut e = editor(&mut module);
    let (outer, inner) = (find(&e, "mov.b32 x, 1"), find(&e, "mov.b32 x, 2"));
    let hidden = Err(EditError::Hidden("x".into()));
    assert_eq!(e.move_after(outer, inner), hidden);
    let x = e.operand(outer, 0).unwrap();
    assert_eq!(e.set_operand(inner, 1, x), hidden);
    let decl = e.body().statements().next().unwrap().0;
    assert!(e.move_before(decl, inner).is_err());
    assert_eq!(body(&module), text);
}

#[test]
fn many_new_statements_are_all_indented() {
    let text = "\n   .reg .b32 r;\n   mov.b32 r, 1;\n   ret;\n";
    let many = edited(text, |e| {
        let at = find(e, "mov");
        for _ in 0..100 {
            let new = trap(e);
            e.insert_after(at, new).unwrap();
        }
    });
    assert_eq!(
        many,
        text.replace("1;\n", &("1;\n".to_owned() + &"   trap;\n".repeat(100)))
    );
}

#[test]
fn statements_on_one_line_stay_there() {
    let text = " .reg .b32 r; mov.b32 r, 1; ret; ";
    let before = edited(text, |e| {
        let at = find(e, "mov");
        let new = trap(e);
        e.insert_before(at, new).unwrap();
    });
    assert_eq!(before, " .reg .b32 r; trap; mov.b32 r, 1; ret; ");
    let first = edited(text, |e| {
        let new = trap(e);
        e.prepend(new).unwrap();
    });
    assert_eq!(first, " trap; .reg .b32 r; mov.b32 r, 1; ret; ");
    let last = edited(text, |e| {
        let new = trap(e);
        e.append(new).unwrap();
    });
    assert_eq!(last, " .reg .b32 r; mov.b32 r, 1; ret; trap; ");
    let gone = edited(text, |e| e.remove(find(e, "mov")).unwrap());
    assert_eq!(gone, " .reg .b32 r; ret; ");
    let empty = edited("", |e| {
        let new = trap(e);
        e.append(new).unwrap();
    });
    assert_eq!(empty.trim(), "trap;");
}

#[test]
fn line_endings_are_those_of_the_file() {
    let text = format!("{HEAD}.entry k()\n{{\n\tret;\n}}\n").replace('\n', "\r\n");
    let mut module = ptx_parse::parse_str(&text).module;
    let mut e = editor(&mut module);
    let new = trap(&mut e);
    e.append(new).unwrap();
    let want = text.replace("ret;\r\n", "ret;\r\n\ttrap;\r\n");
    assert_eq!(ptx_print::verbatim(&module), want.as_bytes());
}

/// A symbol is not used where a register, a member of a range, or a label has its name.
#[test]
fn local_names_hide_symbols() {
    let text = ".version 8.0\n.target sm_80\n.func %r1() { ret; }\n.func l() { ret; }\n.func %q() { ret; }\n\
        .entry k() { { .reg .b32 %q; bar.sync 1; } .reg .b32 %r<2>; bar.sync 0; l: ret; }\n";
    let mut module = ptx_parse::parse_str(text).module;
    let symbol = |name: &str, module: &Module| {
        let function = module.function(name).unwrap();
        module.functions().get(function).unwrap().symbol.unwrap()
    };
    let symbols = ["%r1", "l", "%q"].map(|name| (name, symbol(name, &module)));
    let k = module.function("k").unwrap();
    let mut editor = module.edit(k).unwrap();
    let at = |editor: &Editor<'_>, nth: usize| {
        let mut all = editor.body().statements().map(|(id, _)| id);
        all.nth(nth).unwrap()
    };
    for (name, symbol) in symbols {
        // Before `bar.sync 1`, and before `bar.sync 0`.
        for (place, nth) in [(2, 0), (5, 1)] {
            let call = editor.inst("call", &[Operand::Symbol(symbol)]).unwrap();
            let place = at(&editor, place);
            let found = editor.insert_before(place, call).map(drop);
            let is_visible = matches!((name, nth), ("%r1", 0) | ("%q", 1));
            match found {
                Ok(()) => {
                    assert!(is_visible, "{name} at {nth}");
                    let new = editor.body().statements().map(|(id, _)| id);
                    let new: Vec<_> = new.collect();
                    let at = new.iter().position(|id| *id == place).unwrap();
                    editor.remove(new[at - 1]).unwrap();
                }
                Err(error) => {
                    assert!(!is_visible, "{name} at {nth}");
                    assert_eq!(error, EditError::Hidden(name.into()));
                }
            }
        }
    }
}

/// A comment at the end of the source may lack the end of its line: what follows it is not a part of it.
#[test]
fn new_items_follow_the_last_comment() {
    let head = ".version 8.0\n.target sm_80\n";
    for (text, expected) in [
        (
            ".entry k() { ret; } // end",
            ".entry k() { ret; } // end\n.global .b32 new;\n",
        ),
        (
            ".entry k() { ret; }\n// end",
            ".entry k() { ret; }\n.global .b32 new;\n// end",
        ),
        (
            ".entry k() { ret; } /* end */",
            ".entry k() { ret; } /* end */ .global .b32 new; ",
        ),
    ] {
        let mut module = ptx_parse::parse_str(&format!("{head}{text}")).module;
        let (last, _) = module.items().next_back().unwrap();
        let mut editor = module.editor();
        let (space, ty) = (StateSpace::Global, ScalarType::B32);
        editor
            .insert_variable(last, space, 0, ty, "new", None)
            .unwrap();
        let printed = String::from_utf8(ptx_print::verbatim(&module)).unwrap();
        assert_eq!(printed, format!("{head}{expected}"));
    }
    // So is an item that is moved before another one.
    let mut module = ptx_parse::parse_str(&format!(
        "{head}.entry a() {{ ret; }}\n.entry b() {{ ret; }} // end"
    ))
    .module;
    let items: Vec<_> = module.items().map(|(id, _)| id).collect();
    let [.., target, a, b] = items[..] else {
        unreachable!()
    };
    module.editor().move_item(b, target).unwrap();
    module.editor().move_item(a, b).unwrap();
    let printed = String::from_utf8(ptx_print::verbatim(&module)).unwrap();
    assert_eq!(
        printed,
        format!("{head}.entry b() {{ ret; }} // end\n.entry a() {{ ret; }}\n")
    );
}

#[test]
fn comments_stay_with_what_they_describe() {
    let text =
        "\n\t.reg .b32 r;\n\t// why\n\tmov.b32 r, /* inside */ 1; // one\n\t// the end\n\tret;\n";
    let changed = edited(text, |e| {
        e.set_operand(find(e, "mov"), 1, Operand::Small(2)).unwrap()
    });
    assert_eq!(
        changed,
        "\n\t.reg .b32 r;\n\t// why\n\tmov.b32 r, /* inside */ 2; // one\n\t// the end\n\tret;\n"
    );
    let gone = edited(text, |e| e.remove(find(e, "mov")).unwrap());
    assert_eq!(
        gone,
        "\n\t.reg .b32 r;\n\t// why\n\t/* inside */\n\t// one\n\t// the end\n\tret;\n"
    );
    let moved = edited(text, |e| {
        e.move_after(find(e, "mov"), find(e, "ret")).unwrap()
    });
    assert_eq!(
        moved,
        "\n\t.reg .b32 r;\n\t// the end\n\tret;\n\t// why\n\tmov.b32 r, /* inside */ 1; // one\n"
    );
    let renamed = edited(text, |e| {
        let decl = e.body().reg_decls().ids().next().unwrap();
        e.rename_register(decl, "%sum").unwrap();
    });
    assert_eq!(renamed, text.replace(" r", " %sum"));
}

#[test]
fn names_keep_every_other_byte() {
    let text = "\n .reg .b32 %r< 9 >, %rd; // %r\nL: { .reg .b32 x; mov .b32 %r01 ,x /*x*/ ;@%p bra   L ; }\n ld.param.u64 %q, [ p+ 0 ]; ret;\n";
    let text = &text.replacen(".reg", ".reg .pred %p; .reg .b64 %q; .reg", 1);
    let renamed = edited(text, |e| {
        let decls: Vec<_> = e.body().reg_decls().ids().collect();
        let named = |e: &Editor<'_>, n: &str| {
            let mut decls = decls.iter().copied();
            decls.find(|d| {
                e.body()
                    .reg_decls()
                    .get(*d)
                    .is_some_and(|d| e.module().name(d.name) == n)
            })
        };
        let (r, x) = (named(e, "%r"), named(e, "x"));
        e.rename_register(r.unwrap(), "%value").unwrap();
        e.rename_register(r.unwrap(), "%v").unwrap();
        if let Some(x) = x {
            e.rename_register(x, "y").unwrap();
        }
        let label = e.body().labels().ids().next().unwrap();
        e.rename_label(label, "$loop").unwrap();
        let p = e.body().vars().ids().next().unwrap();
        e.rename_variable(p, "pointer").unwrap();
    });
    let want = text
        .replace("%r<", "%v<")
        .replace("%r01", "%v01")
        .replace("L", "$loop")
        .replace(" x;", " y;")
        .replace(",x ", ",y ")
        .replace("[ p+", "[ pointer+");
    assert_eq!(renamed, want);
}

#[test]
fn guards_mnemonics_and_registers() {
    let text = "\n\t.reg .b32 r<4>;\n\t.reg .pred q;\n\tadd.s32 r0, r1, r1;\n\tret;\n";
    let text = edited(text, |e| {
        let add = find(e, "add");
        let registers: Vec<_> = e.body().registers().ids().collect();
        let p = e
            .body()
            .registers()
            .iter()
            .find(|(_, r)| r.decl.as_u32() == 1)
            .unwrap()
            .0;
        e.set_guard(add, Some((p, ptx_ir::GuardSense::Negated)))
            .unwrap();
        e.set_modifier(
            add,
            Modifier::from_text(b".s32").unwrap(),
            Modifier::from_text(b".u32"),
        )
        .unwrap();
        let r1 = e.operand(add, 1).unwrap();
        let Operand::Reg(r1) = r1 else { return };
        let r3 = e.register(e.body().registers()[r1].decl, 3).unwrap();
        assert!(!registers.contains(&r3));
        assert_eq!(e.replace_register(add, r1, r3).unwrap(), 2);
    });
    assert_eq!(
        text,
        "\n\t.reg .b32 r<4>;\n\t.reg .pred q;\n\t@!q add.u32 r0, r3, r3;\n\tret;\n"
    );
}

#[test]
fn declarations_keep_their_other_bytes() {
    let text = format!(
        "{HEAD}.global .b32  a [3] = {{1, /* two */ 2,  3}} ; // a\n.entry k() {{ ret; }}\n"
    );
    let mut module = ptx_parse::parse_str(&text).module;
    let is_decl = |i: &Item| matches!(i, Item::Decl(_));
    let a = module.items().find(|(_, i)| is_decl(i)).unwrap().0;
    module.editor().set_element(a, 0, 1, "0x22").unwrap();
    module.editor().set_type(a, ScalarType::U32).unwrap();
    module.editor().set_alignment(a, 16).unwrap();
    module.editor().set_version(PtxVersion::new(8, 7)).unwrap();
    module
        .editor()
        .set_target("sm_90a".parse().unwrap())
        .unwrap();
    module.editor().set_address_size(32).unwrap();
    let want = text
        .replace(".b32  a", ".align 16 .u32  a")
        .replace("*/ 2", "*/ 0x22")
        .replace("8.0", "8.7")
        .replace("sm_80", "sm_90a")
        .replace("64\n", "32\n");
    assert_eq!(
        String::from_utf8(ptx_print::verbatim(&module)).unwrap(),
        want
    );
    assert!(module.editor().set_element(a, 0, 3, "1").is_err());
    assert!(module.editor().set_element(a, 1, 0, "1").is_err());
    assert!(module.editor().set_element(a, 0, 0, "1 1").is_err());
    assert!(module.editor().set_alignment(a, 3).is_err());
    assert!(module.editor().set_address_size(16).is_err());
}

#[test]
fn symbols_and_items() {
    let text = format!(
        "{HEAD}.visible .func f(.param .b32 f1);\n.func g() {{ ret; }}\n.func f(.param .b32 x)\n{{ ret; }}\n.entry k() {{ call f, (1); ret; }} // k\n"
    );
    let mut module = ptx_parse::parse_str(&text).module;
    let f = module.function("f").unwrap();
    let f = module.functions()[f].symbol.unwrap();
    module.editor().rename_symbol(f, "ff").unwrap();
    let now = String::from_utf8(ptx_print::verbatim(&module)).unwrap();
    let want = text.replace(" f(", " ff(").replace("call f,", "call ff,");
    assert_eq!(now, want);
    let g = module.function("g").unwrap();
    let item = |m: &Module, f| m.items().find(|(_, i)| *i == Item::Function(f)).unwrap().0;
    let g = item(&module, g);
    module
        .editor()
        .remove_item(g, RemovedComments::None)
        .unwrap();
    let used = module.function("ff").unwrap();
    let used = item(&module, used);
    let error = module.editor().remove_item(used, RemovedComments::None);
    assert_eq!(
        error.unwrap_err().to_string(),
        "`ff` is still used by `call f, (1);` in line 8, in function `k`; change or remove its uses first"
    );
    let first = module.items().nth(2).unwrap().0;
    let string = module.editor().string("x.cu").unwrap();
    let args = [Operand::Small(1), string];
    module
        .editor()
        .insert_directive(first, Directive::File, &args)
        .unwrap();
    let global = StateSpace::Global;
    let (item, _) = module
        .editor()
        .insert_variable(first, global, 8, ScalarType::U32, "log", Some(9))
        .unwrap();
    assert!(
        module
            .editor()
            .insert_variable(item, global, 8, ScalarType::U32, "x", None)
            .is_err()
    );
    assert!(
        module
            .editor()
            .insert_variable(item, global, 3, ScalarType::U32, "y", None)
            .is_err()
    );
    let version = module.items().next().unwrap().0;
    assert!(
        module
            .editor()
            .insert_variable(version, global, 4, ScalarType::U32, "y", None)
            .is_err()
    );
    assert!(
        module
            .editor()
            .remove_item(version, RemovedComments::None)
            .is_err()
    );
    let want = want.replace(".func g() { ret; }\n", "").replace(
        "64\n",
        "64\n.global .align 8 .u32 log[9];\n.file 1 \"x.cu\"\n",
    );
    assert_eq!(
        String::from_utf8(ptx_print::verbatim(&module)).unwrap(),
        want
    );
    assert!(!ptx_parse::parse_str(&want).has_errors());
}

#[test]
fn invalid_edits_are_refused_and_change_nothing() {
    let text = "\n\t.reg .b32 r<2>;\n\tbra L;\n\t{\n\t\t.reg .b32 x;\n\t\tmov.b32 x, r0;\n\t}\n\tmov.b32 r1, 1;\nL:\n\tret;\n";
    let mut module = kernel(text);
    let other = kernel("\n\tret;\n");
    let mut e = editor(&mut module);
    let [decl, first, inner, label] = [".reg", "bra", "mov.b32 x", "L:"].map(|t| find(&e, t));
    let open = e.body().before(find(&e, ".reg .b32 x")).unwrap();
    assert_eq!(
        e.remove(decl).unwrap_err().to_string(),
        "`r` is still used by `mov.b32 x, r0;` in line 10, in function `k`; change or remove its uses first"
    );
    assert!(
        matches!(e.remove(label), Err(EditError::Used { name, by: UsedBy::Use(place) })
            if name == "L" && place.statement == Some(first) && place.line == Some(7))
    );
    assert_eq!(e.remove(open), Err(EditError::Immovable));
    assert_eq!(
        e.move_after(inner, first),
        Err(EditError::Hidden("x".into()))
    );
    let second = find(&e, "mov.b32 r1");
    assert_eq!(
        e.move_after(decl, second),
        Err(EditError::Hidden("r".into()))
    );
    let x = e.operand(inner, 0).unwrap();
    assert_eq!(
        e.set_operand(second, 1, x),
        Err(EditError::Hidden("x".into()))
    );
    assert!(e.set_operand(second, 2, x).is_err());
    assert!(e.inst("add..s32", &[]).is_err());
    assert!(e.inst("", &[]).is_err());
    assert!(e.inst("add s32", &[]).is_err());
    assert!(e.label("r1").is_err());
    assert!(e.label("%tid").is_err());
    assert!(e.label("k").is_err());
    assert!(e.registers(ScalarType::B32, "r", Some(3)).is_err());
    assert!(e.constant("1 +").is_err());
    assert!(e.remove(StmtId::new(99)).is_err());
    let strange = Operand::Reg(ptx_ir::RegId::new(77));
    assert_eq!(e.set_operand(second, 1, strange), Err(EditError::UnknownId));
    assert_eq!(body(&module), text);
    let mut other = other;
    let mut two = other.clone();
    let draft = trap(&mut editor(&mut two));
    drop(two);
    // The only body of another module has the same number: the instruction does not exist here.
    let done = editor(&mut other).append(draft);
    assert!(done.is_err());
}

#[test]
fn a_batch_is_made_whole_or_not_at_all() {
    let text = "\n\t.reg .b32 r<2>;\n\tmov.b32 r0, 1;\n\tmov.b32 r1, 2;\n\tret;\n";
    let mut module = kernel(text);
    let mut e = editor(&mut module);
    let [first, second, ret] = ["mov.b32 r0", "mov.b32 r1", "ret"].map(|t| find(&e, t));
    type Make = fn(StmtId) -> Edit;
    let conflicts: [[Make; 2]; 3] = [
        [Edit::Remove, |s| Edit::SetOperand(s, 1, Operand::Small(3))],
        [
            |s| Edit::SetOperand(s, 1, Operand::Small(3)),
            |s| Edit::SetOperand(s, 1, Operand::Small(4)),
        ],
        [|s| Edit::SetGuard(s, None), Edit::Remove],
    ];
    for [one, two] in conflicts {
        let mut batch = Batch::new();
        batch.push(one(first));
        batch.push(Edit::SetOperand(second, 1, Operand::Small(9)));
        batch.push(two(first));
        let error = EditError::Conflict {
            statement: first,
            first: 0,
            second: 2,
        };
        assert_eq!(e.apply(batch), Err(error));
    }
    // One that fails late takes the others back.
    let mut batch = Batch::new();
    batch.push(Edit::SetOperand(first, 1, Operand::Small(9)));
    batch.push(Edit::SetOperand(second, 7, Operand::Small(9)));
    assert!(e.apply(batch).is_err());
    assert_eq!(body(&module), text);
    let mut e = editor(&mut module);
    let mut batch = Batch::new();
    let new: Vec<_> = ["trap", "brkpt", "exit"]
        .map(|m| e.inst(m, &[]).unwrap())
        .into();
    for draft in new {
        batch.push(Edit::InsertAfter(first, draft));
    }
    batch.push(Edit::Remove(first));
    batch.push(Edit::SetOperand(second, 1, Operand::Small(9)));
    batch.push(Edit::MoveAfter(second, ret));
    assert_eq!(e.apply(batch).unwrap().len(), 3);
    assert_eq!(
        body(&module),
        "\n\t.reg .b32 r<2>;\n\ttrap;\n\tbrkpt;\n\texit;\n\tret;\n\tmov.b32 r1, 9;\n"
    );
}

#[test]
fn ids_stay_and_revisions_grow() {
    let mut module = kernel("\n\t.reg .b32 r;\n\tmov.b32 r, 1;\n\tret;\n");
    assert_eq!((module.revision(), module.is_edited()), (0, false));
    let k = module.function("k").unwrap();
    let mut e = module.edit(k).unwrap();
    let (mov, ret) = (find(&e, "mov"), find(&e, "ret"));
    let new = trap(&mut e);
    let new = e.insert_before(mov, new).unwrap();
    e.remove(mov).unwrap();
    assert!(e.body().precedes(new, ret));
    assert_eq!(e.body().after(new), Some(ret));
    assert_eq!(e.body().before(ret), Some(new));
    assert_eq!(
        e.body().statements().next_back().map(|(id, _)| id),
        Some(ret)
    );
    let back: Vec<StmtId> = e.body().statements().rev().map(|(id, _)| id).collect();
    assert_eq!(back.len(), 3);
    assert!(matches!(
        e.body().edits().unwrap().change(mov),
        Some(Change::Removed(_))
    ));
    assert_eq!(e.body().statement(mov), Some(Statement::Removed));
    let revision = module.revision();
    assert_eq!(module.changed_since(0).functions, [k]);
    assert!(module.changed_since(revision).functions.is_empty());
}

#[test]
fn places_are_found_again() {
    let text = "\n\t.reg .b32 r;\n\tmov.b32 r, 1;\n\tret;\n";
    let mut module = kernel(text);
    let mut e = editor(&mut module);
    let (mov, ret) = (find(&e, "mov"), find(&e, "ret"));
    e.move_after(mov, ret).unwrap();
    let new = trap(&mut e);
    e.insert_before(ret, new).unwrap();
    let Rewritten { text: now, map, .. } = ptx_print::verbatim_with_map(&module);
    for (i, b) in module.source().iter().enumerate() {
        let new = map.to_new(i as u32).unwrap() as usize;
        assert_eq!(now.get(new), Some(b));
    }
    let trap = now.windows(4).position(|w| w == b"trap").unwrap();
    assert_eq!(map.to_old(trap as u32), None);
    // Twice.
    let mut again = ptx_parse::parse(&now).module;
    let mut e = editor(&mut again);
    let at = find(&e, "ret");
    e.remove(at).unwrap();
    let last = ptx_print::verbatim_with_map(&again);
    let second = &last.map;
    let both = map.then(second);
    for old in 0..module.source().len() as u32 {
        let step = map.to_new(old).and_then(|n| second.to_new(n));
        assert_eq!(both.to_new(old), step);
    }
    for new in 0..last.text.len() as u32 {
        assert_eq!(
            both.to_old(new),
            second.to_old(new).and_then(|n| map.to_old(n))
        );
    }
}

/// The text of a module after its header.
fn rest(module: &Module) -> String {
    let text = String::from_utf8(ptx_print::verbatim(module)).unwrap();
    let again = ptx_parse::parse_str(&text);
    assert!(!again.has_errors(), "{:?} in {text}", again.diagnostics);
    ptx_ir::compare::compare(module, &again.module).unwrap();
    text[HEAD.len()..].to_owned()
}

fn module(text: &str) -> Module {
    let parsed = ptx_parse::parse_str(&format!("{HEAD}{text}"));
    assert!(!parsed.has_errors(), "{:?}", parsed.diagnostics);
    parsed.module
}

#[test]
fn directives_of_a_function_come_change_and_go() {
    let number = Operand::Small;
    let mut m =
        module(".entry k()\n.maxntid 128, 1 // many\n.maxnreg 32\n{ ret; }\n.entry l() { ret; }\n");
    let (k, l) = (m.function("k").unwrap(), m.function("l").unwrap());
    m.editor()
        .set_directive(k, Directive::Maxntid, &[number(64)])
        .unwrap();
    m.editor()
        .set_directive(k, Directive::Minnctapersm, &[number(4)])
        .unwrap();
    m.editor().remove_directive(k, Directive::Maxnreg).unwrap();
    m.editor()
        .set_directive(l, Directive::Reqntid, &[number(8), number(8)])
        .unwrap();
    let text = m.editor().string("nounroll").unwrap();
    m.editor()
        .set_directive(l, Directive::Pragma, &[text])
        .unwrap();
    assert_eq!(
        rest(&m),
        ".entry k()\n.maxntid 64 // many\n.minnctapersm 4\n{ ret; }\n.entry l() .reqntid 8, 8 .pragma \"nounroll\"; { ret; }\n"
    );
    let missing = m.editor().remove_directive(k, Directive::Maxnreg);
    assert_eq!(missing, Err(EditError::Missing(".maxnreg")));
    let wanted = "directive of such a function";
    let kind = m.editor().set_directive(k, Directive::Noreturn, &[]);
    assert_eq!(kind, Err(EditError::Kind { wanted }));
    let negative = m
        .editor()
        .set_directive(k, Directive::Maxnreg, &[number(-1)]);
    assert!(matches!(negative, Err(EditError::Kind { .. })));
}

#[test]
fn linkage_comes_changes_and_goes() {
    let mut m = module(
        ".visible .entry k() { ret; }\n// a table\n.global .b32 t;\n.weak\n.func f() { ret; }\n",
    );
    let items: Vec<_> = m.items().skip(3).map(|(id, _)| id).collect();
    m.editor().set_linkage(items[0], None).unwrap();
    m.editor()
        .set_linkage(items[1], Some(Linkage::Visible))
        .unwrap();
    m.editor()
        .set_linkage(items[2], Some(Linkage::Visible))
        .unwrap();
    assert_eq!(
        rest(&m),
        ".entry k() { ret; }\n// a table\n.visible .global .b32 t;\n.visible \n.func f() { ret; }\n"
    );
    let mut m = module(".extern .global .b32 t;\n.global .b32 t;\n");
    let item = m.items().nth(4).unwrap().0;
    let twice = m.editor().set_linkage(item, Some(Linkage::Visible));
    assert_eq!(twice, Err(EditError::Taken("t".to_owned())));
}

#[test]
fn items_move_where_they_are_seen() {
    let text = ".global .b32 a;\n.global .u64 p = a; // where it is\n.func f() { ret; }\n.entry k() { call f; ret; }\n";
    let mut m = module(text);
    let items: Vec<_> = m.items().map(|(id, _)| id).collect();
    let hidden = |name: &str| Err(EditError::Hidden(name.to_owned()));
    assert_eq!(m.editor().move_item(items[3], items[4]), hidden("a"));
    assert_eq!(m.editor().move_item(items[6], items[3]), hidden("f"));
    assert_eq!(
        m.editor().move_item(items[1], items[3]),
        Err(EditError::Immovable)
    );
    assert_eq!(
        m.editor().move_item(items[3], items[0]),
        Err(EditError::Immovable)
    );
    assert_eq!(rest(&m), text);
    m.editor().move_item(items[4], items[6]).unwrap();
    assert_eq!(
        rest(&m),
        ".global .b32 a;\n.func f() { ret; }\n.entry k() { call f; ret; }\n.global .u64 p = a; // where it is\n"
    );
}

#[test]
fn arguments_of_directives_change_alone() {
    let mut m = module(".file 1 \"a.cu\"\n.entry k() {\n.loc 1 2 3\nret;\n}\n");
    let file = m.items().nth(3).unwrap().0;
    let name = m.editor().string("b.cu").unwrap();
    assert!(m.editor().set_argument(file, 1, Operand::Small(2)).is_err());
    m.editor().set_argument(file, 1, name).unwrap();
    let mut e = editor(&mut m);
    let loc = find(&e, ".loc");
    assert!(e.set_argument(loc, 3, Operand::Small(2)).is_err());
    assert!(e.set_argument(loc, 1, Operand::Small(-2)).is_err());
    e.set_argument(loc, 1, Operand::Small(20)).unwrap();
    assert_eq!(
        rest(&m),
        ".file 1 \"b.cu\"\n.entry k() {\n.loc 1 20 3\nret;\n}\n"
    );
}

#[test]
fn what_could_not_be_read_back_is_refused() {
    let mut m = kernel(
        "\n.reg .b32 r;\n.func (.reg .b32 a) g(.reg .b32 b);\ncall (r), g, (r);\nmov.b32 r, 1;\nret;\n",
    );
    let mut e = editor(&mut m);
    let (call, mov) = (find(&e, "call"), find(&e, "mov"));
    let r = e.operand(mov, 0).unwrap();
    let kind =
        |r: Result<(), EditError>| assert!(matches!(r, Err(EditError::Kind { .. })), "{r:?}");
    // A list is for those who call.
    kind(e.set_mnemonic(call, "add.s32"));
    let list = e.operand(call, 2).unwrap();
    kind(e.set_operand(mov, 1, list));
    // A discarded result and a pair are only allowed first.
    kind(e.set_operand(mov, 1, Operand::Sink));
    let pair = e.pair(r, Operand::Sink).unwrap();
    kind(e.set_operand(mov, 1, pair));
    // `.5` would be a modifier, and a number has no offset.
    let half = e.constant(".5").unwrap();
    kind(e.set_operand(mov, 0, half));
    kind(e.address(Operand::Small(4), Operand::Small(8)).map(drop));
    kind(e.vector(&[pair]).map(drop));
    let text = e.string("text").unwrap();
    kind(e.set_operand(mov, 1, text));
    kind(e.directive(Directive::Loc, &[Operand::Small(1)]).map(drop));
    assert!(!m.is_edited());
}

#[test]
fn a_function_is_called_behind_its_declaration() {
    let mut m = kernel("\n.func inner();\ncall inner;\nret;\n");
    let mut e = editor(&mut m);
    let (call, declaration) = (find(&e, "call"), find(&e, ".func"));
    let hidden = e.move_before(call, declaration);
    assert_eq!(hidden, Err(EditError::Hidden("inner".to_owned())));
    let mut m = module(".entry k() { ret; }\n.func f() { ret; }\n");
    let f = m
        .function("f")
        .and_then(|f| m.functions()[f].symbol)
        .unwrap();
    let mut e = editor(&mut m);
    let ret = find(&e, "ret");
    let call = e.inst("call", &[Operand::Symbol(f)]).unwrap();
    let hidden = e.insert_before(ret, call);
    assert_eq!(hidden, Err(EditError::Hidden("f".to_owned())));
}

#[test]
fn scopes_are_placed_and_filled() {
    let mut module = kernel("\n  .reg .b32 x;\n  t: .branchtargets l;\nl:\n  brx.idx x, t;\n");
    let mut edit = editor(&mut module);
    let label = find(&edit, "t:");
    // Nothing can be between a label and its table.
    assert_eq!(edit.insert_scope_after(label), Err(EditError::Immovable));
    let jump = find(&edit, "brx");
    let [open, close] = edit.insert_scope_before(jump).unwrap();
    assert_eq!(edit.remove(open), Err(EditError::Immovable));
    let (decl, draft) = edit.registers(ScalarType::B32, "y", None).unwrap();
    let placed = edit.insert_after(open, draft).unwrap();
    let y = Operand::Reg(edit.register(decl, 0).unwrap());
    let x = edit.operand(jump, 0).unwrap();
    let inside = edit.inst("mov.b32", &[y, x]).unwrap();
    edit.insert_after(placed, inside).unwrap();
    // It is seen there alone.
    let outside = edit.inst("mov.b32", &[x, y]).unwrap();
    let outside = edit.insert_after(close, outside);
    assert_eq!(outside, Err(EditError::Hidden("y".into())));
    assert_eq!(
        body(&module),
        "\n  .reg .b32 x;\n  t: .branchtargets l;\nl:\n  {\n  \t.reg .b32 y;\n  \tmov.b32 y, x;\n  }\n  brx.idx x, t;\n"
    );
}

#[test]
fn scopes_nest_when_keys_run_out() {
    let mut module = kernel("\n\tret;\n");
    let mut edit = editor(&mut module);
    let mut at = find(&edit, "ret");
    for n in 0..60 {
        let [open, close] = match n {
            0 => edit.insert_scope_before(at).unwrap(),
            _ => edit.insert_scope_after(at).unwrap(),
        };
        let (decl, draft) = edit
            .registers(ScalarType::B32, &format!("x{n}"), None)
            .unwrap();
        at = edit.insert_after(open, draft).unwrap();
        let x = Operand::Reg(edit.register(decl, 0).unwrap());
        let inside = edit.inst("mov.b32", &[x, Operand::Small(n)]).unwrap();
        edit.insert_after(at, inside).unwrap();
        let outside = edit.inst("mov.b32", &[x, Operand::Small(n)]).unwrap();
        let outside = edit.insert_after(close, outside);
        assert_eq!(outside, Err(EditError::Hidden(format!("x{n}"))));
    }
    assert_eq!(body(&module).matches('{').count(), 60);
}
