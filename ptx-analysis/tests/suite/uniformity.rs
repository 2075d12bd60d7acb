//! In which threads values are the same, rule by rule. `ptx-vm/tests/uniformity` compares with what happens when kernels run.
#![allow(clippy::unwrap_used, reason = "tests")]

use ptx_analysis::cfg::Cfg;
use ptx_analysis::uniformity::ModuleUniformity;
use ptx_ir::facts::ModuleFacts;

const REGISTERS: &str = ".reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<9>;\n";

/// The uniformity of the last write of `%r1` in `k`, of the branch of its first block, and of its last block.
fn found(header: &str, before: &str, body: &str) -> [&'static str; 3] {
    let text = format!(
        ".version 8.5\n.target sm_90\n.address_size 64\n{before}\n.entry k(.param .u64 data, .param .u32 n) {header}\n{{\n{REGISTERS}{body}\nret;\n}}\n"
    );
    let parsed = ptx_parse::parse_str(&text);
    let errors: Vec<_> = parsed.diagnostics.iter().map(|d| &d.message).collect();
    assert!(errors.is_empty(), "{errors:?}\n{text}");
    let module = parsed.module;
    let facts = ModuleFacts::new(&module);
    let all = ModuleUniformity::new(&facts);
    let kernel = module.function("k").unwrap();
    let of = all.function(kernel).unwrap();
    let facts = facts.function(kernel).unwrap();
    let body = facts.body();
    let mut last = "none";
    for (stmt, _) in body.statements() {
        for def in of.defs(stmt) {
            let register = &body.registers()[ptx_ir::RegId::new(def.variable.as_u32())];
            let name = module.name(body.reg_decls()[register.decl].name);
            if (name, register.number) == ("%r", 1) {
                last = def.uniformity.name();
            }
        }
    }
    let cfg = Cfg::new(facts);
    let end = cfg.blocks().next_back().unwrap().0;
    [last, of.branch(Cfg::ENTRY).name(), of.block(end).name()]
}

fn value(body: &str) -> &'static str {
    found("", "", body)[0]
}

#[test]
fn operands() {
    assert_eq!(value("ld.param.u32 %r1, [n];"), "grid");
    assert_eq!(value("mov.u32 %r1, %ctaid.x;"), "cta");
    assert_eq!(value("mov.u32 %r1, %clusterid.x;"), "cluster");
    assert_eq!(value("mov.u32 %r1, %tid.x;"), "varying");
    assert_eq!(value("mov.u32 %r2, %tid.x; mov.u32 %r1, 7;"), "grid");
    assert_eq!(value("mov.u32 %r1, %clock;"), "warp");
    assert_eq!(
        value("mov.u32 %r2, %ctaid.x; add.u32 %r1, %r2, %r3;"),
        "varying"
    );
}

#[test]
fn required_threads() {
    let y = "mov.u32 %r1, %tid.y;";
    assert_eq!(found(".reqntid 64", "", y)[0], "grid");
    assert_eq!(found(".reqntid 64, 4", "", y)[0], "warp");
    assert_eq!(found(".reqntid 16, 4", "", y)[0], "varying");
    assert_eq!(found(".maxntid 64", "", y)[0], "varying");
    assert_eq!(
        found(".reqntid 64", "", "mov.u32 %r1, %tid.x;")[0],
        "varying"
    );
}

/// What `%r1` is that is computed of the index of the thread, `%r2`, in a CTA of a required size.
fn of_index(size: &str, body: &str) -> &'static str {
    let body = format!("mov.u32 %r2, %tid.x; {body}");
    found(&format!(".reqntid {size}"), "", &body)[0]
}

#[test]
fn bits_of_the_index_of_a_thread() {
    let warp = "shr.u32 %r1, %r2, 5;";
    assert_eq!(of_index("128", warp), "warp");
    assert_eq!(of_index("64, 2", warp), "warp");
    assert_eq!(of_index("96, 2", warp), "warp");
    // Lanes 0 and 16 are in different rows, and there are threads in part of a warp.
    assert_eq!(of_index("48, 2", warp), "varying");
    assert_eq!(of_index("80", warp), "varying");
    assert_eq!(value(&format!("mov.u32 %r2, %tid.x; {warp}")), "varying");
    assert_eq!(of_index("128", "shr.u32 %r1, %r2, 4;"), "varying");
    assert_eq!(of_index("128", "and.b32 %r1, %r2, 96;"), "warp");
    assert_eq!(of_index("128", "and.b32 %r1, %r2, 16;"), "varying");
    // The index has only seven bits.
    assert_eq!(of_index("128", "and.b32 %r1, %r2, 128;"), "grid");
    assert_eq!(of_index("256", "and.b32 %r1, %r2, 128;"), "warp");
    assert_eq!(of_index("128", "bfe.u32 %r1, %r2, 6, 1;"), "warp");
    assert_eq!(of_index("128", "or.b32 %r1, %r2, 31;"), "warp");
    assert_eq!(of_index("128", "shl.b32 %r1, %r2, 27;"), "varying");
    assert_eq!(
        of_index("128", "shl.b32 %r3, %r2, 27; and.b32 %r1, %r3, 1;"),
        "grid"
    );
    let row = "mov.u32 %r2, %tid.y;";
    assert_eq!(
        of_index("16, 8", &format!("{row} shr.u32 %r1, %r2, 1;")),
        "warp"
    );
    assert_eq!(
        of_index("16, 8", &format!("{row} and.b32 %r1, %r2, 1;")),
        "varying"
    );
    // A carry goes from the bits of the lane to those above.
    let sum = |n: u32| format!("add.u32 %r3, %r2, {n}; shr.u32 %r1, %r3, 5;");
    assert_eq!(of_index("128", &sum(1)), "varying");
    let product = "mul.lo.u32 %r3, %r2, 24; and.b32 %r1, %r3, 7;";
    assert_eq!(of_index("128", product), "grid");
    let product = "mul.lo.u32 %r3, %r2, 24; and.b32 %r1, %r3, 8;";
    assert_eq!(of_index("128", product), "varying");
    // What is above the bits of a value with a sign is the highest of them.
    let signed = |right: &str| {
        format!("shl.b32 %r3, %r2, 27; {right} %r4, %r3, 5; and.b32 %r1, %r4, 0x80000000;")
    };
    assert_eq!(of_index("128", &signed("shr.s32")), "varying");
    assert_eq!(of_index("128", &signed("shr.u32")), "grid");
}

#[test]
fn bits_of_the_index_of_a_thread_and_control() {
    let warp = "shr.u32 %r3, %r2, 5;";
    let guarded = |guard: &str| {
        format!("{warp} setp.eq.u32 %p1, {guard}, 1; mov.u32 %r1, 0; @%p1 mov.u32 %r1, %r3;")
    };
    assert_eq!(of_index("128", &guarded("%r3")), "warp");
    assert_eq!(of_index("128", &guarded("%r2")), "varying");
    let joined = |guard: &str| {
        format!(
            "{warp} setp.eq.u32 %p1, {guard}, 1; mov.u32 %r4, %r2; @%p1 bra L; shl.b32 %r4, %r2, 5; L: and.b32 %r1, %r4, 1;"
        )
    };
    assert_eq!(of_index("128", &joined("%r2")), "varying");
    let masked = |guard: &str| joined(guard).replace("%r4, 1;", "%r4, 0x80000000;");
    assert_eq!(of_index("128", &masked("%r3")), "warp");
    assert_eq!(of_index("128", &masked("%r2")), "varying");
    // The number of iterations differs within a warp.
    let counted = |limit: &str| {
        format!(
            "{warp} mov.u32 %r4, 0; L: add.u32 %r4, %r4, 1; shr.u32 %r5, %r2, 5; add.u32 %r5, %r5, %r4; setp.lt.u32 %p1, %r4, {limit}; @%p1 bra L; mov.u32 %r1, %r5;"
        )
    };
    assert_eq!(of_index("128", &counted("%r3")), "warp");
    assert_eq!(of_index("128", &counted("%r2")), "varying");
}

#[test]
fn reductions_over_a_warp() {
    let step =
        |n: u32| format!("shfl.sync.bfly.b32 %r3, %r1, {n}, 31, -1; add.u32 %r1, %r1, %r3;\n");
    let steps = |all: &[u32]| all.iter().map(|n| step(*n)).collect::<String>();
    let start = "mov.u32 %r1, %r2;\n";
    let all = format!("{start}{}", steps(&[16, 8, 4, 2, 1]));
    assert_eq!(of_index("128", &all), "warp");
    assert_eq!(of_index("128", &all.replace("add.u32", "xor.b32")), "warp");
    // Of values of which nothing is known.
    let any = "ld.param.u64 %rd1, [data]; atom.global.add.u32 %r1, [%rd1], 1;";
    assert_eq!(
        of_index("128", &format!("{any}{}", steps(&[16, 8, 4, 2, 1]))),
        "warp"
    );
    assert_eq!(
        of_index("128", &format!("{any}{}", steps(&[16, 8, 4, 2]))),
        "varying"
    );
    assert_eq!(
        of_index("128", &format!("{start}{}", steps(&[3, 1, 4, 24, 16]))),
        "varying"
    );
    assert_eq!(
        of_index("128", &format!("{start}{}", steps(&[1, 3, 4, 8, 24]))),
        "warp"
    );
    assert_eq!(
        of_index("128", &format!("{start}{}", steps(&[8, 4, 2, 1]))),
        "varying"
    );
    assert_eq!(
        of_index("128", &all.replace("add.u32", "sub.u32")),
        "varying"
    );
    assert_eq!(of_index("128", &all.replace(".bfly", ".down")), "varying");
    assert_eq!(of_index("128", &all.replace("-1", "65535")), "varying");
    assert_eq!(of_index("128", &all.replace("31,", "4127,")), "varying");
    // A part of a warp, and lanes that do not come there.
    assert_eq!(of_index("80", &all), "varying");
    let some = |condition: &str| format!("setp.lt.u32 %p1, {condition}; @%p1 bra E; {all} E:");
    assert_eq!(of_index("128", &some("%r2, 5")), "varying");
    assert_eq!(
        of_index(
            "128",
            &some("%ctaid.x, 5")
                .replace("setp", "mov.u32 %r5, %ctaid.x; setp")
                .replace("%ctaid.x, 5", "%r5, 5")
        ),
        "warp"
    );
    // The values of four lanes, one after the other.
    let four = format!("and.b32 %r1, %r2, 3;\n{}", steps(&[2, 1]));
    assert_eq!(of_index("128", &four), "warp");
    // From a lane of each half of a warp.
    let half = "shfl.sync.idx.b32 %r3, %r2, 3, 4127, -1; shr.u32 %r4, %r3, 5;";
    assert_eq!(
        of_index("128", &half.replace("%r4, %r3, 5", "%r1, %r3, 4")),
        "varying"
    );
    assert_eq!(
        of_index("128", &half.replace("%r4, %r3, 5", "%r1, %r3, 5")),
        "warp"
    );
    let both = format!("{half} mov.u32 %r1, %r3; {}", step(16));
    assert_eq!(of_index("128", &both), "warp");
}

#[test]
fn guards() {
    let guarded = |r: &str| {
        format!("mov.u32 %r1, 0; mov.u32 %r2, {r}; setp.eq.u32 %p1, %r2, 1; @%p1 mov.u32 %r1, 1;")
    };
    assert_eq!(value(&guarded("%ctaid.x")), "cta");
    assert_eq!(value(&guarded("%laneid")), "varying");
}

/// A value that depends on which way a thread came.
#[test]
fn joins() {
    let join = |r: &str| {
        format!(
            "mov.u32 %r2, {r}; setp.eq.u32 %p1, %r2, 1; mov.u32 %r3, 5;\n@%p1 bra L; mov.u32 %r3, 6;\nL: add.u32 %r1, %r3, 1;"
        )
    };
    assert_eq!(found("", "", &join("%ctaid.x")), ["cta", "cta", "grid"]);
    assert_eq!(
        found("", "", &join("%tid.x")),
        ["varying", "varying", "grid"]
    );
    // A branch inside of one way that is the same for all who come there.
    let inner = "mov.u32 %r2, %tid.x; setp.eq.u32 %p1, %r2, 1; ld.param.u32 %r4, [n]; setp.eq.u32 %p2, %r4, 1;\n@%p1 bra L;\n\
        mov.u32 %r3, 5; @%p2 bra M; mov.u32 %r3, 6;\nM: add.u32 %r1, %r3, 1;\nL: bar.warp.sync -1;";
    assert_eq!(value(inner), "grid");
}

/// What is the same in each iteration differs after a loop that threads leave at different times.
#[test]
fn loops() {
    let body = |r: &str, read: &str| {
        format!(
            "mov.u32 %r2, {r}; mov.u32 %r3, 0;\nL: add.u32 %r3, %r3, 1; {read}\nsetp.lt.u32 %p1, %r3, %r2; @%p1 bra L;\n"
        )
    };
    assert_eq!(value(&body("%tid.x", "add.u32 %r1, %r3, 1;")), "grid");
    let after = |r: &str| body(r, "") + "add.u32 %r1, %r3, 1;";
    assert_eq!(value(&after("%tid.x")), "varying");
    assert_eq!(value(&after("%ctaid.x")), "cta");
}

#[test]
fn exchanges_and_memory() {
    let lane = "mov.u32 %r2, %laneid; setp.eq.u32 %p1, %r2, 1;";
    let after = |body: &str| value(&format!("{lane} {body}"));
    assert_eq!(after("vote.sync.ballot.b32 %r1, %p1, -1;"), "warp");
    assert_eq!(after("vote.sync.ballot.b32 %r1, %p1, %r2;"), "varying");
    assert_eq!(after("shfl.sync.idx.b32 %r1, %r2, 3, 31, -1;"), "warp");
    assert_eq!(
        after("shfl.sync.idx.b32 %r1, %r2, 3, 0x1c03, -1;"),
        "varying"
    );
    assert_eq!(after("shfl.sync.bfly.b32 %r1, %r2, 3, 31, -1;"), "varying");
    assert_eq!(after("barrier.cta.red.popc.u32 %r1, 0, %p1;"), "cta");
    assert_eq!(after("barrier.cta.red.popc.u32 %r1, 0, 64, %p1;"), "warp");
    let load = |how: &str| value(&format!("ld.param.u64 %rd1, [data]; {how} %r1, [%rd1];"));
    assert_eq!(load("ld.global.u32"), "grid");
    assert_eq!(load("ld.global.nc.u32"), "grid");
    assert_eq!(load("ld.relaxed.gpu.global.u32"), "varying");
    assert_eq!(load("ld.local.u32"), "varying");
    let atom = "ld.param.u64 %rd1, [data]; atom.global.add.u32 %r1, [%rd1], 1;";
    assert_eq!(value(atom), "varying");
    // Lanes come there one after the other.
    let apart = format!(
        "{lane} mov.u32 %r3, 0;\nL: add.u32 %r3, %r3, 1; setp.eq.u32 %p1, %r3, %r2; @%p1 bra M; setp.lt.u32 %p2, %r3, 9; @%p2 bra L; bra N;\n\
        M: mov.u32 %r1, %clock;\nN: bar.warp.sync -1;"
    );
    assert_eq!(value(&apart), "varying");
}

#[test]
fn calls() {
    let twice = ".func (.reg .b32 %r1) f(.reg .b32 %a) { add.u32 %r1, %a, %a; ret; }";
    let call = |argument: &str| format!("mov.u32 %r2, {argument}; call (%r1), f, (%r2);");
    assert_eq!(found("", twice, &call("%ctaid.x"))[0], "cta");
    assert_eq!(found("", twice, &call("%tid.x"))[0], "varying");
    // Other modules call it, too: that changes what it computes there, and not what it returns here.
    let visible = twice.replace(".func", ".visible .func");
    assert_eq!(found("", &visible, &call("%ctaid.x"))[0], "cta");
    assert_eq!(found("", &visible, &call("%tid.x"))[0], "varying");
    let recursive = ".func (.reg .b32 %r1) f(.reg .b32 %a) { .reg .pred %p; setp.eq.u32 %p, %a, 0; mov.u32 %r1, 1; @%p bra E; sub.u32 %a, %a, 1; \
        call (%r1), f, (%a); E: ret; }";
    assert_eq!(found("", recursive, &call("%ctaid.x"))[0], "cta");
    assert_eq!(found("", recursive, &call("%tid.x"))[0], "varying");
    let memory = ".func (.param .b32 out) f(.param .b32 in) { .reg .b32 %r; ld.param.b32 %r, [in]; st.param.b32 [out], %r; ret; }";
    let call = |argument: &str| {
        format!(
            "{{ .param .b32 a; .param .b32 b; mov.u32 %r2, {argument}; st.param.b32 [a], %r2; call (b), f, (a); ld.param.b32 %r1, [b]; }}"
        )
    };
    assert_eq!(found("", memory, &call("%ctaid.x"))[0], "cta");
    assert_eq!(found("", memory, &call("%tid.x"))[0], "varying");
    // Nothing stores to the parameters of a kernel, and anything may to an argument whose address is used.
    let with = |rest: &str| format!("{{ .param .b32 a; st.param.b32 [a], 1; {rest} }}");
    assert_eq!(
        value(&with("mov.b64 %rd1, n; ld.param.u32 %r1, [n];")),
        "grid"
    );
    assert_eq!(
        value(&with("mov.b64 %rd1, a; ld.param.u32 %r1, [a];")),
        "varying"
    );
}

/// The parts of a structure that a function gets and returns are followed separately.
#[test]
fn words_of_structures() {
    let swap = ".func (.param .align 8 .b8 out[12]) f(.param .align 8 .b8 in[12]) {\n\
        .reg .b32 a, b, c; ld.param.v2.b32 {a, b}, [in]; ld.param.b32 c, [in+8];\n\
        st.param.v2.b32 [out], {b, a}; st.param.b32 [out+8], c; ret; }";
    let call = |load: &str| {
        let body = format!(
            "{{ .param .align 8 .b8 a[12]; .param .align 8 .b8 b[12];\n\
             mov.u32 %r2, %tid.x; mov.u32 %r3, %ctaid.x; ld.param.u32 %r4, [n];\n\
             st.param.v2.b32 [a], {{%r2, %r3}}; st.param.b32 [a+8], %r4;\n\
             call (b), f, (a); {load} }}"
        );
        found(
            "",
            &format!("{swap}\n{}", swap.replace(" f(", " g(")),
            &body,
        )[0]
    };
    assert_eq!(call("ld.param.b32 %r1, [b];"), "cta");
    assert_eq!(call("ld.param.b32 %r1, [b+4];"), "varying");
    assert_eq!(call("ld.param.b32 %r1, [b+8];"), "grid");
    assert_eq!(call("ld.param.b16 %r1, [b+10];"), "grid");
    assert_eq!(call("ld.param.v2.b32 {%r1, %r5}, [b];"), "cta");
    assert_eq!(call("ld.param.v2.b32 {%r5, %r1}, [b];"), "varying");
    assert_eq!(
        call("ld.param.b64 %rd1, [b]; cvt.u32.u64 %r1, %rd1;"),
        "varying"
    );
    // What a call returns is an argument of another one.
    let twice = "{ .param .align 8 .b8 c[12]; call (c), g, (b); ld.param.b32 %r1, [c+AT]; }";
    assert_eq!(call(&twice.replace("AT", "0")), "varying");
    assert_eq!(call(&twice.replace("AT", "4")), "cta");
    assert_eq!(call(&twice.replace("AT", "8")), "grid");
}

/// The last word that is followed includes all after it.
#[test]
fn words_of_large_structures() {
    let copy = ".func (.param .align 8 .b8 out[256]) f(.param .align 8 .b8 in[256]) {\n\
        .reg .b32 a; ld.param.b32 a, [in+FROM]; st.param.b32 [out+TO], a; ret; }";
    let through = |from: u32, to: u32, read: u32| {
        let copy = copy.replace("FROM", &from.to_string());
        let body = format!(
            "{{ .param .align 8 .b8 a[256]; .param .align 8 .b8 b[256];\n\
             mov.u32 %r2, %tid.x; st.param.b32 [a+200], %r2; st.param.b32 [a+8], 1;\n\
             call (b), f, (a); ld.param.b32 %r1, [b+{read}]; }}"
        );
        found("", &copy.replace("TO", &to.to_string()), &body)[0]
    };
    assert_eq!(through(8, 8, 8), "grid");
    assert_eq!(through(200, 8, 8), "varying");
    assert_eq!(through(200, 240, 240), "varying");
    assert_eq!(through(200, 240, 8), "grid");
    assert_eq!(through(8, 240, 240), "grid");
}

/// Registers with addresses in `.param` are those of parameters of the kernel, unless the address of another variable is used.
#[test]
fn parameters_through_registers() {
    let with = |rest: &str| {
        value(&format!(
            "mov.b64 %rd1, n; {{ .param .b32 a; st.param.b32 [a], 1; {rest} ld.param.u32 %r1, [%rd1]; }}"
        ))
    };
    assert_eq!(with(""), "grid");
    assert_eq!(with("mov.b64 %rd2, a;"), "varying");
}

const STACK: &str =
    ".local .align 8 .b8 depot[32]; mov.u64 %rd1, depot; cvta.local.u64 %rd2, %rd1;\n";

fn on_stack(body: &str) -> &'static str {
    value(&format!("{STACK}{body}"))
}

#[test]
fn variables_in_local_memory() {
    let start =
        "ld.param.u32 %r2, [n]; mov.u32 %r3, %tid.x; st.u32 [%rd2+4], %r2; st.u32 [%rd2+8], %r3;";
    let with = |rest: &str| on_stack(&format!("{start}{rest}"));
    assert_eq!(with("ld.u32 %r1, [%rd2+4];"), "grid");
    assert_eq!(with("ld.local.u32 %r1, [depot+4];"), "grid");
    assert_eq!(with("ld.u32 %r1, [%rd2+8];"), "varying");
    // The last store counts.
    assert_eq!(
        with("st.local.u32 [%rd1+8], %r2; ld.u32 %r1, [%rd2+8];"),
        "grid"
    );
    // A part of it was written by what differs.
    assert_eq!(
        with("st.u8 [%rd2+5], %r3; ld.u32 %r1, [%rd2+4];"),
        "varying"
    );
    // What is there before anything is written is not considered.
    assert_eq!(with("ld.u32 %r1, [%rd2+16];"), "grid");
    // Any part may have been written.
    let indexed = "mul.wide.u32 %rd3, %r3, 4; add.s64 %rd3, %rd2, %rd3; st.u32 [%rd3], %r2;";
    assert_eq!(with(&format!("{indexed} ld.u32 %r1, [%rd2+4];")), "varying");
    // The address is stored, passed to a function, or changed in a way that is not followed.
    for escape in [
        "ld.param.u64 %rd4, [data]; st.global.u64 [%rd4], %rd2;",
        "and.b64 %rd3, %rd2, -256; st.u32 [%rd3], %r3;",
        "st.u64 [%rd2+16], %rd2;",
        "{ .param .b64 a; st.param.b64 [a], %rd2; call f, (a); }",
    ] {
        let before = ".extern .func f(.param .b64 p);";
        let body = format!("{STACK}{start}{escape} ld.u32 %r1, [%rd2+4];");
        assert_eq!(found("", before, &body)[0], "varying", "{escape}");
    }
}

#[test]
fn variables_in_local_memory_and_control() {
    let choose = |condition: &str| {
        format!(
            "mov.u32 %r2, {condition}; setp.eq.u32 %p1, %r2, 1; st.u32 [%rd2], 1; @%p1 bra L; st.u32 [%rd2], 2; L: ld.u32 %r1, [%rd2];"
        )
    };
    assert_eq!(on_stack(&choose("%ctaid.x")), "cta");
    assert_eq!(on_stack(&choose("%tid.x")), "varying");
    let counted = |limit: &str| {
        format!(
            "mov.u32 %r2, {limit}; st.u32 [%rd2], 0; L: ld.u32 %r3, [%rd2]; add.u32 %r3, %r3, 1; st.u32 [%rd2], %r3; \
            setp.lt.u32 %p1, %r3, %r2; @%p1 bra L; ld.u32 %r1, [%rd2];"
        )
    };
    assert_eq!(on_stack(&counted("%nctaid.x")), "grid");
    assert_eq!(on_stack(&counted("%laneid")), "varying");
}

#[test]
fn exchanges_of_what_is_the_same() {
    let shuffle = |from: &str| {
        format!(
            "mov.u32 %r2, {from}; mov.u32 %r3, %laneid; shfl.sync.bfly.b32 %r1, %r2, %r3, 31, -1;"
        )
    };
    assert_eq!(value(&shuffle("%ctaid.x")), "cta");
    assert_eq!(value(&shuffle("%tid.x")), "varying");
}

/// The same as [`value`] under the assumptions of lints.
fn likely(body: &str) -> &'static str {
    let text = format!(
        ".version 8.5\n.target sm_90\n.address_size 64\n.extern .func (.reg .b32 r) f(.reg .b32 a);\n.entry k(.param .u64 data, .param .u32 n)\n{{\n{REGISTERS}\
        {body}\nret;\n}}\n"
    );
    let module = ptx_parse::parse_str(&text).module;
    let facts = ModuleFacts::new(&module);
    let all = ModuleUniformity::optimistic(&facts);
    let kernel = module.function("k").unwrap();
    let of = all.function(kernel).unwrap();
    let body = module.body(kernel).unwrap();
    let defs = body.statements().flat_map(|(stmt, _)| of.defs(stmt));
    defs.last().unwrap().uniformity.name()
}

#[test]
fn what_has_a_reason_to_differ() {
    let load = |address: &str| {
        format!(
            "ld.param.u64 %rd1, [data]; mov.u32 %r2, {address}; mad.wide.u32 %rd1, %r2, 4, %rd1; ld.volatile.global.u32 %r1, [%rd1];"
        )
    };
    assert_eq!(likely(&load("%ctaid.x")), "cta");
    assert_eq!(likely(&load("%tid.x")), "varying");
    assert_eq!(
        likely("mov.u32 %r2, %tid.x; call (%r1), f, (%r2);"),
        "varying"
    );
    assert_eq!(likely("mov.u32 %r2, 1; call (%r1), f, (%r2);"), "grid");
    // Warps are 32 threads one after the other.
    assert_eq!(likely("mov.u32 %r2, %tid.x; shr.u32 %r1, %r2, 5;"), "warp");
    assert_eq!(
        likely("mov.u32 %r2, %tid.x; shr.u32 %r1, %r2, 4;"),
        "varying"
    );
    assert_eq!(
        likely("mov.u32 %r2, %tid.x; shr.u32 %r2, %r2, 5; shfl.sync.idx.b32 %r1, %r2, 0, 31, -1;"),
        "warp"
    );
    assert_eq!(
        likely("ld.param.u64 %rd1, [data]; atom.global.add.u32 %r1, [%rd1], 1;"),
        "varying"
    );
}

#[test]
fn some_functions_of_a_module() {
    let text = ".version 8.5\n.target sm_90\n.address_size 64\n.entry k() { .reg .b32 a; mov.u32 a, 1; }\n.entry l() { .reg .b32 a; mov.u32 a, 1; }\n";
    let module = ptx_parse::parse_str(text).module;
    let facts = ModuleFacts::new(&module);
    let [k, l] = ["k", "l"].map(|name| module.function(name).unwrap());
    let only = ModuleUniformity::of(&facts, |id| id == l);
    assert!(only.function(k).is_none() && only.function(l).is_some());
}

/// What `%r1` is, with arrays in shared memory.
fn in_shared(body: &str) -> &'static str {
    let before = ".shared .align 4 .b8 tile[4096];";
    let start = "mov.u32 %r2, %tid.x; shl.b32 %r4, %r2, 2; mov.u32 %r5, tile; add.u32 %r6, %r5, %r4; mov.u32 %r7, %ctaid.x;\n";
    found("", before, &format!("{start}{body}"))[0]
}

#[test]
fn shared_memory_between_barriers() {
    // The fence may synchronize with another thread.
    let load = "fence.acq_rel.cta; ld.shared.u32 %r1, [tile+64];";
    let store = "st.shared.u32 [%r6], %r2;";
    let after = |rest: &str| format!("{store} bar.sync 0; {rest}");
    assert_eq!(in_shared(&after(load)), "cta");
    assert_eq!(in_shared(&after("ld.shared.u32 %r1, [%r5+8];")), "cta");
    assert_eq!(in_shared(&after("ld.shared.u32 %r1, [%r6];")), "varying");
    assert_eq!(in_shared(&format!("{store} {load}")), "warp");
    // Another thread may be ahead.
    assert_eq!(in_shared(&after(&format!("{load} {store}"))), "warp");
    assert_eq!(
        in_shared(&after(&format!("{load} bar.sync 1; {store}"))),
        "cta"
    );
    assert_eq!(
        in_shared(&after(&format!(
            "{load} mov.u64 %rd1, 0; st.u32 [%rd1], 0;"
        ))),
        "warp"
    );
    assert_eq!(
        in_shared(&after(&format!(
            "{load} ld.param.u64 %rd1, [data]; st.global.u32 [%rd1], 0;"
        ))),
        "cta"
    );
    // Not all threads wait.
    assert_eq!(
        in_shared(&format!("{store} bar.sync 0, 64; {load}")),
        "warp"
    );
    assert_eq!(
        in_shared(&format!("{store} @%p1 barrier.sync 0; {load}")),
        "warp"
    );
    assert_eq!(
        in_shared(&format!("{store} barrier.sync %r7; {load}")),
        "warp"
    );
    let some = "setp.eq.u32 %p1, %r2, 0; @%p1 bra A; barrier.sync 0; A:";
    assert_eq!(in_shared(&format!("{store} {some} {load}")), "warp");
    // What is not followed.
    assert_eq!(
        in_shared(&after(&format!(
            "{load} mapa.shared::cluster.u32 %r3, %r5, 0;"
        ))),
        "warp"
    );
}

#[test]
fn shared_memory_and_branches() {
    let load = "fence.acq_rel.cta; ld.shared.u32 %r1, [tile];";
    let arms = |condition: &str| {
        format!(
            "bar.sync 0; setp.eq.u32 %p1, {condition}, 0; @%p1 bra S; {load} bra E; S: st.shared.u32 [tile], %r2; E: bar.sync 0;"
        )
    };
    assert_eq!(in_shared(&arms("%r7")), "cta");
    assert_eq!(in_shared(&arms("%r2")), "warp");
    // A reduction: all threads leave the loop together.
    let reduction = |limit: &str| {
        format!(
            "st.shared.u32 [%r6], %r2; bar.sync 0; {limit} L: setp.lt.u32 %p1, %r2, %r8; @!%p1 bra N; st.shared.u32 [%r6], %r8; \
            N: bar.sync 0; shr.u32 %r8, %r8, 1; setp.ne.u32 %p2, %r8, 0; @%p2 bra L; {load}"
        )
    };
    assert_eq!(in_shared(&reduction("mov.u32 %r8, %ntid.x;")), "cta");
    assert_ne!(in_shared(&reduction("mov.u32 %r8, %tid.x;")), "cta");
}

/// What `%r1` is, with the address of a buffer and the index of the thread.
fn in_global(before: &str, body: &str) -> &'static str {
    let start = "ld.param.u64 %rd1, [data]; mov.u32 %r2, %tid.x; mov.u32 %r7, %ctaid.x; setp.eq.u32 %p1, %r2, 0;";
    found("", before, &format!("{start}{body}"))[0]
}

#[test]
fn weak_loads_before_synchronization() {
    let after = |before: &str| in_global("", &format!("{before} ld.global.u32 %r1, [%rd1];"));
    assert_eq!(after(""), "grid");
    assert_eq!(
        after("mad.wide.u32 %rd1, %r7, 4, %rd1;"),
        "cta",
        "the address"
    );
    // Without synchronization, what other threads write is not seen.
    assert_eq!(after("@%p1 st.global.u32 [%rd1], 5;"), "grid");
    assert_eq!(after("atom.shared.add.u32 %r3, [%r2], 1;"), "grid");
    // Loops that compare and swap begin with a weak load of what others change.
    assert_eq!(after("atom.global.add.u32 %r3, [%rd1+8], 1;"), "warp");
    assert_eq!(after("ld.volatile.global.u32 %r3, [%rd1+8];"), "grid");
    assert_eq!(after("fence.acq_rel.gpu;"), "warp");
    assert_eq!(after("membar.gl;"), "warp");
    assert_eq!(after("bar.warp.sync -1;"), "warp");
    assert_eq!(
        after("barrier.cluster.arrive; barrier.cluster.wait;"),
        "warp"
    );
    assert_eq!(after("ld.acquire.gpu.global.u32 %r3, [%rd1+8];"), "warp");
    assert_eq!(
        after("atom.acquire.gpu.global.add.u32 %r3, [%rd1+8], 1;"),
        "warp"
    );
    assert_eq!(after("@%p1 fence.acq_rel.cta;"), "warp");
    let again =
        "L: ld.global.u32 %r1, [%rd1]; bar.warp.sync -1; setp.gt.u32 %p2, %r1, 3; @%p2 bra L;";
    assert_eq!(in_global("", again), "warp");
    // Other loads.
    let load = |load: &str| in_global("", &format!("{load} %r1, [%rd1];"));
    assert_eq!(load("ld.volatile.global.u32"), "varying");
    assert_eq!(load("ld.relaxed.gpu.global.u32"), "varying");
    assert_eq!(in_shared("ld.shared.u32 %r1, [tile];"), "cta");
}

#[test]
fn weak_loads_after_barriers() {
    let after = |before: &str| in_global("", &format!("{before} ld.global.u32 %r1, [%rd1];"));
    assert_eq!(after("bar.sync 0;"), "grid");
    assert_eq!(after("fence.acq_rel.cta; bar.sync 0;"), "grid");
    // Another thread of the CTA may have synchronized with other CTAs.
    assert_eq!(after("@%p1 membar.gl; bar.sync 0;"), "cta");
    assert_eq!(after("bar.sync 0; membar.gl;"), "warp");
    assert_eq!(after("bar.sync 0; bar.warp.sync -1;"), "warp");
    // Not all threads meet.
    assert_eq!(after("bar.sync 0, 64;"), "warp");
    assert_eq!(after("@%p1 barrier.sync 0;"), "warp");
    assert_eq!(after("barrier.sync %r7;"), "warp");
    assert_eq!(after("@%p1 bra A; barrier.sync 0; A:"), "warp");
    let arm = |number: u32| format!("@%p1 bra A; barrier.sync {number}; A: bar.sync 0;");
    assert_eq!(after(&arm(1)), "grid");
    assert_eq!(after(&arm(0)), "warp", "some meet others at another place");
    assert_eq!(after(&format!("{} bar.sync 2;", arm(0))), "grid");
}

#[test]
fn weak_loads_through_generic_addresses() {
    let load = "ld.u32 %r1, [%rd1];";
    assert_eq!(in_global("", load), "grid");
    let tile = ".shared .align 4 .b8 tile[64];";
    assert_eq!(in_global(tile, load), "grid");
    let converts =
        ".shared .align 4 .b8 tile[64];\n.func g() { .reg .b64 a; cvta.shared.u64 a, tile; ret; }";
    // Nothing calls that function in a launch of the kernel.
    assert_eq!(in_global(converts, load), "grid");
    assert_eq!(in_global(converts, &format!("call g; {load}")), "cta");
    let own = "cvta.shared.u64 %rd2, tile;";
    assert_eq!(in_global(tile, &format!("{own} {load}")), "cta");
}

/// Loops that compare and swap begin with a weak load of what others change, also where the atomic operation is in another function.
#[test]
fn weak_loads_and_atomic_operations() {
    let function = ".global .u32 n;\n.func g() { .reg .b32 a; atom.global.cas.b32 a, [n], 0, 1; ret; }\n.func h() { call g; ret; }";
    let load = "ld.global.u32 %r1, [%rd1];";
    assert_eq!(in_global(function, load), "grid");
    assert_eq!(in_global(function, &format!("{load} call g;")), "warp");
    assert_eq!(in_global(function, &format!("{load} call h;")), "warp");
}

#[test]
fn weak_loads_and_calls() {
    let function = |body: &str| {
        format!(
            ".extern .func other();\n.func g() {{ {body} ret; }}\n.func (.reg .b32 r) f(.reg .b64 a) {{ ld.global.u32 r, [a]; ret; }}"
        )
    };
    let after = |body: &str, before: &str| {
        in_global(
            &function(body),
            &format!("{before} ld.global.u32 %r1, [%rd1];"),
        )
    };
    assert_eq!(after("", "call g;"), "grid");
    assert_eq!(after("fence.acq_rel.gpu;", "call g;"), "warp");
    assert_eq!(after("fence.acq_rel.gpu;", "call g; bar.sync 0;"), "cta");
    assert_eq!(after("fence.acq_rel.cta;", "call g; bar.sync 0;"), "grid");
    assert_eq!(after("bar.sync 0;", "call g; bar.sync 0;"), "warp");
    assert_eq!(after("", "call other;"), "warp");
    let called =
        |before: &str| in_global(&function(""), &format!("{before} call (%r1), f, (%rd1);"));
    assert_eq!(called(""), "grid");
    assert_eq!(called("membar.gl; bar.sync 0;"), "cta");
    assert_eq!(called("membar.gl;"), "warp");
}
