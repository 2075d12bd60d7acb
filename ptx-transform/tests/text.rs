//! Rewritings of the text over the corpora: the same instructions, the same things named, no new diagnostics, an exact map.
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "../../ptx-print/tests/common/corpus.rs"]
#[allow(dead_code)]
mod corpus;

use std::collections::BTreeMap;

use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::{Module, Span, Statement};
use ptx_transform::{Entity, Minify, Rename, Rewritten, Strip, each_name, rename};

/// Valid files of both corpora up to a size.
fn each_file(largest: usize, mut check: impl FnMut(&str, &[u8], &Module)) {
    let folders = [corpus::own(), corpus::larger()];
    let all = folders.iter().flat_map(|f| corpus::entries(f));
    let mut count = 0;
    for entry in all {
        let text = entry.read();
        let parsed = ptx_parse::parse(&text);
        if text.len() <= largest && !parsed.has_errors() {
            check(&entry.name, &text, &parsed.module);
            count += 1;
        }
    }
    assert!(count > 200, "{count} files");
}

/// The mnemonics of all functions.
fn instructions(module: &Module) -> Vec<&str> {
    let all = module.definitions();
    all.flat_map(|(.., body)| body.insts().map(|(_, i)| module.signature(i.sig).text()))
        .collect()
}

/// What names stand for, one after the other.
fn names(module: &Module, numbers: bool) -> Vec<(Entity, Option<u32>, bool)> {
    let mut all = Vec::new();
    each_name(module, |n| {
        if !matches!(n.entity, Entity::Unknown(_)) {
            all.push((n.entity, n.number.filter(|_| numbers), n.declares));
        }
    });
    all
}

/// What holds for every rewriting; gives the module of the new text.
fn holds(name: &str, old: &Module, new: &Rewritten) -> Module {
    let again = ptx_parse::parse(&new.text);
    assert!(
        !again.has_errors(),
        "{name}: {:?}",
        again.diagnostics.first()
    );
    assert_eq!(instructions(old), instructions(&again.module), "{name}");
    for (from, to, len) in new.map.pieces() {
        let old = Span::new(from, from + len).of(old.source());
        assert_eq!(old, Span::new(to, to + len).of(&new.text), "{name}");
    }
    again.module
}

#[test]
fn every_name_is_found() {
    each_file(100_000, |file, text, module| {
        let mut last = 0;
        let mut found: BTreeMap<Entity, usize> = BTreeMap::new();
        each_name(module, |n| {
            assert!(n.span.start >= last, "{file}: out of order at {last}");
            last = n.span.end;
            let word = n.span.of(text);
            if let Some(name) = n.entity.name(module) {
                assert!(
                    word.starts_with(module.name_bytes(name)),
                    "{file}: {word:?}"
                );
            }
            *found.entry(n.entity).or_default() += 1;
        });
        // As often as operands mention them, and once more for the declaration.
        let mut mentioned: BTreeMap<Entity, usize> = BTreeMap::new();
        for (f, _, body) in module.definitions() {
            for (_, statement) in body.statements() {
                if let Statement::Label(l) = statement {
                    *mentioned.entry(Entity::Label(f, l)).or_default() += 1;
                }
                for operand in body.mentions(statement) {
                    let entity = match operand {
                        ptx_ir::Operand::Reg(r) => Entity::Register(f, body.registers[r].decl),
                        ptx_ir::Operand::Label(l) => Entity::Label(f, l),
                        _ => continue,
                    };
                    *mentioned.entry(entity).or_default() += 1;
                }
            }
            for (id, _) in body.reg_decls.iter() {
                *mentioned.entry(Entity::Register(f, id)).or_default() += 1;
            }
        }
        for (entity, count) in mentioned {
            assert_eq!(found.get(&entity), Some(&count), "{file}: {entity:?}");
        }
    });
}

#[test]
fn stripped_files_have_no_comments_and_no_debug_information() {
    each_file(300_000, |file, _, module| {
        let new = ptx_transform::strip(module, Strip::default());
        let again = holds(file, module, &new);
        for token in Lexer::new(&new.text).filter(|t| t.kind.is_trivia()) {
            let kept = matches!(token.kind, TokenKind::Whitespace | TokenKind::ByteOrderMark);
            assert!(kept, "{file}");
        }
        assert!(again.sections.is_empty(), "{file}");
        // Nothing else went: what is neither blank nor taken away is in the map.
        let twice = ptx_transform::strip(&again, Strip::default());
        assert_eq!(twice.text, new.text, "{file}");
    });
}

#[test]
fn minified_files_name_the_same_things() {
    each_file(300_000, |file, text, module| {
        let new = ptx_transform::minify(module, Minify::default());
        let again = holds(file, module, &new);
        assert_eq!(names(module, true), names(&again, true), "{file}");
        let shorter = new.text.len() <= text.len();
        assert!(shorter, "{file}: {} {}", text.len(), new.text.len());
        let twice = ptx_transform::minify(&again, Minify::default());
        assert!(twice.text == new.text, "{file}: no fixed point");
        let all = Minify {
            symbols: true,
            dead: false,
        };
        let new = ptx_transform::minify(module, all);
        let again = holds(file, module, &new);
        assert_eq!(names(module, true), names(&again, true), "{file}");
    });
}

#[test]
fn what_nothing_mentions_goes() {
    let text = b".version 8.0 .target sm_80\n.global .b32 unused;\n.func also() { ret; }\n.func chain() { call also; ret; }\n\
        .func itself() { call itself; ret; }\n.visible .func seen() { ret; }\n.func used() { ret; }\n\
        .entry k() { .reg .b32 a, b; .reg .b32 c; .shared .b8 s[4]; L: M: bra L; mov.b32 a, 1; call used; ret; }\n";
    let what = Minify {
        dead: true,
        ..Minify::default()
    };
    let new = ptx_transform::minify(&ptx_parse::parse(text).module, what);
    assert_eq!(
        String::from_utf8(new.text).unwrap(),
        ".version 8.0 .target sm_80 .visible .func seen(){ret;}.func used(){ret;}\
            .entry k(){.reg .b32 a,c;b:bra b;mov.b32 a,1;call used;ret;}"
    );
}

#[test]
fn renumbered_registers_are_dense() {
    each_file(300_000, |file, _, module| {
        let new = ptx_transform::renumber(module);
        let again = holds(file, module, &new);
        for (.., body) in again.definitions() {
            for (decl, d) in body.reg_decls.iter().filter(|(_, d)| d.count.is_some()) {
                let base = again.name(d.name);
                let contested = body.reg_decls.iter().any(|(id, other)| {
                    let rest = again.name(other.name).strip_prefix(base);
                    id != decl && rest.is_some_and(|r| r.bytes().all(|b| b.is_ascii_digit()))
                });
                let names = body.vars.values().map(|v| v.name);
                let names = names.chain(body.labels.values().map(|l| l.name));
                let mut names = names.chain(again.symbols.values().map(|s| s.name));
                let contested = contested
                    || names.any(|n| {
                        let rest = again.name(n).strip_prefix(base);
                        rest.is_some_and(|r| !r.is_empty() && r.bytes().all(|b| b.is_ascii_digit()))
                    });
                let used = body.registers.values().filter(|r| r.decl == decl).count();
                assert!(contested || d.count == Some(used as u32), "{file}: {base}");
            }
        }
        let twice = ptx_transform::renumber(&again);
        assert!(twice.text == new.text, "{file}: no fixed point");
    });
}

#[test]
fn declarators_go_with_their_commas() {
    for (before, after) in [
        (".reg .b32 a, b, c;", ".reg .b32 b;"),
        (".reg .b32 b, a, c;", ".reg .b32 b;"),
        (".reg .b32 a, /* c */ c, b;", ".reg .b32 b;"),
        (".reg .b32 a<4>, b, d<2>;", ".reg .b32 b;"),
        (".reg .b32 b /* it */ , a;", ".reg .b32 b;"),
    ] {
        let text = |d: &str| {
            format!(".version 8.0 .target sm_80 .entry k() {{\n\t{d}\n\tmov.b32 b, 1;\n}}\n")
        };
        let new = ptx_transform::renumber(&ptx_parse::parse_str(&text(before)).module);
        assert_eq!(String::from_utf8(new.text).unwrap(), text(after));
    }
}

#[test]
fn flat_functions_have_no_inner_scopes() {
    each_file(300_000, |file, _, module| {
        let new = ptx_transform::flatten(module);
        let again = holds(file, module, &new);
        assert_eq!(names(module, true), names(&again, true), "{file}");
        let scopes =
            |m: &Module| -> usize { m.bodies.values().map(|b| b.inner_scopes.len()).sum() };
        // Names that debug information speaks of stay, and the scopes that tell them apart.
        let kept = !module.sections.is_empty() || scopes(&again) == 0;
        assert!(kept, "{file}: {}", scopes(&again));
    });
}

#[test]
fn names_change_everywhere_or_not_at_all() {
    let text = ".version 8.0 .target sm_80\n.global .b32 table[4];\n.entry k(.param .u64 p)\n{\n\t.reg .b64 %r<3>;\n\t.reg .b64 x;\n\
        L:\tld.param.u64 %r1, [p]; mov.u64 %r02, table; // table\n\t{ .reg .b32 x; mov.b32 x, 1; }\n\tbra L;\n}\n";
    let module = ptx_parse::parse_str(text).module;
    let k = module.function("k");
    let to = |function, old, new| rename(&module, &[Rename { function, old, new }]);
    let new = |function, old, new| String::from_utf8(to(function, old, new).unwrap().text).unwrap();
    assert_eq!(
        new(None, "%r", "%wide"),
        text.replace("%r02", "%r2").replace("%r", "%wide")
    );
    assert_eq!(
        new(None, "L", "loop"),
        text.replace("L:", "loop:").replace("bra L", "bra loop")
    );
    let symbol = text.replace("table[", "t[").replace(", table", ", t");
    assert_eq!(new(None, "table", "t"), symbol);
    assert_eq!(
        new(k, "p", "pointer"),
        text.replace("u64 p", "u64 pointer")
            .replace("[p]", "[pointer]")
    );
    let refused = |old, new| to(None, old, new).unwrap_err().to_string();
    assert_eq!(refused("nothing", "n"), "nothing has the name `nothing`");
    assert_eq!(refused("table", "4x"), "`4x` can be no name");
    assert_eq!(refused("L", "x"), "the name `x` is taken");
    assert_eq!(refused("table", "%r1"), "the name `%r1` is taken");
    assert_eq!(refused("p", "%tid"), "the name `%tid` is taken");
    assert!(to(None, "table", "x").is_err());
}

#[test]
fn names_of_debug_information_stay() {
    let text = ".version 8.0 .target sm_80\n.file 1 \"a.cu\"\n.entry k()\n{\nbegin:\n\tret;\n}\n\
        .section .debug_info\n{\n.b64 begin\n}\n";
    let module = ptx_parse::parse_str(text).module;
    let all = [Rename {
        function: None,
        old: "begin",
        new: "x",
    }];
    let refused = rename(&module, &all).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "debug information or a table speaks of `begin`"
    );
    let small = ptx_transform::minify(&module, Minify::default());
    assert!(String::from_utf8(small.text).unwrap().contains("begin:ret"));
    let stripped = ptx_transform::strip(&module, Strip::default());
    assert!(stripped.text.ends_with(b".entry k()\n{\n\tret;\n}\n"));
}

#[test]
fn edited_modules_are_rewritten_as_they_are() {
    let text = b".version 8.0 .target sm_80\n.entry k()\n{\n\t.reg .b32 %r<9>;\n\tmov.b32 %r7, 1; // one\n\tret;\n}\n";
    let mut module = ptx_parse::parse(text).module;
    let k = module.function("k").unwrap();
    let mut editor = module.edit(k).unwrap();
    let mov = editor.body().statements().nth(1).unwrap().0;
    editor
        .set_operand(mov, 1, ptx_ir::Operand::Small(22))
        .unwrap();
    let new = ptx_transform::renumber(&module);
    let place =
        |text: &[u8], word: &[u8]| text.windows(word.len()).position(|w| w == word).unwrap() as u32;
    assert!(
        new.text
            .ends_with(b"\t.reg .b32 %r<1>;\n\tmov.b32 %r0, 22; // one\n\tret;\n}\n")
    );
    assert_eq!(
        new.map.to_new(place(text, b"// one")),
        Some(place(&new.text, b"// one"))
    );
}
