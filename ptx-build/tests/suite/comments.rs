//! Comments are records, and are printed where they were added.
#![allow(missing_docs)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use ptx_build::{ModuleBuilder, Reg};
use ptx_ir::{CommentPlace, FunctionKind, Linkage};
use ptx_isa::{PtxVersion, ScalarType as T, Target, TargetOption};

use crate::common::{check, printed};

fn module() -> ModuleBuilder {
    ModuleBuilder::new(PtxVersion::new(8, 0), Target::Sm80)
}

const HEADER: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";

#[test]
fn comments_of_statements() {
    let mut m = module();
    let mut k = m.kernel("k").unwrap();
    k.trailing_comment("no statement is before it");
    k.comment("two\nlines // of one\u{7} comment");
    let r = k.reg(T::B32);
    k.mov().u32((r, 1)).unwrap();
    k.trailing_comment("first\nsecond");
    k.open();
    k.comment("inside");
    let label = k.block().unwrap();
    k.trailing_comment("a label");
    k.bra().emit(label).unwrap();
    k.comment("before the brace");
    k.close().unwrap();
    k.trailing_comment("a\n");
    k.trailing_comment("b");
    k.comment("the end");
    k.finish().unwrap();
    let body = "{
\t.reg .b32 %r<2>;
\t// no statement is before it
\t// two
\t// lines // of one comment
\tmov.u32 %r1, 1; // first
\t// second
\t{
\t\t// inside
\t$L_1: // a label
\t\tbra $L_1;
\t// before the brace
\t} // a // b
\t// the end
}
";
    assert_eq!(check(m), format!("{HEADER}.entry k()\n{body}"));
}

#[test]
fn comments_of_blocks_in_any_order() {
    let mut m = module();
    let mut k = m.kernel("k").unwrap();
    let (r, first, last) = (k.reg(T::B32), k.create_block(), k.create_block());
    k.switch_to(last).unwrap();
    k.comment("last");
    k.ret().emit(()).unwrap();
    k.trailing_comment("returns");
    k.switch_to(first).unwrap();
    k.comment("first");
    k.mov().u32((r, 2)).unwrap();
    k.comment("end of the first block");
    k.switch_to_entry().unwrap();
    k.comment("entry");
    k.finish().unwrap();
    let body = "{
\t.reg .b32 %r<2>;
\t// entry
$L_1:
\t// first
\tmov.u32 %r1, 2;
\t// end of the first block
$L_2:
\t// last
\tret; // returns
}
";
    assert_eq!(check(m), format!("{HEADER}.entry k()\n{body}"));
}

/// Statements that are refused or taken back leave the comments before them.
#[test]
fn comments_before_refused_statements() {
    let mut m = module();
    let callee = m
        .declare_func("f", Some(Linkage::Extern), &[], &[])
        .unwrap();
    let mut k = m.kernel("k").unwrap();
    let (p, r): (Reg, Reg) = (k.reg(T::Pred), k.reg(T::B32));
    k.comment("stays");
    assert!(k.mov().u32((r, p)).is_err());
    assert!(k.guard(p).call_function(callee, &[], &[1.into()]).is_err());
    k.trailing_comment("stays, too");
    k.ret().emit(()).unwrap();
    k.finish().unwrap();
    let text = check(m);
    let body = "\t// stays\n\t// stays, too\n\tret;\n}\n";
    assert!(text.ends_with(body), "{text}");
}

#[test]
fn comments_of_fragments() {
    let mut m = module();
    let mut k = m.kernel("k").unwrap();
    let r = k.reg(T::B32);
    let text = "// doubles\nadd.s32 {r}, {r}, {r}; // line\n/* block */ mov.u32 /* inner */ {r},\n 7;\n// end";
    k.asm(text, &[("r", r.into())]).unwrap();
    k.ret().emit(()).unwrap();
    k.finish().unwrap();
    let body = "{
\t.reg .b32 %r<2>;
\t// doubles
\tadd.s32 %r1, %r1, %r1; // line
\t/* block */
\t/* inner */
\tmov.u32 %r1, 7;
\t// end
\tret;
}
";
    assert_eq!(check(m), format!("{HEADER}.entry k()\n{body}"));
}

#[test]
fn comments_of_items() {
    let mut m = module();
    m.comment("a variable");
    m.item("// given\n.global .b32 x; // after\n.func g()\n{\n\t// inside\n\tret; // line\n}\n")
        .unwrap();
    m.comment("a function");
    m.declare_function(FunctionKind::Func, "f", Default::default())
        .unwrap();
    m.comment("the end");
    let shown = format!(
        "{HEADER}// a variable
// given
.global .b32 x;
// after
.func g()
{{
\t// inside
\tret; // line
}}
// a function
.func f();
// the end
"
    );
    assert_eq!(m.text(), shown);
    let module = m.finish().unwrap();
    assert_eq!(printed(&module), shown);
    let places = module.comments().iter().map(|(item, place, text)| {
        assert_eq!(place, CommentPlace::Above);
        (item.map(|i| i.as_u32()), text)
    });
    let expected = [
        (Some(3), "// a variable"),
        (Some(3), "// given"),
        (Some(4), "// after"),
        (Some(5), "// a function"),
        (None, "// the end"),
    ];
    assert!(places.eq(expected));
}

/// The header is changed after items were added, and a function is abandoned.
#[test]
fn comments_of_a_module_with_a_late_header() {
    let mut m = module();
    m.comment("first");
    m.declare_func("f", Some(Linkage::Extern), &[], &[])
        .unwrap();
    m.target_option(TargetOption::TexmodeIndependent);
    m.kernel("k").unwrap().abandon();
    m.comment("last");
    let text = check(m);
    let shown = ".version 8.0\n.target sm_80, texmode_independent\n.address_size 64\n// first\n.extern .func f();\n// last\n";
    assert_eq!(text, shown);
}
