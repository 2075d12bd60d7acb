//! Surfaces: loads, stores and reductions in all geometries, coordinates outside, formats, and checkers.

use ptx_ir::Code;
use ptx_vm::{
    Array, ArrayDescription, ChannelType, Checker, Extent, Launch, Machine, Outcome, RunError,
    StopReason, TexelFormat,
};

/// A machine that has run a body on some threads: `%t` is the thread, `%out` the address of 4096 bytes, `%s` the surface.
struct Ran {
    result: Result<Outcome, RunError>,
    memory: Vec<u32>,
    array: Vec<u8>,
    findings: Vec<String>,
}

fn run(
    threads: u32,
    body: &str,
    description: &ArrayDescription,
    initial: &[u8],
    checkers: &[Checker],
) -> Ran {
    let text = format!(
        ".version 8.3\n.target sm_90\n.address_size 64\n
.visible .entry k(.param .u64 data, .param .u64 surface)
{{
.reg .b16 %h<4>; .reg .b32 %r<16>, %t; .reg .f32 %f<8>; .reg .b64 %d<8>, %out, %s;
ld.param.u64 %out, [data]; ld.param.u64 %s, [surface]; mov.u32 %t, %tid.x;
{body}
ret;
}}
"
    );
    let parsed = ptx_parse::parse_str(&text);
    let errors: Vec<_> = parsed.diagnostics.iter().map(|d| &d.message).collect();
    assert!(errors.is_empty(), "{errors:?}\n{text}");
    let mut machine = Machine::new(&parsed.module);
    assert_eq!(machine.unsupported().next(), None, "{text}");
    let out = machine.allocate(4096).unwrap();
    machine.set_written(out, 4096);
    let array: Array = machine.create_array(description).unwrap();
    if !initial.is_empty() {
        machine.write_array(array, 0, initial).unwrap();
    }
    let surface = machine.create_surface(array, 0).unwrap();
    let mut launch = Launch::new("k")
        .shape(1, threads)
        .argument(out.to_le_bytes())
        .argument(surface.to_le_bytes());
    for checker in checkers {
        launch = launch.check(*checker);
    }
    let result = machine.launch(&launch);
    Ran {
        result,
        memory: machine.read_slice(out, 1024).unwrap(),
        array: machine.read_array(array, 0).unwrap(),
        findings: machine
            .reports()
            .iter()
            .map(|r| r.diagnostic().to_string())
            .collect(),
    }
}

const BYTES: TexelFormat = TexelFormat::new(ChannelType::U8, 1);

#[test]
fn loads_and_stores_address_bytes_in_all_geometries() {
    for (geometry, extent, layers, coordinates) in [
        (".1d", Extent::Line { width: 32 }, None, "{%r0}"),
        (
            ".2d",
            Extent::Image {
                width: 32,
                height: 3,
            },
            None,
            "{%r0, 2}",
        ),
        (
            ".3d",
            Extent::Volume {
                width: 32,
                height: 3,
                depth: 2,
            },
            None,
            "{%r0, 1, 1, 0}",
        ),
        (".a1d", Extent::Line { width: 32 }, Some(4), "{3, %r0}"),
        (
            ".a2d",
            Extent::Image {
                width: 32,
                height: 3,
            },
            Some(2),
            "{1, %r0, 2, 0}",
        ),
        (".a2d", Extent::Cube { edge: 32 }, None, "{5, %r0, 30, 0}"),
    ] {
        // The first byte of the row.
        let row = match (geometry, extent) {
            (".1d", _) => 0,
            (".2d", _) => 2 * 32,
            (".3d", _) => (3 + 1) * 32,
            (".a1d", _) => 3 * 32,
            (_, Extent::Cube { .. }) => (5 * 32 + 30) * 32,
            _ => (3 + 2) * 32,
        };
        let mut description = ArrayDescription::new(extent, BYTES);
        description.layers = layers;
        let count = description.level_bytes(0) as usize;
        let initial: Vec<u8> = (0..count).map(|n| (n * 7 % 251) as u8).collect();
        for (vector, ty, registers, bytes) in [
            ("", ".b8", "%h0", 1),
            ("", ".b16", "%h0", 2),
            ("", ".b32", "%r1", 4),
            ("", ".b64", "%d1", 8),
            (".v2", ".b8", "{%h0, %h1}", 2),
            (".v2", ".b32", "{%r1, %r2}", 8),
            (".v2", ".b64", "{%d1, %d2}", 16),
            (".v4", ".b8", "{%h0, %h1, %h2, %h3}", 4),
            (".v4", ".b16", "{%h0, %h1, %h2, %h3}", 8),
            (".v4", ".b32", "{%r1, %r2, %r3, %r4}", 16),
        ] {
            // The thread loads its element and stores it in the reversed order of threads.
            let threads = 32 / bytes;
            let body = format!(
                "mul.lo.u32 %r0, %t, {bytes};
                suld.b{geometry}{vector}{ty}.trap {registers}, [%s, {coordinates}];
                sub.u32 %r0, {}, %r0;
                sust.b{geometry}{vector}{ty}.trap [%s, {coordinates}], {registers};",
                32 - bytes
            );
            let ran = run(threads, &body, &description, &initial, &[]);
            ran.result.unwrap();
            let mut expected = initial.clone();
            let bytes = bytes as usize;
            for element in 0..32 / bytes {
                let (from, to) = (row + element * bytes, row + 32 - (element + 1) * bytes);
                expected[to..to + bytes].copy_from_slice(&initial[from..from + bytes]);
            }
            assert_eq!(ran.array, expected, "{geometry} {vector} {ty}");
        }
    }
}

#[test]
fn coordinates_outside_are_limited_or_ignored() {
    let description = ArrayDescription::new(
        Extent::Image {
            width: 5,
            height: 2,
        },
        TexelFormat::new(ChannelType::U32, 1),
    );
    let initial: Vec<u8> = (1..11u32).flat_map(u32::to_le_bytes).collect();
    for (x, y, clamped) in [
        (-4, 0, 1),
        (20, 0, 5),
        (8, -1, 3),
        (8, 2, 8),
        (-100, 9, 6),
        (1 << 30, 1, 10),
    ] {
        let load = |mode: &str| {
            let body =
                format!("suld.b.2d.b32.{mode} %r1, [%s, {{{x}, {y}}}]; st.global.u32 [%out], %r1;");
            run(1, &body, &description, &initial, &[])
        };
        assert_eq!(load("clamp").memory[0], clamped);
        assert_eq!(load("zero").memory[0], 0);
        let StopReason::OutsideSurface(error) = load("trap").result.unwrap_err().reason else {
            panic!("another error");
        };
        assert!(error.contains("20 bytes in a row, 2 rows"), "{error}");
        let store = |mode: &str| {
            let body = format!("sust.b.2d.b32.{mode} [%s, {{{x}, {y}}}], 99;");
            run(1, &body, &description, &initial, &[]).array
        };
        assert_eq!(store("zero"), initial);
        let mut expected = initial.clone();
        let byte = (clamped as usize - 1) * 4;
        expected[byte..byte + 4].copy_from_slice(&99u32.to_le_bytes());
        assert_eq!(store("clamp"), expected);
    }
    // An error in a layer, and a misaligned access.
    let layers = ArrayDescription::new(Extent::Line { width: 8 }, BYTES).layers(2);
    let load = |body: &str| run(1, body, &layers, &[], &[]).result.unwrap_err().reason;
    assert!(matches!(
        load("suld.b.a1d.b8.trap %h0, [%s, {2, 0}];"),
        StopReason::OutsideSurface(_)
    ));
    assert!(matches!(
        load("suld.b.a1d.b32.trap %r0, [%s, {1, 2}];"),
        StopReason::Misaligned(_)
    ));
}

#[test]
fn formatted_stores_convert_to_the_format() {
    let body = |values: [&str; 4]| {
        format!(
            "sust.p.2d.v4.b32.trap [%s, {{1, 1}}], {{{}}};",
            values.join(", ")
        )
    };
    let numbers = ["0f3F000000", "0fBF800000", "0f40000000", "0f3E800000"];
    let integers = ["300", "-300", "70000", "-70000"];
    for (channel, values, expected) in [
        (ChannelType::U8, integers, vec![255, 255, 255, 255]),
        (ChannelType::S8, integers, vec![127, 0x80, 127, 0x80]),
        (ChannelType::Unorm8, numbers, vec![128, 0, 255, 64]),
        (ChannelType::Snorm8, numbers, vec![64, 129, 127, 32]),
        (
            ChannelType::U16,
            integers,
            vec![44, 1, 255, 255, 255, 255, 255, 255],
        ),
        (
            ChannelType::S16,
            integers,
            vec![44, 1, 0xd4, 0xfe, 0xff, 0x7f, 0, 0x80],
        ),
        (
            ChannelType::F16,
            numbers,
            vec![0, 0x38, 0, 0xbc, 0, 0x40, 0, 0x34],
        ),
        (
            ChannelType::F32,
            numbers,
            vec![
                0, 0, 0, 0x3f, 0, 0, 0x80, 0xbf, 0, 0, 0, 0x40, 0, 0, 0x80, 0x3e,
            ],
        ),
    ] {
        let format = TexelFormat::new(channel, 4);
        let description = ArrayDescription::new(
            Extent::Image {
                width: 2,
                height: 2,
            },
            format,
        );
        let ran = run(1, &body(values), &description, &[], &[]);
        ran.result.unwrap();
        let start = 3 * format.bytes() as usize;
        assert_eq!(ran.array[start..], expected, "{channel:?}");
        assert!(ran.array[..start].iter().all(|byte| *byte == 0));
    }
}

#[test]
fn reductions_are_atomic() {
    // All threads combine their number with one element, and each with its own.
    let inputs = [7u64, 1 << 63 | 5, 0];
    for (op, ty, bits) in [
        ("add", "u32", 32),
        ("add", "s32", 32),
        ("add", "u64", 64),
        ("min", "u32", 32),
        ("min", "s32", 32),
        ("max", "u32", 32),
        ("max", "s32", 32),
        ("min", "u64", 64),
        ("min", "s64", 64),
        ("max", "u64", 64),
        ("max", "s64", 64),
        ("and", "b32", 32),
        ("or", "b32", 32),
    ] {
        for initial in inputs {
            let initial = if bits == 32 {
                initial >> 32 | initial & 0xff
            } else {
                initial
            };
            let bytes = bits / 8;
            let register = if bits == 64 { "%d1" } else { "%r2" };
            let body = format!(
                "sub.s32 %r2, %t, 16; cvt.s64.s32 %d1, %r2;
                sured.b.{op}.1d.{ty}.trap [%s, {{{bytes}}}], {register};"
            );
            let width = 4 * bytes;
            let description = ArrayDescription::new(Extent::Line { width }, BYTES);
            let mut content = vec![0; width as usize];
            let range = bytes as usize..2 * bytes as usize;
            content[range.clone()].copy_from_slice(&initial.to_le_bytes()[..bytes as usize]);
            let ran = run(32, &body, &description, &content, &[Checker::Racecheck]);
            ran.result.unwrap();
            assert_eq!(ran.findings, Vec::<String>::new());
            let values = (0..32i64).map(|t| (t - 16).cast_unsigned());
            let wide = |n: u64| match (bits, ty.starts_with('s')) {
                (32, true) => i128::from(n as u32 as i32),
                (32, false) => i128::from(n as u32),
                (_, true) => i128::from(n.cast_signed()),
                (_, false) => i128::from(n),
            };
            let expected = values.fold(initial, |old, value| match op {
                "add" => old.wrapping_add(value),
                "and" => old & value,
                "or" => old | value,
                "min" if wide(value) < wide(old) => value,
                "max" if wide(value) > wide(old) => value,
                _ => old,
            });
            content[range].copy_from_slice(&expected.to_le_bytes()[..bytes as usize]);
            assert_eq!(ran.array, content, "{op} {ty} {initial:#x}");
        }
    }
}

#[test]
fn formatted_reductions_have_the_type_of_the_format() {
    for (channel, channels, ty, expected) in [
        (ChannelType::U32, 1, "b32", vec![5, 0]),
        (ChannelType::S32, 1, "b32", vec![u32::MAX, 0]),
        (ChannelType::U32, 2, "b64", vec![5, 0]),
        (ChannelType::S32, 2, "b64", vec![u32::MAX, u32::MAX]),
    ] {
        let format = TexelFormat::new(channel, channels);
        let description = ArrayDescription::new(Extent::Line { width: 2 }, format);
        let register = if ty == "b64" { "%d1" } else { "%r1" };
        let body = format!(
            "mov.u32 %r1, -1; mov.u64 %d1, -1; sured.p.min.1d.{ty}.trap [%s, {{1}}], {register};"
        );
        let mut texels = vec![0u8; 2 * format.bytes() as usize];
        let start = format.bytes() as usize;
        texels[start] = 5;
        let ran = run(1, &body, &description, &texels, &[]);
        ran.result.unwrap();
        let words: Vec<u32> = ran.array[start..]
            .chunks(4)
            .map(|w| u32::from_le_bytes(w.try_into().unwrap()))
            .collect();
        assert_eq!(words, expected[..channels as usize]);
    }
    let body = "sured.p.min.1d.b32.trap [%s, {0}], %r1;";
    let description = ArrayDescription::new(Extent::Line { width: 2 }, BYTES);
    let error = run(1, body, &description, &[], &[])
        .result
        .unwrap_err()
        .reason;
    assert!(
        error.to_string().contains("texels of 4 bytes, found 1"),
        "{error}"
    );
}

#[test]
fn textures_see_what_surfaces_stored() {
    let text = ".version 8.0\n.target sm_90\n.address_size 64\n
        .visible .entry store(.param .u64 surface)\n{\n.reg .b64 %s; .reg .b32 %t, %x;
        ld.param.u64 %s, [surface]; mov.u32 %t, %tid.x; shl.b32 %x, %t, 2;
        sust.b.1d.b32.trap [%s, {%x}], %t;\nret;\n}
        .visible .entry load(.param .u64 out, .param .u64 texture)\n{\n.reg .b64 %o, %s; .reg .b32 %t, %r<4>;
        ld.param.u64 %o, [out]; ld.param.u64 %s, [texture]; mov.u32 %t, %tid.x;
        tex.1d.v4.u32.s32 {%r0, %r1, %r2, %r3}, [%s, {%t}];
        mad.wide.u32 %o, %t, 4, %o; st.global.u32 [%o], %r0;\nret;\n}\n";
    let module = ptx_parse::parse_str(text).into_result().unwrap();
    let mut machine = Machine::new(&module);
    let description = ArrayDescription::new(
        Extent::Line { width: 16 },
        TexelFormat::new(ChannelType::U32, 1),
    );
    let array = machine.create_array(&description).unwrap();
    let surface = machine.create_surface(array, 0).unwrap();
    let texture = machine.create_texture(array, &Default::default()).unwrap();
    let out = machine.allocate(64).unwrap();
    let checks = |launch: Launch| {
        launch
            .check(Checker::Initcheck)
            .check(Checker::Memcheck)
            .check(Checker::Racecheck)
    };
    machine
        .launch(&checks(
            Launch::new("store")
                .shape(1, 16)
                .argument(surface.to_le_bytes()),
        ))
        .unwrap();
    assert!(machine.reports().is_empty());
    let load = Launch::new("load")
        .shape(1, 16)
        .argument(out.to_le_bytes())
        .argument(texture.to_le_bytes());
    machine.launch(&checks(load)).unwrap();
    assert!(machine.reports().is_empty());
    assert_eq!(
        machine.read_slice::<u32>(out, 16).unwrap(),
        (0..16).collect::<Vec<u32>>()
    );
}

#[test]
fn checkers_see_accesses() {
    let description = ArrayDescription::new(Extent::Line { width: 64 }, BYTES);
    // What nothing wrote.
    let load = "suld.b.1d.b32.trap %r1, [%s, {8}]; st.global.u32 [%out], %r1;";
    let ran = run(1, load, &description, &[], &[Checker::Initcheck]);
    assert_eq!(ran.findings.len(), 1, "{:?}", ran.findings);
    // Threads of two warps that store different values to one place.
    let store = "sust.b.1d.b32.trap [%s, {8}], %t;";
    let ran = run(64, store, &description, &[0; 64], &[Checker::Racecheck]);
    assert_eq!(ran.findings.len(), 1, "{:?}", ran.findings);
    // Accesses outside are reported; the lanes inside store.
    let outside = "mul.lo.u32 %r1, %t, 4; sust.b.1d.b32.trap [%s, {%r1}], %t;";
    let ran = run(24, outside, &description, &[9; 64], &[Checker::Memcheck]);
    ran.result.unwrap();
    assert_eq!(ran.findings.len(), 1, "{:?}", ran.findings);
    let finding = &ran.findings[0];
    assert!(
        finding.contains("PTX1401") && finding.contains("at byte 64"),
        "{finding}"
    );
    let words = (0..16u32).flat_map(u32::to_le_bytes);
    assert_eq!(ran.array, words.collect::<Vec<u8>>());
    // Without the checker, it ends the run.
    let ran = run(24, outside, &description, &[9; 64], &[Checker::Racecheck]);
    let error = ran.result.unwrap_err();
    assert_eq!(
        (error.thread, error.reason.code()),
        ([16, 0, 0], Some(Code::AddressOutOfBounds))
    );
}

/// The texels of an object are elsewhere than the variable that is bound to it.
#[test]
fn accesses_by_the_names_of_variables_are_inside() {
    let text = ".version 8.0\n.target sm_90\n.address_size 64\n
        .global .texref image;\n.global .surfref target;
        .visible .entry copy()\n{\n.reg .b32 %t, %x, %r<4>;
        mov.u32 %t, %tid.x; shl.b32 %x, %t, 2;
        tex.1d.v4.u32.s32 {%r0, %r1, %r2, %r3}, [image, {%t}];
        sust.b.1d.b32.trap [target, {%x}], %r0;\nret;\n}\n";
    let module = ptx_parse::parse_str(text).into_result().unwrap();
    let mut machine = Machine::new(&module);
    let format = TexelFormat::new(ChannelType::U32, 1);
    let description = ArrayDescription::new(Extent::Line { width: 32 }, format);
    let [source, target] = [0; 2].map(|_| machine.create_array(&description).unwrap());
    let texels: Vec<u8> = (0..128).collect();
    machine.write_array(source, 0, &texels).unwrap();
    let texture = machine.create_texture(source, &Default::default()).unwrap();
    let surface = machine.create_surface(target, 0).unwrap();
    machine.bind("image", texture).unwrap();
    machine.bind("target", surface).unwrap();
    let mut launch = Launch::new("copy").shape(1, 32);
    for checker in Checker::ALL {
        launch = launch.check(checker);
    }
    machine.launch(&launch).unwrap();
    assert_eq!(machine.reports(), []);
    assert_eq!(machine.read_array(target, 0).unwrap(), texels);
}

/// Zeros count as written if the host says so.
#[test]
fn arrays_may_begin_as_written() {
    let format = TexelFormat::new(ChannelType::U32, 1);
    let description = ArrayDescription::new(Extent::Line { width: 4 }, format).levels(2);
    let text = ".version 8.0\n.target sm_90\n.address_size 64\n
        .visible .entry read(.param .u64 texels)\n{\n.reg .b64 %s; .reg .b32 %r;
        ld.param.u64 %s, [texels]; suld.b.1d.b32.trap %r, [%s, {4}];\nret;\n}\n";
    let module = ptx_parse::parse_str(text).into_result().unwrap();
    let mut machine = Machine::new(&module);
    let array = machine.create_array(&description).unwrap();
    machine.set_array_written(array, 1).unwrap();
    for (level, findings) in [(0, 1), (1, 0)] {
        let surface = machine.create_surface(array, level).unwrap();
        let launch = Launch::new("read").shape(1, 1).check(Checker::Initcheck);
        let launch = launch.argument(surface.to_le_bytes());
        machine.launch(&launch).unwrap();
        assert_eq!(machine.reports().len(), findings, "{level}");
    }
    assert!(machine.set_array_written(array, 2).is_err());
}

/// A kernel with a texture and a surface of an array with 64 words, and a texture of linear memory; the findings of `racecheck`.
fn proxy_findings(blocks: u32, bodies: &[&str]) -> Vec<String> {
    let mut text = ".version 8.0\n.target sm_90\n.address_size 64\n.global .u32 flag;\n".to_owned();
    for (index, body) in bodies.iter().enumerate() {
        text += &format!(
            ".visible .entry k{index}(.param .u64 surface, .param .u64 image, .param .u64 linear, .param .u64 memory)\n{{\n
            .reg .pred %p; .reg .b32 %t, %b, %x, %other, %r<4>; .reg .b64 %s, %i, %l, %m, %f;
            ld.param.u64 %s, [surface]; ld.param.u64 %i, [image]; ld.param.u64 %l, [linear]; ld.param.u64 %m, [memory];
            mov.u64 %f, flag; mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; shl.b32 %x, %t, 2; xor.b32 %other, %x, 128;
            {body}\nret;\n}}\n"
        );
    }
    let module = ptx_parse::parse_str(&text).into_result().unwrap();
    let mut machine = Machine::new(&module);
    let format = TexelFormat::new(ChannelType::U32, 1);
    let description = ArrayDescription::new(Extent::Line { width: 64 }, format);
    let array = machine.create_array(&description).unwrap();
    let memory = machine.allocate(256).unwrap();
    let sampler = Default::default();
    let handles = [
        machine.create_surface(array, 0).unwrap(),
        machine.create_texture(array, &sampler).unwrap(),
        machine
            .create_linear_texture(memory, 64, format, &sampler)
            .unwrap(),
        memory,
    ];
    let mut findings = Vec::new();
    for index in 0..bodies.len() {
        let mut launch = Launch::new(format!("k{index}"))
            .shape(blocks, 64)
            .check(Checker::Racecheck);
        for handle in handles {
            launch = launch.argument(handle.to_le_bytes());
        }
        machine.launch(&launch).unwrap();
        let reports = machine.reports().iter();
        findings.extend(reports.map(|report| report.diagnostic().to_string()));
    }
    findings
}

#[test]
fn texels_are_not_read_in_the_launch_that_writes_them() {
    let read_image = "tex.1d.v4.u32.s32 {%r0, %r1, %r2, %r3}, [%i, {%t}];";
    let read_linear = "tex.1d.v4.u32.s32 {%r0, %r1, %r2, %r3}, [%l, {%t}];";
    let read_surface = "suld.b.1d.b32.trap %r0, [%s, {%other}];";
    let write_surface = "sust.b.1d.b32.trap [%s, {%x}], %t;";
    let add = "sured.b.add.1d.u32.trap [%s, {%x}], %t;";
    let write_memory = "cvt.u64.u32 %f, %x; add.u64 %f, %m, %f; st.global.u32 [%f], %t;";
    let barrier = "bar.sync 0;";
    // The first CTA writes, and the second one reads when it sees the flag.
    let first = "setp.ne.u32 %p, %b, 0; @%p bra WAIT;";
    let handover = "bar.sync 0; setp.eq.u32 %p, %t, 0; @%p st.release.gpu.global.u32 [%f], 1; bra DONE;\nWAIT: ld.acquire.gpu.global.u32 %r1, [%f]; setp.eq.u32 %p, %r1, 0; @%p bra WAIT;";
    let texture = "read of 4 bytes of texels";
    for (blocks, parts, expected) in [
        // By one thread, by threads of a CTA, and through linear memory.
        (
            1,
            &[write_surface, read_image][..],
            Some("through a texture, after a write"),
        ),
        (1, &[write_surface, barrier, read_image], Some(texture)),
        (1, &[add, barrier, read_image], Some(texture)),
        (
            1,
            &[write_memory, barrier, read_linear],
            Some("through a texture"),
        ),
        // Surfaces see writes of the CTA, and reads do not conflict with later writes.
        (1, &[write_surface, barrier, read_surface], None),
        (1, &[add, add, barrier, read_surface], None),
        (1, &[read_image, read_surface, barrier, write_surface], None),
        (
            2,
            &[first, write_surface, handover, read_surface, "\nDONE:"],
            Some("through a surface, after a write"),
        ),
        (2, &[first, write_surface, handover, "\nDONE:"], None),
        // Without a barrier, the accesses race.
        (
            1,
            &[write_surface, read_surface],
            Some("races with an earlier"),
        ),
    ] {
        let findings = proxy_findings(blocks, &[&parts.concat()]);
        match expected {
            Some(words) => {
                assert_eq!(findings.len(), 1, "{parts:?} {findings:?}");
                assert!(findings[0].contains(words), "{parts:?} {findings:?}");
            }
            None => assert_eq!(findings, [""; 0], "{parts:?}"),
        }
    }
    // A later launch sees everything.
    let both = [write_surface, write_memory].concat();
    let reads = [read_image, read_linear, read_surface].concat();
    assert_eq!(proxy_findings(1, &[&both, &reads]), [""; 0]);
}
