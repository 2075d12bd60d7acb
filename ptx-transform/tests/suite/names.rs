//! Rewritten texts against their originals, over the whole corpus: what is written differently, and nothing else.

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::path::{Path, PathBuf};

    use crate::sample::{has_file, sample};

    use ptx_edit::{Entity, Names, OwnSymbols, RenameError, Renaming};
    use ptx_ir::{Item, Module, Severity, Statement};
    use ptx_transform::{MinifyOptions, flatten, minify, renumber, strip};

    /// Some of the files of the corpus that `PTXKIT_FILES` selects.
    fn corpus() -> Vec<(String, Vec<u8>)> {
        let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus")];
        let mut files: Vec<PathBuf> = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|e| e == "ptx") {
                    files.push(path);
                }
            }
        }
        files.sort();
        let named = files.into_iter().map(|p| (p.display().to_string(), p));
        let named = named.filter(|(name, _)| has_file(name));
        sample(6, 3)
            .of(named)
            .map(|(name, path)| (name, std::fs::read(path).unwrap()))
            .collect()
    }

    fn errors(text: &[u8]) -> usize {
        let parsed = ptx_parse::parse(text);
        let found = parsed.diagnostics.iter();
        found.filter(|d| d.severity == Severity::Error).count()
    }

    /// What the checker says, without places.
    fn verdict(text: &[u8]) -> (bool, usize) {
        let parsed = ptx_parse::parse(text);
        let options = ptx_verify::Options::default();
        let found = ptx_verify::verify(&parsed.module, &options);
        let errors = found.iter().filter(|d| d.severity == Severity::Error);
        (parsed.has_errors(), errors.count())
    }

    /// How names are told apart: by what they mean, and of a range by their number.
    type Meaning = (Entity, Option<u32>);

    /// A text as instructions, labels and the like, with each name as a number given at its first mention: the same for two
    /// texts that differ in names alone. Declarations of registers, scopes, lines and comments are left out.
    fn skeleton(text: &[u8], lines: bool) -> Vec<String> {
        let module = ptx_parse::parse(text).module;
        let names = Names::of(&module);
        let mut ids: HashMap<Meaning, usize> = HashMap::new();
        let mut rows = Vec::new();
        let mut row = |module: &Module, span: ptx_ir::Span, what: String| {
            let mut text = what;
            let tokens = ptx_ir::lex::Lexer::fragment(span.of(module.source()));
            let mut mentions = names.within(span).iter().peekable();
            let mut skip = None;
            for token in tokens.filter(|t| !t.kind.is_trivia()) {
                let at = token.span.shifted(span.start);
                while mentions.next_if(|m| m.name.start < at.start).is_some() {}
                text.push(' ');
                match mentions.peek().filter(|m| m.name.start == at.start) {
                    Some(m) if !matches!(m.entity, Entity::Unknown(_) | Entity::Symbol(_)) => {
                        let next = ids.len();
                        let id = *ids.entry((m.entity, m.member)).or_insert(next);
                        text.push_str(&format!("#{id}"));
                        skip = (m.member.is_none() && !m.number.is_empty()).then_some(m.number);
                    }
                    // The count of a range.
                    _ if skip == Some(at) => {}
                    _ => text.push_str(&String::from_utf8_lossy(at.of(module.source()))),
                }
            }
            rows.push(text);
        };
        for (id, item) in module.items() {
            let span = module.span(id);
            match item {
                Item::Function(f) if module.body(f).is_some() => {
                    let body = module.body(f).unwrap();
                    row(
                        &module,
                        ptx_ir::Span::new(span.start, body.base()),
                        "function".into(),
                    );
                    for (id, statement) in body.statements() {
                        let skipped = match statement {
                            Statement::Open(_) | Statement::Close(_) => true,
                            Statement::Decl(d) => {
                                let decl = body.declarations().decls.get(d).unwrap();
                                decl.space == ptx_isa::StateSpace::Reg
                            }
                            Statement::Directive(d) => {
                                let directive = body.directives().get(d).unwrap().directive;
                                !lines && directive == ptx_isa::Directive::Loc
                            }
                            _ => false,
                        };
                        if !skipped {
                            row(&module, body.source_span(id), String::new());
                        }
                    }
                }
                Item::Section(_) if !lines => {}
                Item::Directive(d)
                    if !lines
                        && matches!(
                            module.directives().get(d).unwrap().directive,
                            ptx_isa::Directive::File | ptx_isa::Directive::Target
                        ) => {}
                _ => row(&module, span, "item".into()),
            }
        }
        rows
    }

    #[track_caller]
    fn same(name: &str, old: &[u8], new: &[u8], lines: bool) {
        assert!(
            errors(new) <= errors(old),
            "{name}: more errors than before"
        );
        let (a, b) = (skeleton(old, lines), skeleton(new, lines));
        for (a, b) in a.iter().zip(&b) {
            assert_eq!(a, b, "{name}");
        }
        assert_eq!(a.len(), b.len(), "{name}");
    }

    /// Files with unrecognized statements are rewritten as well, but their errors can change.
    fn valid() -> impl Iterator<Item = (String, Vec<u8>)> {
        corpus().into_iter().filter(|(_, text)| errors(text) == 0)
    }

    #[test]
    fn every_name_can_be_another_one() {
        let mut renamed = 0;
        for (name, text) in valid() {
            let module = ptx_parse::parse(&text).module;
            let names = Names::of(&module);
            let mut renaming = Renaming::new();
            for (i, m) in names.refs().iter().enumerate() {
                let local = !matches!(m.entity, Entity::Symbol(_) | Entity::Unknown(_));
                if local && renaming.get(m.entity).is_none() {
                    renaming.set(m.entity, format!("new_{i}_"));
                }
            }
            match renaming.apply(&module, &names) {
                Ok(new) => {
                    renamed += 1;
                    same(&name, &text, new.text(), true);
                    assert_eq!(verdict(&text), verdict(new.text()), "{name}");
                    let back = ptx_parse::parse(new.text()).module;
                    let found = Names::of(&back);
                    for m in found.refs() {
                        let word = String::from_utf8_lossy(m.whole().of(new.text())).into_owned();
                        let local = !matches!(m.entity, Entity::Symbol(_) | Entity::Unknown(_));
                        assert_eq!(local, word.starts_with("new_"), "{name}: {word}");
                    }
                }
                Err(RenameError::Used(_)) => {}
                Err(error) => panic!("{name}: {error}: {error:?}"),
            }
        }
        assert!(renamed > 300 / sample(6, 3).parts, "{renamed}");
    }

    #[test]
    fn rewritten_texts_have_the_structure_of_the_old() {
        for (index, (name, text)) in valid().enumerate() {
            let module = ptx_parse::parse(&text).module;
            let before = verdict(&text);
            // Two for each file.
            let rewritten = match index % 2 {
                0 => [
                    ("strip", strip(&module), false),
                    ("renumber", renumber(&module), true),
                ],
                _ => [
                    ("minify", minify(&module, &MinifyOptions::default()), true),
                    ("flatten", flatten(&module), true),
                ],
            };
            for (what, new, lines) in rewritten {
                let name = format!("{what} {name}");
                same(&name, &text, new.text(), lines);
                let after = verdict(new.text());
                // Errors in removed debug information and unreferenced registers disappear.
                assert!(before == after || after < before, "{name}");
                // The map leads to the same bytes.
                for at in (0..text.len()).step_by(97) {
                    if let Some(there) = new.map.to_new(at as u32) {
                        assert_eq!(new.text().get(there as usize), text.get(at), "{name}");
                    }
                }
            }
        }
    }

    #[test]
    fn doing_it_again_changes_nothing() {
        for (index, (name, text)) in valid().enumerate() {
            let again = |what: &str, rewrite: &dyn Fn(&Module) -> Vec<u8>| {
                let once = rewrite(&ptx_parse::parse(&text).module);
                let twice = rewrite(&ptx_parse::parse(&once).module);
                if once != twice {
                    let at = once.iter().zip(&twice).position(|(a, b)| a != b);
                    let at = at.unwrap_or_default();
                    let part = |t: &[u8]| {
                        let end = t.len().min(at + 60);
                        String::from_utf8_lossy(&t[at.saturating_sub(60)..end]).into_owned()
                    };
                    panic!("{what} {name}:\n{}\n{}", part(&once), part(&twice));
                }
                assert!(
                    // A register that is named often may get a longer number.
                    once.len() <= text.len() || matches!(what, "flatten" | "renumber"),
                    "{what} {name}"
                );
            };
            // Two for each file, and one combination of options.
            if index % 2 == 0 {
                again("renumber", &|m| renumber(m).text().to_vec());
                again("flatten", &|m| flatten(m).text().to_vec());
                continue;
            }
            again("strip", &|m| strip(m).text().to_vec());
            let how = MinifyOptions::default()
                .with_symbols(index & 2 != 0)
                .with_dead(index & 4 != 0);
            again("minify", &|m| minify(m, &how).text().to_vec());
        }
    }

    /// Whether another name of the body is this one followed by digits: then numbers stay.
    fn shared(module: &Module, body: &ptx_ir::Body, name: ptx_ir::NameId) -> bool {
        let others = body.reg_decls().values().map(|d| d.name);
        let mut others = others.chain(body.labels().values().map(|l| l.name));
        others.any(|other| {
            let rest = module.name(other).strip_prefix(module.name(name));
            rest.is_some_and(|r| !r.is_empty() && r.bytes().all(|b| b.is_ascii_digit()))
        })
    }

    #[test]
    fn documented_parts_are_removed() {
        for (name, text) in valid() {
            let module = ptx_parse::parse(&text).module;
            let new = strip(&module).text().to_vec();
            let trivia = ptx_ir::lex::Lexer::new(&new).filter(|t| t.kind.is_trivia());
            for token in trivia {
                assert_eq!(token.kind, ptx_ir::lex::TokenKind::Whitespace, "{name}");
            }
            for word in [&b".loc"[..], b".file", b".debug_info"] {
                let mut tokens = ptx_ir::lex::Lexer::new(&new);
                assert!(!tokens.any(|t| t.span.of(&new) == word), "{name}");
            }
            let flat = flatten(&module).module;
            assert!(
                flat.bodies().values().all(|b| b.inner_scopes().is_empty()),
                "{name}"
            );
            let dense = renumber(&flat).module;
            for body in dense.bodies().values() {
                for (id, decl) in body.reg_decls().iter() {
                    let used = body.registers().values().filter(|r| r.decl == id).count();
                    let count = decl.count.map_or(1, |n| n as usize);
                    let parameter = decl.stmt.is_none() || shared(&dense, body, decl.name);
                    assert!(
                        parameter || used == count,
                        "{name}: {}",
                        dense.name(decl.name)
                    );
                }
            }
        }
    }

    #[test]
    fn broken_texts_are_rewritten_without_a_panic() {
        for (_, text) in corpus().into_iter().filter(|(_, t)| t.len() < 20_000) {
            let cut = text.len() / 2;
            for text in [&text[..], &text[..cut], &text[cut..]] {
                let module = ptx_parse::parse(text).module;
                let all = MinifyOptions::default().with_symbols(true).with_dead(true);
                for new in [
                    strip(&module),
                    minify(&module, &all),
                    renumber(&module),
                    flatten(&module),
                ] {
                    let _ = ptx_parse::parse(new.text());
                }
            }
        }
    }

    // --- small cases, each a trap ---

    fn module(body: &str) -> String {
        format!(".version 8.0\n.target sm_80\n.address_size 64\n.global .u32 g;\n{body}\n")
    }

    fn small(body: &str) -> String {
        let text = module(body);
        let module = ptx_parse::parse_str(&text).module;
        let new = minify(&module, &MinifyOptions::default()).text().to_vec();
        let new = String::from_utf8(new).unwrap();
        new.split_once(".global.u32 g;").unwrap().1.to_owned()
    }

    #[test]
    fn spaces_stay_between_tokens_that_would_join() {
        let kernel = |inner: &str| format!(".entry k ( ) {{ .reg .b32 x ; {inner} }}");
        let new = |inner: &str| small(&kernel(inner));
        assert_eq!(
            new("mov.b32 x , 5 /**/ % 3 ;"),
            ".entry k(){.reg.b32 a;mov.b32 a,5 % 3;}"
        );
        assert_eq!(
            new("add/* a */.s32 x,x,- 1;"),
            ".entry k(){.reg.b32 a;add .s32 a,a,-1;}"
        );
        assert!(new("mov.b32 x,1 < < 2;").contains("< <"));
        assert_eq!(
            new(".shared .align 4 .b8 s[4];"),
            ".entry k(){.shared.align 4 .b8 aa[4];}"
        );
    }

    #[test]
    fn new_names_keep_away_from_those_that_stay() {
        let new = small(
            ".global .u32 a, b0; .entry k() { .reg .b32 r<3>; ld.global.b32 r1, [a]; ld.global.b32 r2, [b0]; }",
        );
        assert!(
            new.ends_with("{.reg.b32 c<2>;ld.global.b32 c0,[a];ld.global.b32 c1,[b0];}"),
            "{new}"
        );
    }

    #[test]
    fn captures_are_refused() {
        let text = module(
            ".entry k() { .reg .b32 x, y, r<3>; { .reg .b32 z; mov.b32 z, x; } mov.b32 y, r1; }",
        );
        let module = ptx_parse::parse_str(&text).module;
        let names = Names::of(&module);
        let renamed = |old: &str, new: &str| {
            let mut renaming = Renaming::new();
            for entity in names.find(&module, old, None) {
                renaming.set(entity, new);
            }
            assert!(!renaming.is_empty());
            renaming.apply(&module, &names)
        };
        for (old, new) in [("x", "z"), ("z", "x"), ("x", "y"), ("y", "r2"), ("g", "k")] {
            let error = renamed(old, new).unwrap_err();
            assert!(
                matches!(error, RenameError::Taken(..)),
                "{old} {new}: {error:?}"
            );
        }
        for new in ["%tid", "WARP_SZ", "a b", "", "1a", "_", "inlined_at"] {
            let error = renamed("x", new).unwrap_err();
            assert!(
                matches!(error, RenameError::Spelling(_)),
                "{new}: {error:?}"
            );
        }
        // Not visible from where `g` is mentioned, and free again in a sibling.
        for (old, new) in [("x", "r3"), ("z", "y"), ("r", "s"), ("g", "h")] {
            assert!(renamed(old, new).is_ok(), "{old} {new}");
        }
    }

    #[test]
    fn things_may_change_places() {
        let text = module(".entry k() { .reg .b32 x, y; mov.b32 x, y; }");
        let module = ptx_parse::parse_str(&text).module;
        let names = Names::of(&module);
        let mut renaming = Renaming::new();
        for (old, new) in [("x", "y"), ("y", "x")] {
            renaming.set(names.find(&module, old, None)[0], new);
        }
        let new = renaming.apply(&module, &names).unwrap();
        assert!(new.text().ends_with(b".reg .b32 y, x; mov.b32 y, x; }\n"));
    }

    #[test]
    fn prefixes_are_for_what_is_defined_here() {
        let text = ".version 8.0\n.target sm_80\n.address_size 64\n.global .b32 a, %b, c<2>;\n.visible .global .b32 seen;\n.weak .global .b32 weak;\n\
            .extern .global .b32 other;\n.func f() { ret; }\n.func g();\n.alias g, f;\n.entry k() { .reg .b32 r; ld.global.b32 r, [%b]; ld.global.b32 r, [c1]; call f; ret; }\n";
        let module = ptx_parse::parse_str(text).module;
        let names = Names::of(&module);
        let renamed = |visible: OwnSymbols| {
            let renaming = Renaming::prefix(&module, &names, "p_", visible);
            let new = renaming.apply(&module, &names).unwrap();
            String::from_utf8(new.text().to_vec()).unwrap()
        };
        let private = text
            .replace("a, %b, c<2>", "p_a, %p_b, p_c<2>")
            .replace("[%b]", "[%p_b]")
            .replace("[c1]", "[p_c1]");
        assert_eq!(renamed(OwnSymbols::Private), private);
        let all = private
            .replace("seen;", "p_seen;")
            .replace("f()", "p_f()")
            .replace("g()", "p_g()")
            .replace("g, f;", "p_g, p_f;")
            .replace("call f", "call p_f")
            .replace("k()", "p_k()");
        assert_eq!(renamed(OwnSymbols::WithVisible), all);
    }

    #[test]
    fn what_nothing_reaches_goes_and_what_others_see_stays() {
        let text = module(
            ".func f() { ret; } .func unused() { call f; ret; } .visible .func seen() { call f; ret; } .extern .func other(); .entry k() { ret; }",
        );
        let module = ptx_parse::parse_str(&text).module;
        let how = MinifyOptions::default().with_symbols(true).with_dead(true);
        let new = String::from_utf8(minify(&module, &how).text().to_vec()).unwrap();
        let rest = new.split_once("64 ").unwrap().1;
        assert_eq!(
            rest,
            ".func aa(){ret;}.visible.func seen(){call aa;ret;}.entry k(){ret;}"
        );
    }

    #[test]
    fn sources_in_modules() {
        let text = ".version 9.4\n.target sm_90\n.address_size 64\n.file 1 \"a.py\"\n.file 2 \"a.tile\"\n\
        .nv_intermediate_source_section { // x\n.code_block { .ir_name: \"T\" .sourceFileName: 2 .source_begin\n\
        \"a  // b\n  .source_end\n}\n}\n.entry k() {\n.loc 1 1 1\n.loc_intermediate 2 1 1\nret;\n}\n";
        let module = ptx_parse::parse_str(text).module;
        let bare = ".version 9.4\n.target sm_90\n.address_size 64\n.entry k() {\nret;\n}\n";
        assert_eq!(strip(&module).text(), bare.as_bytes());
        let small =
            String::from_utf8(minify(&module, &MinifyOptions::default()).text().to_vec()).unwrap();
        assert!(
            small.contains(".source_begin\n\"a  // b\n  .source_end\n}"),
            "{small}"
        );
        let extracted = ptx_transform::extract(&module, &["k"]).unwrap();
        for text in [small.as_bytes(), extracted.text()] {
            let parsed = ptx_parse::parse(text);
            let found = ptx_verify::verify(&parsed.module, &Default::default());
            assert_eq!((parsed.diagnostics, found), (vec![], vec![]));
        }
    }
}
