//! `sass`: machine code beside PTX, with programs that print what ptxas and nvdisasm would, and with the real ones where they are installed.

use crate::support::{Folder, objects, ptx};

/// A kernel with source lines.
const TEXT: &str = "\
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p)
{
    .reg .b64 %rd<2>; .reg .b32 %r<3>;
    .loc 1 5 0
    ld.param.u64 %rd1, [p];
    ld.global.u32 %r1, [%rd1];
    add.s32 %r2, %r1, 1;
    .loc 1 9 1
    st.global.u32 [%rd1], %r2;
    ret;
}
.file 1 \"/build/a.cu\"
";

/// Accepts what `assemble` passes, and prints what ptxas reports.
#[cfg(unix)]
const PTXAS: &str = "#!/bin/sh\n\
    [ \"$1 $2 $3 $4\" = '-v -arch=sm_80 --generate-line-info -o' ] || { echo \"ptxas fatal   : $*\"; exit 1; }\n\
    cat >/dev/null\necho code >\"$5\"\n\
    echo \"ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized in the function 'k' in line 9\" >&2\n\
    echo 'ptxas info    : Function properties for k' >&2\n\
    echo '    0 bytes stack frame, 4 bytes spill stores, 0 bytes spill loads' >&2\n\
    echo 'ptxas info    : Used 28 registers' >&2\n";

#[cfg(unix)]
const NVDISASM: &str = r#"#!/bin/sh
[ "$1 $2" = '-c -gp' ] && [ "$(cat "$3")" = code ] || { echo "nvdisasm fatal : $*" >&2; exit 1; }
cat <<'END'
	.section	.text.k,"ax",@progbits
        .type           k,@function
k:
.text.k:
	//## File ".nv_debug_ptx_txt", line 4
        /*0000*/                   MOV R1, c[0x0][0x28] ;
	//## File ".nv_debug_ptx_txt", line 9
        /*0010*/                   LDG.E R0, [R2.64] ;
        /*0020*/                   STL [R1], R0 ;
	//## File ".nv_debug_ptx_txt", line 10
        /*0030*/                   IADD3 R5, R0, 0x1, RZ ;
	//## File ".nv_debug_ptx_txt", line 12
        /*0040*/                   STG.E [R2.64], R5 ;
	//## File ".nv_debug_ptx_txt", line 13
        /*0050*/                   EXIT ;
.L_x_0:
        /*0060*/                   BRA `(.L_x_0);
        /*0070*/                   NOP;
END
"#;

#[cfg(unix)]
fn programs(folder: &Folder) -> [String; 2] {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;
    [("ptxas", PTXAS), ("nvdisasm", NVDISASM)].map(|(name, text)| {
        let path = folder.file(name, text);
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        path
    })
}

#[cfg(unix)]
#[test]
fn instructions_are_beside_their_ptx() {
    let folder = Folder::new("sass");
    let ([ptxas, _], file) = (programs(&folder), folder.file("a.ptx", TEXT));
    let run = ptx(&["sass", "--ptxas", &ptxas, &file]);
    let expected = format!(
        "\
Kernel k

  6 machine instructions, 28 registers
  LDG.E 1, STG.E 1, STL 1
  line 9: spills, 1 store (4 B), 0 loads (0 B)

       4    .visible .entry k(.param .u64 p)                      0000  MOV R1, c[0x0][0x28]
       6    .reg .b64 %rd<2>;
       6    .reg .b32 %r<3>;
/build/a.cu:5:
       8    ld.param.u64 %rd1, [p];
       9    ld.global.u32 %r1, [%rd1];                            0010  LDG.E R0, [R2.64]
{:66}0020  STL [R1], R0
      10    add.s32 %r2, %r1, 1;                                  0030  IADD3 R5, R0, 0x1, RZ
/build/a.cu:9:
      12    st.global.u32 [%rd1], %r2;                            0040  STG.E [R2.64], R5
      13    ret;                                                  0050  EXIT

ptxas info: line 9: C7510: Potential Performance Loss: wgmma.mma_async instructions are serialized in the function 'k' in line 9
",
        ""
    );
    assert_eq!(
        (run.status, run.out.as_str()),
        (0, expected.as_str()),
        "{}",
        run.err
    );
    let run = ptx(&["sass", "--ptxas", &ptxas, "--by", "sass", &file]);
    let expected = "
    0010  LDG.E R0, [R2.64]                                              9  ld.global.u32 %r1, [%rd1];
    0020  STL [R1], R0
";
    assert!(run.out.contains(expected), "{}", run.out);
}

#[cfg(unix)]
#[test]
fn facts_are_metrics() {
    let folder = Folder::new("sass_metrics");
    let ([ptxas, nvdisasm], file) = (programs(&folder), folder.file("a.ptx", TEXT));
    let run = ptx(&[
        "sass",
        "--json",
        "--ptxas",
        &ptxas,
        "--nvdisasm",
        &nvdisasm,
        &file,
    ]);
    let object = &objects(&run.out)[0];
    let function = &object["functions"][0];
    assert_eq!(function["sass"]["opcodes"]["LDG.E"], 1, "{object}");
    assert_eq!(function["sass"]["local"][0]["spills"], true);
    assert_eq!(function["code"][0]["instructions"][1]["line"], 9);
    assert_eq!(function["code"][0]["instructions"][7]["padding"], true);
    assert_eq!(function["ptx"][1]["text"], "ld.global.u32 %r1, [%rd1];");
    assert_eq!(object["messages"][0]["code"], "C7510");
    assert_eq!(object["messages"][0]["line"], 9);

    let gate = |limits: &[&str]| {
        let arguments = ["gate", "--format", "short", "--ptxas", &ptxas, &file];
        ptx(&[&arguments[..], limits].concat())
    };
    let run = gate(&[
        "--min",
        "sass.LDG=1",
        "--max",
        "sass.spills=1",
        "--max",
        "sass.STG.128=0",
    ]);
    assert_eq!(run.status, 0, "{}{}", run.out, run.err);
    let run = gate(&["--min", "sass.LDG.128=1", "--max", "ptxas.messages=0"]);
    assert_eq!(run.status, 1);
    assert_eq!(run.out.lines().count(), 2, "{}", run.out);
    assert!(
        run.out
            .contains("`sass.LDG.128` of kernel `k` is 0, expected at least 1"),
        "{}",
        run.out
    );

    let other = folder.file(
        "b.ptx",
        TEXT.replace("add.s32 %r2, %r1, 1", "add.s32 %r2, %r1, 2"),
    );
    let diff = |limit: &str| ptx(&["diff", "--ptxas", &ptxas, "--fail-if", limit, &file, &other]);
    assert_eq!(diff("sass.STL>+0").status, 0);
    assert_eq!(diff("sass.STL>0").status, 1);
    let run = ptx(&["diff", "--fail-if", "sass.STL>0", &file, &other]);
    assert_eq!(run.status, 2);
    assert!(
        run.err
            .contains("`sass.STL` comes from ptxas, which --ptxas names"),
        "{}",
        run.err
    );

    let run = ptx(&["stats", "--json", "--sass", "--ptxas", &ptxas, &file]);
    let stats = &objects(&run.out)[0]["per_function"][0];
    assert_eq!(stats["sass"]["instructions"], 6, "{stats}");
    assert_eq!(stats["ptxas"]["messages"][0]["line"], 9, "{stats}");

    let page = folder.0.join("report.html").display().to_string();
    let run = ptx(&["report", "--ptxas", &ptxas, "--sass", "-o", &page, &file]);
    assert_eq!(run.status, 0, "{}", run.err);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("0010  LDG.E R0, [R2.64]"));
}

#[cfg(unix)]
#[test]
fn programs_that_fail() {
    let folder = Folder::new("sass_failures");
    let ([ptxas, _], file) = (programs(&folder), folder.file("a.ptx", TEXT));
    let run = ptx(&["sass", "--ptxas", &ptxas, "--target", "sm_90", &file]);
    assert_eq!(run.status, 1);
    assert!(
        run.err.contains("ptxas fatal   : -v -arch=sm_90"),
        "{}",
        run.err
    );
    let missing = ptx(&[
        "sass",
        "--ptxas",
        &ptxas,
        "--nvdisasm",
        "/nonexistent/nvdisasm",
        &file,
    ]);
    assert_eq!(missing.status, 2);
    assert!(
        missing.err.contains("/nonexistent/nvdisasm"),
        "{}",
        missing.err
    );
}

/// Each instruction of kernels of several compilers has a PTX line, which has an instruction or starts the function.
#[test]
fn all_instructions_have_a_line() {
    let path = |name| std::env::var(name).ok().filter(|path| !path.is_empty());
    let (Some(ptxas), Some(nvdisasm)) = (path("PTXAS"), path("NVDISASM")) else {
        return;
    };
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../corpus/compiled");
    let mut count = 0;
    for file in [
        "nvcc/hopper.O3.sm_90.ptx",
        "nvcc/calls.O3.sm_90.ptx",
        "triton/attention_causal.sm_80.ptx",
    ] {
        let file = format!("{corpus}/{file}");
        let run = ptx(&[
            "sass",
            "--json",
            "--ptxas",
            &ptxas,
            "--nvdisasm",
            &nvdisasm,
            &file,
        ]);
        assert_eq!(run.status, 0, "{}", run.err);
        for function in objects(&run.out)[0]["functions"].as_array().unwrap() {
            for code in function["code"].as_array().unwrap() {
                for instruction in code["instructions"].as_array().unwrap() {
                    assert!(instruction["line"].is_u64(), "{file}: {instruction}");
                    count += 1;
                }
            }
        }
    }
    assert!(count > 100, "{count} instructions");
}

#[test]
fn source_lines_become_those_of_the_file() {
    let folder = Folder::new("line_info");
    let file = folder.file("a.ptx", TEXT);
    let run = ptx(&["line-info", "--path", "/x/a.ptx", &file]);
    assert_eq!(run.status, 0, "{}", run.err);
    let lines: Vec<&str> = run.out.lines().collect();
    assert_eq!(lines[8], "    .loc 1 9 5 ld.global.u32 %r1, [%rd1];");
    assert_eq!(lines.last(), Some(&".file 1 \"/x/a.ptx\""));
    assert!(!run.out.contains("a.cu"), "{}", run.out);
    let written = folder.file("b.ptx", &run.out);
    let check = ptx(&["check", &written]);
    assert_eq!(check.status, 0, "{}", check.err);
}

/// The page of a report groups findings by source line, ranks lost sectors, and shows counts of a profile.
#[test]
fn pages_group_findings_and_rank_losses() {
    let folder = Folder::new("report_groups");
    let text = "\
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p) .reqntid 128
{
    .reg .b64 %rd<4>; .reg .b32 %r<4>;
    .loc 1 5 0
    ld.param.u64 %rd1, [p];
    mov.u32 %r1, %tid.x;
    mad.wide.u32 %rd2, %r1, 128, %rd1;
    .loc 1 6 0
    ld.global.u32 %r2, [%rd2];
    ld.global.u32 %r3, [%rd2+64];
    add.s32 %r2, %r2, %r3;
    .loc 1 7 0
    st.global.u32 [%rd2], %r2;
    ret;
}
.file 1 \"/build/a.cu\"
";
    let file = folder.file("a.ptx", text);
    let counts = r#"{"launches": [{"kernel": "k", "profile": [{"function": null, "line": 12, "executions": 7, "lanes": 224,
        "memory": [{"space": "global", "requests": 7, "sectors": 224, "bank_conflicts": 0}]}]}]}"#;
    let (counts, path) = (folder.file("counts.json", counts), folder.0.join("a.html"));
    let path = path.display().to_string();
    let page = |options: &[&str]| {
        let run = ptx(&[&["report", "-o", &path], options, &[&file]].concat());
        assert_eq!(run.status, 0, "{}", run.err);
        std::fs::read_to_string(&path).unwrap()
    };
    let text = page(&[]);
    assert!(
        text.contains(r#""source":"a.cu:6","line":12,"lines":[12,13],"count":2"#),
        "{text}"
    );
    let loss = r#"{"line":12,"source":"a.cu:6","mnemonic":"ld.global.u32","accesses":2,"executions":2,"sectors":64,"excess":56,"is_measured":false}"#;
    assert!(text.contains(loss), "{text}");
    let text = page(&["--profile", &counts]);
    assert!(
        text.contains(r#""executions":7,"sectors":224,"excess":196,"is_measured":true"#),
        "{text}"
    );
    assert!(
        text.contains(
            r#""counts":{"executions":7,"lanes":224,"requests":7,"sectors":224,"conflicts":0}"#
        ),
        "{text}"
    );
    let run = ptx(&["report", "--profile", &file, "-o", &path, &file]);
    assert_eq!(run.status, 2);
}
