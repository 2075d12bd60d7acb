//! Rewritings of the text alone: what is left says the same, to us and to the assembler.

use anyhow::Result;
use ptx_ir::Module;
use ptx_transform::{Minify, Rewritten, Strip, each_name};

use crate::corpus::cubin::{self, Extent, Info, Outcome};
use crate::ptxas::Assemblers;

type Outcomes = Result<Vec<(String, Outcome)>>;

pub(super) fn strip(assemblers: &Assemblers, source: &[u8]) -> Outcomes {
    let how = |m: &Module| ptx_transform::strip(m, Strip::default());
    check(assemblers, source, how, false)
}

pub(super) fn minify(assemblers: &Assemblers, source: &[u8]) -> Outcomes {
    let how = |m: &Module| ptx_transform::minify(m, Minify::default());
    let mut all = check(assemblers, source, how, true)?;
    let once = how(&ptx_parse::parse(source).module).text;
    let twice = how(&ptx_parse::parse(&once).module).text;
    if once != twice {
        all.push((
            String::new(),
            different("minified twice it is another text"),
        ));
    }
    Ok(all)
}

pub(super) fn renumber(assemblers: &Assemblers, source: &[u8]) -> Outcomes {
    check(assemblers, source, ptx_transform::renumber, false)
}

pub(super) fn flatten(assemblers: &Assemblers, source: &[u8]) -> Outcomes {
    check(assemblers, source, ptx_transform::flatten, true)
}

fn different(how: &str) -> Outcome {
    Outcome::Different(how.to_owned())
}

/// The instructions of all functions, as they are written.
fn instructions(module: &Module) -> Vec<Vec<&str>> {
    let all = module.definitions();
    let of_body =
        |body: &ptx_ir::Body| -> Vec<ptx_ir::SigId> { body.insts().map(|(_, i)| i.sig).collect() };
    all.map(|(.., body)| {
        let sigs = of_body(body).into_iter();
        sigs.map(|s| module.signature(s).text()).collect()
    })
    .collect()
}

/// What names stand for, one after the other.
fn names(module: &Module) -> Vec<String> {
    let mut all = Vec::new();
    each_name(module, |n| {
        if !matches!(n.entity, ptx_transform::Entity::Unknown(_)) {
            all.push(format!("{:?} {:?} {}", n.entity, n.number, n.declares));
        }
    });
    all
}

fn check(
    assemblers: &Assemblers,
    source: &[u8],
    how: impl Fn(&Module) -> Rewritten,
    same_names: bool,
) -> Outcomes {
    let parsed = ptx_parse::parse(source);
    let module = parsed.module;
    let new = how(&module);
    let again = ptx_parse::parse(&new.text);
    let outcome = if again.diagnostics.len() > parsed.diagnostics.len() {
        let first = again.diagnostics.first();
        different(&format!("{first:?}"))
    } else if instructions(&module) != instructions(&again.module) {
        different("other instructions")
    } else if same_names && names(&module) != names(&again.module) {
        different("other names")
    } else if let Some((old, ..)) = (new.map.pieces()).find(|&(o, n, l)| {
        source[o as usize..][..l as usize] != new.text[n as usize..][..l as usize]
    }) {
        different(&format!("the map is wrong at {old}"))
    } else if cubin::info(source) == Info::Debug {
        Outcome::Same(Extent::Code)
    } else {
        // Symbols of variables inside functions are named, and so ordered, after their names and lines.
        let least = match cubin::info(source) {
            Info::None if !cubin::has_local_variables(&module) => Extent::Everything,
            _ => Extent::Code,
        };
        cubin::compare(assemblers, source, &new.text, least)?
    };
    Ok(vec![(String::new(), outcome)])
}
