//! Parts of modules: all that is needed, nothing else, and every byte as it was.
#![allow(missing_docs)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

use std::collections::{BTreeMap, BTreeSet};

use crate::corpus;
use ptx_ir::lex::Lexer;
use ptx_ir::{Code, Diagnostic, FunctionKind, Item, Module, Severity};
use ptx_transform::{ExtractError, LinkOptions, Rewriting, extract, link, split};

const HEAD: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";

fn of(text: &str, names: &[&str]) -> String {
    let module = ptx_parse::parse_str(text).module;
    let part = extract(&module, names).unwrap();
    String::from_utf8(part.text().to_vec()).unwrap()
}

fn body(body: &str, names: &[&str]) -> String {
    let text = of(&format!("{HEAD}{body}"), names);
    text.strip_prefix(HEAD).unwrap().to_owned()
}

#[test]
fn what_is_reached_by_calls_addresses_tables_and_aliases_stays() {
    let needed = "\
.extern .func vprintf(.param .b64 a);
.func d();
.func f() { call d; ret; }
.func g() { ret; }
.func a();
.alias a, g;
.global .u32 x = 1;
.global .u64 y = x;
.global .u64 table[2] = {f, generic(y)};
.global .texref t;
.const .u32 c;
.visible .entry k()
{
    .reg .b64 r;
    .reg .b32 s;
    .reg .f32 v<5>;
    .param .b64 p0;
    p: .callprototype _ ();
    mov.b64 r, table;
    call r, (), p;
    call a;
    call vprintf, (p0);
    tex.1d.v4.f32.s32 {v1, v2, v3, v4}, [t, {s}];
    ld.const.u32 s, [c + 4];
    ret;
}
.func d() { ret; }
";
    let other = "\
.extern .func other(.param .b64 a);
.func o();
.alias o, g;
.global .u32 z = 1;
.global .u64 zz = z;
.entry q() { call d; ret; }
";
    assert_eq!(body(&format!("{needed}{other}"), &["k"]), needed);
}

#[test]
fn of_a_declaration_only_the_names_that_are_needed_stay() {
    let text = "\
.global .u32 a, b = 2, /* c */ c[2] = {3, 4}, d;
.entry k() { .reg .u32 r; ld.global.u32 r, [c]; ld.global.u32 r, [a]; ret; }
";
    assert_eq!(
        body(text, &["k"]).lines().next(),
        Some(".global .u32 a, /* c */ c[2] = {3, 4};")
    );
}

#[test]
fn names_inside_a_function_hide_those_of_the_module() {
    let text = "\
.global .u32 a;
.entry k() { .reg .b32 a; { .reg .b32 b; mov.b32 a, b; } ret; }
.global .u32 b;
";
    assert_eq!(
        body(text, &["k"]),
        ".entry k() { .reg .b32 a; { .reg .b32 b; mov.b32 a, b; } ret; }\n"
    );
}

#[test]
fn a_function_that_declares_what_is_needed_stays() {
    let text = "\
.entry holder() { .func f(); call f; ret; }
.entry k() { call f; ret; }
.func f() { ret; }
";
    assert_eq!(body(text, &["k"]), text);
}

#[test]
fn a_function_that_declares_again_what_is_needed_goes() {
    let needed = ".func f() { ret; }\n.entry k() { call f; ret; }\n";
    let text = format!("{needed}.entry holder() {{ .func f(); call f; ret; }}\n");
    assert_eq!(body(&text, &["k"]), needed);
}

#[test]
fn unrecognized_statements_need_their_names() {
    let needed = ".func f() { ret; }\n.frobnicate f;\n.entry k() { ret; }\n";
    let text = format!("{needed}.func g() {{ ret; }}\n");
    assert_eq!(body(&text, &["k"]), needed);
}

#[test]
fn what_a_function_declares_is_defined() {
    // ptxas requires it even if it is not called.
    let needed = ".entry k() { .func f(); { .visible .func g(); } ret; }\n.func f() { ret; }\n.visible .func g() { ret; }\n";
    let text = format!("{needed}.func h() {{ ret; }}\n");
    assert_eq!(body(&text, &["k"]), needed);
}

#[test]
fn comments_stay_with_what_stays() {
    let text = "\
// about everything

// of f
.func f() { ret; } // f
// of k
.entry k() { ret; } // k

/* of nothing */

// of g
// and more
.func g() { ret; } // g
// the end
";
    let expected = "\
// about everything
// of k
.entry k() { ret; } // k

/* of nothing */
// the end
";
    assert_eq!(body(text, &["k"]), expected);
}

#[test]
fn files_that_are_not_named_go() {
    let text = "\
.file 1 \"a\"
.file 2 \"b\"
.file 3 \"c\"
.entry k() { .loc 3 1 1 ret; }
.entry l() { .loc 2 1 1 ret; }
";
    let expected = ".file 3 \"c\"\n.entry k() { .loc 3 1 1 ret; }\n";
    assert_eq!(body(text, &["k"]), expected);
}

const DEBUG: &str = "\
.version 8.0
.target sm_80, debug
.address_size 64
.file 1 \"a\"
.file 2 \"b\"
.entry k() { .loc 1 1 1 .loc 1 2 1, function_name info, inlined_at 1 1 1 L: ret; }
.entry l() { M: ret; }
.section .debug_abbrev { .b8 0 }
.section .debug_info { .b32 .debug_abbrev
.b64 M
}
.section .debug_str { info: .b8 102, 0 }
";

#[test]
fn debug_sections_that_refer_to_removed_names_are_removed() {
    let module = ptx_parse::parse_str(DEBUG).module;
    let part = extract(&module, &["k"]).unwrap();
    let text = String::from_utf8(part.text().to_vec()).unwrap();
    let expected = "\
.version 8.0
.target sm_80, debug
.address_size 64
.file 1 \"a\"
.entry k() { .loc 1 1 1 .loc 1 2 1, function_name info, inlined_at 1 1 1 L: ret; }
.section .debug_str { info: .b8 102, 0 }
";
    assert_eq!(text, expected);
    assert_eq!(part.report.len(), 1);
    assert_eq!(part.report[0].code, Code::LostDebugInfo);
    assert_eq!(part.report[0].span.of(DEBUG.as_bytes()), b".section");
    // What speaks of what stays may stay, with all files.
    assert_eq!(of(DEBUG, &["k", "l"]), DEBUG);
    // Without any section, nothing can be debugged.
    let without = DEBUG.replace(", function_name info, inlined_at 1 1 1", "");
    let text = of(&without, &["k"]);
    assert!(text.contains(".target sm_80\n"), "{text}");
    assert!(!text.contains(".section"), "{text}");
}

/// The list of targets does not become empty.
#[test]
fn an_option_without_a_target_stays() {
    for (target, stripped) in [
        ("debug", "debug"),
        ("debug, sm_80", "sm_80"),
        ("sm_80, debug", "sm_80"),
        (
            "sm_80, debug, texmode_independent",
            "sm_80 , texmode_independent",
        ),
    ] {
        let head = ".version 8.0\n.target ";
        let module = ptx_parse::parse_str(&format!("{head}{target}\n")).module;
        let text = String::from_utf8(ptx_transform::strip(&module).text().to_vec()).unwrap();
        assert_eq!(
            text.split_whitespace().collect::<Vec<_>>().join(" "),
            format!(".version 8.0 .target {stripped}")
        );
    }
}

#[test]
fn what_the_sections_that_stay_speak_of_stays() {
    let text = DEBUG.replace(
        "info: .b8 102, 0 }",
        "info: .b32 more\n}\n.section .debug_line_str { more: .b8 0 }",
    );
    let part = of(&text, &["k"]);
    assert!(
        part.ends_with(
            ".section .debug_str { info: .b32 more\n}\n.section .debug_line_str { more: .b8 0 }\n"
        ),
        "{part}"
    );
}

#[test]
fn the_nearest_name_is_told() {
    let module = ptx_parse::parse_str(&format!("{HEAD}.entry axpy() {{ ret; }} .func f();")).module;
    let unknown = extract(&module, &["apxy"]).unwrap_err();
    assert_eq!(
        unknown.to_string(),
        "unknown function or kernel `apxy`; did you mean `axpy`?"
    );
    let undefined = extract(&module, &["f"]).unwrap_err();
    assert!(matches!(undefined, ExtractError::Undefined { .. }));
}

/// The words of an item, and of functions those of the declarations inside.
fn words(module: &Module, item: ptx_ir::ItemId) -> BTreeSet<&str> {
    let text = module.span(item).of(module.source());
    let words = Lexer::fragment(text).map(|t| t.span.of(text));
    words.filter_map(|w| std::str::from_utf8(w).ok()).collect()
}

/// The names that each item declares.
fn declared(module: &Module, item: Item) -> Vec<&str> {
    match item {
        Item::Function(f) => vec![module.function_name(f)],
        Item::Decl(d) => {
            let all = module.declarations().declarators(d).iter();
            all.map(|d| module.name(d.name)).collect()
        }
        _ => Vec::new(),
    }
}

/// Every name that may be needed, by definition: it is a word of something that is needed.
fn mentioned<'m>(module: &'m Module, root: &'m str) -> BTreeSet<&'m str> {
    let mut items: BTreeMap<&str, Vec<ptx_ir::ItemId>> = BTreeMap::new();
    for (id, item) in module.items() {
        for name in declared(module, item) {
            items.entry(name).or_default().push(id);
        }
    }
    let mut aliases: Vec<BTreeSet<&str>> = Vec::new();
    for (id, item) in module.items() {
        if let Item::Directive(_) = item {
            aliases.push(words(module, id));
        }
    }
    let mut found = BTreeSet::new();
    let mut todo = vec![root];
    while let Some(name) = todo.pop() {
        if !found.insert(name) {
            continue;
        }
        for item in items.get(name).into_iter().flatten() {
            todo.extend(
                words(module, *item)
                    .into_iter()
                    .filter(|w| items.contains_key(w)),
            );
        }
        for alias in aliases.iter().filter(|a| a.contains(name)) {
            todo.extend(alias.iter().filter(|w| items.contains_key(*w)));
        }
    }
    found
}

fn errors(text: &[u8]) -> Vec<String> {
    let parsed = ptx_parse::parse(text);
    let options = ptx_verify::Options::default();
    let all = parsed
        .diagnostics
        .into_iter()
        .chain(ptx_verify::verify(&parsed.module, &options));
    let all = all.filter(|d| d.severity == Severity::Error);
    all.map(|d| format!("{}: {}", d.code, d.message)).collect()
}

/// A part is made of pieces of the source alone, in their order.
fn is_made_of(source: &[u8], part: &Rewriting<Vec<Diagnostic>>) {
    let (mut old_end, mut new_end) = (0, 0);
    for (old, new, len) in part.map.pieces() {
        assert!(old >= old_end && new == new_end);
        let (old, new, len) = (old as usize, new as usize, len as usize);
        assert_eq!(source[old..old + len], part.text()[new..new + len]);
        (old_end, new_end) = ((old + len) as u32, (new + len) as u32);
    }
    assert_eq!(new_end as usize, part.text().len());
}

#[test]
fn kernels_of_the_corpus_are_whole_alone() {
    let mut kernels = 0;
    for (name, text) in corpus::accepted(120_000) {
        let module = ptx_parse::parse(&text).module;
        let all = module
            .definitions()
            .filter(|(_, f, _)| f.kind == FunctionKind::Entry);
        for (_, function, _) in all.take(4) {
            let kernel = module.name(function.name);
            let part = extract(&module, &[kernel]).unwrap();
            is_made_of(&text, &part);
            assert_eq!(errors(part.text()), Vec::<String>::new(), "{name} {kernel}");
            let alone = &part.module;
            let may_stay = mentioned(&module, kernel);
            for (_, item) in alone.items() {
                for name in declared(alone, item) {
                    assert!(may_stay.contains(name), "{kernel} does not need {name}");
                }
            }
            kernels += 1;
        }
    }
    assert!(kernels > 100, "{kernels}");
}

/// The text of every function of a module with a body, by its name.
fn bodies(module: &Module) -> BTreeMap<&str, &[u8]> {
    let of = |f: &ptx_ir::Function, b: &ptx_ir::Body| {
        let span = ptx_ir::Span::new(b.base(), b.base() + b.end());
        (module.name(f.name), span.of(module.source()))
    };
    module.definitions().map(|(_, f, b)| of(f, b)).collect()
}

#[test]
fn parts_of_the_corpus_make_the_whole_again() {
    let mut files = 0;
    for (name, text) in corpus::accepted(120_000) {
        let module = ptx_parse::parse(&text).module;
        if !module.sections().is_empty() {
            continue;
        }
        let mut all = module
            .definitions()
            .filter(|(_, f, _)| f.kind == FunctionKind::Entry);
        let Some((_, kernel, _)) = all.next() else {
            continue;
        };
        let split = split(&module, &[module.name(kernel.name)]).unwrap();
        let hide: Vec<&str> = split.exported.iter().map(String::as_str).collect();
        let parts = [split.part, split.rest].map(|p| ptx_parse::parse(p.text()));
        for part in &parts {
            let wrong = part
                .diagnostics
                .iter()
                .find(|d| d.severity == Severity::Error);
            assert!(wrong.is_none(), "{name}: {wrong:?}");
        }
        let [part, rest] = parts.map(|p| p.module);
        let linked = link(&[&part, &rest], &LinkOptions::default().with_hidden(&hide));
        let linked = linked.unwrap_or_else(|e| panic!("{name}: {e:?}"));
        let again = &linked.module;
        assert_eq!(errors(linked.text()), Vec::<String>::new(), "{name}");
        assert_eq!(bodies(&module), bodies(again), "{name}");
        let names = |m: &Module| -> BTreeSet<String> {
            let all = m.symbols().values();
            all.map(|s| format!("{} {:?}", m.name(s.name), s.number))
                .collect()
        };
        assert_eq!(names(&module), names(again), "{name}");
        for (input, map) in [&part, &rest].iter().zip(&linked.maps) {
            for (old, new, len) in map.pieces() {
                let (old, new, len) = (old as usize, new as usize, len as usize);
                assert_eq!(
                    input.source()[old..old + len],
                    linked.text()[new..new + len]
                );
            }
        }
        files += 1;
    }
    assert!(files > 50, "{files}");
}

#[test]
fn what_only_one_module_can_have_takes_its_users_along() {
    let text = format!(
        "{HEAD}\
.shared .b32 s[4];
.global .b32 x = 3;
.const .b32 c, d = 4;
.global .b32 t<2>;
.func w() {{ .reg .b32 r; ld.global.b32 r, [t1]; ret; }}
.visible .func v() {{ ret; }}
.func f() {{ st.shared.b32 [s], 1; ret; }}
.func g() {{ call f; ret; }}
.func u() {{ st.shared.b32 [s], 2; ret; }}
.func h() {{ ret; }}
.func i() .noreturn {{ trap; }}
.entry k() {{ .reg .b32 r; ld.global.b32 r, [t0]; call f; call h; call i; call v; ld.global.b32 r, [x]; ld.const.b32 r, [d]; ret; }}
.entry m() {{ call g; ret; }}
.entry n() {{ .reg .b32 r; call h; call i; call v; ld.global.b32 r, [x]; ld.const.b32 r, [d]; ret; }}
"
    );
    let module = ptx_parse::parse_str(&text).module;
    let split = split(&module, &["k"]).unwrap();
    assert_eq!(split.exported, ["d", "f", "h", "i", "x"]);
    let rest = String::from_utf8(split.rest.text().to_vec()).unwrap();
    // No function needs `c`: it stays in the rest.
    let expected = format!(
        "{HEAD}\
.extern .global .b32 x;
.extern .const .b32 d;
.const .b32 c;
.extern .func v();
.extern .func f();
.func g() {{ call f; ret; }}
.extern .func h();
.extern .func i() .noreturn;
.entry m() {{ call g; ret; }}
.entry n() {{ .reg .b32 r; call h; call i; call v; ld.global.b32 r, [x]; ld.const.b32 r, [d]; ret; }}
"
    );
    assert_eq!(rest, expected);
    let part = String::from_utf8(split.part.text().to_vec()).unwrap();
    assert!(part.contains("\n.visible .const .b32 d = 4;\n"), "{part}");
    assert!(part.contains("\n.visible .func h() { ret; }\n"), "{part}");
    assert!(
        part.contains("\n.shared .b32 s[4];\n.visible .global"),
        "{part}"
    );
}
