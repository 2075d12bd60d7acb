//! `source`: PTX with the source lines that it comes from.

use std::path::Path;

use crate::support::{Folder, Run, command, expect, objects, ptx, with_slashes};

/// `copy` is inlined in line 6 of a kernel.
const TEXT: &str = "\
.version 8.5
.target sm_90
.address_size 64
.visible .entry _Z1kPf(.param .u64 p)
{
    .reg .b64 %rd<3>; .reg .b32 %r<3>;
    .loc 1 5 0
    ld.param.u64 %rd1, [p];
    .loc 2 2 8, function_name $copy, inlined_at 1 6 3
    ld.global.u32 %r1,
        [%rd1];
    again:
    st.global.u32 [%rd1+4], %r1;
    .loc 1 9 1
    ret;
}
.func f()
{
    ret;
}
.file 1 \"/build/src/a.cu\"
.file 2 \"/build/inc/copy.h\"
.section .debug_str
{
$copy: .b8 95,90,52,99,111,112,121,80,102,0
}
";

const KERNEL: &str = "\n__device__ int x;\n\n// k\n__global__ void k(float *p) {\n  copy(p);\n}\n";
const COPY: &str = "__device__ void copy(float *p) {\n\tp[1] = p[0];\n}\n";

fn folder(test: &str) -> Folder {
    let folder = Folder::new(test);
    folder.file("out/a.ptx", TEXT);
    folder.file("src/a.cu", KERNEL);
    folder.file("include/copy.h", COPY);
    folder
}

fn run(folder: &Folder, arguments: &[&str]) -> Run {
    let mut all = vec!["source", "out/a.ptx"];
    all.extend(arguments);
    let output = command(&all).current_dir(&folder.0).output().unwrap();
    Run::new(output)
}

/// `src/a.cu` is found below the current directory; line 9 of it is missing.
const NOTES: &str = "\
ptxkit: note: src/a.cu has 7 lines, but the module refers to line 9; it may be a different version
ptxkit: note: the source /build/inc/copy.h was not found; --source-dir DIR searches a directory
";

#[test]
fn ptx_in_its_order() {
    let folder = folder("source-ptx");
    let expected = "\
Kernel k(float*)

       6    .reg .b64 %rd<3>;
       6    .reg .b32 %r<3>;
src/a.cu:5: __global__ void k(float *p) {
       8    ld.param.u64 %rd1, [p];
src/a.cu:6: copy(p);
  /build/inc/copy.h:2: in copy(float*):
      10    ld.global.u32 %r1, [%rd1];
      12 again:
      13    st.global.u32 [%rd1+4], %r1;
src/a.cu:9:
      15    ret;

Function f

      19    ret;

";
    expect(&run(&folder, &[]), 0, expected, NOTES);
    let colored = run(&folder, &["--function", "f", "--color", "always"]);
    let expected = "\u{1b}[1mFunction f\u{1b}[0m\n\n\u{1b}[2m      19\u{1b}[0m    ret;\n\n";
    let note = "ptxkit: note: out/a.ptx has no source lines; `nvcc -lineinfo` writes them\n";
    expect(&colored, 0, expected, note);
}

#[test]
fn source_files_in_their_order() {
    let folder = folder("source-by-source");
    let by_source = |more: &[&str]| {
        let mut arguments = vec!["--by", "source", "--map", "/build/inc=include"];
        arguments.extend(more);
        run(&folder, &arguments)
    };
    let expected = "\
src/a.cu
 Instr. Inlined    Line
                      2  __device__ int x;
                      3  
                      4  // k
      1               5  __global__ void k(float *p) {
                         Kernel k(float*)
                                8  ld.param.u64 %rd1, [p];
              2       6    copy(p);
                      7  }
      1               9  
                         Kernel k(float*)
                               15  ret;

include/copy.h
 Instr. Inlined    Line
                      1  __device__ void copy(float *p) {
      2               2      p[1] = p[0];
                         Kernel k(float*), inlined at a.cu:6
                               10  ld.global.u32 %r1, [%rd1];
                               13  st.global.u32 [%rd1+4], %r1;
                      3  }

";
    let run = by_source(&[]);
    let note = NOTES.lines().next().unwrap().to_owned() + "\n";
    expect(&run, 0, expected, &note);
    let counts: Vec<&str> = expected
        .lines()
        .filter(|l| !l.starts_with(&" ".repeat(25)))
        .collect();
    assert_eq!(by_source(&["--counts"]).out, counts.join("\n") + "\n");
    assert_eq!(by_source(&["--function", "f"]).out, "");

    let found = &objects(&by_source(&["--json"]).out)[0];
    let line = &found["sources"][0]["lines"][1];
    assert_eq!(
        (&line["line"], &line["own"], &line["inlined"]),
        (&6.into(), &0.into(), &2.into())
    );
    let line = &found["sources"][1]["lines"][0];
    assert_eq!(line["functions"][0]["demangled"], "k(float*)");
    assert_eq!(line["functions"][0]["instructions"][1]["line"], 13);
}

#[test]
fn instructions_as_json() {
    let folder = folder("source-json");
    let found = &objects(&run(&folder, &["--json", "--source-dir", "include"]).out)[0];
    assert_eq!(found["functions"][0]["name"], "_Z1kPf");
    let instruction = &found["functions"][0]["instructions"][1];
    assert_eq!(
        (&instruction["line"], &instruction["text"]),
        (&10.into(), &"ld.global.u32 %r1, [%rd1];".into())
    );
    assert_eq!(instruction["source"][0]["demangled"], "copy(float*)");
    assert_eq!(instruction["source"][1]["line"], 6);
    let source = &found["sources"][1];
    assert_eq!(
        (
            &source["file"],
            with_slashes(source["path"].as_str().unwrap())
        ),
        (&"/build/inc/copy.h".into(), "include/copy.h".to_owned())
    );
    assert_eq!(source["lines"][0]["text"], "    p[1] = p[0];");
    assert_eq!(
        found["sources"][0]["lines"][2]["text"],
        serde_json::Value::Null
    );
}

#[test]
fn markers_of_a_preprocessor_and_wrong_options() {
    let folder = Folder::new("source-markers");
    let source = folder.file("a.src", "one\ntwo\n");
    let text = TEXT.replace("    .loc 1 5 0\n", &format!("# 2 \"{source}\"\n"));
    let ptx_file = folder.file("a.ptx", text);
    let run = ptx(&["source", &ptx_file]);
    assert!(
        run.out
            .contains(&format!("{source}:2: two\n       8    ld.param")),
        "{}",
        run.out
    );
    for (arguments, message) in [
        (&["--counts"][..], "ptxkit: --counts needs `--by source`"),
        (&["--function", "g"], "ptxkit: no function `g` with a body"),
        (
            &["--map", "a"],
            "error: invalid value 'a' for '--map <FROM=TO>': expected FROM=TO",
        ),
    ] {
        let run = ptx(&[&["source", &ptx_file], arguments].concat());
        assert_eq!(run.status, 2);
        assert!(run.err.contains(message), "{}", run.err);
    }
}

/// The corpus has real sources and what nvcc made of them.
#[test]
fn lines_of_a_real_kernel() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let arguments = [
        "source",
        "corpus/compiled/nvcc/vecadd.lineinfo.sm_80.ptx",
        "--map=/src=corpus/src",
    ];
    let output = command(&arguments).current_dir(root).output().unwrap();
    let (out, err) = (String::from_utf8(output.stdout).unwrap(), output.stderr);
    assert_eq!(String::from_utf8(err).unwrap(), "");
    for line in out
        .lines()
        .filter(|l| l.contains("corpus/src/cuda/vecadd.cu:"))
    {
        assert!(!line.ends_with(':'), "{line} has no text");
    }
    assert!(
        out.matches("corpus/src/cuda/vecadd.cu:").count() > 3,
        "{out}"
    );
}

#[test]
fn sources_in_modules() {
    let folder = Folder::new("embedded");
    let text = ".version 9.4\n.target sm_90\n.address_size 64\n.file 1 \"a.py\"\n.file 2 \"a.tile\"\n\
        .nv_intermediate_source_section { .code_block { .ir_name: \"TileIR\" .sourceFileName: 2 .source_begin\nmodule {\n  %1 = \"x\n\
        .source_end\n} }\n.visible .entry k()\n{\n.reg .b32 %r;\n.loc 1 1 4\n.loc_intermediate 2 2 6\n\
        mov.u32 %r, %tid.x;\n.loc 1 2 4\nret;\n}\n";
    folder.file("out/a.ptx", text);
    folder.file("a.py", "x = 1\ny = 2\n");
    let expected = "Kernel k\n\n      13    .reg .b32 %r;\na.py:1: x = 1\n  a.tile:2: %1 = \"x\n\
        \x20     16    mov.u32 %r, %tid.x;\na.py:2: y = 2\n      18    ret;\n\n";
    expect(&run(&folder, &[]), 0, expected, "");
    let found = objects(&run(&folder, &["--json"]).out);
    let inst = &found[0]["functions"][0]["instructions"][0];
    assert_eq!(
        (&inst["source"][0]["file"], &inst["intermediate"][0]["file"]),
        (&"a.py".into(), &"a.tile".into())
    );
    let tile = &found[0]["sources"][1];
    assert_eq!(tile["lines"][0]["text"], "  %1 = \"x");
    assert_eq!(
        (&tile["path"], &tile["embedded"]),
        (&().into(), &true.into())
    );
    assert_eq!(found[0]["sources"][0]["embedded"], false);
    let by_source = run(&folder, &["--by", "source", "--counts"]);
    let tile = "a.tile\n Instr. Inlined    Line\n                      1  module {\n      1               2    %1 = \"x\n\n";
    assert!(by_source.out.contains(tile), "{}", by_source.out);
    // A file comes before the text in the module.
    folder.file("a.tile", "other\nlines\n");
    assert!(run(&folder, &[]).out.contains("a.tile:2: lines\n"));
}
