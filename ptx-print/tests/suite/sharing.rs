//! Bodies share the storage of their tables without visible effects.
#![allow(missing_docs, clippy::unwrap_used)]

use ptx_ir::raw::{self, RawBody, RawModule};
use ptx_ir::{Body, FuncId, Module, Operand, OperandRef};
use ptx_print::Style;

const HEADER: &str = ".version 8.0\n.target sm_90\n.address_size 64\n";

/// A function with something in most tables, unlike its neighbors, of `rounds` loops.
fn function(n: usize, rounds: usize) -> String {
    let mut text = format!(
        ".visible .entry f{n}(.param .u64 p{n})\n{{\n.reg .b32 %r<9>;\n.reg .pred p;\n\
         .local .align 4 .b8 v[{}];\nld.param.b64 %r0, [p{n}];\n",
        n + 1
    );
    for i in 0..rounds {
        text += &format!(
            "{{ .reg .b32 q; L{i}: add.s32 %r{}, q, {n}; st.local.b32 [v+{i}], 0x{i:x}; }}\n\
             setp.ne.s32 p, %r{}, {i};\n@!p bra M{i};\nM{i}:\n",
            i % 9,
            (i + n) % 9,
        );
        if (i + n).is_multiple_of(3) {
            text += "mov.b64 {%r1, %r2}, %r3;\n.pragma \"nounroll\";\nnonsense here;\n";
        }
    }
    text + "ret;\n}\n"
}

/// Small functions for several shared tables, and two that are too long to share.
fn functions() -> Vec<String> {
    let rounds = |n| match n {
        40 | 41 => 3000,
        n => n % 17,
    };
    (0..150).map(|n| function(n, rounds(n))).collect()
}

fn canonical(module: &Module, function: FuncId) -> String {
    let mut text = Vec::new();
    let style = Style::default();
    ptx_print::write_canonical_function(module, function, &style, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

#[test]
fn a_body_reads_the_same_alone_and_among_others() {
    let functions = functions();
    let module = ptx_parse::parse_str(&(HEADER.to_owned() + &functions.concat())).module;
    let bodies: Vec<(FuncId, &Body)> = module.definitions().map(|(f, _, b)| (f, b)).collect();
    assert_eq!(bodies.len(), functions.len());
    for ((id, body), text) in bodies.into_iter().zip(&functions) {
        let alone = ptx_parse::parse_str(&(HEADER.to_owned() + text)).module;
        let (id_alone, _, body_alone) = alone.definitions().next().unwrap();
        assert_eq!(canonical(&module, id), canonical(&alone, id_alone));
        assert_eq!(body.statement_table(), body_alone.statement_table());
        assert_eq!(body.stmt_spans(), body_alone.stmt_spans());
        assert_eq!(body.inner_scopes(), body_alone.inner_scopes());
        assert_eq!(body.registers(), body_alone.registers());
        assert_eq!(body.opaques(), body_alone.opaques());
        assert_eq!(body.vars().len(), body_alone.vars().len());
        assert_eq!(body.labels().len(), body_alone.labels().len());
        assert_eq!(body.directives().len(), body_alone.directives().len());
    }
}

#[test]
fn changing_a_body_leaves_the_others_as_they_are() {
    let text = HEADER.to_owned() + &functions().concat();
    let mut module = ptx_parse::parse_str(&text).module;
    let before = module.clone();
    for (n, body) in module.bodies_mut().values_mut().enumerate() {
        if n % 2 == 0 {
            continue;
        }
        let last = *body.statement_table().values().next_back().unwrap();
        let origin = *body.stmt_spans().last().unwrap();
        raw::push_statement(body, last, origin);
        body.origins_mut()[0] = origin;
        body.statements_mut().values_mut().for_each(|s| *s = last);
        for i in 0..body.pool().operands().len() {
            body.pool_mut()
                .set(OperandRef::new(i as u32), Operand::Sink);
        }
        body.pool_mut().extend(&[Operand::Absent]);
        body.labels_mut().clear();
    }
    for (n, (body, old)) in module
        .bodies()
        .values()
        .zip(before.bodies().values())
        .enumerate()
    {
        if n % 2 == 0 {
            assert_eq!(body.statement_table(), old.statement_table());
            assert_eq!(body.stmt_spans(), old.stmt_spans());
            assert_eq!(body.pool().operands(), old.pool().operands());
            assert_eq!(body.labels(), old.labels());
        } else {
            assert_eq!(
                body.statement_table().len(),
                old.statement_table().len() + 1
            );
            assert_eq!(body.stmt_spans()[0], *body.stmt_spans().last().unwrap());
            let added = body.pool().operands().len() - old.pool().operands().len();
            assert_eq!(added, 1);
            assert!(body.labels().is_empty());
        }
    }
    assert_eq!(ptx_print::verbatim(&before), text.as_bytes());
    for (id, _, _) in before.definitions() {
        assert!(canonical(&before, id).ends_with("ret;\n}"));
    }
}
