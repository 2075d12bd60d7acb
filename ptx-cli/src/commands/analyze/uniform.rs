//! In which threads registers and blocks are the same, as JSON.

use ptx_analysis::cfg::BlockId;
use ptx_analysis::uniformity::{FunctionUniformity, Uniformity};
use ptx_ir::StmtId;
use ptx_report::json_text::{comma, string};
use ptx_report::register_names::RegisterNames;

/// Writes of which group all threads execute a block, or none.
pub(super) fn block(of: Option<&FunctionUniformity>, id: BlockId, out: &mut Vec<u8>) {
    let level = of.map_or(Uniformity::Varying, |of| of.block(id));
    out.extend_from_slice(b",\"uniform\":");
    string(out, level.name());
}

/// Writes in which threads each register is the same that a statement writes.
pub(super) fn inst(
    of: Option<&FunctionUniformity>,
    names: &RegisterNames,
    stmt: StmtId,
    out: &mut Vec<u8>,
) {
    out.extend_from_slice(b",\"uniform\":[");
    let mut first = true;
    for def in of.map(|of| of.defs(stmt)).unwrap_or_default() {
        comma(out, &mut first);
        out.extend_from_slice(b"{\"register\":");
        string(out, names.get(def.variable));
        out.extend_from_slice(b",\"uniform\":");
        string(out, def.uniformity.name());
        out.push(b'}');
    }
    out.push(b']');
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    #[test]
    fn fields_of_uniformity() {
        let text = ".version 8.5\n.target sm_90\n.address_size 64\n\
            .func (.reg .b32 out) f(.reg .b32 in)\n{\nmov.b32 out, in;\nret;\n}\n\
            .entry k(.param .u32 n)\n{\n.reg .pred %p; .reg .b32 %r<4>;\n\
            ld.param.u32 %r0, [n];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\n\
            call (%r3), f, (%r2);\n\
            setp.lt.u32 %p, %r1, %r0;\n@%p bra L;\nmov.b32 %r3, 1;\nL: ret;\n}\n\
            .entry other() { .reg .b32 %a, %b; mov.u32 %a, %tid.x; call (%b), f, (%a); ret; }\n";
        let module = ptx_parse::parse_str(text).module;
        let written = |functions: &crate::functions::Chosen| -> Value {
            let mut out = Vec::new();
            let options = super::super::json::Options {
                insts: true,
                functions,
                fields: None,
            };
            super::super::json::write("", &module, &options, &mut out).unwrap();
            serde_json::from_slice(&out).unwrap()
        };
        let all = written(&crate::functions::Chosen::all());
        let kernel = &all["functions"][1];
        let of = |at: usize| &kernel["insts"][at]["uniform"];
        assert_eq!(of(0), &json!([{"register": "%r0", "uniform": "grid"}]));
        assert_eq!(of(1), &json!([{"register": "%r1", "uniform": "varying"}]));
        assert_eq!(of(2), &json!([{"register": "%r2", "uniform": "cta"}]));
        // Another kernel calls the function with an index of threads.
        assert_eq!(of(3), &json!([{"register": "%r3", "uniform": "varying"}]));
        let blocks = kernel["blocks"].as_array().unwrap();
        let blocks: Vec<_> = blocks.iter().map(|b| &b["uniform"]).collect();
        assert_eq!(blocks, ["grid", "varying", "grid"]);
        let only = crate::functions::Chosen::only(&module, &["k"]);
        assert_eq!(written(&only)["functions"][0], *kernel);
    }
}
