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

/// Multimem addresses, a dependent launch, and a cooperative launch that does not fit.
#[test]
fn scripts_use_several_memories_and_dependent_launches() {
    let folder = Folder::new("run-script-dependent");
    let kernels = folder.file(
        "kernels.ptx",
        ".version 8.1\n.target sm_90\n.address_size 64\n\
         .visible .entry first(.param .u64 all)\n{\n.reg .b64 %rd1;\nld.param.u64 %rd1, [all];\n\
         griddepcontrol.launch_dependents;\nmultimem.st.weak.global.u32 [%rd1], 5;\nret;\n}\n\
         .visible .entry second(.param .u64 all, .param .u64 sum)\n{\n.reg .b32 %r1;\n.reg .b64 %rd<3>;\n\
         ld.param.u64 %rd1, [all];\nld.param.u64 %rd2, [sum];\n// wait\n\
         multimem.ld_reduce.weak.global.add.u32 %r1, [%rd1];\nst.global.u32 [%rd2], %r1;\nret;\n}\n",
    );
    let text = fs::read_to_string(&kernels).unwrap();
    let script = folder.file(
        "launches.toml",
        "[buffers]\na = \"zero:4\"\nb = \"zero:u32[1]\"\nc = \"zero:8\"\nall = \"multimem:a,b,c+4\"\nsum = \"out:sum.npy:u32[1]\"\n\
         [[launch]]\nkernel = \"first\"\nargs = [\"buffer:all\"]\n\
         [[launch]]\nkernel = \"second\"\ndependent = true\nargs = [\"buffer:all\", \"buffer:sum\"]\n",
    );
    let sum = |ptx_text: &str, options: &[&str], status| {
        let file = folder.file("kernels.ptx", ptx_text);
        let mut arguments = vec!["run", &file, "--script", &script];
        arguments.extend(options);
        assert_eq!(ptx(&arguments).status, status);
        let file = fs::File::open(folder.0.join("sum.npy")).unwrap();
        let sums: Vec<u32> = NpyFile::new(file).unwrap().into_vec().unwrap();
        sums[0]
    };
    assert_eq!(sum(&text, &[], 0), 0);
    let correct = text.replace("// wait", "griddepcontrol.wait;");
    assert_eq!(
        sum(&correct, &["--check", "racecheck,memcheck,initcheck"], 0),
        15
    );
    assert_eq!(sum(&correct, &[], 0), 15);
    assert_eq!(sum(&text, &["--check", "racecheck"], 1), 15);
    let file = folder.file("kernels.ptx", &text);
    let run = |options: &str, argument: &str| {
        let mut arguments = vec!["run", &*file, "--kernel", "first"];
        arguments.extend(options.split_whitespace());
        arguments.push(argument);
        ptx(&arguments)
    };
    assert_eq!(run("", "multimem:{zero:4},{zero:u32[1]}").status, 0);
    let unequal = run("", "multimem:{zero:4},{zero:8}");
    assert!(
        unequal.err.contains("have 4 and 8 bytes"),
        "{}",
        unequal.err
    );
    assert_eq!(run("", "multimem:").status, 2);
    let too_large = run("--cooperative=2 --grid 65", "multimem:{zero:4}");
    assert_eq!(too_large.status, 2);
    assert!(
        too_large
            .err
            .contains("expected at most 64 (2 multiprocessors with 32 each), found 65"),
        "{}",
        too_large.err
    );
}
