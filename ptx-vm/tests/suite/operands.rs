//! Kinds of operands: vector registers, components, dropped elements, registers plus constants, values of 128 bits, special registers whose value
//! changes, and results that are sources, too.
#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

use ptx_vm::{Launch, Machine, StopReason};

/// The declarations of the kernel, before its body; `%out` is the address of 256 bytes.
const HEAD: &str = "
.visible .entry k(.param .u64 data)
{
.reg .pred %p<4>; .reg .b16 %h<8>; .reg .b32 %r<8>; .reg .f32 %f<8>; .reg .b64 %d<8>; .reg .b128 %q<4>; .reg .b64 %out;
.reg .v2 .b8 %v2b8; .reg .v4 .b8 %v4b8; .reg .v2 .b16 %v2b16; .reg .v4 .b16 %v4b16; .reg .v2 .b32 %v2b32; .reg .v4 .u32 %v4u32; .reg .v2 .b64 %v2b64;
.reg .v2 .f32 %v2f32; .reg .v4 .f32 %v4f32;
ld.param.u64 %out, [data];
";

/// Runs a body on some threads; gives the memory as words.
fn run_on(threads: u32, before: &str, body: &str) -> Vec<u32> {
    let text = format!(
        ".version 8.8\n.target sm_90a\n.address_size 64\n{before}\n{HEAD}{body}\nret;\n}}\n"
    );
    let parsed = ptx_parse::parse_str(&text);
    let errors: Vec<_> = parsed.diagnostics.iter().map(|d| &d.message).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let mut machine = Machine::new(&parsed.module);
    assert_eq!(machine.unsupported().next(), None);
    let data = machine.allocate(1024).unwrap();
    let launch = Launch::new("k").shape(1, threads);
    machine
        .launch(&launch.argument(data.to_le_bytes()))
        .unwrap();
    let bytes = machine.read(data, 1024).unwrap();
    let word = |w: &[u8]| u32::from_le_bytes(w.try_into().unwrap());
    bytes.chunks(4).map(word).collect()
}

/// Runs a body on one thread; gives the first words of the memory.
fn run<const N: usize>(body: &str) -> [u32; N] {
    run_on(1, "", body)[..N].try_into().unwrap()
}

#[test]
fn vector_moves_read_all_sources_first() {
    let body = "mov.b32 %r1, 1; mov.b32 %r2, 2; mov.b32 %r3, 3; mov.b32 %r4, 4;
        mov.v4.b32 {%r1, %r2, %r3, %r4}, {%r4, %r1, %r2, %r3};
        st.global.v4.b32 [%out], {%r1, %r2, %r3, %r4};
        mov.v2.s32 {%r1, %r2}, {%r2, %r1};
        st.global.v2.b32 [%out+16], {%r1, %r2};
        mov.f32 %f1, 0f00000005; mov.f32 %f2, 0f00000006;
        mov.v2.f32 {%f2, %f1}, {%f1, %f2};
        st.global.v2.f32 [%out+24], {%f1, %f2};
        mov.b64 %d1, 7; mov.b64 %d2, 8;
        mov.v2.u64 {%d1, %d2}, {%d2, %d1};
        st.global.v2.u64 [%out+32], {%d1, %d2};
        mov.b16 %h1, 9; mov.b16 %h2, 10;
        mov.v2.b16 {%h1, %h2}, {%h2, %h1};
        st.global.v2.b16 [%out+48], {%h1, %h2};
        mov.v2.b32 %v2b32, {%r1, %r2};
        mov.v2.b32 %v2b32, {%v2b32.y, %v2b32.x};
        st.global.v2.b32 [%out+52+4], %v2b32;
        mov.v2.b32 {%v2b32.y, %v2b32.x}, %v2b32;
        st.global.v2.b32 [%out+64], %v2b32;";
    let expected = [4, 1, 2, 3, 1, 4, 6, 5, 8, 0, 7, 0, 0x9_000a, 0, 4, 1, 1, 4];
    assert_eq!(run(body), expected);
}

#[test]
fn dropped_elements() {
    let body = "mov.b32 %r1, 1; mov.b32 %r2, 2;
        mov.v2.s32 {%r3, _}, {%r1, %r2};
        mov.v2.s32 {_, %r1}, {%r1, %r3};
        st.global.v2.b32 [%out], {%r1, %r3};
        mov.b64 %d1, 0x1234567890abcdef;
        mov.b64 {_, %h1, _, %h2}, %d1;
        st.global.v2.b16 [%out+8], {%h1, %h2};
        mov.b64 {_, %r1}, %d1;
        st.global.b32 [%out+12], %r1;";
    assert_eq!(run(body), [1, 1, 0x1234_90ab, 0x1234_5678]);
}

#[test]
fn vector_registers_are_packed_and_unpacked() {
    let body = "mov.b32 %r1, 0x44332211; mov.b64 %d1, 0x8877665544332211; mov.b64 %d2, 0xffeeddccbbaa9988;
        mov.b32 %v2b16, %r1; st.global.v2.b16 [%out], {%v2b16.y, %v2b16.x};
        mov.b32 %r2, %v2b16; st.global.b32 [%out+4], %r2;
        mov.b32 %v4b8, %r1; st.global.v4.b8 [%out+8], {%v4b8.w, %v4b8.z, %v4b8.y, %v4b8.x};
        mov.b32 %r2, %v4b8; st.global.b32 [%out+12], %r2;
        mov.b16 %h1, 0x6655; mov.b16 %v2b8, %h1; mov.b16 %h2, %v2b8; st.global.v2.b16 [%out+16], {%h1, %h2};
        mov.b64 %v2f32, %d1; st.global.v2.f32 [%out+24], {%v2f32.y, %v2f32.x};
        mov.b64 %d3, %v2f32; st.global.b64 [%out+32], %d3;
        mov.b64 %v4b16, %d1; mov.b64 %d3, %v4b16; st.global.b64 [%out+40], %d3;
        mov.b128 %q1, {%d1, %d2}; mov.b128 %v4u32, %q1; st.global.v4.u32 [%out+48], %v4u32;
        mov.b128 %q2, %v4u32; mov.b128 {%d3, %d4}, %q2; st.global.v2.b64 [%out+64], {%d4, %d3};
        mov.b128 %v2b64, %q1; mov.b128 {%r1, %r2, %r3, %r4}, %q1;
        mov.b128 %q3, {%r4, %r3, %r2, %r1}; mov.b128 {%d3, _}, %q3; st.global.b64 [%out+80], %d3;
        mov.b128 %q3, %v2b64; mov.b128 {_, %d3}, %q3; st.global.b64 [%out+88], %d3;";
    let (a, b, c, d) = (0x4433_2211, 0x8877_6655, 0xbbaa_9988, 0xffee_ddcc);
    let expected = [
        0x2211_4433,
        a,
        0x1122_3344,
        a,
        0x6655_6655,
        0,
        b,
        a,
        a,
        b,
        a,
        b,
        a,
        b,
        c,
        d,
        c,
        d,
        a,
        b,
        d,
        c,
        c,
        d,
    ];
    assert_eq!(run(body), expected);
}

#[test]
fn a_register_plus_a_constant_is_a_value() {
    let body = "mov.b64 %d1, 0xffffffff; mov.b32 %r1, 0xffffffff; mov.b16 %h1, 0xffff;
        st.global.u64 [%out], %d1 + 1;
        add.u64 %d2, %d1, %d1 + 2; st.global.u64 [%out+8], %d2;
        mov.u64 %d2, %d1 + -1; st.global.u64 [%out+16], %d2;
        add.u32 %r2, %r1 + 4, %r1 + 3; st.global.u32 [%out+24], %r2;
        cvt.u64.u32 %d2, %r1 + 5; st.global.u64 [%out+32], %d2;
        mul.wide.u32 %d2, %r1 + 3, 7; st.global.u64 [%out+40], %d2;
        cvt.u32.u16 %r2, %h1 + 3; st.global.u32 [%out+48], %r2;
        st.global.u16 [%out+52], %h1 + 8;
        atom.global.add.u32 %r2, [%out+52], %r1 + 2; st.global.u32 [%out+56], %r2;
        setp.eq.u32 %p1, %r1 + 1, 0; selp.u32 %r2, %r1 + 10, 0, %p1; st.global.u32 [%out+60], %r2;";
    let expected = [0, 1, 0, 2, u32::MAX - 1, 0, 5, 0, 4, 0, 14, 0, 2, 8, 7, 9];
    assert_eq!(run(body), expected);
}

#[test]
fn the_result_of_an_atomic_operation_is_an_operand() {
    // Memory and result of each: the operand is the register of the result, in memory of both kinds, for one lane and for many.
    let before = ".shared .align 16 .b32 s[64];";
    let operations = [
        ("exch.b32 %r1, [ADDRESS], %r1", 7, 5),
        ("add.u32 %r1, [ADDRESS], %r1", 12, 5),
        ("min.s32 %r1, [ADDRESS], %r1", 5, 5),
        ("max.u32 %r1, [ADDRESS], %r1", 7, 5),
        ("and.b32 %r1, [ADDRESS], %r1", 5, 5),
        ("or.b32 %r1, [ADDRESS], %r1", 7, 5),
        ("xor.b32 %r1, [ADDRESS], %r1", 2, 5),
        ("inc.u32 %r1, [ADDRESS], %r1", 6, 5),
        ("dec.u32 %r1, [ADDRESS], %r1", 4, 5),
        ("cas.b32 %r2, [ADDRESS], %r2, %r1", 7, 5),
        ("cas.b32 %r1, [ADDRESS], %r2, %r1", 7, 5),
    ];
    for (operation, memory, result) in operations {
        let to = if operation.contains("%r2, [") {
            "%r2"
        } else {
            "%r1"
        };
        for (space, address, threads) in [
            ("global", "%d1", 1),
            ("global", "%d1", 32),
            ("shared", "%r4", 1),
            ("shared", "%r4", 32),
        ] {
            let body = format!(
                "mov.u32 %r3, %tid.x; mul.wide.u32 %d2, %r3, 8; add.u64 %d1, %out, %d2;
                 shl.b32 %r4, %r3, 2; mov.u32 %r5, s; add.u32 %r4, %r4, %r5;
                 mov.b32 %r1, 7; mov.b32 %r2, 5; st.{space}.b32 [{address}], 5;
                 atom.{space}.{};
                 ld.{space}.b32 %r5, [{address}];
                 st.global.v2.b32 [%d1], {{%r5, {to}}};",
                operation.replace("ADDRESS", address)
            );
            let found = run_on(threads, before, &body);
            for pair in found.chunks(2).take(threads as usize) {
                assert_eq!(pair, [memory, result], "{operation} {space} {threads}");
            }
        }
    }
}

#[test]
fn an_atomic_operation_on_a_vector_with_results_that_are_operands() {
    let body = "mov.f32 %f1, 1.0; mov.f32 %f2, 2.0;
        st.global.v2.f32 [%out], {%f1, %f2};
        atom.global.add.v2.f32 {%f2, %f1}, [%out], {%f2, %f1};
        st.global.v2.f32 [%out+8], {%f2, %f1};
        st.global.v4.f32 [%out+16], {1.0, 2.0, 3.0, 4.0};
        mov.v4.f32 {%f1, %f2, %f3, %f4}, {1.0, 2.0, 3.0, 4.0};
        atom.global.add.v4.f32 {%f2, %f3, %f4, %f1}, [%out+16], {%f1, %f2, %f3, %f4};
        st.global.v4.f32 [%out+32], {%f2, %f3, %f4, %f1};";
    let found: [u32; 12] = run(body);
    let expected = [
        3.0, 3.0, 1.0, 2.0, 2.0, 4.0, 6.0, 8.0, 1.0, 2.0, 3.0, 4.0f32,
    ];
    assert_eq!(found, expected.map(f32::to_bits));
}

#[test]
fn atomic_operations_on_128_bits() {
    let body = "mov.b64 %d1, 1; mov.b64 %d2, 2; mov.b64 %d3, 3;
        mov.b128 %q1, {%d1, %d2}; mov.b128 %q2, {%d1, %d3}; mov.b128 %q3, {%d3, %d2};
        st.global.v2.b64 [%out], {%d1, %d2};
        atom.global.cas.b128 %q0, [%out], %q2, %q3;
        mov.b128 {%d4, %d5}, %q0; st.global.v2.b64 [%out+16], {%d4, %d5};
        atom.global.cas.b128 %q1, [%out], %q1, %q3;
        mov.b128 {%d4, %d5}, %q1; st.global.v2.b64 [%out+32], {%d4, %d5};
        atom.global.exch.b128 %q2, [%out], %q2;
        mov.b128 {%d4, %d5}, %q2; st.global.v2.b64 [%out+48], {%d4, %d5};
        atom.global.exch.b128 _, [%out+64], %q3;";
    let found: [u32; 20] = run(body);
    let words = |at: usize| [found[at], found[at + 2]];
    let all: Vec<[u32; 2]> = [0, 4, 8, 12, 16].into_iter().map(words).collect();
    assert_eq!(all, [[1, 3], [1, 2], [1, 2], [3, 2], [3, 2]]);
}

#[test]
fn parts_of_special_registers_that_change() {
    let body = "mov.b64 %d1, %clock64; mov.b64 {%r1, %r2}, %clock64; mov.b64 %v2b32, %clock64; mov.b64 {_, %r3}, %clock64;
        mov.b64 %d2, {%r1, %r2}; mov.b64 %d3, %v2b32;
        sub.u64 %d2, %d2, %d1; sub.u64 %d3, %d3, %d1;
        st.global.u64 [%out], %d2; st.global.u64 [%out+8], %d3; st.global.u32 [%out+16], %r3;
        cvt.u64.u32 %d2, %clock; cvt.u16.u32 %h1, %clock; mov.u32 %r1, %clock;
        cvt.u32.u64 %r2, %d2; sub.u32 %r1, %r1, %r2; st.global.u32 [%out+20], %r1;";
    assert_eq!(run(body), [1, 0, 2, 0, 0, 2]);
}

#[test]
fn arguments_of_calls_in_registers() {
    let before = "
        .func (.reg .u32 r) add2 (.reg .v2 .u32 v) { add.u32 r, v.x, v.y; ret; }
        .func (.reg .v4 .f32 r) turned (.reg .v4 .f32 a) { mov.v4.f32 r, {a.w, a.x, a.y, a.z}; ret; }
        .func (.reg .u64 r) wide (.reg .u64 a) { mov.u64 r, a; ret; }
        .func (.reg .b32 r) bits (.reg .f32 a) { mov.b32 r, a; ret; }
        .func (.param .u64 r) memory (.param .u64 a) { .reg .u64 t; ld.param.u64 t, [a]; st.param.u64 [r], t; ret; }
        .func (.reg .b128 r) same (.reg .b128 a) { mov.b128 r, a; ret; }
        .func (.reg .u32 r) plus (.reg .u32 a) { add.u32 r, a, 1; ret; }";
    let body = "
        mov.v2.b32 %v2b32, {3, 4}; call (%r1), add2, (%v2b32); st.global.u32 [%out], %r1;
        .param .u64 pair; mov.b64 %d1, 0x0000000600000005; st.param.b64 [pair], %d1; call (%r1), add2, (pair); st.global.u32 [%out+4], %r1;
        mov.v4.f32 %v4f32, {1.0, 2.0, 3.0, 4.0}; call (%v4f32), turned, (%v4f32); st.global.v4.f32 [%out+16], %v4f32;
        call (_), turned, (%v4f32);
        call (%d1), wide, (-1); st.global.u64 [%out+32], %d1;
        call (%r1), bits, (1.5); st.global.u32 [%out+40], %r1;
        call (%d1), memory, (-2); st.global.u64 [%out+48], %d1;
        call (pair), wide, (-3); ld.param.u64 %d1, [pair]; st.global.u64 [%out+56], %d1;
        mov.b64 %d1, 7; mov.b64 %d2, 8; mov.b128 %q1, {%d1, %d2}; call (%q2), same, (%q1);
        mov.b128 {%d3, %d4}, %q2; st.global.v2.u64 [%out+64], {%d4, %d3};
        mov.u32 %r1, 9; call (%r1), plus, (%r1); st.global.u32 [%out+44], %r1;";
    let found = run_on(1, before, body);
    let float = f32::to_bits;
    let ones = u32::MAX;
    let expected = [
        7,
        11,
        0,
        0,
        float(4.0),
        float(1.0),
        float(2.0),
        float(3.0),
        ones,
        ones,
        float(1.5),
        10,
        ones - 1,
        ones,
        ones - 2,
        ones,
        8,
        0,
        7,
        0,
    ];
    assert_eq!(found[..20], expected);
}

#[test]
fn immediate_arguments_of_indirect_calls() {
    let before = ".func (.reg .u64 r) wide (.reg .u64 a) { mov.u64 r, a; ret; }";
    let body = "proto: .callprototype (.reg .u64 _) _ (.reg .u64 _);
        list: .calltargets wide;
        mov.u64 %d1, wide; call (%d2), %d1, (-1), proto; st.global.u64 [%out], %d2;
        call (%d2), %d1, (-2), list; st.global.u64 [%out+8], %d2;";
    let found = run_on(1, before, body);
    assert_eq!(found[..4], [u32::MAX, u32::MAX, u32::MAX - 1, u32::MAX]);
}

#[test]
fn what_is_not_supported_is_known_before() {
    let text = ".version 8.8\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{\n.reg .f32 %f<3>;\n\
                mov.f32 %f1, 1.0;\nadd.f32 %f2, %f1, %f1 + 1;\nret;\n}\n";
    let module = ptx_parse::parse_str(text).module;
    let mut machine = Machine::new(&module);
    let reasons: Vec<String> = machine.unsupported().map(|u| u.reason).collect();
    assert_eq!(reasons, ["unsupported operands"]);
    let error = machine.launch(&Launch::new("k")).unwrap_err();
    assert_eq!(error.reason, StopReason::Unsupported(reasons[0].clone()));
}

#[test]
fn an_index_counts_the_elements_of_an_array() {
    let before = "
        .shared .align 16 .u32 first[4]; .shared .u16 halves[3][5]; .shared .align 8 .v2 .u32 pairs[4];
        .global .align 8 .u64 wide[4] = {10, 11, 12, 13}; .const .u32 fixed[4] = {20, 21, 22, 23};";
    let body = "
        .local .align 8 .u32 own[4]; .reg .u32 %i; .reg .u64 %j; .reg .u32 %t, %u;
        mov.u64 %d1, first; mov.u64 %d2, first[3]; sub.u64 %d2, %d2, %d1; st.global.u64 [%out], %d2;
        mov.u64 %d1, halves; mov.u64 %d2, halves[7]; sub.u64 %d2, %d2, %d1; st.global.u64 [%out+8], %d2;
        mov.u32 %t, pairs; mov.u32 %u, pairs[3]; sub.u32 %u, %u, %t; st.global.u32 [%out+16], %u;
        mov.u32 %t, first+1; mov.u32 %u, first; sub.u32 %t, %t, %u; st.global.u32 [%out+20], %t;
        ld.global.u64 %d1, wide[2]; st.global.u64 [%out+24], %d1;
        mov.u32 %i, 1; ld.const.u32 %t, fixed[%i]; ld.const.u32 %u, fixed[%i+2]; st.global.v2.u32 [%out+32], {%t, %u};
        mov.u64 %j, 3; ld.global.u64 %d1, wide[%j]; st.global.u64 [%out+40], %d1;
        st.shared.u32 first[2], 7; ld.shared.u32 %t, [first+8]; st.global.u32 [%out+48], %t;
        st.local.u32 own[3], 8; mov.u32 %i, 2; ld.local.u32 %t, own[%i+1]; ld.local.u32 %u, [own+12]; st.global.v2.u32 [%out+56], {%t, %u};
        st.shared.u32 first[%i], 9; ld.shared.u32 %t, first[2]; st.global.u32 [%out+52], %t;
        mov.u64 %d1, wide[%i+1]; mov.u64 %d2, wide; sub.u64 %d1, %d1, %d2; st.global.u64 [%out+64], %d1;
        mov.u64 %d1, wide[%j]; sub.u64 %d1, %d1, %d2; st.global.u64 [%out+72], %d1;
        mov.u32 %t, first[%i+1]; mov.u32 %u, first; sub.u32 %t, %t, %u; st.global.u32 [%out+80], %t;
        mov.b32 %i, -1; ld.shared.u32 %t, first[%i+3]; st.global.u32 [%out+84], %t;
        mov.u64 %d1, wide[%i]; sub.u64 %d1, %d1, %d2; st.global.u64 [%out+88], %d1;";
    let found = run_on(1, before, body);
    let expected = [
        12,
        0,
        14,
        0,
        12,
        1,
        12,
        0,
        21,
        23,
        13,
        0,
        7,
        9,
        8,
        8,
        24,
        0,
        24,
        0,
        12,
        9,
        0xffff_fff8,
        0,
    ];
    assert_eq!(found[..24], expected);
}

#[test]
fn constants_of_the_other_width() {
    let before = ".global .f64 wide[2] = {0f3F800000, 1.5}; .global .f32 narrow[2] = {0d3FF8000000000000, 0f40000000};";
    let body = "
        .reg .f64 %g; mov.f64 %g, 0f3F800000; st.global.f64 [%out], %g;
        add.f64 %g, 0f3F800000, 0d3FF0000000000000; st.global.f64 [%out+8], %g;
        st.global.f64 [%out+16], 0f40000000; st.global.f32 [%out+24], 0d3FF8000000000000;
        ld.global.v2.b64 {%d1, %d2}, [wide]; st.global.v2.b64 [%out+32], {%d1, %d2};
        ld.global.b64 %d1, [narrow]; st.global.b64 [%out+48], %d1;";
    let (one, more) = (1f32.to_bits(), 1.5f32.to_bits());
    let expected = [
        one,
        0,
        0,
        0x3ff0_0000,
        2f32.to_bits(),
        0,
        more,
        0,
        one,
        0,
        0,
        0x3ff8_0000,
        more,
        2f32.to_bits(),
    ];
    assert_eq!(run_on(1, before, body)[..14], expected);
}
