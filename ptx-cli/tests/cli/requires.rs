//! `requires` and `retarget`.

use crate::support::{objects, with_input};

const CLUSTERS: &str = "// kept\n.version 8.7 // and this\n.target sm_90\n.address_size 64\n.entry k() { griddepcontrol.wait; ret; }\n";

#[test]
fn required_targets_and_versions() {
    let run = with_input(&["requires", "-"], CLUSTERS.as_bytes());
    assert!(
        run.out.contains("sm_90 and newer from PTX 7.8"),
        "{}",
        run.out
    );
    assert!(run.out.contains("5:14: griddepcontrol.wait"), "{}", run.out);
    assert_eq!(run.status, 0);
    let run = with_input(
        &["requires", "--target", "sm_80", "--json", "-"],
        CLUSTERS.as_bytes(),
    );
    let object = &objects(&run.out)[0];
    assert_eq!(object["minimal"][0]["target"], "sm_90");
    assert_eq!(object["minimal"][0]["ptx"], "7.8");
    assert_eq!(
        object["blocked"]["reasons"][0]["what"],
        "griddepcontrol.wait"
    );
    assert_eq!(run.status, 1);
}

#[test]
fn a_target_and_a_function() {
    let text = "\
.version 8.7
.target sm_90
.address_size 64
.entry first() { griddepcontrol.wait; griddepcontrol.launch_dependents; ret; }
.entry second() {
  griddepcontrol.wait;
  griddepcontrol.wait;
  ret;
}
.entry third() { ret; }
";
    let requires = |kernel: &str, options: &[&str]| {
        let target = ["requires", "--target", "sm_80", "--kernel", kernel];
        with_input(&[&target, options, &["-"]].concat(), text.as_bytes())
    };
    let run = requires("second", &[]);
    let expected = "\
<stdin>: second: not legal on sm_80
  6:3: griddepcontrol.wait (2 times): sm_90 from PTX 7.8; also in line 7
";
    assert_eq!((run.out.as_str(), run.status), (expected, 1));
    let run = requires("third", &[]);
    assert_eq!(run.out, "<stdin>: third: legal on sm_80 with PTX 7.0\n");
    assert_eq!(run.status, 0);
    let object = &objects(&requires("first", &["--json"]).out)[0];
    let blocked = &object["functions"][0]["blocked"];
    assert_eq!(blocked["reasons"][0]["lines"], serde_json::json!([4]));
    assert_eq!(blocked["reasons"].as_array().unwrap().len(), 2);
    assert_eq!(object["functions"].as_array().unwrap().len(), 1);
}

#[test]
fn newest_versions_and_targets() {
    let cases = [
        (
            "clmad.lo.u64 d, d, d, d;",
            "sm_80",
            "9.3",
            "CUDA 13.3",
            "610.43.02",
        ),
        (
            "fence.proxy.alias.acquire.sys;",
            "sm_90",
            "9.4",
            "CUDA 13.4",
            "null",
        ),
        (
            "set.eq.u8x4 r, r, r;",
            "sm_107a",
            "9.4",
            "CUDA 13.4",
            "null",
        ),
        (
            "fence.alias.release.sync_restrict::read.sys;",
            "sm_90",
            "9.5",
            "CUDA 13.5",
            "null",
        ),
    ];
    for (line, target, version, toolkit, driver) in cases {
        let text = format!(
            ".version 9.5\n.target sm_107a\n.address_size 64\n.entry k() {{ .reg .b64 d; .reg .b32 r; {line} ret; }}\n"
        );
        let run = with_input(
            &["requires", "--target", target, "--json", "-"],
            text.as_bytes(),
        );
        let pairs = &objects(&run.out)[0]["pairs"];
        let all = pairs.as_array().expect("a list");
        let found = all.iter().find(|p| p["target"] == target).expect(line);
        assert_eq!(found["ptx"], version, "{line}");
        assert_eq!(found["toolkit"], toolkit, "{line}");
        let known = found["driver"].as_str().unwrap_or("null");
        assert_eq!(known, driver, "{line}");
        let lowest = [
            "retarget",
            "--target",
            target,
            "--ptx-version",
            "lowest",
            "-",
        ];
        let run = with_input(&lowest, text.as_bytes());
        let head = format!(".version {version}\n.target {target}\n");
        assert!(run.out.starts_with(&head), "{line}: {}{}", run.out, run.err);
    }
}

#[test]
fn retargeting() {
    let run = with_input(
        &[
            "retarget",
            "--target",
            "sm_90a",
            "--ptx-version",
            "lowest",
            "-",
        ],
        CLUSTERS.as_bytes(),
    );
    let wanted = CLUSTERS.replace("8.7", "8.0").replace("sm_90", "sm_90a");
    assert_eq!((run.status, run.out), (0, wanted));
    let run = with_input(&["retarget", "--target", "sm_80", "-"], CLUSTERS.as_bytes());
    assert_eq!((run.status, run.out.as_str()), (1, ""));
    let expected = "\
<stdin>:5:14: griddepcontrol.wait: sm_90 from PTX 7.8
<stdin>: not written: not legal in PTX 8.7 on sm_80
";
    assert_eq!(run.err, expected);
    // An instruction that lacks a modifier was legal in PTX 1.3: that is not what prevents the other target.
    let text = ".version 8.7\n.target sm_90\n.address_size 64\n.entry k() { .reg .f32 %f;\ngriddepcontrol.wait;\n\
        div.f32 %f, %f, %f; ret; }\n";
    let run = with_input(&["retarget", "--target", "sm_80", "-"], text.as_bytes());
    let lines: Vec<&str> = run.err.lines().collect();
    assert_eq!(lines.len(), 3, "{}", run.err);
    assert!(
        lines[0].starts_with("<stdin>:5:1: griddepcontrol.wait: sm_90"),
        "{}",
        run.err
    );
    assert!(
        lines[1].starts_with("<stdin>:6:1: error[PTX0503]: missing modifier of `div.f32`"),
        "{}",
        run.err
    );
}

#[test]
fn texts_with_errors_have_no_certain_answer() {
    for text in ["hello world\n", "", "# Title\n\nSome *text*.\n"] {
        let run = with_input(&["requires", "-"], text.as_bytes());
        assert_eq!((run.status, run.out.as_str()), (1, ""), "{text}");
        assert!(
            run.err
                .contains("1 error in the text; statements with errors are not included"),
            "{}",
            run.err
        );
    }
    // What is legal is reported, and the broken instruction is not passed over in silence.
    for broken in [
        "add.s32 %r;",
        "mul.u32 %r, %r, %r;",
        "frobnicate.u32 %r, %r;",
    ] {
        let text = CLUSTERS.replace("ret;", &format!(".reg .b32 %r; {broken} ret;"));
        let run = with_input(&["requires", "-"], text.as_bytes());
        assert_eq!(run.status, 1, "{broken}");
        assert!(
            run.out.contains("sm_90 and newer from PTX 7.8"),
            "{}",
            run.out
        );
        assert!(
            run.err
                .contains("1 error in the text; statements with errors are not included"),
            "{broken}: {}",
            run.err
        );
    }
}

#[test]
fn reasons_list_all_lines() {
    let text = CLUSTERS.replace(
        "ret;",
        ".reg .b32 %r;\nmov.u32 %r, %cluster_ctarank;\ngriddepcontrol.wait;\nmov.u32 %r, %cluster_ctarank;\nret;",
    );
    let run = with_input(&["requires", "-"], text.as_bytes());
    assert!(
        run.out.contains(
            "mov.u32 with %cluster_ctarank (2 times): sm_90 from PTX 7.8; also in line 8"
        ),
        "{}",
        run.out
    );
    let run = with_input(&["requires", "--json", "-"], text.as_bytes());
    let reasons = objects(&run.out)[0]["reasons"].clone();
    let lines = |what: &str| {
        let reasons = reasons.as_array().expect("a list");
        let reason = reasons.iter().find(|r| r["what"] == what);
        reason.expect(what)["lines"].clone()
    };
    assert_eq!(lines("griddepcontrol.wait"), serde_json::json!([5, 7]));
}

#[test]
fn requirements_of_one_kernel() {
    let text = format!("{CLUSTERS}.entry plain() .maxntid 32 {{ ret; }}\n");
    let run = with_input(&["requires", "--kernel", "plain", "-"], text.as_bytes());
    assert_eq!(run.status, 0, "{}", run.err);
    assert!(
        run.out.contains("plain: sm_10 and newer from PTX 1.3"),
        "{}",
        run.out
    );
    assert!(
        run.out.contains("`.maxntid`: sm_10 from PTX 1.3") && !run.out.contains("griddepcontrol"),
        "{}",
        run.out
    );
    let run = with_input(&["requires", "--kernel", "none", "-"], text.as_bytes());
    assert_eq!(run.status, 2);
}
