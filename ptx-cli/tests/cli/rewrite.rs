//! `rename`, `strip`, `minify`, `renumber` and `flatten`.

use std::fs;

use serde_json::Value;

use crate::support::{BAD, Folder, GOOD, expect, objects, ptx, with_input, with_slashes};

#[test]
fn renaming_and_text_rewriting() {
    let run = with_input(&["rename", "k=kernel", "%r=%x", "-"], GOOD.as_bytes());
    assert_eq!((run.status, run.err.as_str()), (0, ""));
    let wanted = GOOD
        .replace(".entry k", ".entry kernel")
        .replace("%r<", "%x<")
        .replace("%r1", "%x1")
        .replace("%r2", "%x2");
    assert_eq!(run.out, wanted);
    for (words, status, said) in [
        (&["%r=%rd"][..], 1, "`%rd` is taken"),
        (&["tile=%tid"], 1, "cannot be declared as a name"),
        (&["none=some"], 1, "no name `none`"),
        (&["--function", "none", "p=q"], 1, "no name `none`"),
        (&["tile"], 2, "expected OLD=NEW, found `tile`"),
        (&[], 2, "nothing to rename"),
    ] {
        let arguments = [&["rename"], words, &["-"]].concat();
        let run = with_input(&arguments, GOOD.as_bytes());
        assert_eq!((run.status, run.out.as_str()), (status, ""), "{words:?}");
        assert!(run.err.contains(said), "{words:?}: {}", run.err);
    }

    let run = with_input(&["strip", "-"], GOOD.as_bytes());
    let wanted = GOOD.replace("// doubles its parameter\n", "");
    assert_eq!((run.status, run.out, run.err.as_str()), (0, wanted, ""));

    let run = with_input(&["minify", "-"], GOOD.as_bytes());
    let small = ".version 8.0 .target sm_90 .address_size 64 .visible.entry k(.param.u64 c){.reg.b32 a<2>;.reg.b64 b<1>;\
        .shared.align 4 .f32 aa[4][0x8];ld.param.u64 b0,[c];ld.global.u32 a0,[b0];d:add.s32 a1,a0,a0;st.global.u32[b0],a1;ret;}";
    assert_eq!((run.status, run.out.as_str()), (0, small));
    let sizes = format!("{} bytes became {} ", GOOD.len(), small.len());
    assert!(
        run.err.starts_with(&format!("<stdin>: {sizes}")),
        "{}",
        run.err
    );

    let run = with_input(&["renumber", "-"], GOOD.as_bytes());
    assert!(run.out.contains(".reg .b32 %r<2>;\n"), "{}", run.out);
    assert!(run.out.contains("add.s32 %r1, %r0, %r0;\n"), "{}", run.out);

    let run = with_input(&["flatten", "-"], GOOD.as_bytes());
    assert_eq!((run.status, run.out.as_str()), (0, GOOD));
    for command in ["strip", "minify", "renumber", "flatten"] {
        let run = with_input(&[command, "-"], BAD.as_bytes());
        assert_eq!((run.status, run.out.as_str()), (1, ""), "{command}");
        assert_eq!(ptx(&[command]).status, 2);
    }
}

#[test]
fn results_go_to_files() {
    let folder = Folder::new("destination");
    let first = folder.file("in/a.ptx", GOOD);
    folder.file("in/sub/b.ptx", GOOD);
    let stripped = GOOD.replace("// doubles its parameter\n", "");
    let input = folder.0.join("in").to_str().unwrap().to_owned();
    let output = folder.0.join("out").to_str().unwrap().to_owned();

    let run = ptx(&["strip", &input]);
    expect(
        &run,
        2,
        "",
        "ptxkit: several inputs need `--output DIR` or `--write`\n",
    );
    expect(&ptx(&["strip", &input, "-o", &output]), 0, "", "");
    for name in ["out/a.ptx", "out/sub/b.ptx"] {
        assert_eq!(fs::read_to_string(folder.0.join(name)).unwrap(), stripped);
    }
    let run = ptx(&["strip", &input, "-o", &first]);
    expect(
        &run,
        2,
        "",
        &format!("ptxkit: {first}: several inputs need a directory\n"),
    );
    let run = ptx(&["strip", &first, &first, "-o", &output]);
    let error = format!("ptxkit: two results would be written to {output}/a.ptx\n");
    assert_eq!(
        (run.status, with_slashes(&run.err)),
        (2, with_slashes(&error))
    );

    let one = folder.0.join("one.ptx").to_str().unwrap().to_owned();
    expect(&ptx(&["strip", &first, "-o", &one]), 0, "", "");
    assert_eq!(fs::read_to_string(&one).unwrap(), stripped);
    expect(&ptx(&["strip", &first, "--write"]), 0, "", "");
    assert_eq!(fs::read_to_string(&first).unwrap(), stripped);
    let run = with_input(&["strip", "-", "--write"], GOOD.as_bytes());
    expect(
        &run,
        2,
        "",
        "ptxkit: standard input cannot be rewritten in place\n",
    );
}

#[test]
fn every_command_that_writes_ptx_takes_an_output() {
    let folder = Folder::new("writers");
    let file = folder.file("a.ptx", GOOD);
    for command in [
        &["strip"][..],
        &["minify"],
        &["renumber"],
        &["flatten"],
        &["fmt"],
        &["clean"],
        &["retarget", "--target", "sm_90a"],
        &["extract", "--kernel", "k"],
        &["rename", "k=other"],
        &["instrument", "--probe", "trace"],
        &["check", "--fix"],
    ] {
        let shown = ptx(&[command, &[&file]].concat());
        let path = folder.0.join("b.ptx");
        let run = ptx(&[command, &[&file, "-o", path.to_str().unwrap()]].concat());
        expect(&run, 0, "", &shown.err);
        assert_eq!(fs::read_to_string(&path).unwrap(), shown.out, "{command:?}");
        let own = folder.file("own.ptx", GOOD);
        let run = ptx(&[command, &[&own, "--write"]].concat());
        assert_eq!(
            (run.status, run.out.as_str()),
            (0, ""),
            "{command:?}: {}",
            run.err
        );
        assert_eq!(fs::read_to_string(&own).unwrap(), shown.out, "{command:?}");
        if command[0] != "rename" {
            let run = ptx(&[command, &[&file, &file]].concat());
            assert_eq!((run.status, run.out.as_str()), (2, ""), "{command:?}");
            assert!(run.err.contains("several inputs need"), "{}", run.err);
        }
    }
}

#[test]
fn results_as_json() {
    let folder = Folder::new("results-json");
    let good = folder.file("good.ptx", GOOD);
    let bad = folder.file("bad.ptx", BAD);
    let run = ptx(&["fmt", "--json", &good, &bad]);
    let [formatted, refused] = &objects(&run.out)[..] else {
        panic!("{}", run.out)
    };
    assert_eq!((run.status, &*run.err), (1, ""));
    assert_eq!(
        (&formatted["done"], &formatted["changed"]),
        (&true.into(), &true.into())
    );
    assert_eq!(formatted["text"], ptx(&["fmt", &good]).out);
    assert_eq!(
        (&refused["done"], &refused["text"]),
        (&false.into(), &Value::Null)
    );
    assert_eq!(refused["reason"], "it has errors");
    assert_eq!(refused["diagnostics"][0]["span"]["line"], 6);
    let listed = objects(&ptx(&["fmt", "--check", "--json", &good]).out);
    assert_eq!(
        (&listed[0]["changed"], &listed[0]["text"]),
        (&true.into(), &Value::Null)
    );
    let target = folder.file("new.ptx", "");
    let run = ptx(&[
        "retarget", "--json", "--target", "sm_100", "-o", &target, &good,
    ]);
    let new = &objects(&run.out)[0];
    assert_eq!(
        (&new["output"], &new["text"]),
        (&(&*target).into(), &Value::Null)
    );
    assert!(std::fs::read_to_string(&target).unwrap().contains("sm_100"));
    let text = GOOD.replace("ret;", "mbarrier.init.shared.b64 [tile], 1; ret;");
    let run = with_input(
        &["retarget", "--json", "--target", "sm_70", "-"],
        text.as_bytes(),
    );
    let refused = &objects(&run.out)[0];
    assert_eq!((run.status, &refused["done"]), (1, &false.into()));
    assert_eq!(
        refused["blocked"][0]["what"], "mbarrier.init.shared.b64",
        "{refused}"
    );
    let linked = &objects(&ptx(&["link", "--json", &good]).out)[0];
    assert_eq!(
        (&linked["done"], linked["text"].is_string()),
        (&true.into(), true)
    );
    let run = ptx(&["link", "--json", &good, &good]);
    let refused = &objects(&run.out)[0];
    assert_eq!((run.status, &refused["done"]), (1, &false.into()));
    assert_eq!(
        refused["diagnostics"][0]["elsewhere"][0]["file"], good,
        "{refused}"
    );
    let checked = &objects(&ptx(&["debug", "roundtrip", "--json", &good]).out)[0];
    assert_eq!(
        (&checked["lossless"], &checked["reason"]),
        (&true.into(), &Value::Null)
    );
}
