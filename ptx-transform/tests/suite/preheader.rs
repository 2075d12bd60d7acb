//! Preheaders of loops.
#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

use ptx_analysis::cfg::Cfg;
use ptx_analysis::graph::{Dominators, Loops};
use ptx_edit::EditError;
use ptx_ir::facts::ModuleFacts;

const HEAD: &str = ".version 8.0\n.target sm_80\n.address_size 64\n.entry k()\n{\n\t.reg .pred p;\n\t.reg .b32 x;\n";

/// Inserts a preheader of the outermost loop; the text of the body after the declarations.
fn with_preheader(body: &str) -> Result<String, EditError> {
    let text = format!("{HEAD}{body}}}\n");
    let parsed = ptx_parse::parse_str(&text);
    assert!(!parsed.has_errors(), "{:?}", parsed.diagnostics);
    let mut module = parsed.module;
    let k = module.function("k").unwrap();
    let facts = ModuleFacts::new(&module);
    let cfg = Cfg::new(facts.function(k).unwrap());
    let loops = Loops::new(&cfg, &Dominators::new(&cfg));
    let (id, _) = loops.iter().find(|(_, l)| l.parent().is_none()).unwrap();
    let result = ptx_transform::insert_preheader(&mut module, k, &cfg, &loops, id, "PRE");
    let now = String::from_utf8(ptx_print::verbatim(&module)).unwrap();
    if let Err(error) = result {
        assert_eq!(now, text);
        return Err(error);
    }
    let again = ptx_parse::parse_str(&now);
    assert!(!again.has_errors(), "{now}\n{:?}", again.diagnostics);
    // Every loop has a preheader now, or is inside of another one.
    let module = again.module;
    let facts = ModuleFacts::new(&module);
    let cfg = Cfg::new(facts.function(module.function("k").unwrap()).unwrap());
    let loops = Loops::new(&cfg, &Dominators::new(&cfg));
    let (id, _) = loops.iter().find(|(_, l)| l.parent().is_none()).unwrap();
    assert!(loops.preheader(&cfg, id).is_some(), "{now}");
    let now = now.strip_prefix(HEAD).unwrap();
    Ok(now.strip_suffix("}\n").unwrap().to_owned())
}

#[test]
fn edges_into_the_loop_lead_to_the_preheader() {
    let body = "\t@p bra L;\n\t@!p bra L;\n\ttrap;\nL:\n\t@p bra L;\n\tbra.uni M;\nM:\n\t@p bra L;\n\tret;\n";
    let expected = "\t@p bra PRE;\n\t@!p bra PRE;\n\ttrap;\nPRE:\nL:\n\t@p bra L;\n\tbra.uni M;\nM:\n\t@p bra L;\n\tret;\n";
    assert_eq!(with_preheader(body).unwrap(), expected);
    let body = "L:\n\t@p bra L;\n\tret;\n";
    assert_eq!(with_preheader(body).unwrap(), format!("PRE:\n{body}"));
}

#[test]
fn loops_without_a_place_are_refused() {
    let missing = Err(EditError::Missing("place for a preheader of this loop"));
    // Control falls into the header from inside of the loop.
    let falls = "\tbra L;\nB:\n\tmov.b32 x, 0;\nL:\n\t@p bra B;\n\tret;\n";
    // A table has the header as an entry.
    let table =
        "T:\n\t.branchtargets L, M;\n\tbrx.idx x, T;\nM:\n\tret;\nL:\n\t@p bra L;\n\tret;\n";
    // A jump uses another label of the header.
    let labels = "\t@p bra K;\n\ttrap;\nL:\nK:\n\t@p bra L;\n\tret;\n";
    for body in [falls, table, labels] {
        assert_eq!(with_preheader(body), missing, "{body}");
    }
    let taken = with_preheader("PRE:\n\tmov.b32 x, 0;\nL:\n\t@p bra L;\n\tret;\n");
    assert_eq!(taken, Err(EditError::Taken("PRE".to_owned())));
}
