//! One mistake is one error: small valid files with one token deleted, doubled, replaced, inserted
//! or swapped seldom give more than one.
//!
//! Errors of names alone are not counted: a renamed declaration makes each use a mistake.

use ptx_ir::Severity;
use ptx_ir::lex::Lexer;
use test_support::corpus;
use test_support::mutate::Random;

/// How many files are damaged.
const CASES: usize = 2000;

/// How many of them may have several errors.
const MOST: usize = 7;

const TOKENS: &[&str] = &[
    ";", ",", "{", "}", "(", ")", "[", "]", ":", "+", "-", ".s32", ".x", "foo", "%r1", "1", "0x1F",
    "@", "!", "|", "=", "<", ">", "\"s\"", ".global", ".reg", ".align", "1.5", "_", ".entry",
    ".func", "ret", "*", "?", ".loc", ".param", ".version", ".v2", "%tid",
];

/// The text with one token changed, and the place.
fn damaged(text: &str, random: &mut Random) -> (String, usize) {
    let spans: Vec<(usize, usize)> = Lexer::new(text.as_bytes())
        .filter(|t| !t.kind.is_trivia())
        .map(|t| (t.span.start as usize, t.span.end as usize))
        .collect();
    let index = random.below(spans.len() - 1);
    let ((start, end), (next, next_end)) = (spans[index], spans[index + 1]);
    let (before, token, after) = (&text[..start], &text[start..end], &text[end..]);
    let other = random.pick(TOKENS);
    let changed = match random.below(5) {
        0 => format!("{before}{after}"),
        1 => format!("{before}{token} {token}{after}"),
        2 => format!("{before}{other}{after}"),
        3 => format!("{before}{other} {token}{after}"),
        _ => {
            let (gap, second) = (&text[end..next], &text[next..next_end]);
            format!("{before}{second}{gap}{token}{}", &text[next_end..])
        }
    };
    (changed, start)
}

/// The errors of a text, if they are several and not all of names.
fn several(text: &str) -> Option<String> {
    let parsed = ptx_parse::parse_str(text);
    let errors = parsed.diagnostics.iter();
    let errors: Vec<_> = errors.filter(|d| d.severity == Severity::Error).collect();
    let syntax = errors.iter().any(|d| d.code.number() / 100 != 2);
    let shown = errors.iter().map(|d| {
        let line = 1 + text[..d.span.start as usize].matches('\n').count();
        format!("  {line} {}: {}\n", d.code, d.message)
    });
    (syntax && errors.len() > 1).then(|| shown.collect())
}

#[test]
fn one_mistake_is_one_error() {
    let mut files = corpus::small(6000);
    files.retain(|f| f.name.starts_with("hand/"));
    let texts: Vec<(String, String)> = files
        .iter()
        .filter_map(|f| Some((f.name.clone(), String::from_utf8(f.read()).ok()?)))
        .filter(|(_, text)| !ptx_parse::parse_str(text).has_errors())
        .collect();
    assert!(texts.len() > 50, "only {} files", texts.len());
    let mut random = Random::new(1);
    let mut found = Vec::new();
    for _ in 0..CASES {
        let (name, text) = random.pick(&texts);
        let (changed, at) = damaged(text, &mut random);
        if let Some(errors) = several(&changed) {
            let line = 1 + text[..at].matches('\n').count();
            let shown = changed.lines().nth(line - 1).unwrap_or_default();
            found.push(format!("{name}, line {line}: {shown}\n{errors}"));
        }
    }
    let count = found.len();
    assert!(count <= MOST, "{count} of {CASES}:\n{}", found.concat());
}
