//! A module without a source is edited and transformed like the one that is parsed from its printed text: both have the same ids,
//! and are printed alike afterwards.
#![allow(clippy::unwrap_used, reason = "tests")]

use ptx_build::{BuildError, Declaration, ModuleBuilder, at};
use ptx_edit::{EditError, EditModule as _, Editor, ModuleEditor, RemovedComments, UsedBy};
use ptx_ir::{FuncId, GuardSense, Linkage, Module, Operand, RegDeclId, RegId, StmtId};
use ptx_isa::{Directive, PtxVersion, ScalarType as T, StateSpace, Target};
use ptx_print::Style;

fn build() -> Result<ModuleBuilder, BuildError> {
    let mut m = ModuleBuilder::new(PtxVersion::new(8, 0), Target::Sm80);
    m.comment("two functions and a table");
    let table = Declaration::new(StateSpace::Global, T::B32, "table").array([4]);
    let table = m.declare(table)?;
    m.comment("doubles");
    let param = |name| Declaration::new(StateSpace::Param, T::B32, name);
    let twice = m.declare_func("twice", None, &[param("r")], &[param("x")])?;
    let mut f = m.define(twice)?;
    let v = f.reg(T::B32);
    if let (Some(x), Some(result)) = (f.param_variable(0), f.result_variable(0)) {
        f.ld().param().b32((v, at(x)))?;
        f.add().s32((v, v, v))?;
        f.trailing_comment("twice");
        f.st().param().b32((at(result), v))?;
    }
    f.ret().emit(())?;
    f.finish()?;
    let mut k = m.kernel("k")?;
    k.linkage(Linkage::Visible);
    k.directive(Directive::Maxntid, &[128]);
    let (n, p, address) = (k.reg(T::B32), k.reg(T::Pred), k.reg(T::B64));
    let (head, exit) = (k.create_block(), k.create_block());
    k.comment("the entry");
    k.mov().u64((address, table))?;
    k.mov().u32((n, 10))?;
    k.switch_to(exit)?;
    k.comment("the end");
    k.st().global().b32((at(address), n))?;
    k.ret().emit(())?;
    k.switch_to(head)?;
    k.call_function(twice, &[n.into()], &[n.into()])?;
    k.setp().gt().s32((p, n, 1000))?;
    k.trailing_comment("enough");
    k.guard_not(p).bra().emit(head)?;
    k.finish()?;
    m.comment("the last line");
    Ok(m)
}

fn canonical(module: &Module) -> String {
    String::from_utf8(ptx_print::canonical(module, &Style::default())).unwrap()
}

/// Both modules, of which only the second one has a source.
fn both() -> [Module; 2] {
    let built = build().and_then(ModuleBuilder::finish).unwrap();
    let parsed = build().and_then(ModuleBuilder::finish_with_source).unwrap();
    assert!(!built.has_source() && parsed.has_source());
    assert_eq!(canonical(&built), canonical(&parsed));
    [built, parsed]
}

/// An error without what only a module with a source has: the line and the text of a place.
fn without_source(error: EditError) -> EditError {
    let EditError::Used { name, mut by } = error else {
        return error;
    };
    if let UsedBy::Use(place)
    | UsedBy::Address(place)
    | UsedBy::SharedAddress { place, .. }
    | UsedBy::Call(place)
    | UsedBy::Arguments(place) = &mut by
    {
        place.line = None;
        place.text.clear();
    }
    EditError::Used { name, by }
}

/// Makes an edit in both modules, with the same result.
fn same(name: &str, edit: impl Fn(&mut Module) -> Result<(), EditError>) {
    let [mut built, mut parsed] = both();
    let results = [edit(&mut built), edit(&mut parsed)];
    let [of_built, of_parsed] = results.map(|result| result.map_err(without_source));
    assert_eq!(of_built, of_parsed, "{name}");
    let texts = (canonical(&built), canonical(&parsed));
    assert_eq!(texts.0, texts.1, "{name}");
    assert_eq!(ptx_print::verbatim(&built), texts.0.as_bytes(), "{name}");
    let again = ptx_parse::parse(texts.0.as_bytes());
    assert!(
        !again.has_errors(),
        "{name}: {:?}\n{}",
        again.diagnostics,
        texts.0
    );
    ptx_ir::compare::compare(&built, &again.module).unwrap();
}

fn kernel(module: &Module) -> FuncId {
    module.function("k").unwrap()
}

/// Makes an edit in the kernel at each of its statements.
fn at_each(name: &str, edit: impl Fn(&mut Editor<'_>, StmtId) -> Result<(), EditError>) {
    let [built, _] = both();
    let body = built.body(kernel(&built)).unwrap();
    for (stmt, _) in body.statements() {
        same(name, |module| {
            let k = kernel(module);
            edit(&mut module.edit(k)?, stmt)
        });
    }
}

fn in_module(name: &str, edit: impl Fn(&mut ModuleEditor<'_>) -> Result<(), EditError>) {
    same(name, |module| edit(&mut module.editor()));
}

#[test]
fn statements_are_edited() {
    at_each("remove", |k, at| k.remove(at));
    at_each("insert before", |k, at| {
        let new = k.inst("membar.cta", &[])?;
        k.insert_before(at, new).map(drop)
    });
    at_each("insert after", |k, at| {
        let new = k.inst("membar.cta", &[])?;
        k.insert_after(at, new).map(drop)
    });
    at_each("text", |k, at| {
        k.insert_text_before(at, "{ .reg .b32 t; mov.b32 t, 1; }")
            .map(drop)
    });
    at_each("scope", |k, at| k.insert_scope_before(at).map(drop));
    at_each("replace", |k, at| {
        let new = k.inst("ret", &[])?;
        k.replace(at, new)
    });
    at_each("operand", |k, at| k.set_operand(at, 1, Operand::Small(3)));
    at_each("mnemonic", |k, at| k.set_mnemonic(at, "mov.b32"));
    at_each("guard", |k, at| {
        k.set_guard(at, Some((RegId::new(0), GuardSense::Positive)))
    });
    at_each("move", |k, at| {
        let last = k.body().statements().next_back().map(|(id, _)| id);
        k.move_before(at, last.ok_or(EditError::NoStatement)?)
    });
    at_each("type", |k, at| k.set_type(at, T::F32));
    at_each("register", |k, _| {
        k.rename_register(RegDeclId::new(0), "%other")
    });
    at_each("labels", |k, _| {
        k.remove_unused_labels();
        Ok(())
    });
    at_each("two", |k, at| {
        let new = k.inst("membar.cta", &[])?;
        let new = k.insert_after(at, new)?;
        k.remove(at)?;
        k.remove(new)
    });
}

#[test]
fn modules_are_edited() {
    in_module("version", |m| m.set_version(PtxVersion::new(8, 3)));
    in_module("target", |m| m.set_target(Target::Sm90));
    in_module("address size", |m| m.set_address_size(32));
    let [built, _] = both();
    for (item, _) in built.items() {
        in_module("linkage", |m| m.set_linkage(item, Some(Linkage::Weak)));
        for comments in [RemovedComments::None, RemovedComments::All] {
            in_module("remove", |m| m.remove_item(item, comments));
        }
        in_module("directive", |m| {
            let text = m.string("nounroll")?;
            m.insert_directive(item, Directive::Pragma, &[text])
                .map(drop)
        });
        in_module("variable", |m| {
            m.insert_variable(item, StateSpace::Global, 8, T::B32, "new", Some(4))
                .map(drop)
        });
        for other in [0, 3, 5] {
            in_module("move", |m| m.move_item(item, ptx_ir::ItemId::new(other)));
        }
        in_module("type", |m| m.set_type(item, T::F32));
        in_module("alignment", |m| m.set_alignment(item, 16));
    }
    for (symbol, _) in built.symbols().iter() {
        in_module("rename", |m| m.rename_symbol(symbol, "renamed"));
    }
    for (function, _) in built.functions().iter() {
        in_module("maxntid", |m| {
            m.set_directive(function, Directive::Maxntid, &[Operand::Small(64)])
        });
        in_module("minnctapersm", |m| {
            m.set_directive(function, Directive::Minnctapersm, &[Operand::Small(2)])
        });
        in_module("no maxntid", |m| {
            m.remove_directive(function, Directive::Maxntid)
        });
    }
}

#[test]
fn built_modules_are_transformed() {
    use ptx_transform::{clean, minify, renumber, strip};
    let texts = |f: &dyn Fn(&Module) -> Vec<u8>| {
        let [built, parsed] = both();
        assert_eq!(f(&built), f(&parsed));
    };
    texts(&|m| strip(m).text().to_vec());
    texts(&|m| renumber(m).text().to_vec());
    texts(&|m| minify(m, &Default::default()).text().to_vec());
    texts(&|m| ptx_transform::flatten(m).text().to_vec());
    texts(&|m| {
        let part = ptx_transform::extract(m, &["twice"]).unwrap();
        part.text().to_vec()
    });
    texts(&|m| {
        let retargeted = ptx_transform::retarget(m, Target::Sm90, PtxVersion::new(8, 0));
        retargeted.unwrap().text().to_vec()
    });
    texts(&|m| {
        let linked = ptx_transform::link(&[m], &Default::default()).unwrap();
        linked.text().to_vec()
    });
    let options = clean::Options::default().with_passes(clean::Pass::ALL);
    texts(&|m| canonical(&clean::clean(m, &options).module).into_bytes());
}
