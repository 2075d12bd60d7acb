//! The larger examples: a lowering, a service and a dataflow analysis.
#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

use std::process::Command;

use ptx_examples::lower::Lowering;
use ptx_examples::post_process::{LIBRARY, post_process};
use ptx_examples::service::Store;
use ptxkit::ir::facts::ModuleFacts;

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../corpus/compiled");

fn lowered(text: &[u8]) -> (String, usize, Vec<String>) {
    let module = ptxkit::parse::parse(text).module;
    let facts = ModuleFacts::new(&module);
    let (mut text, mut count, mut refused) = (String::new(), 0, Vec::new());
    for function in module
        .definitions()
        .filter_map(|(id, ..)| facts.function(id))
    {
        let mut lowering = Lowering::new(function);
        lowering.lower();
        text += &lowering.text;
        count += lowering.lowered;
        refused.append(&mut lowering.refused);
    }
    (text, count, refused)
}

#[test]
fn lowering_of_a_kernel() {
    let source = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p) {\n\
        .reg .b64 a; .reg .b32 x, y; .reg .pred q;\n\
        ld.param.u64 a, [p];\nld.volatile.global.v2.u32 {x, y}, [a+8];\nsetp.lt.s32 q, x, y;\n\
        @!q bra L;\nmin.s32 x, x, -7;\nL: st.global.b32 [a], x;\nret;\n}\n";
    let (text, count, refused) = lowered(source.as_bytes());
    assert_eq!((count, refused), (7, Vec::new()));
    let expected = "define ptx_kernel void @k([8 x i8] %p) {\n  %a = alloca i64\n  %x = alloca i32\n  %y = alloca i32\n  %q = alloca i1\n\
        \x20 %t1 = load.weak addrspace(101) i64 <- i64 %p\n  store i64 %t1, ptr %a\n\
        \x20 %t2 = load i64, ptr %a\n  %t3 = getelementptr i8, ptr %t2, 8\n\
        \x20 %t4 = load volatile.volatile.sys addrspace(1) i32 <- i64 %t3\n";
    assert!(text.starts_with(expected), "{text}");
    let branch = "  br i1 %t10, label %end10, label %then10\nthen10:\n  br label %L\nend10:\n";
    assert!(text.contains(branch), "{text}");
    assert!(
        text.contains(" = icmp signed.lt i1 <- i32 %t7, i32 %t8\n"),
        "{text}"
    );
    assert!(text.contains(" = smin i32 <- i32 %t11, i32 -7\n"), "{text}");
    assert!(text.contains("  store.weak addrspace(1) i64 "), "{text}");
}

#[test]
fn lowering_of_compiled_files() {
    let (mut count, mut refused) = (0, Vec::new());
    for folder in std::fs::read_dir(CORPUS).unwrap() {
        let folder = folder.unwrap().path();
        for file in folder.read_dir().unwrap().take(10) {
            let (_, lowered, mut others) = lowered(&std::fs::read(file.unwrap().path()).unwrap());
            count += lowered;
            refused.append(&mut others);
        }
    }
    assert!(
        count > 2000 && refused.len() * 200 < count,
        "{count} {refused:?}"
    );
}

#[test]
fn service() {
    let store = Store::default();
    let kernel = ".version 8.0\n.target sm_80\n.entry k() { .reg .b32 a, b; mov.u32 a, 1; add.u32 b, a, a; st.shared.u32 [a], b; ret; }\n";
    let answer = store.put("m", kernel.into()).unwrap();
    assert!(
        answer.diagnostics.is_empty() && answer.changed.is_empty(),
        "{answer:?}"
    );
    assert_eq!(store.pressure("m", "k").unwrap(), 2);
    assert!(store.pressure("m", "other").is_err() && store.pressure("n", "k").is_err());

    let changed = kernel.replace("a, a;", "a, 3;") + ".entry other() { ad.u32 x; }";
    let answer = store.put("m", changed.into()).unwrap();
    assert_eq!(answer.changed, ["k", "other"]);
    let json = serde_json::to_string(&answer).unwrap();
    assert!(
        json.contains("PTX0104") && json.contains("unknown opcode `ad`"),
        "{json}"
    );

    // Input of strangers: each ends with an error and without much memory.
    for text in [
        "{".repeat(1 << 20),
        "a".repeat(9 << 20),
        "(".repeat(1 << 20),
    ] {
        let answer = store.put("untrusted", text.into()).unwrap();
        assert!(
            (1..=101).contains(&answer.diagnostics.len()),
            "{}",
            answer.diagnostics.len()
        );
    }
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| assert_eq!(store.pressure("m", "k").unwrap(), 2));
        }
    });
}

#[test]
fn generic_pointers() {
    let path = std::env::temp_dir().join(format!("generic-pointers-{}.ptx", std::process::id()));
    let source = ".version 8.0\n.target sm_80\n.address_size 64\n.entry k(.param .u64 p) {\n.reg .b64 a, b, c;\n.reg .b32 x;\n.shared .b32 s[4];\n\
        mov.u64 a, s;\ncvta.shared.u64 b, a;\nadd.u64 b, b, 4;\nld.b32 x, [b];\nst.shared.b32 [a], x;\n\
        ld.param.u64 c, [p];\nst.b32 [c], x;\nret;\n}\n";
    std::fs::write(&path, source).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_generic_pointers"))
        .arg(&path)
        .output()
        .unwrap();
    std::fs::remove_file(&path).unwrap();
    let expected = format!("{}:11: ld.b32 x, [b];\n", path.display());
    assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
}

#[test]
fn post_processing() {
    let library = ptxkit::parse::parse_str(LIBRARY).into_result().unwrap();
    let source = ".version 8.0\n.target sm_80\n.address_size 64\n.func unused() { ret; }\n\
        .visible .entry first() .reqntid 32 { bar.sync 0; ret; }\n.visible .entry second() { ret; }\n";
    let (module, calls) = post_process(source.as_bytes(), &library).unwrap();
    let text = ptxkit::print::display(&module).to_string();
    assert_eq!(calls, 1);
    for expected in [
        ".version 8.6\n",
        ".target sm_90a\n",
        ".entry kernel_0",
        ".entry kernel_1",
        ".maxntid 256",
        "call before_barrier",
        ".func before_barrier",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    assert!(
        !text.contains("unused") && text.matches(".maxntid").count() == 1,
        "{text}"
    );
}

#[test]
fn post_processing_of_compiled_files() {
    let library = ptxkit::parse::parse_str(LIBRARY).into_result().unwrap();
    let (mut count, mut calls) = (0, 0);
    let folder = std::path::Path::new(CORPUS).join("nvcc");
    for file in folder.read_dir().unwrap().take(20) {
        let path = file.unwrap().path();
        // Some need targets that sm_90a does not include.
        if let Ok((_, added)) = post_process(&std::fs::read(&path).unwrap(), &library) {
            count += 1;
            calls += added;
        }
    }
    assert!(count >= 15 && calls > 0, "{count} {calls}");
}
