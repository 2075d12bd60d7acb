//! `run` with textures, samplers and surfaces as arguments and as variables of the module.

use std::fs;

use npyz::{NpyFile, WriterBuilder};

use crate::support::{Folder, Run, expect, objects, ptx};

/// `result[y][x]` is the value of `picture` at the center of texel (x, y) in an image of `width` × `height` texels; `target[x]` is
/// the value of `palette` there.
const ENLARGE: &str = ".version 8.0\n.target sm_80\n.address_size 64\n\
    .global .texref palette = { addr_mode_0 = wrap, normalized_coords = 1 };\n\
    .global .surfref target;\n\
    .visible .entry enlarge(.param .u64 picture, .param .u64 result, .param .u32 width, .param .u32 height)\n{\n\
    .reg .b64 %rd<3>; .reg .b32 %r<6>; .reg .f32 %f<10>;\n\
    ld.param.u64 %rd1, [picture];\n\
    ld.param.u64 %rd2, [result];\n\
    ld.param.u32 %r3, [width];\n\
    ld.param.u32 %r4, [height];\n\
    mov.u32 %r1, %tid.x;\n\
    mov.u32 %r2, %tid.y;\n\
    cvt.rn.f32.u32 %f1, %r1;\n\
    cvt.rn.f32.u32 %f2, %r2;\n\
    cvt.rn.f32.u32 %f3, %r3;\n\
    cvt.rn.f32.u32 %f4, %r4;\n\
    add.f32 %f1, %f1, 0f3F000000;\n\
    add.f32 %f2, %f2, 0f3F000000;\n\
    div.rn.f32 %f1, %f1, %f3;\n\
    div.rn.f32 %f2, %f2, %f4;\n\
    tex.2d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%rd1, {%f1, %f2}];\n\
    tex.1d.v4.f32.f32 {%f9, %f6, %f7, %f8}, [palette, {%f1}];\n\
    shl.b32 %r5, %r1, 2;\n\
    sust.b.2d.b32.trap [%rd2, {%r5, %r2}], %f5;\n\
    sust.b.1d.b32.trap [target, {%r5}], %f9;\n\
    ret;\n}\n";

/// Reads element `%tid.x` of a texture of linear memory, and stores it.
const FETCH: &str = ".version 8.0\n.target sm_80\n.address_size 64\n\
    .visible .entry fetch(.param .u64 texels, .param .u64 out)\n{\n\
    .reg .b64 %rd<4>; .reg .b32 %r<6>;\n\
    ld.param.u64 %rd1, [texels];\n\
    ld.param.u64 %rd2, [out];\n\
    mov.u32 %r1, %tid.x;\n\
    tex.1d.v4.u32.s32 {%r2, %r3, %r4, %r5}, [%rd1, {%r1}];\n\
    mul.wide.u32 %rd3, %r1, 4;\n\
    add.u64 %rd2, %rd2, %rd3;\n\
    st.global.u32 [%rd2], %r2;\n\
    ret;\n}\n";

fn array<T: npyz::AutoSerialize>(
    folder: &Folder,
    name: &str,
    shape: &[u64],
    values: impl IntoIterator<Item = T>,
) -> String {
    let mut file = Vec::new();
    let mut writer = npyz::WriteOptions::new()
        .default_dtype()
        .shape(shape)
        .writer(&mut file)
        .begin_nd()
        .unwrap();
    writer.extend(values).unwrap();
    writer.finish().unwrap();
    folder.file(name, file)
}

fn values<T: npyz::Deserialize>(folder: &Folder, name: &str) -> Vec<T> {
    let file = fs::File::open(folder.0.join(name)).unwrap();
    NpyFile::new(file).unwrap().into_vec().unwrap()
}

/// A folder with the module, an image with 3 rows of 4 bytes and a palette of two numbers.
fn folder(name: &str) -> (Folder, String) {
    let folder = Folder::new(name);
    let module = folder.file("enlarge.ptx", ENLARGE);
    array(&folder, "picture.npy", &[3, 4], (0..12).map(|n: u8| 20 * n));
    array(&folder, "palette.npy", &[2], [1.5f32, -2.0]);
    (folder, module)
}

fn run(folder: &Folder, module: &str, script: &str) -> Run {
    let script = folder.file("launches.toml", script);
    ptx(&[
        "run",
        module,
        "--check",
        "memcheck,initcheck",
        "--script",
        &script,
    ])
}

const SCRIPT: &str = r#"
[arrays]
picture = "{in:picture.npy}:2d"
result = "{out:result.npy:f32[6,8]}:2d"
colors = "{in:palette.npy}:1d"
chosen = "{out:chosen.npy:f32[8]}:1d"

[bind]
palette = "texture:colors"
target = "surface:chosen"

[[launch]]
kernel = "enlarge"
block = [8, 6]
args = ["texture:picture:read=normalized:coordinates=normalized:filter=nearest", "surface:result", 8, 6]
"#;

#[test]
fn scripts_have_arrays_and_bindings() {
    let (folder, module) = folder("run-textures");
    expect(&run(&folder, &module, SCRIPT), 0, "", "");
    let result: Vec<f32> = values(&folder, "result.npy");
    for (index, value) in result.iter().enumerate() {
        let (x, y) = (index % 8, index / 8);
        let texel = 20 * (y / 2 * 4 + x / 2);
        assert_eq!(*value, texel as f32 / 255.0, "{x} {y}");
    }
    let json = |script: &str| {
        let script = folder.file("json.toml", script);
        let run = ptx(&["run", &module, "--format", "json", "--script", &script]);
        objects(&run.out)[0]["approximate"].as_bool().unwrap()
    };
    assert!(!json(SCRIPT));
    assert!(json(&SCRIPT.replace("filter=nearest", "filter=linear")));
    let chosen: Vec<f32> = values(&folder, "chosen.npy");
    assert_eq!(chosen, [1.5, 1.5, 1.5, 1.5, -2.0, -2.0, -2.0, -2.0]);
}

/// The weights of four texels are 1/4 and 3/4 in both dimensions.
#[test]
fn filters_and_address_modes_are_those_of_the_fields() {
    let (folder, module) = folder("run-textures-linear");
    let linear = SCRIPT.replace(
        "filter=nearest",
        "filter=linear:address=wrap,clamp_to_border:border=1,0,0,0",
    );
    expect(&run(&folder, &module, &linear), 0, "", "");
    let result: Vec<f32> = values(&folder, "result.npy");
    let texel = |x: i32, y: i32| match y {
        0..3 => f64::from(20 * (4 * y + x.rem_euclid(4))) / 255.0,
        _ => 1.0,
    };
    for (index, value) in result.iter().enumerate() {
        let [x, y] = [index % 8, index / 8].map(|n| n as i32);
        let neighbor = |n: i32| if n % 2 == 0 { n / 2 - 1 } else { n / 2 + 1 };
        let mean = 0.5625 * texel(x / 2, y / 2)
            + 0.1875 * (texel(neighbor(x), y / 2) + texel(x / 2, neighbor(y)))
            + 0.0625 * texel(neighbor(x), neighbor(y));
        assert!((f64::from(*value) - mean).abs() < 1e-6, "{x} {y}: {value}");
    }
}

#[test]
fn arguments_have_separate_arrays() {
    let (folder, module) = folder("run-textures-arguments");
    let file = |name: &str| folder.0.join(name).to_string_lossy().into_owned();
    let run = ptx(&[
        "run",
        &module,
        "--block",
        "8,6",
        "--bind",
        &format!(
            "palette=texture:{{in:{}}}:1d:address=clamp_to_edge",
            file("palette.npy")
        ),
        "--bind",
        &format!("target=surface:{{out:{}:f32[8]}}:1d", file("chosen.npy")),
        "--format",
        "json",
        &format!(
            "texture:{{zero:u8[5,5]}}{{in:{}}}:2d:levels=3:range=1,1:read=normalized:coordinates=normalized",
            { array(&folder, "level.npy", &[2, 2], [0u8, 51, 102, 255]) }
        ),
        &format!(
            "surface:{{zero:f32[3,4]}}{{out:{}:f32[1,2]}}:2d:format=f32:level=1",
            file("result.npy")
        ),
        "2",
        "1",
    ]);
    // The surface has fewer texels than threads.
    assert_eq!(run.status, 3, "{}", run.err);
    assert!(
        run.out
            .contains("outside of the surface with 8 bytes in a row, 1 rows"),
        "{}",
        run.out
    );
    let run = ptx(&[
        "run",
        &module,
        "--block",
        "2,1",
        "--bind",
        &format!(
            "palette=texture:{{in:{}}}:1d:address=clamp_to_edge",
            file("palette.npy")
        ),
        "--bind",
        &format!("target=surface:{{out:{}:f32[8]}}:1d", file("chosen.npy")),
        "--format",
        "json",
        &format!(
            "texture:{{zero:u8[5,5]}}{{in:{}}}:2d:levels=3:range=1,1:read=normalized:coordinates=normalized",
            file("level.npy")
        ),
        &format!(
            "surface:{{zero:f32[3,4]}}{{out:{}:f32[1,2]}}:2d:level=1",
            file("result.npy")
        ),
        "2",
        "1",
    ]);
    assert_eq!(run.status, 0, "{}", run.err);
    assert_eq!(values::<f32>(&folder, "result.npy"), [0.4, 1.0]);
    assert_eq!(values::<f32>(&folder, "chosen.npy")[..3], [1.5, -2.0, 0.0]);
    let object = &objects(&run.out)[0];
    assert_eq!(object["buffers"].as_array().unwrap().len(), 2);
}

#[test]
fn textures_read_linear_memory() {
    let folder = Folder::new("run-textures-memory");
    let module = folder.file("fetch.ptx", FETCH);
    array(&folder, "texels.npy", &[6], (0..6).map(|n: u16| 1000 * n));
    let script = r#"
[buffers]
texels = "in:texels.npy"

[[launch]]
block = 8
args = ["texture:texels:memory", "out:fetched.npy:u32[8]"]
"#;
    expect(&run(&folder, &module, script), 0, "", "");
    let fetched: Vec<u32> = values(&folder, "fetched.npy");
    assert_eq!(fetched, [0, 1000, 2000, 3000, 4000, 5000, 0, 0]);
}

/// A text in the script, what takes its place, and a part of the message.
const MISTAKES: &[(&str, &str, &str)] = &[
    (
        "texture:picture",
        "texture:image",
        "there is no array `image`",
    ),
    (
        "{in:picture.npy}:2d",
        "{in:picture.npy}:3d",
        "expected the shape [depth, height, width]",
    ),
    (
        "{in:picture.npy}:2d",
        "{in:picture.npy}:2d:format=f16",
        "`format`: expected a type of 8 bits",
    ),
    (
        "{in:picture.npy}:2d",
        "{zero:64}:2d",
        "needs a type and a shape",
    ),
    (
        "{in:picture.npy}:2d",
        "{in:picture.npy}:2d:levels=9",
        "expected 1 to 3 levels",
    ),
    (
        "{in:picture.npy}:2d",
        "{in:picture.npy}{in:palette.npy}:2d",
        "[height, width]",
    ),
    (
        "read=normalized",
        "read=elements",
        "`read`: expected `element`, `normalized`",
    ),
    (
        "read=normalized:coordinates=normalized:filter=nearest",
        "filter=linear",
        "linear filtering needs reads of floating-point numbers",
    ),
    (
        "palette =",
        "palete =",
        "the module has no variable `palete`",
    ),
    (
        "\"texture:colors\"",
        "\"surface:colors\"",
        "`palette` is a variable for a texture, found a surface",
    ),
    (
        "\"texture:colors\"",
        "\"buffer:colors\"",
        "expected `texture:ARRAY`",
    ),
    (
        "\"surface:result\"",
        "\"surface:result:level=1\"",
        "expected a level below 1, found 1",
    ),
    (
        "surface:result\", 8,",
        "surface:result\", \"sampler:\",",
        "the handle of a texture, a sampler or a surface has 8 bytes",
    ),
];

#[test]
fn mistakes_are_named() {
    let (folder, module) = folder("run-textures-mistakes");
    for (from, to, message) in MISTAKES {
        assert!(SCRIPT.contains(from), "{from}");
        let run = run(&folder, &module, &SCRIPT.replacen(from, to, 1));
        assert_eq!((run.status, &*run.out), (2, ""), "{to}: {}", run.err);
        assert!(run.err.contains(message), "{to}: {}", run.err);
    }
    // A geometry that the instruction does not have ends the launch.
    let wrong = SCRIPT.replace(
        "colors = \"{in:palette.npy}:1d\"",
        "colors = \"{zero:f32[2,2]}:2d\"",
    );
    let run = run(&folder, &module, &wrong);
    assert_eq!(run.status, 3, "{}", run.err);
    assert!(
        run.err
            .contains("the instruction accesses an object with the geometry `.1d`"),
        "{}",
        run.err
    );
}

/// Writes an image, whose numbers of 16 bits are big-endian.
#[cfg(feature = "png")]
fn image(folder: &Folder, name: &str, color: png::ColorType, depth: png::BitDepth, data: &[u8]) {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, 2, 1);
    encoder.set_color(color);
    encoder.set_depth(depth);
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(data).unwrap();
    writer.finish().unwrap();
    folder.file(name, file);
}

#[cfg(feature = "png")]
#[test]
fn images_are_read() {
    use png::{BitDepth, ColorType};
    let (folder, module) = folder("run-textures-png");
    image(
        &folder,
        "gray.png",
        ColorType::Grayscale,
        BitDepth::Sixteen,
        &[0x80, 0x01, 0, 2],
    );
    image(
        &folder,
        "colors.png",
        ColorType::Rgb,
        BitDepth::Eight,
        &[51, 1, 2, 255, 3, 4],
    );
    image(
        &folder,
        "bits.png",
        ColorType::Grayscale,
        BitDepth::One,
        &[0x40],
    );
    for (name, expected) in [
        ("gray", [f64::from(0x8001) / 65535.0, 2.0 / 65535.0]),
        ("colors", [0.2, 1.0]),
        ("bits", [0.0, 1.0]),
    ] {
        let script = SCRIPT
            .replace("{in:picture.npy}", &format!("{{in:{name}.png}}"))
            .replace("[6,8]", "[1,2]")
            .replace("[8, 6]", "2")
            .replace("8, 6]", "2, 1]");
        expect(&run(&folder, &module, &script), 0, "", "");
        let result: Vec<f32> = values(&folder, "result.npy");
        assert_eq!(result, expected.map(|n| n as f32), "{name}");
    }
    fs::write(folder.0.join("gray.png"), "text").unwrap();
    let script = SCRIPT.replace("picture.npy", "gray.png");
    let run = run(&folder, &module, &script);
    assert!(
        run.status == 2 && run.err.contains("gray.png"),
        "{}",
        run.err
    );
}

#[cfg(not(feature = "png"))]
#[test]
fn images_need_a_feature() {
    let (folder, module) = folder("run-textures-png");
    folder.file("photo.png", "");
    let script = SCRIPT.replace("picture.npy", "photo.png");
    let run = run(&folder, &module, &script);
    assert_eq!(run.status, 2);
    assert!(
        run.err.contains("was built without the feature `png`"),
        "{}",
        run.err
    );
}
