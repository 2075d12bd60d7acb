//! Passes form a chain: their modules need no printing and parsing in between, and their maps are composed.

use ptx_edit::EditModule as _;
use ptx_ir::{Module, OffsetMap, RemovedComments};
use ptx_isa::StateSpace;
use ptx_transform::instrument::{Bounds, Outside};
use ptx_transform::{
    LinkOptions, MinifyOptions, Rewriting, clean, extract, flatten, insert_items, link, minify,
    renumber, retarget, split, strip,
};

use crate::corpus::accepted;
use crate::edits::{EDITS, make};
use crate::sample::{sample, seed};

/// A module with the map from the source of another one.
type Step = (Module, OffsetMap);

/// A pass; `None` where it refuses the module.
type Pass = (&'static str, fn(&Module) -> Option<Step>);

fn step<R>(rewriting: Rewriting<R>) -> Option<Step> {
    Some((rewriting.module, rewriting.map))
}

/// The name of the first function that has a body.
fn first_function(module: &Module) -> Option<&str> {
    let (_, function, _) = module.definitions().next()?;
    Some(module.name(function.name))
}

const PASSES: &[Pass] = &[
    ("strip", |m| step(strip(m))),
    ("flatten", |m| step(flatten(m))),
    ("renumber", |m| step(renumber(m))),
    ("minify", |m| step(minify(m, &MinifyOptions::default()))),
    ("clean", |m| step(clean::clean(m, &Default::default()))),
    ("insert items", |m| {
        step(insert_items(m, "// counts\n.global .b32 inserted_item;").ok()?)
    }),
    ("retarget", |m| {
        let (version, target) = (m.header().version?, m.header().target?);
        step(retarget(m, target, version).ok()?)
    }),
    ("extract", |m| step(extract(m, &[first_function(m)?]).ok()?)),
    ("split", |m| {
        step(split(m, &[first_function(m)?]).ok()?.rest)
    }),
    ("link", |m| {
        let library = ".version 6.0\n.target sm_30\n.address_size 64\n.func private() { ret; }\n";
        let library = ptx_parse::parse_str(library).module;
        let mut linked = link(&[&library, m], &LinkOptions::default()).ok()?;
        Some((linked.module, linked.maps.pop()?))
    }),
    ("bounds", |m| {
        let bounds = Bounds {
            name: "checked_range".into(),
            space: StateSpace::Global,
            low: 0,
            high: 1 << 40,
            outside: Outside::Trap,
        };
        step(bounds.apply(m).ok()?)
    }),
];

/// Checks that a map leads from the source of one module to that of another, and that what it keeps is the same.
fn assert_map(name: &str, old: &Module, new: &Module, map: &OffsetMap) {
    for (from, to, len) in map.pieces() {
        let (from, to, len) = (from as usize, to as usize, len as usize);
        let texts = [&old.source()[from..from + len], &new.source()[to..to + len]];
        assert_eq!(texts[0], texts[1], "{name}");
    }
}

/// Checks for each statement of the first module that the composed map leads where the maps of the steps lead, one after the
/// other; returns how many statements are in the last module.
fn assert_composed(name: &str, first: &Module, composed: &OffsetMap, steps: &[OffsetMap]) -> usize {
    let mut kept = 0;
    for (_, _, body) in first.definitions() {
        for (statement, _) in body.statements() {
            let span = body.source_span(statement);
            for old in [span.start, span.end.saturating_sub(1)] {
                let new = steps.iter().try_fold(old, |offset, map| map.to_new(offset));
                assert_eq!(composed.to_new(old), new, "{name}: {old}");
                kept += usize::from(new.is_some());
            }
        }
    }
    kept
}

/// Runs five passes on a module, once as a chain and once with printing and parsing after each pass. Returns the number of
/// passes that were possible, and of the ends of statements that are in the last module.
fn check(name: &str, module: &Module, rng: &mut fastrand::Rng) -> (usize, usize) {
    let mut chained = module.clone();
    let mut reparsed = module.clone();
    let mut composed: Option<OffsetMap> = None;
    let mut maps = Vec::new();
    for _ in 0..5 {
        let (pass, apply) = PASSES[rng.usize(..PASSES.len())];
        let Some((next, map)) = apply(&chained) else {
            continue;
        };
        let name = format!("{name}: {pass}");
        assert!(next.has_current_source(), "{name}");
        assert_map(&name, &chained, &next, &map);
        let (text, _) = apply(&reparsed).unwrap();
        reparsed = ptx_parse::parse(&ptx_print::verbatim(&text)).module;
        assert_eq!(next.source(), reparsed.source(), "{name}");
        composed = Some(composed.map_or_else(|| map.clone(), |before| before.then(&map)));
        maps.push(map);
        chained = next;
    }
    let Some(composed) = composed else {
        return (0, 0);
    };
    assert_map(name, module, &chained, &composed);
    let kept = assert_composed(name, module, &composed, &maps);
    (maps.len(), kept)
}

/// Five passes on the files of the corpus, half of which are edited before.
#[test]
fn chained_passes_equal_passes_with_printing_and_parsing_in_between() {
    let mut rng = fastrand::Rng::with_seed(seed() + 37);
    let (mut passes, mut kept) = (0, 0);
    for (name, text) in sample(6, 3).of(accepted(30_000)) {
        let mut module = ptx_parse::parse(&text).module;
        if rng.bool() {
            let (_, edit) = EDITS[rng.usize(..EDITS.len())];
            make(&mut module, edit, &mut rng);
        }
        let (more, ends) = check(&name, &module, &mut rng);
        passes += more;
        kept += ends;
    }
    assert!(passes > 50 && kept > 100, "{passes} {kept}");
}

/// Errors of all passes are errors, so `?` passes them on; the map of the chain leads from the source of the edited module.
#[test]
fn a_chain_of_an_edited_module_passes_errors_on() -> Result<(), Box<dyn std::error::Error>> {
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n.func unused() { ret; }\n\
        .extern .func f();\n.visible .entry k()\n{\n\tcall f; // f\n\tret;\n}\n";
    let library = ".version 8.1\n.target sm_80\n.address_size 64\n.visible .func f() { ret; }\n";
    let library = ptx_parse::parse_str(library).module;
    let mut module = ptx_parse::parse_str(text).module;
    let unused = module.function("unused").ok_or("no function")?;
    module
        .editor()
        .remove_function(unused, RemovedComments::All)?;
    let inserted = insert_items(&module, ".global .b32 counter;")?;
    let linked = link(&[&inserted.module, &library], &LinkOptions::default())?;
    let extracted = extract(&linked.module, &["k"])?;
    let stripped = strip(&extracted.module);
    let target = module.header().target.ok_or("no target")?;
    let last = retarget(&stripped.module, target, ptx_isa::PtxVersion::new(8, 4))?;
    assert_eq!(
        core::str::from_utf8(last.text())?,
        ".version 8.4\n.target sm_80\n.address_size 64\n.visible .func f() { ret; }\n\
        .visible .entry k()\n{\n\tcall f;\n\tret;\n}\n"
    );
    let after_link = extracted.then(stripped).then(last);
    let map = inserted.map.then(&linked.maps[0]).then(&after_link.map);
    let call = text.find("call").ok_or("no call")? as u32;
    let new = map.to_new(call).ok_or("the call stays")? as usize;
    assert!(after_link.text()[new..].starts_with(b"call f;"));
    // The refusal of each pass is an error.
    let refused: [Box<dyn std::error::Error>; 3] = [
        extract(&module, &["unused"]).unwrap_err().into(),
        link(&[&library, &library], &LinkOptions::default())
            .unwrap_err()
            .into(),
        insert_items(&module, ".global .b32 f;").unwrap_err().into(),
    ];
    for error in refused {
        assert!(!error.to_string().is_empty());
    }
    Ok(())
}
