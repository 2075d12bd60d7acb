//! `run --trace`: the steps of selected threads.

use crate::support::{Folder, Run, expect, objects, ptx};

const KERNEL: &str = "\
.version 8.5
.target sm_90
.address_size 64
.func (.reg .u32 d) twice(.reg .u32 a)
{
add.u32 d, a, a;
ret;
}
.visible .entry k(.param .u64 to)
{
.reg .b32 %r<4>; .reg .f32 %f<3>; .reg .b64 %a<3>; .reg .pred %p;
ld.param.u64 %a1, [to];
mov.u32 %r1, %tid.x;
setp.gt.s32 %p, %r1, -3;
@!%p trap;
call (%r2), twice, (%r1);
cvt.rn.f32.u32 %f1, %r2;
mul.f32 %f2, %f1, 0f3E800000;
mad.wide.u32 %a2, %r1, 4, %a1;
st.global.f32 [%a2], %f2;
ret;
}
";

/// Runs it with two CTAs of 40 threads.
fn trace(folder: &Folder, options: &[&str]) -> Run {
    let file = folder.file("k.ptx", KERNEL);
    let mut all = vec!["run", &file, "--grid", "2", "--block", "40,1"];
    all.extend(options);
    all.push("scratch:256");
    ptx(&all)
}

#[test]
fn steps_of_a_thread() {
    let folder = Folder::new("trace-steps");
    let run = trace(&folder, &["--trace=thread:3,function:k,lines:13-99"]);
    let name = folder.0.join("k.ptx");
    let short = run.out.replace(name.to_str().unwrap(), "k.ptx");
    let all = "  block (0, 0, 0), warp 0, lanes";
    let expected = format!(
        "\
k.ptx:13: mov.u32 %r1, %tid.x;{all} ffffffff
    (3, 0, 0) %tid.x = 3 -> %r1 = 3
k.ptx:14: setp.gt.s32 %p, %r1, -3;{all} ffffffff
    (3, 0, 0) %r1 = 3 -> %p = true
k.ptx:15: @!%p trap;{all} 00000000 of ffffffff
    (3, 0, 0) %p = true; not executed
k.ptx:16: call (%r2), twice, (%r1);{all} ffffffff, calls
    (3, 0, 0) %r1 = 3
k.ptx:16: call (%r2), twice, (%r1);{all} ffffffff, resumed
    (3, 0, 0) -> %r2 = 6
k.ptx:17: cvt.rn.f32.u32 %f1, %r2;{all} ffffffff
    (3, 0, 0) %r2 = 6 -> %f1 = 6 (0x40c00000)
k.ptx:18: mul.f32 %f2, %f1, 0f3E800000;{all} ffffffff
    (3, 0, 0) %f1 = 6 (0x40c00000) -> %f2 = 1.5 (0x3fc00000)
k.ptx:19: mad.wide.u32 %a2, %r1, 4, %a1;{all} ffffffff
    (3, 0, 0) %r1 = 3, %a1 = 105553116266496 (0x600000000000) -> %a2 = 105553116266508 (0x60000000000c)
k.ptx:20: st.global.f32 [%a2], %f2;{all} ffffffff
    (3, 0, 0) %a2 = 105553116266508 (0x60000000000c), %f2 = 1.5 (0x3fc00000); writes global 0x60000000000c: 1.5 (0x3fc00000)
k.ptx:21: ret;{all} ffffffff
"
    );
    assert_eq!(short, expected);
    assert_eq!((run.status, &*run.err), (0, ""));
}

#[test]
fn steps_as_json_lines() {
    let folder = Folder::new("trace-json");
    let options = [
        "--trace=block:1,thread:32.0.0,thread:39,lines:20",
        "--format",
        "json",
    ];
    let all = objects(&trace(&folder, &options).out);
    let [step, run] = &all[..] else {
        panic!("{all:?}");
    };
    assert_eq!(step["block"], serde_json::json!([1, 0, 0]));
    assert_eq!((&step["warp"], &step["mask"]), (&1.into(), &255.into()));
    assert_eq!(
        (&step["function"], &step["line"]),
        (&"k".into(), &20.into())
    );
    assert_eq!(step["threads"].as_array().unwrap().len(), 2);
    assert_eq!(step["threads"][0]["thread"][0], 32);
    let last = &step["threads"][1];
    let value = serde_json::json!({
        "register": "%f2", "type": "f32", "value": "19.5", "bits": "0x419c0000"
    });
    assert_eq!((&last["reads"][1], &last["active"]), (&value, &true.into()));
    let access = serde_json::json!({
        "usage": "write", "space": ".global", "rank": 0, "address": "0x60000000009c", "bytes": 4, "type": "f32",
        "before": null, "after": {"bytes": "00009c41", "values": ["19.5"]}
    });
    assert_eq!(last["accesses"][0], access);
    let traced = serde_json::json!({"lines": 1, "complete": true});
    assert_eq!(run["launches"][0]["trace"], traced);
}

#[test]
fn the_default_and_the_limit() {
    let folder = Folder::new("trace-limit");
    let run = trace(&folder, &["--trace"]);
    let threads = run.out.lines().filter(|line| line.starts_with("    "));
    assert_eq!(threads.clone().count(), 11);
    assert!(
        threads
            .clone()
            .all(|line| line.starts_with("    (0, 0, 0) "))
    );
    assert!(run.out.lines().all(|line| !line.contains("block (1")));
    let cut = trace(&folder, &["--trace", "--trace-limit", "3"]);
    assert_eq!(cut.out.lines().count(), 3);
    assert!(run.out.starts_with(&cut.out));
    let note = "ptxkit: the trace ends after 3 lines; use `--trace-limit N` to change the limit, or `--trace=SELECTION` to select fewer steps\n";
    assert_eq!((cut.status, &*cut.err), (0, note));
    let exact = run.out.lines().count().to_string();
    let whole = trace(&folder, &["--trace", "--trace-limit", &exact]);
    expect(&whole, 0, &run.out, "");
}

#[test]
fn steps_that_fail() {
    let folder = Folder::new("trace-fail");
    let file = folder.file("k.ptx", KERNEL.replace("%r1, -3", "%r1, 3"));
    let options = ["--block", "8", "--trace=thread:2,lines:15"];
    let mut all = vec!["run", &file];
    all.extend(options);
    all.push("scratch:256");
    let run = ptx(&all);
    assert_eq!(run.status, 3);
    let expected = format!(
        "{file}:15: @!%p trap;  block (0, 0, 0), warp 0, lanes 0000000f of 000000ff: `trap` was executed, in thread (0, 0, 0)\n    (2, 0, 0) %p = false\n"
    );
    assert_eq!(run.out, expected);
}

#[test]
fn what_cannot_be_selected() {
    let folder = Folder::new("trace-wrong");
    let run = trace(&folder, &["--trace=function:none"]);
    expect(
        &run,
        2,
        "",
        "ptxkit: there is no function `none` to trace\n",
    );
    assert_eq!(trace(&folder, &["--trace=lane:1"]).status, 2);
    assert_eq!(trace(&folder, &["--trace-limit", "1"]).status, 2);
}
