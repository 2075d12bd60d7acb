//! The bytes of tensor maps, and the instructions that change and copy maps.
#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

use ptx_vm::{Launch, Machine, Swizzle, TensorElement, TensorFill, TensorInterleave, TensorMap};

/// Maps with each type, swizzle, interleave and mode.
fn maps() -> Vec<TensorMap> {
    let mut maps = Vec::new();
    for element in TensorElement::ALL {
        let is_padded = matches!(element, TensorElement::B4x16P64 | TensorElement::B6x16P32);
        let row = if is_padded {
            128
        } else {
            128 / element.bits().max(4)
        };
        let map = TensorMap::tiled(element, 0x1000_0020, &[256, 7], &[row, 5]);
        maps.push(map.strides(&[4096]).element_strides(&[1, 3]));
    }
    for swizzle in Swizzle::ALL {
        let map = TensorMap::tiled(
            TensorElement::F16,
            0x1000_0000,
            &[100, 1 << 32, 3],
            &[16, 1, 256],
        );
        maps.push(
            map.strides(&[208, 4096])
                .swizzle(swizzle)
                .fill(TensorFill::Nan),
        );
    }
    let dims = [64, 9, 14, 3, 2];
    for rank in 3..=5 {
        let corners: [&[i32]; 2] = [&[-1, -2, -3], &[2, 1, 0]];
        let corners = corners.map(|corner| &corner[..rank - 2]);
        let map = TensorMap::im2col(
            TensorElement::Bf16,
            0x1000_0000,
            &dims[..rank],
            corners,
            64,
            1024,
        );
        maps.push(map.clone().element_strides(&[1, 2, 3, 4, 8][..rank]));
        maps.push(map.interleave(TensorInterleave::Bytes16));
        let map = TensorMap::im2col_wide(
            TensorElement::F32,
            0x1000_0000,
            &dims[..rank],
            [-32768, 32767],
            16,
            0,
        );
        maps.push(map.swizzle(Swizzle::Bytes64));
    }
    let map = TensorMap::tiled(
        TensorElement::U8,
        0x1000_0000,
        &[100, 5, 4, 3],
        &[64, 2, 2, 2],
    );
    maps.push(
        map.interleave(TensorInterleave::Bytes32)
            .swizzle(Swizzle::Bytes32),
    );
    maps
}

#[test]
fn the_bytes_of_a_map_describe_the_map() {
    for map in maps() {
        let bytes = map.to_bytes().unwrap();
        assert_eq!(TensorMap::from_bytes(&bytes).unwrap(), map);
    }
}

#[test]
fn names_of_types_are_those_of_the_specification() {
    for element in TensorElement::ALL {
        assert_eq!(element.name().parse(), Ok(element));
        assert_eq!(element.to_string().parse(), Ok(element));
    }
    assert_eq!("b6p2x16".parse(), Ok(TensorElement::B6x16P32));
    let error = "f8".parse::<TensorElement>().unwrap_err().to_string();
    assert!(
        error.contains("`f8`") && error.contains("b4x16_p64"),
        "{error}"
    );
}

/// Runs a kernel whose parameter is the address of 1024 bytes.
fn run(text: &str, threads: u32, data: &[u8; 1024]) -> Vec<u8> {
    let parsed = ptx_parse::parse_str(text);
    let errors: Vec<_> = parsed.diagnostics.iter().map(|d| &d.message).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let errors = ptx_verify::verify(&parsed.module, &ptx_verify::Options::default());
    let errors: Vec<_> = errors.iter().map(|d| &d.message).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let mut machine = Machine::new(&parsed.module);
    let address = machine.allocate(1024).unwrap();
    machine.write(address, data).unwrap();
    let launch = Launch::new("k")
        .shape(1, threads)
        .argument(address.to_le_bytes());
    machine.launch(&launch).unwrap();
    machine.read(address, 1024).unwrap()
}

/// The instructions that make a map of zeros the one of [`replaced_map`].
fn replacements(space: &str, register: &str) -> String {
    let replace = |field: &str, ty: &str, values: &str| {
        format!("tensormap.replace.tile.{field}{space}.b1024.{ty} [{register}], {values};\n")
    };
    let mut text = replace("global_address", "b64", "%rd4") + &replace("rank", "b32", "2");
    for (index, value) in [40, 1000, 3].into_iter().enumerate() {
        text += &format!("mov.b32 %r1, {value};\n");
        text += &replace("global_dim", "b32", &format!("{index}, %r1"));
    }
    for (index, value) in [64, 65536].into_iter().enumerate() {
        text += &replace("global_stride", "b64", &format!("{index}, {value}"));
    }
    for (index, (size, step)) in [(32, 1), (8, 2), (1, 8)].into_iter().enumerate() {
        text += &replace("box_dim", "b32", &format!("{index}, {size}"));
        text += &replace("element_stride", "b32", &format!("{index}, {step}"));
    }
    text += &replace("elemtype", "b32", "10");
    text += &replace("swizzle_mode", "b32", "3");
    text += &replace("swizzle_atomicity", "b32", "1");
    text += &replace("interleave_layout", "b32", "1");
    text + &replace("fill_mode", "b32", "1")
}

fn replaced_map() -> TensorMap {
    TensorMap::tiled(
        TensorElement::Bf16,
        0x1234_5600,
        &[40, 1000, 3],
        &[32, 8, 1],
    )
    .strides(&[64, 65536])
    .element_strides(&[1, 2, 8])
    .swizzle(Swizzle::Bytes128Atom32)
    .interleave(TensorInterleave::Bytes16)
    .fill(TensorFill::Nan)
}

#[test]
fn fields_are_replaced_in_global_and_shared_memory() {
    let text = |body: &str| {
        format!(
            ".version 8.6\n.target sm_100a\n.address_size 64\n.shared .align 128 .b8 map[256];\n\
             .visible .entry k(.param .u64 data)\n{{\n.reg .pred %p1;\n.reg .b32 %r<8>;\n.reg .b64 %rd<8>;\n\
             ld.param.u64 %rd1, [data];\nmov.b64 %rd4, 0x12345600;\nmov.b64 %rd2, map;\nmov.b32 %r2, map;\n\
             cvta.shared.u64 %rd3, %rd2;\n{body}ret;\n}}\n"
        )
    };
    let clear = "mov.b32 %r3, %laneid;\nmad.lo.u32 %r3, %r3, 4, %r2;\nst.shared.b32 [%r3], 0;\nbar.warp.sync -1;\n";
    let first = "setp.ne.b32 %p1, %r4, 0;\n@%p1 bra DONE;\n";
    let publish = "DONE: bar.warp.sync -1;\n\
        tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd1], [%r2], 128;\n\
        fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;\n";
    let bodies = [
        (1, replacements(".global", "%rd1")),
        (1, replacements("", "%rd1")),
        (
            32,
            format!(
                "mov.b32 %r4, %laneid;\n{clear}{first}{}{publish}",
                replacements(".shared::cta", "%rd2")
            ),
        ),
        (
            32,
            format!(
                "mov.b32 %r4, %laneid;\n{clear}{first}{}{publish}",
                replacements("", "%rd3")
            ),
        ),
    ];
    for (threads, body) in bodies {
        let found = run(&text(&body), threads, &[0; 1024]);
        assert_eq!(found[..128], replaced_map().to_bytes().unwrap(), "{body}");
        assert!(found[128..].iter().all(|byte| *byte == 0));
    }
}

/// A cluster of four CTAs, of which one loads a row of 16 words. The first word of each CTA, and whether its mbarrier object completed.
fn load_in_cluster(target: &str, group: &str, mask: u32, object: &str) -> Vec<u32> {
    let text = format!(
        ".version 9.0\n.target {target}\n.address_size 64\n.shared .align 128 .b8 row[64];\n.shared .align 8 .b64 barrier;\n\
         .visible .entry k(.param .align 64 .b8 map[128], .param .u64 out)\n.reqnctapercluster 4\n{{\n\
         .reg .pred %p<4>;\n.reg .b16 %h1;\n.reg .b32 %r<12>;\n.reg .b64 %rd<8>;\n\
         mov.b64 %rd1, map;\ncvta.param.u64 %rd1, %rd1;\nld.param.u64 %rd2, [out];\n\
         mov.b32 %r1, row;\nmov.b32 %r2, barrier;\nmov.u32 %r3, %cluster_ctarank;\nmov.b16 %h1, {mask};\n\
         mbarrier.init.shared::cta.b64 [%r2], 1;\nst.shared.b32 [%r1], 7;\n\
         mbarrier.arrive.expect_tx.shared::cta.b64 %rd5, [%r2], 64;\n\
         barrier.cluster.arrive;\nbarrier.cluster.wait;\n\
         mapa.shared::cluster.u32 %r4, %r2, {object};\n\
         setp.ne.u32 %p1, %r3, 1;\n@%p1 bra DONE;\n\
         cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster{group} \
         [%r1], [%rd1, {{0}}], [%r4], %h1;\n\
         DONE: barrier.cluster.arrive;\nbarrier.cluster.wait;\n\
         mbarrier.test_wait.parity.shared::cta.b64 %p2, [%r2], 0;\nselp.b32 %r5, 1, 0, %p2;\n\
         ld.shared.b32 %r6, [%r1];\nmul.wide.u32 %rd3, %r3, 8;\nadd.u64 %rd2, %rd2, %rd3;\n\
         st.global.v2.b32 [%rd2], {{%r6, %r5}};\nret;\n}}\n"
    );
    let parsed = ptx_parse::parse_str(&text);
    let errors = ptx_verify::verify(&parsed.module, &ptx_verify::Options::default());
    let errors: Vec<_> = errors.iter().map(|d| &d.message).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let mut machine = Machine::new(&parsed.module);
    let tensor = machine.allocate(64).unwrap();
    let out = machine.allocate(32).unwrap();
    machine.write_slice(tensor, &[99u32; 16]).unwrap();
    let map = TensorMap::tiled(TensorElement::U32, tensor, &[16], &[16]);
    let launch = Launch::new("k")
        .shape(4, 1)
        .argument(map.to_bytes().unwrap())
        .argument(out.to_le_bytes());
    machine.launch(&launch).unwrap();
    machine.read_slice(out, 8).unwrap()
}

#[test]
fn boxes_are_multicast_to_the_ctas_of_a_mask() {
    let found = load_in_cluster("sm_90", "", 0b1101, "1");
    assert_eq!(found, [99, 1, 7, 0, 99, 1, 99, 1]);
    // The objects are those of the even or of the odd CTAs of each pair.
    let found = load_in_cluster("sm_100a", ".cta_group::2", 0b1001, "1");
    assert_eq!(found, [99, 0, 7, 1, 7, 0, 99, 1]);
    let found = load_in_cluster("sm_100a", ".cta_group::2", 0b1001, "2");
    assert_eq!(found, [99, 1, 7, 0, 7, 1, 99, 0]);
}
