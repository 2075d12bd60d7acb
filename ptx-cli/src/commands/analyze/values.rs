//! What is known of values, loops and accesses before a function runs, as JSON.

use std::io::Write as _;

use ptx_analysis::cfg::BlockId;
use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_ir::StmtId;
use ptx_ir::facts::Space;
use ptx_isa::StateSpace;
use ptx_report::function_values::{Coalescing, FunctionValues};
use ptx_report::json_text::{comma, optional, string};
use ptx_report::register_names::RegisterNames;

/// Writes the trip count of the loop whose header a block is.
pub(super) fn trip_count(
    of: Option<FunctionValues<'_>>,
    analysis: &FunctionAnalysis<'_>,
    names: &RegisterNames,
    block: BlockId,
    out: &mut Vec<u8>,
) {
    out.extend_from_slice(b",\"trip_count\":");
    let loops = analysis.loops();
    let header = loops.header(block) == Some(block);
    let id = loops.innermost(block).filter(|_| header);
    let count = of.zip(id);
    let count = count.and_then(|(of, id)| of.trip_count(id, &of.text(names)));
    let Some(count) = count else {
        out.extend_from_slice(b"null");
        return;
    };
    out.extend_from_slice(b"{\"count\":");
    match count.count {
        Some(most) => {
            let _ = write!(out, "{most}");
        }
        None => out.extend_from_slice(b"null"),
    }
    out.extend_from_slice(b",\"form\":");
    string(out, &count.form);
    let (exact, no_wrap) = (count.exact, count.assumes_no_wrap);
    let _ = write!(out, ",\"exact\":{exact},\"assumes_no_wrap\":{no_wrap}}}");
}

/// Writes the affine forms of what an instruction writes, and how lanes access memory.
pub(super) fn inst(
    of: Option<FunctionValues<'_>>,
    names: &RegisterNames,
    stmt: StmtId,
    out: &mut Vec<u8>,
) {
    out.extend_from_slice(b",\"affine\":[");
    if let Some(of) = of {
        let text = of.text(names);
        let mut first = true;
        for (variable, form) in of.forms(stmt) {
            comma(out, &mut first);
            out.extend_from_slice(b"{\"register\":");
            string(out, names.get(variable));
            out.extend_from_slice(b",\"form\":");
            string(out, &text.form(&form));
            out.push(b'}');
        }
    }
    out.extend_from_slice(b"],\"provenance\":[");
    if let Some(of) = of {
        pointers(of, names, stmt, out);
    }
    out.push(b']');
    let access = of.and_then(|of| of.access(stmt));
    out.extend_from_slice(b",\"object\":");
    let object = of.zip(access.and_then(|a| a.provenance));
    let object = object.map(|(of, object)| of.text(names).object(object));
    optional(out, object.as_deref());
    out.extend_from_slice(b",\"space\":");
    let space = access.and_then(|a| match a.space {
        Space::State(space) => Some(name_of(space)),
        _ => None,
    });
    optional(out, space);
    let Some(of) = access.and_then(Coalescing::of) else {
        out.extend_from_slice(
            b",\"coalescing\":null,\"stride\":null,\"sectors\":null,\"degree\":null,\"assumes\":[]",
        );
        return;
    };
    let _ = write!(out, ",\"coalescing\":\"{}\",\"stride\":", of.pattern);
    match of.stride {
        Some(stride) => {
            let _ = write!(out, "{stride}");
        }
        None => out.extend_from_slice(b"null"),
    }
    let mut number = |key: &str, value: Option<u64>| {
        let _ = match value {
            Some(value) => write!(out, ",\"{key}\":{value}"),
            None => write!(out, ",\"{key}\":null"),
        };
    };
    number("sectors", of.sectors);
    number("degree", of.degree);
    out.extend_from_slice(b",\"assumes\":[");
    let mut first = true;
    for name in of.assumes {
        comma(out, &mut first);
        string(out, name);
    }
    out.push(b']');
}

/// Writes which registers of what an instruction writes are addresses.
fn pointers(of: FunctionValues<'_>, names: &RegisterNames, stmt: StmtId, out: &mut Vec<u8>) {
    let text = of.text(names);
    let mut first = true;
    for (variable, pointer) in of.pointers(stmt) {
        comma(out, &mut first);
        out.extend_from_slice(b"{\"register\":");
        string(out, names.get(variable));
        out.extend_from_slice(b",\"object\":");
        optional(out, pointer.object.map(|o| text.object(o)).as_deref());
        out.extend_from_slice(b",\"space\":");
        optional(out, pointer.space.map(name_of));
        let _ = write!(out, ",\"generic\":{},\"offset\":", pointer.is_generic);
        let _ = match pointer.offset {
            Some(offset) => write!(out, "{offset}"),
            None => write!(out, "null"),
        };
        out.push(b'}');
    }
}

/// The name of a state space without its dot.
fn name_of(space: StateSpace) -> &'static str {
    space.text().trim_start_matches('.')
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    #[test]
    fn fields_of_values() {
        let text = ".version 8.5\n.target sm_90\n.address_size 64\n.shared .align 4 .b8 s[4096];\n\
            .entry k(.param .u64 p, .param .u32 n)\n{\n.reg .pred %p; .reg .b32 %r<4>; .reg .b64 %d<3>;\n\
            ld.param.u64 %d0, [p];\nld.param.u32 %r0, [n];\nmov.u32 %r1, %tid.x;\nmov.b32 %r2, 0;\n\
            L: mul.lo.s32 %r3, %r2, 128;\nmad.lo.s32 %r3, %r1, 8, %r3;\nld.shared.u32 %r3, [%r3];\n\
            add.s32 %r2, %r2, 1;\nsetp.lt.s32 %p, %r2, %r0;\n@%p bra L;\n\
            mad.wide.u32 %d1, %r1, 4, %d0;\nst.global.u32 [%d1+4], %r3;\nret;\n}\n";
        let module = ptx_parse::parse_str(text).module;
        let mut out = Vec::new();
        let options = super::super::json::Options {
            insts: true,
            functions: &crate::functions::Chosen::all(),
            fields: None,
        };
        super::super::json::write("", &module, &options, &mut out).unwrap();
        let object: Value = serde_json::from_slice(&out).unwrap();
        let function = &object["functions"][0];
        assert_eq!(function["blocks"][0]["trip_count"], Value::Null);
        assert_eq!(
            function["blocks"][1]["trip_count"],
            json!({"count": null, "form": "1 + max(0, n - 1)", "exact": true, "assumes_no_wrap": false})
        );
        let insts = function["insts"].as_array().unwrap();
        let of = |mnemonic: &str| insts.iter().find(|i| i["mnemonic"] == mnemonic).unwrap();
        let form = |mnemonic: &str| of(mnemonic)["affine"][0]["form"].as_str().unwrap();
        assert_eq!(form("mad.lo.s32"), "8*%tid.x + 128*loop0");
        assert_eq!(form("mad.wide.u32"), "p + 4*%tid.x");
        let load = of("ld.shared.u32");
        assert_eq!(
            (&load["coalescing"], &load["stride"]),
            (&json!("strided"), &json!(8))
        );
        assert_eq!(
            (&load["degree"], &load["sectors"]),
            (&json!(2), &Value::Null)
        );
        assert_eq!(load["assumes"], json!(["one_dimension"]));
        let store = of("st.global.u32");
        assert_eq!(
            (&store["coalescing"], &store["sectors"]),
            (&json!("consecutive"), &json!(4))
        );
        assert_eq!(
            (&store["object"], &store["space"]),
            (&json!("*p"), &json!("global"))
        );
        assert_eq!(load["object"], Value::Null);
        assert_eq!(of("ret")["coalescing"], Value::Null);
        assert_eq!(of("ret")["provenance"], json!([]));
    }
}
