//! The results of analyses in records.

use ptx_edit::EditModule as _;
use ptx_ir::{Module, StmtId};
use serde_json::{Value, json};

use super::*;

/// The records of some functions, all with the results of analyses.
fn records(module: &Module, functions: &[&str]) -> Vec<Value> {
    let is_visited = |id| {
        let name = module.name(module.functions()[id].name);
        functions.contains(&name)
    };
    let mut records = Vec::new();
    ModuleRecords::new(module)
        .with_analysis()
        .visit(
            "",
            (!functions.is_empty()).then_some(&is_visited),
            &mut |record| {
                records.push(serde_json::to_value(record)?);
                Ok::<(), serde_json::Error>(())
            },
        )
        .unwrap();
    records
}

/// The records of the instructions of a function.
fn instructions(records: &[Value], function: u32) -> Vec<&Value> {
    let instructions = records.iter().filter(|r| r["record"] == "instruction");
    instructions
        .filter(|record| record["function"] == function)
        .collect()
}

fn function(records: &[Value], name: &str) -> Value {
    let function = records
        .iter()
        .find(|r| r["record"] == "function" && r["name"] == name);
    function.unwrap().clone()
}

#[test]
fn inserted_statements_are_in_their_block() {
    let text = ".version 8.0\n.target sm_80\n.entry k() { .reg .b32 r;\nmov.b32 r, 1;\nret; }\n";
    let mut module = ptx_parse::parse_str(text).module;
    let id = module.definitions().map(|(id, ..)| id).next().unwrap();
    let body = module.body(id).unwrap();
    let is_inst = |(_, s): &(StmtId, ptx_ir::Statement)| matches!(s, ptx_ir::Statement::Inst(_));
    let (first, _) = body.statements().find(is_inst).unwrap();
    let mut editor = module.edit(id).unwrap();
    let inserted = editor
        .inst("bar.sync", &[ptx_ir::Operand::Small(0)])
        .unwrap();
    editor.insert_before(first, inserted).unwrap();
    let records = records(&module, &[]);
    let instructions = instructions(&records, 0);
    let opcodes: Vec<_> = instructions.iter().map(|i| &i["opcode"]).collect();
    assert_eq!(opcodes, ["bar", "mov", "ret"]);
    assert!(instructions.iter().all(|i| i["block"] == 0));
}

#[test]
fn results_of_uniformity() {
    let text = ".version 8.5\n.target sm_90\n.address_size 64\n\
        .func (.reg .b32 out) f(.reg .b32 in)\n{\nmov.b32 out, in;\nret;\n}\n\
        .entry k(.param .u32 n)\n{\n.reg .pred %p; .reg .b32 %r<4>;\n\
        ld.param.u32 %r0, [n];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\n\
        call (%r3), f, (%r2);\n\
        setp.lt.u32 %p, %r1, %r0;\n@%p bra L;\nmov.b32 %r3, 1;\nL: ret;\n}\n\
        .entry other() { .reg .b32 %a, %b; mov.u32 %a, %tid.x; call (%b), f, (%a); ret; }\n";
    let module = ptx_parse::parse_str(text).module;
    let all = records(&module, &[]);
    let uniform: Vec<_> = instructions(&all, 1)
        .iter()
        .map(|i| i["uniform"].clone())
        .collect();
    assert_eq!(uniform[0], json!([{"register": "%r0", "uniform": "grid"}]));
    assert_eq!(
        uniform[1],
        json!([{"register": "%r1", "uniform": "varying"}])
    );
    assert_eq!(uniform[2], json!([{"register": "%r2", "uniform": "cta"}]));
    // Another kernel calls the function with an index of threads.
    assert_eq!(
        uniform[3],
        json!([{"register": "%r3", "uniform": "varying"}])
    );
    let kernel = function(&all, "k");
    let blocks = kernel["blocks"].as_array().unwrap().iter();
    let blocks: Vec<_> = blocks.map(|b| b["uniform"].as_str().unwrap()).collect();
    assert_eq!(blocks, ["grid", "varying", "grid"]);
    let only = records(&module, &["k"]);
    assert_eq!(function(&only, "k"), kernel);
    assert_eq!(instructions(&only, 1), instructions(&all, 1));
}

#[test]
fn results_of_values() {
    let text = ".version 8.5\n.target sm_90\n.address_size 64\n.shared .align 4 .b8 s[4096];\n\
        .entry k(.param .u64 p, .param .u32 n)\n{\n.reg .pred %p; .reg .b32 %r<4>; .reg .b64 %d<3>;\n\
        ld.param.u64 %d0, [p];\nld.param.u32 %r0, [n];\nmov.u32 %r1, %tid.x;\nmov.b32 %r2, 0;\n\
        L: mul.lo.s32 %r3, %r2, 128;\nmad.lo.s32 %r3, %r1, 8, %r3;\nld.shared.u32 %r3, [%r3];\n\
        add.s32 %r2, %r2, 1;\nsetp.lt.s32 %p, %r2, %r0;\n@%p bra L;\n\
        mad.wide.u32 %d1, %r1, 4, %d0;\nst.global.u32 [%d1+4], %r3;\nret;\n}\n";
    let module = ptx_parse::parse_str(text).module;
    let records = records(&module, &[]);
    let kernel = function(&records, "k");
    assert_eq!(kernel["blocks"][0]["trip_count"], Value::Null);
    assert_eq!(
        kernel["blocks"][1]["trip_count"],
        json!({"count": null, "form": "max(1, n)", "exact": true, "assumes_no_wrap": false})
    );
    let instructions = instructions(&records, 0);
    let find = |opcode: &str, modifier: &str| {
        let is_wanted = |i: &&&Value| i["opcode"] == opcode && i["modifiers"][0] == modifier;
        *instructions.iter().find(is_wanted).unwrap()
    };
    assert_eq!(
        find("mad", "lo")["affine"][0]["form"],
        "8*%tid.x + 128*loop0"
    );
    assert_eq!(find("mad", "wide")["affine"][0]["form"], "p + 4*%tid.x");
    let load = find("ld", "shared");
    assert_eq!(
        [&load["coalescing"], &load["stride"], &load["degree"]],
        [&json!("strided"), &json!(8), &json!(2)]
    );
    assert_eq!([&load["sectors"], &load["object"]], [&Value::Null; 2]);
    assert_eq!(load["assumes"], json!(["one_dimension"]));
    let store = find("st", "global");
    assert_eq!(
        [&store["coalescing"], &store["sectors"]],
        [&json!("consecutive"), &json!(5)]
    );
    assert_eq!(
        [&store["object"], &store["space"]],
        [&json!("*p"), &json!("global")]
    );
    let last = instructions.last().unwrap();
    assert_eq!(last["coalescing"], Value::Null);
    assert_eq!(last["provenance"], json!([]));
}

/// Nested operands are serialized recursively, up to a limit.
#[test]
fn deep_operands_are_omitted() {
    for (depth, is_omitted) in [(MAX_DEPTH, false), (MAX_DEPTH + 1, true)] {
        let (open, close) = ("{".repeat(depth.into()), "}".repeat(depth.into()));
        let text = format!(".version 8.0\n.target sm_80\n.global .b32 a[1] = {open}1{close};\n");
        let module = ptx_parse::parse_str(&text).module;
        let records = records(&module, &[]);
        let text = records.last().unwrap().to_string();
        // The depth is below the limit of readers.
        assert_eq!(
            serde_json::from_str::<Value>(&text).unwrap(),
            *records.last().unwrap()
        );
        assert_eq!(text.contains("\"omitted\""), is_omitted, "{text}");
        assert_eq!(
            text.matches("\"vector\",\"parts\"").count(),
            usize::from(MAX_DEPTH)
        );
    }
}
