//! Accesses to memory whose relation between lanes is known.
#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_analysis::memory_access::{Access, Accesses, Pattern};
use ptx_ir::facts::{ModuleFacts, Space};
use ptx_isa::StateSpace;

/// The accesses of a kernel with these directives.
fn found(directives: &str, body: &str) -> Accesses {
    let text = format!(
        ".version 8.5\n.target sm_90\n.address_size 64\n.shared .align 16 .b8 s[8192];\n\
        .visible .entry k(.param .u64 .ptr .global .align 16 p, .param .u64 q, .param .u32 n) {directives}\n{{\n\
        .reg .b32 %r<8>; .reg .b64 %d<8>; .reg .pred %c<2>;\n\
        ld.param.u64 %d0, [p];\nld.param.u64 %d1, [q];\nld.param.u32 %r0, [n];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %tid.y;\n\
        {body}\nret;\n}}\n"
    );
    let parsed = ptx_parse::parse_str(&text);
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
    let module = parsed.module;
    let facts = ModuleFacts::new(&module);
    let facts = facts.function(module.function("k").unwrap()).unwrap();
    let analysis = FunctionAnalysis::new(facts);
    analysis.accesses().unwrap().clone()
}

/// The accesses of a kernel with these directives, without those to parameters; and those that could be vectors, by their places.
fn accesses(directives: &str, body: &str) -> (Vec<Access>, Vec<Vec<usize>>) {
    let found = found(directives, body);
    let is_param = |a: &Access| a.access.space == Space::State(StateSpace::Param);
    let before = found.all().iter().filter(|a| is_param(a)).count();
    let adjacent = found.adjacent().iter();
    let adjacent = adjacent.map(|a| a.accesses.iter().map(|n| n - before).collect());
    let all = found.all().iter().filter(|a| !is_param(a)).cloned();
    (all.collect(), adjacent.collect())
}

/// The pattern, the sectors and the degree of the last access.
fn request(directives: &str, body: &str) -> Option<(Pattern, u64, u64)> {
    let (all, _) = accesses(directives, body);
    let request = all.last().unwrap().request?;
    Some((request.pattern, request.sectors(), request.degree()))
}

#[test]
fn vectors_of_pointers_that_are_likely_aligned() {
    // The alignment of `p` is stated, and that of `q` is not.
    let pair = |base: &str| {
        let body = format!(
            "mad.wide.u32 %d2, %r1, 8, {base};\nld.global.u32 %r3, [%d2];\nld.global.u32 %r4, [%d2+4];"
        );
        let found = found("", &body);
        (found.adjacent().len(), found.likely_adjacent().len())
    };
    assert_eq!(pair("%d0"), (1, 0));
    assert_eq!(pair("%d1"), (0, 1));
}

/// Matrices whose rows are a parameter apart.
#[test]
fn rows_of_matrices() {
    let last = |body: &str| {
        let (all, _) = accesses(".reqntid 128", body);
        all.last().unwrap().request
    };
    // Eight lanes read 128 bytes of a row.
    let tile = "shr.u32 %r3, %r1, 3;\nand.b32 %r4, %r1, 7;\nmul.lo.s32 %r3, %r3, %r0;\nmul.wide.s32 %d2, %r3, 2;\n\
        add.s64 %d2, %d2, %d0;\nmad.wide.u32 %d2, %r4, 16, %d2;\nld.global.v4.u32 {%r3, %r4, %r5, %r6}, [%d2];";
    let request = last(tile).unwrap();
    assert_eq!((request.pattern, request.sectors()), (Pattern::Rows, 16));
    assert_eq!((request.row_count(), request.row_bytes()), (4, 128));
    assert_eq!(request.stride().unwrap().least_factor, 2);
    let range = request.sector_range();
    assert_eq!((range.least, range.most), (4, 20));
    // The rows may be any apart if their numbers are unknown.
    let remainder = tile.replace("mul.lo.s32 %r3, %r3, %r0", "min.u32 %r3, %r3, %r0");
    assert_eq!(
        last(&remainder.replace("%r3, 2;", "%r3, 256;"))
            .unwrap()
            .sectors(),
        16
    );
    // A quotient is taken to be the same in all lanes, and then the remainders are consecutive.
    let quotient =
        "rem.u32 %r3, %r1, %r0;\nmad.wide.u32 %d2, %r3, 4, %d0;\nld.global.u32 %r3, [%d2];";
    let request = last(quotient).unwrap();
    assert!(request.assumptions.same_quotient);
    assert_eq!(request.pattern, Pattern::Consecutive);
    assert_eq!(request.sector_range().most, 64);
    // Bank conflicts depend on the distance.
    let shared = "mul.lo.s32 %r3, %r1, %r0;\nshl.b32 %r3, %r3, 2;\nmov.u32 %r4, s;\nadd.s32 %r4, %r4, %r3;\nld.shared.u32 %r3, [%r4];";
    let request = last(shared).unwrap();
    assert_eq!((request.pattern, request.degree()), (Pattern::Rows, 32));
    assert_eq!(request.pass_range().least, 1);
}

#[test]
fn relations_of_lanes() {
    let global = |factor: &str, load: &str| {
        let body = format!("mad.wide.u32 %d2, %r1, {factor}, %d0;\nld.global.{load} %r3, [%d2+4];");
        request("", &body)
    };
    // The first address is not at the start of a sector.
    assert_eq!(global("4", "u32"), Some((Pattern::Consecutive, 5, 1)));
    assert_eq!(global("2", "u16"), Some((Pattern::Consecutive, 3, 1)));
    assert_eq!(global("0", "u32"), Some((Pattern::Uniform, 1, 1)));
    assert_eq!(global("32", "u32"), Some((Pattern::Strided(32), 32, 8)));
    let product = "mul.lo.s32 %r3, %r1, %r0;\nmul.wide.s32 %d2, %r3, 4;\nadd.s64 %d2, %d2, %d0;\nld.global.u32 %r3, [%d2];";
    assert_eq!(request("", product), Some((Pattern::Rows, 32, 32)));
    let loaded =
        "ld.global.u32 %r3, [%d0];\nmad.wide.u32 %d2, %r3, 4, %d0;\nld.global.u32 %r3, [%d2];";
    assert_eq!(request("", loaded), Some((Pattern::Uniform, 1, 1)));
    let loaded = loaded.replacen("[%d0]", "[%d3]", 1);
    let loaded = format!("mad.wide.u32 %d3, %r1, 4, %d0;\n{loaded}");
    assert_eq!(request("", &loaded), None);
}

#[test]
fn bank_conflicts() {
    let shared = |factor: u32, vector: &str, registers: &str| {
        let body = format!(
            "mov.u32 %r3, s;\nmad.lo.s32 %r4, %r1, {factor}, %r3;\nld.shared{vector}.b32 {registers}, [%r4];"
        );
        request("", &body).unwrap().2
    };
    assert_eq!(shared(4, "", "%r5"), 1);
    assert_eq!(shared(8, "", "%r5"), 2);
    assert_eq!(shared(128, "", "%r5"), 32);
    assert_eq!(shared(132, "", "%r5"), 1);
    assert_eq!(shared(8, ".v2", "{%r5, %r6}"), 1);
    assert_eq!(shared(16, ".v2", "{%r5, %r6}"), 2);
}

#[test]
fn shapes_of_blocks() {
    let body =
        "mad.lo.s32 %r3, %r2, 64, %r1;\nmad.wide.u32 %d2, %r3, 4, %d0;\nld.global.u32 %r3, [%d2];";
    let (all, _) = accesses("", body);
    let request_of = |all: &[Access]| all.last().unwrap().request.unwrap();
    assert!(request_of(&all).assumptions.one_dimension);
    assert_eq!(request_of(&all).pattern, Pattern::Consecutive);
    let (all, _) = accesses(".reqntid 8, 8, 1", body);
    let found = request_of(&all);
    assert!(!found.assumptions.one_dimension && !found.assumptions.no_wrap);
    assert_eq!((found.pattern, found.sectors()), (Pattern::Scattered, 4));
    // There are 8 lanes.
    for directives in [".reqntid 8", ".maxntid 8", ".maxntid 4, 2"] {
        let strided = "mad.wide.u32 %d2, %r1, 32, %d0;\nld.global.u32 %r3, [%d2];";
        let (pattern, sectors, _) = request(directives, strided).unwrap();
        assert_eq!(
            (pattern, sectors),
            (Pattern::Strided(32), 8),
            "{directives}"
        );
        let consecutive = "mad.wide.u32 %d2, %r1, 4, %d0;\nld.global.u32 %r3, [%d2];";
        let (pattern, sectors, _) = request(directives, consecutive).unwrap();
        assert_eq!(
            (pattern, sectors),
            (Pattern::Consecutive, 1),
            "{directives}"
        );
    }
    // Warps differ.
    assert_eq!(request(".reqntid 24, 8, 1", body), None);
}

#[test]
fn widened_sums_are_assumed_not_to_wrap() {
    let body = "mov.u32 %r3, %ctaid.x;\nmov.u32 %r4, %ntid.x;\nmad.lo.s32 %r3, %r3, %r4, %r1;\n\
        mul.wide.s32 %d2, %r3, 4;\nadd.s64 %d2, %d2, %d0;\nld.global.u32 %r3, [%d2];";
    let (all, _) = accesses("", body);
    let request = all[0].request.unwrap();
    assert!(request.assumptions.no_wrap && request.pattern == Pattern::Consecutive);
    let narrow = "shl.b32 %r3, %r1, 2;\ncvt.u64.u32 %d2, %r3;\nadd.s64 %d2, %d2, %d0;\nld.global.u32 %r3, [%d2];";
    let (all, _) = accesses("", narrow);
    assert!(!all[0].request.unwrap().assumptions.no_wrap);
}

#[test]
fn loops_that_lanes_repeat_together() {
    let body = |bound: &str| {
        format!(
            "mov.b32 %r3, 0;\nL: mad.wide.u32 %d2, %r3, 128, %d0;\nmad.wide.u32 %d2, %r1, 4, %d2;\nld.global.u32 %r4, [%d2];\n\
            add.s32 %r3, %r3, 1;\nsetp.lt.s32 %c0, %r3, {bound};\n@%c0 bra L;"
        )
    };
    let found = request("", &body("10"));
    assert_eq!(found, Some((Pattern::Consecutive, 4, 1)));
    // Lanes that are in the loop are in the same iteration.
    assert_eq!(request("", &body("%r1")), found);
    let after = body("%r1").replace(
        "@%c0 bra L;",
        "@%c0 bra L;\nmad.wide.u32 %d2, %r3, 128, %d0;\nld.global.u32 %r4, [%d2];",
    );
    assert_eq!(request("", &after), None);
    let after = after.replace("%r1;", "10;");
    assert_eq!(request("", &after), Some((Pattern::Uniform, 1, 1)));
}

/// The degree of the bank conflicts of an access to `s` at an offset that instructions compute in `%r3`.
fn degree(directives: &str, offset: &str) -> Option<u64> {
    let body =
        format!("{offset}\nmov.u32 %r4, s;\nadd.u32 %r4, %r4, %r3;\nld.shared.u32 %r5, [%r4];");
    request(directives, &body).map(|(_, _, degree)| degree)
}

#[test]
fn bits_of_lanes() {
    for directives in ["", ".reqntid 256", ".maxntid 128, 1, 1"] {
        let degree = |offset| degree(directives, offset);
        let rows = "and.b32 %r3, %r1, 31;\nshl.b32 %r3, %r3, 7;";
        assert_eq!(degree(rows), Some(32));
        // A transposition of which the columns are exchanged.
        let swizzled = "and.b32 %r3, %r1, 31;\nxor.b32 %r5, %r3, 9;\nshl.b32 %r3, %r3, 7;\nshl.b32 %r5, %r5, 2;\nor.b32 %r3, %r3, %r5;";
        assert_eq!(degree(swizzled), Some(1));
        // Bits of the number of the warp are exclusive-ored with those of the lane.
        let warp = "shr.u32 %r5, %r1, 5;\nxor.b32 %r3, %r1, %r5;\nand.b32 %r3, %r3, 31;\nshl.b32 %r3, %r3, 3;";
        assert_eq!(degree(warp), Some(2));
        let lookup = "shr.u32 %r5, %r1, 3;\nlop3.b32 %r3, %r1, %r5, 7, 0x78;\nand.b32 %r3, %r3, 31;\nshl.b32 %r3, %r3, 2;";
        assert_eq!(degree(lookup), Some(1));
        let inserted = "bfi.b32 %r3, %r1, 0, 7, 3;\nshl.b32 %r3, %r3, 2;";
        assert_eq!(degree(inserted), Some(8));
        let extracted = "bfe.u32 %r3, %r1, 1, 4;\nshl.b32 %r3, %r3, 3;";
        assert_eq!(degree(extracted), Some(1));
        let bytes = "prmt.b32 %r3, %r1, 0, 0x4440;\nand.b32 %r3, %r3, 31;\nshl.b32 %r3, %r3, 4;";
        assert_eq!(degree(bytes), Some(4));
        let selected = "and.b32 %r3, %r1, 1;\nsetp.eq.u32 %c0, %r3, 0;\nselp.b32 %r3, 0, 128, %c0;";
        assert_eq!(degree(selected), Some(2));
        let exchanged =
            "shfl.sync.bfly.b32 %r3, %r1, 16, 31, -1;\nand.b32 %r3, %r3, 31;\nshl.b32 %r3, %r3, 5;";
        assert_eq!(degree(exchanged), Some(8));
        let packed = "mov.b64 %d3, {%r1, %r0};\nmov.b64 {%r3, _}, %d3;\nand.b32 %r3, %r3, 31;\nshl.b32 %r3, %r3, 6;";
        assert_eq!(degree(packed), Some(16));
        // A loaded number is known only where it is the same in a warp.
        assert_eq!(
            degree("ld.global.u32 %r3, [%d0];\nand.b32 %r3, %r3, 124;"),
            Some(1)
        );
        let loaded =
            "mad.wide.u32 %d2, %r1, 4, %d0;\nld.global.u32 %r3, [%d2];\nand.b32 %r3, %r3, 124;";
        assert_eq!(degree(loaded), None);
    }
    // The indices of 24 threads in a row have different distances in each warp.
    assert_eq!(degree(".reqntid 24, 8", "and.b32 %r3, %r1, 7;"), None);
}

#[test]
fn lanes_that_are_active() {
    let active = |body: &str| {
        let (all, _) = accesses(".reqntid 256", body);
        let request = all.last().unwrap().request.unwrap();
        (request.active_lanes().to_vec(), request.sectors())
    };
    let load = "mad.wide.u32 %d2, %r1, 4, %d0;\n@%c0 ld.global.u32 %r3, [%d2];";
    assert_eq!(active(&load.replace("@%c0 ", "")), (vec![u32::MAX], 4));
    let guarded = |condition: &str| active(&format!("{condition}\n{load}"));
    // Only some lanes of the first warp.
    assert_eq!(guarded("setp.lt.u32 %c0, %r1, 16;"), (vec![0xffff], 2));
    assert_eq!(guarded("setp.eq.u32 %c0, %r1, 0;"), (vec![1], 1));
    assert_eq!(
        guarded("and.b32 %r3, %r1, 8;\nsetp.ne.u32 %c0, %r3, 0;"),
        (vec![0xff00_ff00], 2)
    );
    assert_eq!(guarded("setp.lt.u32 %c0, %r1, 64;"), (vec![u32::MAX], 4));
    assert_eq!(guarded("setp.lt.u32 %c0, %r1, %r0;"), (vec![], 4));
    let branch = "setp.ge.u32 %c0, %r1, 8;\n@%c0 bra L;\nmad.wide.u32 %d2, %r1, 4, %d0;\nld.global.u32 %r3, [%d2];\nL:";
    assert_eq!(active(branch), (vec![0xff], 1));
    let met = "setp.ge.u32 %c0, %r1, 8;\n@%c0 bra L;\nmov.u32 %r4, 1;\nL: mad.wide.u32 %d2, %r1, 4, %d0;\nld.global.u32 %r3, [%d2];";
    assert_eq!(active(met), (vec![u32::MAX], 4));
}

#[test]
fn positions_of_addresses_in_sectors() {
    let range = |body: &str| {
        let (all, _) = accesses(".reqntid 256", body);
        let range = all.last().unwrap().request.unwrap().sector_range();
        (range.least, range.most)
    };
    let row = "mul.wide.u32 %d2, %r0, 4;\nadd.u64 %d2, %d2, %d0;\nmad.wide.u32 %d2, %r1, 4, %d2;\nld.global.u32 %r3, [%d2];";
    assert_eq!(range(row), (4, 5));
    assert_eq!(range(&row.replace("%r0, 4", "%r0, 128")), (4, 4));
    let row = "mad.wide.u32 %d2, %r1, 8, %d1;\nld.global.v2.u32 {%r3, %r4}, [%d2];";
    assert_eq!(range(row), (8, 8));
}

#[test]
fn spaces_and_alignment() {
    let body = "cvta.shared.u64 %d2, %d1;\nld.u32 %r3, [%d2];\nld.u32 %r3, [%d0+8];\nld.u32 %r3, [%d1];\nld.shared.u32 %r3, [s+24];";
    let (all, _) = accesses("", body);
    let spaces: Vec<Space> = all.iter().map(|a| a.space).collect();
    let state = Space::State;
    assert_eq!(
        spaces,
        [
            state(StateSpace::Shared),
            state(StateSpace::Global),
            Space::Generic,
            state(StateSpace::Shared)
        ]
    );
    let alignment: Vec<u64> = all.iter().map(|a| a.alignment).collect();
    assert_eq!(alignment, [1, 8, 1, 8]);
}

#[test]
fn adjacent_accesses() {
    let four = "ld.global.u32 %r3, [%d0+4];\nld.global.u32 %r4, [%d0];\nld.global.u32 %r5, [%d0+8];\nld.global.u32 %r6, [%d0+12];";
    assert_eq!(accesses("", four).1, [[1, 0, 2, 3]]);
    // The alignment of what `q` points to is not known.
    assert!(accesses("", &four.replace("%d0", "%d1")).1.is_empty());
    let stored = four.replace(
        "\nld.global.u32 %r5",
        "\nst.global.u32 [%d1], 7;\nld.global.u32 %r5",
    );
    assert_eq!(accesses("", &stored).1, [[1, 0], [3, 4]]);
    let waits = four.replace("\nld.global.u32 %r5", "\nbar.sync 0;\nld.global.u32 %r5");
    assert_eq!(accesses("", &waits).1, [[1, 0], [2, 3]]);
    let stores = "st.shared.u16 [s+2], 1;\nst.shared.u16 [s], 2;";
    assert_eq!(accesses("", stores).1, [[1, 0]]);
    let read = "st.shared.u16 [s+2], 1;\nld.global.u32 %r3, [%d0];\nst.shared.u16 [s], 2;";
    assert!(accesses("", read).1.is_empty());
    let guarded = "@%c0 ld.global.u32 %r3, [%d0];\nld.global.u32 %r4, [%d0+4];";
    assert!(accesses("", guarded).1.is_empty());
}
