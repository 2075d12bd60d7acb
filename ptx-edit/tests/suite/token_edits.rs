//! Edits inside an instruction replace tokens: all other bytes of the statement are unchanged, and `OffsetMap` has them.
#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

use ptx_edit::{EditModule as _, Editor};
use ptx_ir::{Operand, RegDeclId, RegId, Rewritten, Statement, StmtId};
use ptx_isa::Modifier;

/// Edits the last instruction of a kernel with these registers; gives its new text with what follows it.
fn edited(instruction: &str, edit: impl FnOnce(&mut Editor<'_>, StmtId)) -> String {
    let head = ".version 8.0\n.target sm_90\n.address_size 64\n.entry k()\n{\n.reg .pred %p<3>; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %rd<9>;\n";
    let text = format!("{head}{instruction}\n\t}}\n");
    let parsed = ptx_parse::parse_str(&text);
    assert!(!parsed.has_errors(), "{:?}", parsed.diagnostics);
    let mut module = parsed.module;
    let k = module.function("k").unwrap();
    let mut editor = module.edit(k).unwrap();
    let statements: Vec<_> = editor.body().statements().collect();
    let is_inst = |(_, s): &&(StmtId, Statement)| matches!(s, Statement::Inst(_));
    let stmt = statements.iter().rfind(is_inst).unwrap().0;
    edit(&mut editor, stmt);
    let Rewritten { text: new, map, .. } = ptx_print::verbatim_with_map(&module);
    // Every byte that stays is mapped, and the map tells the truth.
    for (old, new_at, len) in map.pieces() {
        let (old, new_at, len) = (old as usize, new_at as usize, len as usize);
        assert_eq!(text.as_bytes()[old..old + len], new[new_at..new_at + len]);
    }
    // The statement stays in it.
    let semicolon = text.rfind(';').unwrap() as u32;
    assert!(map.to_new(semicolon).is_some());
    let new = String::from_utf8(new).unwrap();
    let again = ptx_parse::parse_str(&new);
    assert!(!again.has_errors(), "{:?} in {new}", again.diagnostics);
    ptx_ir::compare::compare(&module, &again.module).unwrap();
    let new = new.strip_prefix(head).unwrap();
    new.strip_suffix("\n\t}\n").unwrap().to_owned()
}

/// What replaces a register right after a word is divided from it.
#[test]
fn new_operands_do_not_continue_a_word() {
    let barrier = edited("bar.sync%r1;", |e, stmt| {
        e.set_operand(stmt, 0, Operand::Small(1)).unwrap();
    });
    assert_eq!(barrier, "bar.sync 1;");
    let text = ".version 8.0\n.target sm_90\n.entry k() { .reg .b32 %n; bar.sync%n; }\n";
    let mut module = ptx_parse::parse_str(text).module;
    let k = module.function("k").unwrap();
    let mut editor = module.edit(k).unwrap();
    let decl = editor.body().reg_decls().ids().next().unwrap();
    editor.rename_register(decl, "sum").unwrap();
    let printed = String::from_utf8(ptx_print::verbatim(&module)).unwrap();
    assert!(
        printed.ends_with("{ .reg .b32 sum; bar.sync sum; }\n"),
        "{printed}"
    );
}

fn modifier(text: &str) -> Modifier {
    Modifier::from_text(text.as_bytes()).unwrap()
}

fn register(editor: &mut Editor<'_>, name: &str, number: u32) -> RegId {
    let module = editor.module();
    let decls = &editor.body().reg_decls();
    let is_it = |id: &RegDeclId| module.name(decls[*id].name) == name;
    let decl = decls.ids().find(is_it).unwrap();
    editor.register(decl, number).unwrap()
}

#[test]
fn a_modifier_is_one_token() {
    let text = "div.full.f32 /* why */ %f1 , %f2 ,\r\n\t\t%f3 ;";
    let set = |e: &mut Editor<'_>, stmt| {
        e.set_modifier(stmt, modifier(".full"), Some(modifier(".approx")))
            .unwrap();
    };
    assert_eq!(edited(text, set), text.replace(".full", ".approx"));
    let text = "add /* a */ .sat // b\r\n .s32 %r1 , %r2 , 1 ;";
    let none = |e: &mut Editor<'_>, stmt| e.set_modifier(stmt, modifier(".sat"), None).unwrap();
    assert_eq!(edited(text, none), text.replace(".sat", ""));
    let text = "add.s32  %r1,%r2, /* c */ 1;";
    let add = |e: &mut Editor<'_>, stmt| e.add_modifier(stmt, modifier(".sat")).unwrap();
    assert_eq!(edited(text, add), text.replace("add", "add.sat"));
    let back = |e: &mut Editor<'_>, stmt| {
        e.add_modifier(stmt, modifier(".sat")).unwrap();
        e.set_modifier(stmt, modifier(".sat"), None).unwrap();
        e.set_mnemonic(stmt, "sub.u32").unwrap();
        e.set_mnemonic(stmt, "add.s32").unwrap();
    };
    assert_eq!(edited(text, back), text);
}

#[test]
fn an_operand_is_replaced_alone() {
    let text = "add.s32 %r1 , /* x */ %r2 ,\r\n\t\t%r3 ; // end";
    let set = |e: &mut Editor<'_>, stmt| e.set_operand(stmt, 1, Operand::Small(7)).unwrap();
    assert_eq!(edited(text, set), text.replace("%r2", "7"));
    let text = "ld.global.b32 %r1 , [ %rd1 /* base */ + 8 ];";
    let inner = |e: &mut Editor<'_>, stmt| {
        let (old, new) = (register(e, "%rd", 1), register(e, "%rd", 5));
        assert_eq!(e.replace_register(stmt, old, new), Ok(1));
    };
    assert_eq!(edited(text, inner), text.replace("%rd1", "%rd5"));
    let whole = |e: &mut Editor<'_>, stmt| {
        let base = register(e, "%rd", 5);
        let address = e.address(Operand::Reg(base), Operand::Absent).unwrap();
        e.set_operand(stmt, 1, address).unwrap();
    };
    assert_eq!(
        edited(text, whole),
        "ld.global.b32 %r1 , [%rd5] /* base */;"
    );
}

#[test]
fn operands_come_and_go() {
    let text = "bar.sync  1 /* all */ ;";
    let more = |e: &mut Editor<'_>, stmt| {
        e.set_operands(stmt, &[Operand::Small(1), Operand::Small(64)])
            .unwrap();
    };
    assert_eq!(edited(text, more), "bar.sync  1, 64 /* all */ ;");
    let text = "bar.sync  1 , /* how many */ 64;";
    let fewer = |e: &mut Editor<'_>, stmt| e.set_operands(stmt, &[Operand::Small(1)]).unwrap();
    assert_eq!(edited(text, fewer), "bar.sync  1 /* how many */;");
    let again = |e: &mut Editor<'_>, stmt| {
        e.set_operands(stmt, &[Operand::Small(1)]).unwrap();
        e.set_operands(stmt, &[Operand::Small(1), Operand::Small(32)])
            .unwrap();
    };
    assert_eq!(edited(text, again), "bar.sync  1 , /* how many */ 32;");
}

#[test]
fn a_guard_comes_changes_and_goes() {
    let text = "mov.b32  %r1 ,\t%r2 ;";
    let give = |e: &mut Editor<'_>, stmt| {
        let p = register(e, "%p", 1);
        e.set_guard(stmt, Some((p, ptx_ir::GuardSense::Negated)))
            .unwrap();
    };
    assert_eq!(edited(text, give), format!("@!%p1 {text}"));
    let text = "@ %p0\tmov.b32  %r1 ,\t%r2 ;";
    assert_eq!(edited(text, give), text.replace("%p0", "!%p1"));
    let take = |e: &mut Editor<'_>, stmt| e.set_guard(stmt, None).unwrap();
    assert_eq!(
        edited(&format!("{{ {text} }}"), take),
        "{ mov.b32  %r1 ,\t%r2 ; }"
    );
    let other = |e: &mut Editor<'_>, stmt| {
        let (old, new) = (register(e, "%p", 0), register(e, "%p", 2));
        assert_eq!(e.replace_register(stmt, old, new), Ok(1));
    };
    assert_eq!(edited(text, other), text.replace("%p0", "%p2"));
}

/// A name that is printed from the record follows a later rename; one in the source is patched.
#[test]
fn edits_and_renames_meet() {
    let text = "mad.lo.s32 %r01 , %r1 , %r2 ,\t%r3 ;";
    let both = |e: &mut Editor<'_>, stmt| {
        let (one, four) = (register(e, "%r", 1), register(e, "%r", 4));
        assert_eq!(e.replace_register(stmt, one, four), Ok(2));
        let decl = e.body().registers()[one].decl;
        e.rename_register(decl, "%x").unwrap();
        e.set_operand(stmt, 3, Operand::Reg(one)).unwrap();
        e.rename_register(decl, "%y").unwrap();
    };
    let want = "mad.lo.s32 %y4 , %y4 , %y2 ,\t%y1 ;";
    let new = {
        let mut found = String::new();
        let text = text.to_owned();
        let head = ".reg .b32 %r<9>;";
        let source = format!(".version 8.0\n.target sm_90\n.entry k()\n{{\n{head}\n{text}\n}}\n");
        let mut module = ptx_parse::parse_str(&source).module;
        let k = module.function("k").unwrap();
        let mut editor = module.edit(k).unwrap();
        let stmt = editor.body().statements().nth(1).unwrap().0;
        both(&mut editor, stmt);
        found.push_str(&String::from_utf8(ptx_print::verbatim(&module)).unwrap());
        found
    };
    assert!(new.contains(want), "{new}");
    assert!(new.contains(".reg .b32 %y<9>;"), "{new}");
}
