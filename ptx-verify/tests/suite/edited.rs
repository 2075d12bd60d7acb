//! A module that was edited is judged as its text is, and checking again what changed finds what checking everything finds.
#![allow(clippy::unwrap_used, reason = "tests fail by panics")]
#![allow(clippy::too_many_lines, reason = "lists of cases")]

use std::collections::BTreeSet;
use std::sync::LazyLock;

use crate::corpus;
use crate::sample::sample;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use ptx_edit::{EditError, EditModule as _, Editor};
use ptx_ir::{Diagnostic, FuncId, Linkage, Module, Operand, Statement, StmtId};
use ptx_isa::{Directive, ScalarType};
use ptx_verify::{
    Changes, Checked, Options, codegen_limits, likely_mistakes, requires, shared_memory, unused,
    verify,
};
use test_support::edits::{EDITS, make};

static FILES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let texts = corpus::small(8_000).into_iter().map(|e| e.read());
    texts
        .filter(|t| !ptx_parse::parse(t).has_errors())
        .collect()
});

type Step = (u8, u32, u32);

fn pick<T: Copy>(all: &[T], choice: u32) -> Option<T> {
    all.get(choice as usize % all.len().max(1)).copied()
}

fn edit(
    module: &mut Module,
    function: FuncId,
    (kind, a, b): Step,
    nth: usize,
) -> Result<(), EditError> {
    let name = format!("fresh_{nth}_x");
    let items: Vec<_> = module.items().map(|(id, _)| id).collect();
    let item = pick(&items, a).ok_or(EditError::NoStatement)?;
    match kind {
        7 => {
            return module.editor().set_target("sm_70".parse().unwrap());
        }
        8 => {
            let text = module.editor().string("f.cu")?;
            let args = [Operand::Small(1 + (b % 3) as i32), text];
            return module
                .editor()
                .insert_directive(item, Directive::File, &args)
                .map(drop);
        }
        9 => {
            let symbols: Vec<_> = module.symbols().ids().collect();
            let symbol = pick(&symbols, a).ok_or(EditError::NoStatement)?;
            return module.editor().rename_symbol(symbol, &name);
        }
        10 => return module.editor().set_type(item, ScalarType::F16),
        11 => return module.editor().set_alignment(item, 4),
        12 => {
            let all = [
                Directive::Maxntid,
                Directive::Reqntid,
                Directive::Minnctapersm,
                Directive::Noreturn,
            ];
            let directive = pick(&all, a).ok_or(EditError::NoStatement)?;
            let args = [Operand::Small((b % 3000) as i32)];
            let args = if directive == Directive::Noreturn {
                &[]
            } else {
                &args[..]
            };
            return module.editor().set_directive(function, directive, args);
        }
        13 => {
            let all = [
                None,
                Some(Linkage::Visible),
                Some(Linkage::Weak),
                Some(Linkage::Extern),
            ];
            return module.editor().set_linkage(item, pick(&all, b).flatten());
        }
        14 => {
            return module
                .editor()
                .move_item(item, pick(&items, b).ok_or(EditError::NoStatement)?);
        }
        _ => {}
    }
    let mut editor: Editor<'_> = module.edit(function)?;
    let all: Vec<(StmtId, Statement)> = editor.body().statements().collect();
    let (stmt, _) = pick(&all, a).ok_or(EditError::NoStatement)?;
    let (other, _) = pick(&all, b).ok_or(EditError::NoStatement)?;
    let operand = editor.operand(other, b as usize % 3);
    let operand = match operand {
        Some(o @ (Operand::Reg(_) | Operand::Imm(_) | Operand::Address(_))) => o,
        _ => Operand::Small(b as i32 % 100),
    };
    match kind {
        0 => {
            let new = editor.inst("add.s32", &[operand, operand, Operand::Small(1)])?;
            editor.insert_before(stmt, new).map(drop)
        }
        1 => editor.remove(stmt),
        2 => editor.move_after(stmt, other),
        3 => editor.set_operand(stmt, b as usize % 3, operand),
        4 => editor.set_mnemonic(stmt, "sub.f32"),
        5 => {
            let (decl, new) = editor.registers(ScalarType::U64, &name, Some(3))?;
            let placed = editor.insert_before(stmt, new)?;
            let register = Operand::Reg(editor.register(decl, 1)?);
            let new = editor.inst("cvt.u64.u32", &[register, operand])?;
            editor.insert_after(placed, new).map(drop)
        }
        _ => {
            let (label, new) = editor.label(&name)?;
            let placed = editor.insert_after(stmt, new)?;
            let new = editor.inst("bra.uni", &[Operand::Label(label)])?;
            editor.insert_before(placed, new).map(drop)
        }
    }
}

fn sorted<'d>(found: impl Iterator<Item = &'d Diagnostic>) -> Vec<String> {
    let mut all: Vec<String> = found.map(|d| format!("{} {}", d.code, d.message)).collect();
    all.sort();
    all
}

/// The messages about statements and declarations, with those at repeated places.
fn messages(found: &[Diagnostic]) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for d in found {
        all.insert(format!("{} {} {:?}", d.code, d.message, d.help));
        let repeats = d.repeats_with_messages();
        all.extend(repeats.map(|(_, message)| format!("{} {message} {:?}", d.code, d.help)));
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000 / sample(3, 1).parts as u32, failure_persistence: None, rng_seed: RngSeed::Fixed(20), ..ProptestConfig::default() })]

    #[test]
    fn it_is_judged_as_its_text(
        file in any::<u32>(),
        function in any::<u32>(),
        steps in proptest::collection::vec((0u8..15, any::<u32>(), any::<u32>()), 1..10),
    ) {
        let text = &FILES[file as usize % FILES.len()];
        let mut module = ptx_parse::parse(text).module;
        let mut checked = Checked::new(&module, Options::default());
        let functions: Vec<FuncId> = module.definitions().map(|(id, ..)| id).collect();
        let Some(function) = pick(&functions, function) else { return Ok(()) };
        for (nth, step) in steps.into_iter().enumerate() {
            let revision = module.revision();
            let _ = edit(&mut module, function, step, nth);
            let changed = module.changed_since(revision);
            checked.update(&module, Changes::from(&changed));
            let fresh = Checked::new(&module, Options::default());
            prop_assert_eq!(sorted(checked.diagnostics()), sorted(fresh.diagnostics()), "{:?}", step);
        }
        let read = ptx_parse::parse(&ptx_print::verbatim(&module));
        prop_assert!(!read.has_errors());
        let of_text = verify(&read.module, &Options::default());
        let of_module = verify(&module, &Options::default());
        for d in &of_module {
            prop_assert!(!module.is_edited() || d.fix.is_empty(), "{:?}", d);
            prop_assert!(d.span.end as usize <= module.source().len(), "{:?}", d);
        }
        prop_assert_eq!(messages(&of_module), messages(&of_text));
    }
}

/// The name of a function.
fn function_name(module: &Module, id: FuncId) -> &str {
    module.name(module.functions()[id].name)
}

/// What the functions of the crate find, without places.
fn answers(module: &Module) -> Vec<(&'static str, BTreeSet<String>)> {
    let needs = requires(module);
    let mut requirements: BTreeSet<String> = BTreeSet::new();
    requirements.insert(format!("{:?}", needs.module().minimal()));
    for reason in needs.reasons() {
        let minimal = reason.availability().minimal();
        requirements.insert(format!("{} {} {minimal:?}", reason.what(), reason.count()));
    }
    for (id, availability) in needs.functions() {
        let name = function_name(module, *id);
        requirements.insert(format!("{name} {:?}", availability.minimal()));
    }
    let shared = shared_memory(module);
    let shared = shared.iter().map(|(id, bytes)| {
        let name = function_name(module, *id);
        format!("{name} {bytes:?}")
    });
    vec![
        ("verify", messages(&verify(module, &Options::default()))),
        ("unused", messages(&unused(module))),
        ("likely_mistakes", messages(&likely_mistakes(module))),
        ("codegen_limits", messages(&codegen_limits(module))),
        ("requires", requirements),
        ("shared_memory", shared.collect()),
    ]
}

/// Each kind of edit before each function.
#[test]
fn functions_take_edited_modules() {
    let mut rng = fastrand::Rng::with_seed(36);
    let mut made = 0;
    for text in sample(6, 2).of(FILES.iter()) {
        for (what, edit) in EDITS {
            let mut module = ptx_parse::parse(text).module;
            if !make(&mut module, *edit, &mut rng) {
                continue;
            }
            made += 1;
            let text = ptx_print::verbatim(&module);
            let printed = ptx_parse::parse(&text).module;
            for (answer, expected) in answers(&module).into_iter().zip(answers(&printed)) {
                let shown = String::from_utf8_lossy(&text);
                assert_eq!(answer, expected, "{what}\n{shown}");
            }
        }
    }
    assert!(made > 100, "{made}");
}
