//! Operations that are performed as late as their completion allows, or at random times.

use ptx_vm::{Asynchrony, Launch};

use crate::elements::{F16, TF32};
use crate::products::Product;
use crate::{Experiment, Random, launch_with};

const LATE: [Asynchrony; 2] = [Asynchrony::Late, Asynchrony::Random(1)];

#[test]
fn correct_kernels_have_the_same_results() {
    let mut random = Random::new(80);
    let mut experiments = Vec::new();
    for (mut product, is_pair) in [
        (Product::new("f16", [F16; 2], [64, 16, 16]), false),
        (Product::new("tf32", [TF32; 2], [256, 16, 8]), true),
    ] {
        product.is_pair = is_pair;
        let matrices = product.matrices(&mut random);
        experiments.push(product.experiment(&mut random, &matrices));
    }
    // A chain: the factor of a product is copied and shifted, and the product is added twice.
    let descriptor = 128u64 >> 4 << 16 | 256 >> 4 << 32 | 1 << 46;
    let mut chain = Experiment::new(
        64,
        format!(
            "shr.u32 %r20, %buffer, 4;\ncvt.u64.u32 %rd9, %r20;\nadd.s64 %rd9, %rd9, {descriptor};\nsetp.eq.u32 %p5, 1, 1;\nmov.b32 %r22, {};\n\
             tcgen05.cp.cta_group::1.128x256b [%taddr+32], %rd9;\ntcgen05.shift.cta_group::1.down [%taddr+0x200020];\n\
             tcgen05.mma.cta_group::1.kind::f16 [%taddr], [%taddr+32], %rd9, %r22, !%p5;\n\
             tcgen05.mma.cta_group::1.kind::f16 [%taddr], [%taddr+32], %rd9, %r22, %p5;",
            1 << 4 | 2 << 17 | 8 << 24
        ),
    );
    let halves: Vec<u8> = (0..crate::BUFFER / 2)
        .flat_map(|_| random.pick(&F16.small_codes()).to_le_bytes()[..2].to_vec())
        .collect();
    chain.shared = vec![halves];
    experiments.push(chain);
    for experiment in experiments {
        let expected = experiment.run();
        for asynchrony in LATE {
            let found = experiment.run_with(asynchrony).unwrap();
            assert!(found == expected, "{asynchrony:?} {}", experiment.body);
        }
    }
}

/// Runs instructions of one warp that has 32 columns of tensor memory, with the word that they leave in `%r3` as the result.
fn word(body: &str, asynchrony: Asynchrony) -> u32 {
    let text = format!(
        ".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u64 data) .reqntid 32\n{{\n\
         .reg .b32 %r<8>; .reg .b64 %rd<4>;\n.shared .align 4 .b32 address;\n\
         ld.param.u64 %rd1, [data];\ntcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [address], 32;\nld.shared.b32 %r1, [address];\nmov.b32 %r2, 7;\n\
         tcgen05.st.sync.aligned.32x32b.x1.b32 [%r1], {{%r2}};\ntcgen05.wait::st.sync.aligned;\nmov.b32 %r2, 8;\n{body}\n\
         tcgen05.wait::ld.sync.aligned;\nst.global.b32 [%rd1], %r3;\n\
         tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, 32;\nret;\n}}\n"
    );
    let mut launch = Launch::new("k").shape(1, 32);
    launch.asynchrony = asynchrony;
    let bytes = launch_with(&text, &[0; 4], launch).unwrap();
    u32::from_le_bytes(bytes.try_into().unwrap())
}

#[test]
fn a_missing_wait_for_stores_is_visible() {
    let store = "tcgen05.st.sync.aligned.32x32b.x1.b32 [%r1], {%r2};\n";
    let load = "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r3}, [%r1];";
    let without = format!("{store}{load}");
    let with = format!("{store}tcgen05.wait::st.sync.aligned;\n{load}");
    assert_eq!(word(&without, Asynchrony::Immediate), 8);
    assert_eq!(word(&without, Asynchrony::Late), 7);
    for asynchrony in LATE {
        assert_eq!(word(&with, asynchrony), 8);
    }
}

#[test]
fn a_missing_wait_for_a_product_is_visible() {
    let mut random = Random::new(81);
    let product = Product::new("f16", [F16; 2], [64, 16, 16]);
    let matrices = product.matrices(&mut random);
    let experiment = product.experiment(&mut random, &matrices);
    let expected = experiment.run();
    // Without the wait, the threads read the cells before they change.
    let text = experiment.text();
    let wait = text.find("WAIT: ").unwrap();
    let end = wait + text[wait..].find("bra WAIT;").unwrap() + "bra WAIT;".len();
    let text = [&text[..wait], &text[end..]].concat();
    let cells = |asynchrony| experiment.run_text(&text, asynchrony).unwrap();
    assert!(cells(Asynchrony::Immediate) == expected);
    assert!(cells(Asynchrony::Late) == experiment.cells);
}
