//! `report`.

use serde_json::{Value, json};

use crate::support::{Folder, expect, objects, ptx};

/// A loop that copies to shared memory in stages, and reads it with bank conflicts.
const STAGES: &str = ".version 8.5\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u32 n) .maxntid 128\n{\n\
    .shared .align 16 .b8 s[4096];\n.reg .pred %p; .reg .b32 %r<8>; .reg .f32 %f<4>; .reg .b64 %d<4>;\n\
    ld.param.u64 %d0, [p];\nld.param.u32 %r0, [n];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, s;\nmad.lo.s32 %r3, %r1, 16, %r2;\n\
    mad.wide.u32 %d1, %r1, 32, %d0;\nmov.b32 %r4, 0;\nmov.f32 %f0, 0f00000000;\n\
    cp.async.cg.shared.global [%r3], [%d1], 16;\ncp.async.commit_group;\n\
    LOOP:\ncp.async.cg.shared.global [%r3], [%d1+16], 16;\ncp.async.commit_group;\ncp.async.wait_group 1;\nbar.sync 3;\n\
    ld.shared.f32 %f1, [%r3];\nld.shared.f32 %f2, [%r3+4];\nfma.rn.f32 %f0, %f1, %f2, %f0;\n\
    add.s32 %r4, %r4, 1;\nsetp.lt.s32 %p, %r4, %r0;\n@%p bra LOOP;\nst.global.f32 [%d1], %f0;\nret;\n}\n";

fn report(test: &str) -> Value {
    let folder = Folder::new(test);
    let file = folder.file("a.ptx", STAGES);
    let run = ptx(&["report", "--format", "json", &file]);
    assert_eq!((run.status, run.err.as_str()), (0, ""));
    objects(&run.out).remove(0)
}

#[test]
fn resources_and_loops() {
    let report = report("report-json");
    assert_eq!(
        (&report["ptx"], &report["target"]),
        (&json!("8.5"), &json!("sm_80"))
    );
    let function = &report["functions"][0];
    assert_eq!(function["line"], 4);
    assert_eq!(function["parameter_bytes"], 12);
    assert_eq!(function["stats"]["shared_bytes"], 4096);
    assert_eq!(function["stats"]["directives"], json!({"maxntid": [128]}));
    let synchronization = &function["synchronization"];
    assert_eq!(synchronization["barrier_numbers"], json!([3]));
    assert_eq!(synchronization["cta_barriers"], 1);
    let of_loop = &function["loops"][0];
    assert_eq!(of_loop["label"], "LOOP");
    let count =
        json!({"count": null, "form": "max(1, n)", "exact": true, "assumes_no_wrap": false});
    assert_eq!(of_loop["trip_count"], count);
    let iteration = &of_loop["iteration"];
    assert_eq!(
        (&iteration["instructions"], &iteration["single"]),
        (&json!(10), &json!(64))
    );
    // The copy reads 512 bytes.
    assert_eq!(iteration["intensity"], 0.125);
    let parts = function["work"]["parts"].as_array().unwrap();
    assert_eq!(parts.len(), 2);
    assert_eq!(parts[0]["factors"], json!([]));
    assert_eq!(parts[1]["factors"][0]["form"], "max(1, n)");
    assert_eq!(function["work"]["total"]["single"], 6400);
    let curve = &function["pressure_curve"];
    let units: Vec<u64> = curve["units"]
        .as_array()
        .unwrap()
        .iter()
        .map(|u| u.as_u64().unwrap())
        .collect();
    let most = function["stats"]["pressure"]["max_b32_units"]
        .as_u64()
        .unwrap();
    assert_eq!(units.iter().max(), Some(&most));
    assert_eq!(
        units.len() as u64,
        function["stats"]["instructions"].as_u64().unwrap()
    );
}

#[test]
fn accesses_and_pipelines() {
    let report = report("report-accesses");
    let function = &report["functions"][0];
    let accesses = function["accesses"].as_array().unwrap();
    let load = accesses
        .iter()
        .find(|a| a["mnemonic"] == "ld.shared.f32")
        .unwrap();
    assert_eq!(
        (&load["line"], &load["space"], &load["object"]),
        (&json!(23), &json!("shared"), &json!("s"))
    );
    assert_eq!(load["coalescing"]["degree"], 4);
    let store = accesses
        .iter()
        .find(|a| a["mnemonic"] == "st.global.f32")
        .unwrap();
    assert_eq!(
        (
            &store["coalescing"]["pattern"],
            &store["coalescing"]["stride"]
        ),
        (&json!("strided"), &json!(32))
    );
    assert_eq!(
        (&store["coalescing"]["sectors"], &store["least_sectors"]),
        (&json!(32), &json!(4))
    );
    let group = &function["adjacent"][0];
    let lines: Vec<&Value> = group
        .as_array()
        .unwrap()
        .iter()
        .map(|at| &accesses[at.as_u64().unwrap() as usize]["line"])
        .collect();
    assert_eq!(lines, [23, 24]);
    let pipelines = function["pipelines"].as_array().unwrap();
    let kinds = |at: usize| -> Vec<&Value> {
        pipelines[at]["steps"]
            .as_array()
            .unwrap()
            .iter()
            .map(|s| &s["kind"])
            .collect()
    };
    assert_eq!(kinds(0), ["copy", "commit"]);
    assert_eq!(kinds(1), ["copy", "commit", "wait", "barrier"]);
    let flying = |at: usize| &pipelines[1]["steps"][at]["in_flight"];
    assert_eq!(
        flying(0),
        &json!([{"completion": "cp_async", "groups": 1, "open": 1}])
    );
    assert_eq!(
        flying(1),
        &json!([{"completion": "cp_async", "groups": 2, "open": 0}])
    );
    assert_eq!(
        flying(2),
        &json!([{"completion": "cp_async", "groups": 1, "open": 0}])
    );
    assert_eq!(pipelines[1]["steps"][2]["leaves"], 1);
    let blocks = function["blocks"].as_array().unwrap();
    assert_eq!(
        (&blocks[1]["uniform"], &blocks[1]["loop_depth"]),
        (&json!("grid"), &json!(1))
    );
}

#[test]
fn as_text() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/expect/report");
    let file = format!("{folder}/tiles.ptx");
    let run = ptx(&["report", "--kernel", "tiles", &file]);
    let text = run.out.replace(&file, "tiles.ptx");
    // What lints find is tested where they are.
    let text = text.split("\n Findings").next().unwrap().to_owned();
    let expected = format!("{folder}/tiles.txt");
    if std::env::var_os("PTXKIT_BLESS").is_some() {
        std::fs::write(&expected, &text).unwrap();
    }
    let expected = std::fs::read_to_string(expected).unwrap_or_default();
    assert_eq!(text, expected, "run with PTXKIT_BLESS=1");
    let run = ptx(&["report", "--kernel", "other", &file]);
    expect(&run, 2, "", "ptxkit: no function `other` with a body\n");
}

#[test]
fn findings_of_lints() {
    let folder = Folder::new("report-findings");
    let text =
        |comment: &str| STAGES.replace("ret;", &format!("add.u32 %r7, %r1, 1;{comment}\nret;"));
    let file = folder.file("a.ptx", text(""));
    let run = ptx(&["report", "--format", "json", &file]);
    let findings = &objects(&run.out)[0]["functions"][0]["findings"];
    let is_dead = |f: &&Value| f["lint"] == "dead-code";
    let dead: Vec<&Value> = findings
        .as_array()
        .unwrap()
        .iter()
        .filter(is_dead)
        .collect();
    assert_eq!(dead.len(), 1);
    let wanted = [
        ("code", json!("PTX1512")),
        ("certainty", json!("definite")),
        ("line", json!(30)),
        ("block", json!(2)),
    ];
    for (key, value) in wanted {
        assert_eq!(dead[0][key], value, "{key}");
    }
    let page = ptx(&["report", "--format", "html", &file]);
    assert!(page.out.contains("\"lint\":\"dead-code\""));
    let allowed = folder.file("b.ptx", text(" // ptxkit: allow(dead-code)"));
    let run = ptx(&["report", &allowed]);
    assert!(
        run.out.contains("Kernel k") && !run.out.contains("dead-code"),
        "{}",
        run.out
    );
}

#[test]
fn as_a_page() {
    let folder = Folder::new("report-page");
    // No name of a file has a `<` on Windows.
    let name = if cfg!(windows) {
        "script.ptx"
    } else {
        "</script>.ptx"
    };
    let file = folder.file(name, STAGES.replace("LOOP", "LOOP$1"));
    let page = folder.0.join("report.html");
    let run = ptx(&["report", &file, "-o", page.to_str().unwrap()]);
    expect(&run, 0, "", "");
    let text = std::fs::read_to_string(page).unwrap();
    assert!(text.starts_with("<!doctype html>") && text.trim_end().ends_with("</html>"));
    // Nothing comes from elsewhere but the links to the project, and texts of the file do not end an element.
    let links = text
        .replace("http://www.w3.org/2000/svg", "")
        .replace(concat!("<a href=\"", env!("CARGO_PKG_REPOSITORY")), "");
    assert!(!links.contains("http:") && !links.contains("https:") && !links.contains("src="));
    assert_eq!(
        text.matches("<script").count(),
        text.matches("</script>").count()
    );
    let mark = "id=\"function0\">";
    let start = text.find(mark).unwrap() + mark.len();
    let end = start + text[start..].find("</script>").unwrap();
    let details: Value = serde_json::from_str(&text[start..end]).unwrap();
    assert_eq!(details["accesses"]["all"], 7);
    assert_eq!(
        details["drawing"]["boxes"].as_array().unwrap().len(),
        details["blocks"].as_array().unwrap().len()
    );
    let empty = folder.file("empty.ptx", ".version 8.5\n.target sm_80\n");
    let run = ptx(&["report", "--format", "html", &empty]);
    let err = format!("ptxkit: {empty}: no function with a body\n");
    expect(&run, 1, "", &err);
}

/// Sizes that the text does not say are unknown, and sums with them are lower bounds.
#[test]
fn unknown_sizes_are_said() {
    let folder = Folder::new("report-unknown");
    let text = ".version 8.7\n.target sm_100a\n.address_size 64\n.entry k(.param .u64 p)\n{\n\
        .reg .b32 %r<8>; .reg .b64 %d<4>; .reg .pred %p; .shared .align 128 .b8 s[1024];\n\
        tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r1, %r2}, [%r3];\n\
        cp.async.bulk.global.shared::cta.bulk_group [%d1], [s], 64;\n\
        cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [s], [%d1, {%r2, %r3}], [%r4];\n\
        tcgen05.mma.cta_group::1.kind::f16 [%r0], %d0, %d1, %r1, %p;\nret;\n}\n";
    let file = folder.file("a.ptx", text);
    let run = ptx(&["report", &file]);
    assert_eq!(run.status, 0, "{}", run.err);
    let work = run
        .out
        .lines()
        .skip_while(|l| !l.contains("Work of a warp"));
    let rows: Vec<Vec<&str>> = work
        .skip(1)
        .take(2)
        .map(|row| {
            row.split("  ")
                .map(str::trim)
                .filter(|cell| !cell.is_empty())
                .collect()
        })
        .collect();
    let wanted = [
        ("Multiply-adds", "unknown"),
        ("Global", "at least 192"),
        ("Shared", "at least 72"),
        ("Tensor", "at least 256"),
    ];
    for (title, text) in wanted {
        assert!(
            rows[0].contains(&title) && rows[1].contains(&text),
            "{rows:?}"
        );
    }
    let page = folder.file("a.html", "");
    assert_eq!(ptx(&["report", &file, "-o", &page]).status, 0);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("\"unknown_bytes\":true") && page.contains("\"unknown_products\":true"));
}

#[test]
fn deeply_nested_loops_are_indented_up_to_a_limit() {
    const DEPTH: usize = 60;
    let starts: String = (0..DEPTH)
        .map(|i| format!("L{i}: add.s32 %r1, %r1, 1;\n"))
        .collect();
    let ends: String = (0..DEPTH)
        .rev()
        .map(|i| format!("setp.lt.s32 %p, %r1, {i}; @%p bra L{i};\n"))
        .collect();
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.entry k()\n{{\n.reg .pred %p; .reg .b32 %r<2>;\nmov.u32 %r1, %tid.x;\n{starts}{ends}ret;\n}}\n"
    );
    let folder = Folder::new("report-nested");
    let run = ptx(&["report", &folder.file("a.ptx", &text)]);
    assert_eq!(run.status, 0, "{}", run.err);
    let width = |label: &str| {
        let line = run
            .out
            .lines()
            .find(|l| l.split_whitespace().any(|w| w == label));
        line.and_then(|l| l.find(label)).unwrap()
    };
    let indents = [1, 10, 40, 59].map(|i| width(&format!("L{i}")) - width("L0"));
    assert_eq!(indents, [2, 20, 48, 48]);
}

#[test]
fn what_is_missing_is_said() {
    let folder = Folder::new("report-missing");
    let empty = folder.file(
        "empty.ptx",
        ".version 8.0\n.target sm_90\n.address_size 64\n.global .b32 x;\n",
    );
    let wrong = folder.file(
        "wrong.ptx",
        ".version 8.0\n.target sm_90\n.address_size 64\n.entry k() {\nbogus;\nret;\n}\n",
    );
    for format in ["text", "json"] {
        let run = ptx(&["report", "--format", format, &empty]);
        let err = format!("ptxkit: {empty}: no function with a body\n");
        assert_eq!((run.status, run.err), (1, err));
        let run = ptx(&["report", "--format", format, &wrong]);
        assert!(
            run.err
                .contains("1 error in the text; statements with errors are not counted"),
            "{}",
            run.err
        );
        assert!(run.status == 1 && !run.out.is_empty());
    }
}

#[test]
fn estimates_of_launches() {
    let text = "\
.version 8.0
.target sm_90
.address_size 64
.entry k(.param .u64 k_p, .param .u32 k_n) .reqntid 128
{
    .reg .pred p; .reg .b32 i, n; .reg .b64 a; .reg .f32 f;
    ld.param.u64 a, [k_p];
    ld.param.u32 n, [k_n];
    mov.u32 i, 0;
loop:
    ld.global.f32 f, [a];
    add.u32 i, i, 1;
    setp.lt.u32 p, i, n;
    @p bra loop;
    ret;
}
";
    let folder = Folder::new("report_estimate");
    let file = folder.file("k.ptx", text);
    let report = |arguments: &[&str]| ptx(&[&["report", &file], arguments].concat());
    let json = report(&["--grid", "132", "--arg", "n=100", "--format", "json"]);
    let estimate = objects(&json.out)[0]["functions"][0]["estimate"].clone();
    // Four warps in each of 132 CTAs.
    assert_eq!(estimate["instructions"], 132 * 4 * (3 + 4 * 100 + 1));
    assert_eq!(estimate["device"], "H100 SXM5");
    assert_eq!(estimate["exact"], true);
    let run = report(&["--grid", "132"]);
    for expected in ["132 CTAs on H100 SXM5", "about", "unknown: n"] {
        let words: Vec<&str> = run.out.split_whitespace().collect();
        assert!(
            words.join(" ").contains(expected),
            "{expected}: {}",
            run.out
        );
    }
    let run = report(&["--grid", "132", "--device", "abacus"]);
    assert_eq!(run.status, 2);
    assert!(run.err.contains("RTX 4090"), "{}", run.err);
}
