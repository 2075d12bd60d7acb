//! `run --script`: several launches over buffers that they share.

use std::fs;

use npyz::NpyFile;

use crate::support::{Folder, expect, objects, ptx, with_slashes};

const VECADD: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../corpus/compiled/nvcc/vecadd.O3.sm_80.ptx"
);

/// Fills two buffers with bytes and adds them; the second half of the sums is that of the first.
const SCRIPT: &str = r#"
[buffers]
ones = "scratch:512"
sums = "out:results/sums.npy:f32[2,64]"

[[launch]]
kernel = "fill"
grid = 2
block = [256]
args = ["buffer:ones", "u8:0x3f", "u32:512"]

[[launch]]
kernel = "vecadd"
block = "32,2"
args = ["buffer:ones", "buffer:ones+256", "buffer:sums", "s32:32"]

[[launch]]
kernel = "vecadd"
block = [64, 1]
shared = "1K"
args = ["buffer:sums", "scratch:256", "buffer:sums+256", "s32:16"]
"#;

#[test]
fn launches_share_buffers() {
    let folder = Folder::new("run-script");
    let script = folder.file("launches.toml", SCRIPT);
    folder.file("results/note", "");
    expect(&ptx(&["run", VECADD, "--script", &script]), 0, "", "");
    let file = fs::File::open(folder.0.join("results/sums.npy")).unwrap();
    let sums: Vec<f32> = NpyFile::new(file).unwrap().into_vec().unwrap();
    let sum = 2.0 * f32::from_bits(0x3f3f_3f3f);
    assert!((0..128).all(|i| sums[i]
        == if i < 32 || (64..80).contains(&i) {
            sum
        } else {
            0.0
        }));
    let run = ptx(&["run", VECADD, "--format", "json", "--script", &script]);
    let object = &objects(&run.out)[0];
    let kernels = object["launches"].as_array().unwrap().iter();
    let kernels: Vec<_> = kernels
        .map(|launch| launch["kernel"].as_str().unwrap())
        .collect();
    assert_eq!(kernels, ["fill", "vecadd", "vecadd"]);
    let written = object["buffers"][0]["file"].as_str().unwrap();
    assert!(
        with_slashes(written).ends_with("run-script/results/sums.npy"),
        "{written}"
    );
}

#[test]
fn mistakes_in_a_script() {
    let folder = Folder::new("run-script-mistakes");
    for (from, to, message) in [
        (
            "\"buffer:ones\", \"u8",
            "\"buffer:one\", \"u8",
            ":10:9: there is no buffer `one`\n  args = [\"buffer:one\", \"u8:0x3f\", \"u32:512\"]\n          ^",
        ),
        (
            "u8:0x3f",
            "u8:999",
            ":10:24: `999` is not a value of `.u8`\n",
        ),
        (
            "u8:0x3f",
            "s32:1",
            ":6: kernel `fill`: parameter 2 `fill_param_1` (.u8): `s32:` has 4 bytes; expected `u8:VALUE`\n",
        ),
        (
            "grid = 2",
            "gird = 2",
            ":8:1: unknown key `gird`; did you mean `grid`?\n",
        ),
        ("[256]", "[256, 0]", ":9:9: expected one to three sizes"),
        ("scratch:512", "zeros:512", ":3:8: expected `in:FILE.npy`"),
        (
            "[buffers]",
            "[buffer]",
            ":2:2: unknown key `buffer`; did you mean `buffers`?\n",
        ),
        (
            "kernel = \"fill\"",
            "kernel = \"fil\"",
            "ptxkit: there is no kernel `fil`",
        ),
    ] {
        assert!(SCRIPT.contains(from), "{from}");
        let script = folder.file("launches.toml", SCRIPT.replacen(from, to, 1));
        let run = ptx(&["run", VECADD, "--script", &script]);
        assert_eq!((run.status, &*run.out), (2, ""), "{to}");
        assert!(run.err.contains(message), "{to}: {}", run.err);
    }
    let script = folder.file("empty.toml", "[buffers]\n");
    let run = ptx(&["run", VECADD, "--script", &script]);
    assert_eq!(run.status, 2);
    assert!(
        run.err.ends_with("empty.toml: there is no `[[launch]]`\n"),
        "{}",
        run.err
    );
    let run = ptx(&["run", VECADD, "--script", &script, "--grid", "1"]);
    assert!(run.err.contains("cannot be used with"), "{}", run.err);
    let run = ptx(&[
        "run", VECADD, "--kernel", "fill", "buffer:x", "u8:1", "u32:1",
    ]);
    expect(&run, 2, "", "ptxkit: there is no buffer `x`\n");
}
