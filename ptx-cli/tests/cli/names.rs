//! Demangled names, and options of all commands.

use crate::support::{Folder, objects, ptx, with_input};

const TEXT: &str = ".version 8.0\n.target sm_80\n.address_size 64\n\
    .visible .func _Z3fooPi(.param .u64 p) { ret; }\n\
    .visible .func _Z3fooPfi(.param .u64 p) { ret; }\n\
    .visible .entry _Z4scalIfEvPT_i(.param .u64 n)\n{\n\
    .reg .b64 %rd<3>;\n    .param .b64 x;\n    call _Z3fooPi, (x);\n    ret;\n}\n";

fn input(arguments: &[&str]) -> crate::support::Run {
    with_input(arguments, TEXT.as_bytes())
}

#[test]
fn texts_have_demangled_names() {
    let commands: [&[&str]; 5] = [
        &["stats", "-"],
        &["callgraph", "-"],
        &["cfg", "-"],
        &["cfg", "--format", "mermaid", "-"],
        &["grep", "call*", "-"],
    ];
    for command in commands {
        let found = input(command).out;
        assert!(found.contains("foo(int*)"), "{command:?}: {found}");
        let plain = input(&[command, &["--no-demangle"]].concat()).out;
        assert!(!plain.contains("foo(int*)"), "{command:?}: {plain}");
        assert!(plain.contains("_Z3fooPi"), "{command:?}: {plain}");
    }
    let broken = TEXT.replace("call _Z3fooPi,", "call _Z3fooPl,");
    let found = with_input(&["check", "--format", "short", "-"], broken.as_bytes());
    assert!(
        found.out.contains("`_Z3fooPl` (foo(long*))"),
        "{}",
        found.out
    );
    let found = with_input(&["check", "--format", "json", "-"], broken.as_bytes());
    let found = &objects(&found.out)[0];
    assert_eq!(found["function"], "_Z4scalIfEvPT_i");
    assert_eq!(found["demangled"], "void scal<float>(float*, int)");
}

#[test]
fn rewritten_text_keeps_the_names_of_the_file() {
    let kept = input(&["extract", "--kernel", "scal<float>", "-"]);
    assert_eq!(kept.status, 0, "{}", kept.err);
    assert!(kept.out.contains("call _Z3fooPi, (x);"), "{}", kept.out);
    assert!(!kept.out.contains("_Z3fooPfi"), "{}", kept.out);
    let all = input(&["extract", "--kernel", "*foo*", "-"]);
    assert!(all.out.contains("_Z3fooPfi"), "{}", all.out);
    let vague = input(&["extract", "--kernel", "foo", "-"]);
    let expected = "foo is ambiguous: foo(int*) [_Z3fooPi], foo(float*, int) [_Z3fooPfi]";
    assert_eq!(vague.status, 2);
    assert!(vague.err.contains(expected), "{}", vague.err);
    let new = input(&["rename", "foo(int*)=bar", "-"]);
    assert_eq!(new.status, 0, "{}", new.err);
    assert!(new.out.contains("call bar, (x);"), "{}", new.out);
    let hidden = input(&["link", "--hide", "foo(float*, int)", "-"]);
    assert!(hidden.out.contains("\n.func _Z3fooPfi"), "{}", hidden.out);
    assert_eq!(input(&["link", "--hide", "nothing", "-"]).status, 2);
}

#[test]
fn verbose_says_what_was_read() {
    let folder = Folder::new("verbose");
    let file = folder.file("a.ptx", TEXT);
    let run = ptx(&["-v", "stats", &file]);
    let expected = format!("{file}: {} bytes read in ", TEXT.len());
    assert!(run.err.starts_with(&expected), "{}", run.err);
    assert!(run.err.ends_with(" s in total\n"), "{}", run.err);
    assert_eq!(ptx(&["-v", "-q", "stats", &file]).status, 2);
}

#[test]
fn completions_and_the_man_page() {
    let shells = [
        ("man", ".SH \"PTXKIT RETARGET\""),
        ("completions-bash", "complete -F _ptxkit"),
        ("completions-elvish", "edit:completion"),
        ("completions-fish", "complete -c ptxkit"),
        ("completions-powershell", "Register-ArgumentCompleter"),
        ("completions-zsh", "#compdef ptxkit"),
    ];
    for (what, expected) in shells {
        let run = ptx(&["--generate", what]);
        assert_eq!((run.status, run.err.as_str()), (0, ""), "{what}");
        assert!(run.out.contains(expected), "{what}");
        for known in [
            "retarget",
            "no-demangle",
            "deny-warnings",
            "allow-no-match",
            "source-dir",
        ] {
            let known = match what {
                "man" => known.replace('-', "\\-"),
                _ => known.to_owned(),
            };
            assert!(run.out.contains(&known), "{what}: {known}");
        }
    }
    assert_eq!(ptx(&["--generate", "poem"]).status, 2);
    assert_eq!(ptx(&["--quiet"]).status, 2);
}

#[test]
fn conditions_take_demangled_names() {
    let count = |condition: &str| {
        let run = input(&["grep", "*", "--count", "--where", condition, "-"]);
        assert_eq!(run.err, "", "{condition}");
        run.out.trim().rsplit(' ').next().unwrap().to_owned()
    };
    let conditions = [
        ("function==_Z3fooPi", "1"),
        ("function=='foo(int*)'", "1"),
        ("function=='foo( int * )'", "1"),
        ("function==foo", "2"),
        ("function=='foo*'", "2"),
        ("function=~'scal<float'", "2"),
        ("function=='void scal<float>(float*, int)'", "2"),
        ("function!=foo", "2"),
        ("function==fo", "0"),
        ("callee=='foo(int*)'", "1"),
        ("callee!='foo(float*, int)'", "1"),
        ("callee=='foo(float*, int)'", "0"),
        ("symbol==foo", "1"),
    ];
    for (condition, wanted) in conditions {
        assert_eq!(count(condition), wanted, "{condition}");
    }
    let run = input(&[
        "grep",
        "*",
        "--where",
        "function==foo",
        "--not",
        "--count",
        "-",
    ]);
    assert_eq!(run.out, "<stdin>: 2\n");
}
