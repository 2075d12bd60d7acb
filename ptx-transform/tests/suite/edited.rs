//! Every operation on a whole module takes edited modules: its result is that of the printed and parsed module.

use std::collections::BTreeMap;

use ptx_edit::{
    EditError, EditModule as _, Names, NewParam, OwnSymbols, ParamList, RemovedComments,
    RenameError, Renaming,
};
use ptx_ir::{Diagnostic, Item, Module, OffsetMap, Operand, Span, compare};
use ptx_isa::{Directive, PtxVersion, ScalarType, Target};
use ptx_transform::clean::{self, Pass, clean};
use ptx_transform::{
    LinkError, LinkOptions, MinifyOptions, Rewriting, extract, flatten, link, minify, renumber,
    retarget, split, strip,
};

use crate::corpus::accepted;
use crate::edits::{EDITS, make};
use crate::sample::{sample, seed};

/// The text of a result, or why there is none.
type Text = Result<Vec<u8>, String>;

/// Checks that the bytes that a map keeps are those of the source.
fn kept<R>(module: &Module, new: Rewriting<R>) -> Text {
    kept_text(module, &new.map, new.text())
}

fn kept_text(module: &Module, map: &OffsetMap, text: &[u8]) -> Text {
    for (old, new, len) in map.pieces() {
        let (old, new, len) = (old as usize, new as usize, len as usize);
        assert_eq!(module.source()[old..old + len], text[new..new + len]);
    }
    Ok(text.to_vec())
}

/// The spans of a diagnostic are in the source.
fn inside(module: &Module, found: &[Diagnostic]) {
    for d in found {
        assert!(d.span.end as usize <= module.source().len(), "{d:?}");
    }
}

fn messages(error: LinkError) -> String {
    let messages = error
        .into_diagnostics()
        .into_iter()
        .map(|d| (d.input, d.diagnostic.message));
    format!("{:?}", messages.collect::<Vec<_>>())
}

/// What is linked to each module: a declaration of the neighbors of its kernels, and names that conflict.
const LIBRARY: &str = ".version 6.0\n.target sm_30\n.address_size 64\n.global .b32 fresh_variable;\n\
    .visible .func library() { ret; }\n.func fresh_symbol() { ret; }\n";

/// The names of two functions of a module that have a body.
fn names(module: &Module) -> Vec<String> {
    let names = module.definitions().map(|(_, f, _)| module.name(f.name));
    // Edits change the order of functions, but not their ids.
    let mut names: Vec<String> = names.map(str::to_owned).collect();
    names.sort_unstable();
    names.truncate(2);
    names
}

/// An operation with its name.
type Operation = (&'static str, fn(&Module) -> Text);

/// Each operation, by its name.
const OPERATIONS: &[Operation] = &[
    ("strip", |m| kept(m, strip(m))),
    ("minify", |m| kept(m, minify(m, &MinifyOptions::default()))),
    ("minify all", |m| {
        let all = MinifyOptions::default().with_symbols(true).with_dead(true);
        kept(m, minify(m, &all))
    }),
    ("renumber", |m| kept(m, renumber(m))),
    ("flatten", |m| kept(m, flatten(m))),
    ("extract", |m| {
        let names = names(m);
        let names: Vec<&str> = names.iter().map(|n| &**n).collect();
        let part = extract(m, &names).map_err(|e| e.to_string())?;
        inside(m, &part.report);
        kept(m, part)
    }),
    ("split", |m| {
        let names = names(m);
        let names: Vec<&str> = names.iter().take(1).map(|n| &**n).collect();
        let split = split(m, &names).map_err(|e| e.to_string())?;
        inside(m, &split.part.report);
        inside(m, &split.rest.report);
        let mut text = kept(m, split.part)?;
        text.extend(kept(m, split.rest)?);
        Ok(text)
    }),
    ("link", |m| {
        let library = ptx_parse::parse_str(LIBRARY).module;
        let linked = link(&[m, &library], &LinkOptions::default()).map_err(messages)?;
        let text = linked.module.source();
        let notes = linked.report.into_iter().filter(|n| n.input == 0);
        inside(m, &notes.map(|n| n.diagnostic).collect::<Vec<_>>());
        kept_text(m, &linked.maps[0], text)
    }),
    ("retarget", |m| {
        let retargeted = retarget(m, Target::Sm100a, PtxVersion::new(9, 0));
        kept(m, retargeted.map_err(|e| e.to_string())?)
    }),
    ("clean", |m| {
        let options = clean::Options::default().with_passes(Pass::ALL);
        kept(m, clean(m, &options))
    }),
    ("canonical", |m| {
        Ok(ptx_print::canonical(m, &ptx_print::Style::default()))
    }),
];

/// Whether two texts have the same statements.
fn same_statements(a: &[u8], b: &[u8]) -> bool {
    let (a, b) = (ptx_parse::parse(a).module, ptx_parse::parse(b).module);
    compare::compare(&a, &b).is_ok()
}

/// The text around the first byte in which two results differ.
fn difference(found: &Text, expected: &Text) -> String {
    let (Ok(a), Ok(b)) = (found, expected) else {
        return format!("{:?}\n{:?}", found.as_ref().err(), expected.as_ref().err());
    };
    let first = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let near = |text: &[u8]| {
        let part = &text[first.saturating_sub(200)..(first + 200).min(text.len())];
        String::from_utf8_lossy(part).into_owned()
    };
    format!("{}\n--- instead of\n{}", near(a), near(b))
}

/// Makes an edit, a second one on top of it half of the time, and compares each operation.
fn check(name: &str, text: &[u8], edit: usize, rng: &mut fastrand::Rng) -> bool {
    let mut module = ptx_parse::parse(text).module;
    let (what, edit) = EDITS[edit];
    if !make(&mut module, edit, rng) {
        return false;
    }
    if rng.bool() {
        let (_, second) = EDITS[rng.usize(..EDITS.len())];
        let _refused = second(&mut module, rng);
    }
    let printed = ptx_parse::parse(&ptx_print::verbatim(&module)).module;
    for (operation, apply) in OPERATIONS {
        let (found, expected) = (apply(&module), apply(&printed));
        // The spaces around what edits wrote may differ where the text is not printed first.
        let spaces = ["clean", "canonical"].contains(operation);
        let same = match (&found, &expected) {
            (Ok(a), Ok(b)) if spaces => same_statements(a, b),
            _ => found == expected,
        };
        assert!(
            same,
            "{name}: {what}, then {operation}\n{}",
            difference(&found, &expected)
        );
    }
    true
}

/// Each kind of edit before each operation.
#[test]
fn operations_take_edited_modules() {
    let mut rng = fastrand::Rng::with_seed(seed() + 36);
    let mut made: BTreeMap<&str, u32> = BTreeMap::new();
    for (name, text) in sample(24, 6).of(accepted(20_000)) {
        for (edit, (what, _)) in EDITS.iter().enumerate() {
            let done = check(&name, &text, edit, &mut rng);
            *made.entry(what).or_default() += u32::from(done);
        }
    }
    for (what, count) in made {
        assert!(count > 0, "{what} was never made");
    }
}

/// The order of the edits of the report: rename, a directive, an inserted call; then `link`.
#[test]
fn link_keeps_what_was_edited() {
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n.func helper() { ret; }\n\
        .visible .entry k()\n{\n\tret; // done\n}\n";
    let mut module = ptx_parse::parse_str(text).module;
    let (k, helper) = (
        module.function("k").unwrap(),
        module.function("helper").unwrap(),
    );
    let symbol = |f| module.functions().get(f).unwrap().symbol.unwrap();
    let (kernel, helper) = (symbol(k), symbol(helper));
    module.editor().rename_symbol(kernel, "kernel_0").unwrap();
    let args = [Operand::Small(64)];
    module
        .editor()
        .set_directive(k, Directive::Maxntid, &args)
        .unwrap();
    let mut editor = module.edit(k).unwrap();
    let call = editor.inst("call", &[Operand::Symbol(helper)]).unwrap();
    let first = editor.body().statements().next().unwrap().0;
    editor.insert_before(first, call).unwrap();
    let library = ptx_parse::parse_str(
        ".version 8.1\n.target sm_80\n.address_size 64\n.visible .func l() { ret; }\n",
    )
    .module;
    let linked = link(&[&module, &library], &LinkOptions::default()).unwrap();
    let linked = String::from_utf8(linked.text().to_vec()).unwrap();
    assert_eq!(
        linked,
        ".version 8.1\n.target sm_80\n.address_size 64\n.func helper() { ret; }\n\
        .visible .entry kernel_0()\n.maxntid 64\n{\n\tcall helper;\n\tret; // done\n}\n.visible .func l() { ret; }\n"
    );
    // A name that an edit removed is unknown; a span of a note is that of the source.
    assert!(extract(&module, &["k"]).is_err());
    assert!(extract(&module, &["kernel_0"]).is_ok());
}

/// The names of an edited module are not those of its source, which a renaming would rewrite.
#[test]
fn a_renaming_refuses_edited_modules() {
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n";
    let mut module = ptx_parse::parse_str(text).module;
    let names = Names::of(&module);
    let renaming = Renaming::prefix(&module, &names, "my_", OwnSymbols::WithVisible);
    assert!(renaming.apply(&module, &names).is_ok());
    module.editor().set_target(Target::Sm90).unwrap();
    let refused = renaming.apply(&module, &names);
    assert_eq!(refused.unwrap_err(), RenameError::Edited);
}

/// A list of parameters and directives may be inserted at the same place of a header without either, in any order.
#[test]
fn parameters_and_directives_of_a_bare_header_are_kept() {
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n.entry k { ret; }\n";
    let none = |_: &mut ptx_edit::Editor<'_>, _| Err(EditError::NoStatement);
    for order in [[0, 1, 0, 1], [1, 0, 1, 0]] {
        let mut module = ptx_parse::parse_str(text).module;
        let k = module.function("k").unwrap();
        for (nth, step) in order.into_iter().enumerate() {
            let mut editor = module.editor();
            if step == 0 {
                let new = NewParam::new(ScalarType::B32, format!("p{}", nth / 2));
                let list = ParamList::Parameters;
                editor.insert_param(k, list, nth / 2, &new, none).unwrap();
            } else {
                let args = [Operand::Small(32 + nth as i32 / 2)];
                editor.set_directive(k, Directive::Maxntid, &args).unwrap();
            }
        }
        let text = String::from_utf8(ptx_print::verbatim(&module)).unwrap();
        let expected = ".entry k(.param .b32 p0, .param .b32 p1) .maxntid 33 { ret; }\n";
        assert!(text.ends_with(expected), "{text}");
    }
}

/// The spans of errors about an edited module are in its source.
#[test]
fn errors_about_edited_modules_have_their_spans() {
    let texts = [
        ".version 8.0\n.target sm_80\n.address_size 64\n.global .u32 x;\n.visible .func f() { ret; }\n",
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .func f() { ret; }\n",
    ];
    let [mut a, b] = texts.map(|t| ptx_parse::parse_str(t).module);
    let (first, _) = a.items().find(|(_, i)| matches!(i, Item::Decl(_))).unwrap();
    a.editor().remove_item(first, RemovedComments::All).unwrap();
    let error = link(&[&b, &a], &LinkOptions::default()).unwrap_err();
    let found = error.diagnostics();
    let at = |input: usize, span: Span| {
        let module = [&b, &a][input];
        (
            input,
            String::from_utf8_lossy(span.of(module.source())).into_owned(),
        )
    };
    let places: Vec<_> = found
        .iter()
        .flat_map(|d| {
            let others = d.elsewhere.iter().map(|o| at(o.input, o.span));
            others.chain([at(d.input, d.diagnostic.span)])
        })
        .collect();
    assert_eq!(places, [(0, "f".to_owned()), (1, "f".to_owned())]);
}
