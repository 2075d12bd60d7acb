//! A module whose bodies are checked while it is parsed has no diagnostics exactly where it has none otherwise.
#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

use crate::corpus::{self, Entry};
use crate::mutate::{self, Random};
use crate::sample::{Sample, sample};
use ptx_ir::{Body, Limits, SourceText, Statement};
use ptx_isa::{Directive, StateSpace};
use ptx_parse::{Division, visit_bodies};
use ptx_verify::{BodyChecker, Options, codegen_limits, verify};

/// Whether a text has no diagnostics, found out body by body.
fn is_clean_body_by_body(text: &[u8], threads: usize, part: usize) -> bool {
    let options = Options::default();
    let visited = visit_bodies(
        &SourceText::from(text),
        &Limits::default(),
        Division { threads, part },
        || BodyChecker::new(options),
        BodyChecker::check,
    );
    let found = visited.and_then(|v| BodyChecker::finish(v.visitors, options, &v.module));
    found.is_some_and(|found| found.is_empty())
}

/// Whether a text has no diagnostics; `None` if that is not found out body by body: with several `.target` directives, or bodies that
/// concern other functions.
fn is_clean(text: &[u8]) -> Option<bool> {
    let parsed = ptx_parse::parse(text);
    let module = &parsed.module;
    let is_clean = parsed.diagnostics.is_empty()
        && verify(module, &Options::default()).is_empty()
        && codegen_limits(module).is_empty();
    let targets = module.directives().values();
    let targets = targets.filter(|d| d.directive == Directive::Target);
    let is_known = targets.count() == 1 && !module.bodies().values().any(concerns_others);
    (is_known || !is_clean).then_some(is_clean)
}

/// Whether rules look at a body beside others: it has an alias or constants.
fn concerns_others(body: &Body) -> bool {
    let mut directives = body.directives().values();
    let mut variables = body.declarations().decls.values();
    directives.any(|d| d.directive == Directive::Alias)
        || variables.any(|d| d.space.base() == StateSpace::Const)
}

/// Whether a text can be divided among threads: no body declares functions, and its braces match even if those in comments count.
fn is_divisible(text: &[u8]) -> bool {
    let module = ptx_parse::parse(text).module;
    module.bodies().values().all(|body| {
        let declares = |s| matches!(s, Statement::Function(_));
        let place = body.base() as usize..(body.base() + body.end()) as usize;
        let mut depth = 0;
        let ends = text[place.clone()].iter().map(|c| {
            depth += i32::from(*c == b'{') - i32::from(*c == b'}');
            depth == 0 && *c == b'}'
        });
        !body.statements().any(|(_, s)| declares(s))
            && ends.into_iter().position(|end| end) == Some(place.len() - 1)
    })
}

/// Compares the answers for several divisions. Gives the answer.
fn check(name: &str, text: &[u8]) -> bool {
    let Some(expected) = is_clean(text) else {
        return false;
    };
    for (threads, part) in [(1, 1), (2, 1), (2, 3000), (3, 500), (2, usize::MAX)] {
        let expected = expected && (threads == 1 || is_divisible(text));
        let found = is_clean_body_by_body(text, threads, part);
        assert_eq!(
            found, expected,
            "{name}: {threads} threads, parts of {part}"
        );
    }
    expected
}

fn check_files(files: Vec<Entry>, sample: Sample, most_bytes: usize) -> usize {
    let mut clean = 0;
    for entry in sample.of(files) {
        let text = entry.read();
        if text.len() <= most_bytes {
            clean += usize::from(check(&entry.name, &text));
        }
    }
    clean
}

#[test]
fn own_files() {
    let sample = sample(4, 1);
    let clean = check_files(corpus::entries(&corpus::own()), sample, 100_000);
    assert!(clean > 200 / sample.parts, "{clean}");
}

#[test]
#[ignore = "needs ../shared/corpus"]
fn shared_corpus_files() {
    let clean = check_files(corpus::entries(&corpus::shared()), sample(1, 2), 200_000);
    assert!(clean > 50, "{clean}");
}

#[test]
fn damaged_files() {
    let files = corpus::entries(&corpus::own())
        .into_iter()
        .map(|e| e.read());
    let files: Vec<Vec<u8>> = files.filter(|t| t.len() < 10_000).collect();
    let mut random = Random::new(23);
    let mut clean = 0;
    let rounds = 1500 / sample(5, 1).parts;
    for round in 0..rounds {
        let mut text = random.pick(&files).clone();
        for _ in 0..1 + round % 2 {
            let damage = *random.pick(&[mutate::bytes, mutate::tokens]);
            damage(&mut text, &mut random);
        }
        clean += usize::from(check("a damaged file", &text));
    }
    assert!((1..rounds).contains(&clean), "{clean}");
}

/// They are allowed in comments only, wherever these are.
#[test]
fn characters_outside_of_ascii() {
    let function = |i: u32| format!(".func f{i}()\n{{\n\tret;\n}}\n");
    let lines =
        ".version 8.0\n.target sm_80\n".to_owned() + &(0..5).map(function).collect::<String>();
    for (at, _) in lines.match_indices('\n') {
        let (before, after) = lines.split_at(at);
        assert!(check(
            "in a comment",
            format!("{before} // \u{e9}{after}").as_bytes()
        ));
        assert!(!check("NUL", format!("{before} // \0{after}").as_bytes()));
        assert!(!check(
            "in a string",
            format!("{before} .pragma \"\u{e9}\";{after}").as_bytes()
        ));
    }
}

/// What a body uses can be declared again after it, and differently.
#[test]
fn declarations_after_their_uses() {
    let header = ".version 8.0\n.target sm_80\n.address_size 64\n";
    let declarations = [
        ".extern .global .b32 v[];\n",
        ".global .b32 v[4];\n",
        ".func f(.param .b32 p);\n",
        ".func f(.param .b32 p) { ret; }\n",
        ".func f(.param .b64 p) { ret; }\n",
        ".func f() { ret; }\n",
        ".visible .func f(.param .b32 p) { ret; }\n",
        ".weak .func f(.param .b32 p) .noreturn;\n",
        ".func g(.param .b32 p) { ret; }\n.alias f, g;\n",
        ".entry f(.param .b32 p) { ret; }\n",
        ".extern .func f(.param .b32 p);\n",
        "",
    ];
    let user = ".entry k() { .reg .b32 r; .reg .b64 a; mov.b64 a, v; ld.global.b32 r, [a];\n{ .param .b32 q; st.param.b32 [q], r; call f, (q); } ret; }\n";
    let mut clean = 0;
    for first in declarations {
        for second in declarations {
            for third in declarations {
                let text = format!("{header}{first}{second}{user}{third}");
                clean += usize::from(check(&text, text.as_bytes()));
            }
        }
    }
    assert!(clean > 5, "{clean}");
}

/// Braces in comments mislead threads that pass over a body, and functions that are declared in a body get numbers: both is found out.
#[test]
fn bodies_that_cannot_be_passed_over() {
    let header = ".version 8.0\n.target sm_80\n.address_size 64\n";
    let bodies = [
        "// {\nret;",
        "// }\nret;",
        "/* }{ */ ret;",
        ".func f();\ncall f;\nret;",
    ];
    for body in bodies {
        let kernel = |i| format!(".entry k{i}()\n{{\n{body}\n}}\n");
        let kernels: String = (0..20).map(kernel).collect();
        let text = format!("{header}{kernels}.func f()\n{{\nret;\n}}\n");
        assert!(check(body, text.as_bytes()), "{text}");
        assert!(!is_divisible(text.as_bytes()), "{text}");
    }
}

/// An alias in a body is checked against the bodies of other functions.
#[test]
fn aliases_in_bodies() {
    let header = ".version 8.0\n.target sm_80\n.address_size 64\n";
    let text = format!(
        "{header}.func f() {{ ret; }}\n.func g() {{ ret; }}\n.entry k() {{ .alias f, g; ret; }}\n"
    );
    assert!(
        !verify(
            &ptx_parse::parse(text.as_bytes()).module,
            &Options::default()
        )
        .is_empty()
    );
    assert!(!check(
        "an alias of a function with a body",
        text.as_bytes()
    ));
}
