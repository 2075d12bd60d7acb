//! The names of Rust and C++ functions as in the source language, from the names that compilers encoded.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use cpp_demangle::{DemangleOptions, ParseOptions, Symbol};
use wildmatch::WildMatch;

use crate::clean;

/// Longer names are not demangled.
const MAX_MANGLED: usize = 1 << 14;
/// A name whose text is longer is not demangled. References to earlier parts of a name can make its text exponentially long.
const MAX_TEXT: usize = 1 << 15;
/// The largest nesting depth of the types in a name.
const MAX_DEPTH: u32 = 96;

/// The largest number of names in the cache of a thread.
const MAX_CACHED: usize = 1 << 12;

thread_local! {
    /// Names and their demangled form, since a file mentions few names often.
    static DEMANGLED: RefCell<HashMap<String, Option<String>>> = RefCell::default();
}

static ENABLED: AtomicBool = AtomicBool::new(true);

/// Enables or disables demangling for the whole process.
pub fn set_enabled(enabled: bool) {
    ENABLED.store(enabled, Ordering::Relaxed);
}

/// The name of a function and the end of the name of its parameter: ptxas and nvcc name parameters after their function.
fn split_parameter(name: &str) -> (&str, &str) {
    match name.rfind("_param_") {
        Some(index) if name[index + 7..].bytes().all(|b| b.is_ascii_digit()) => {
            name.split_at(index)
        }
        _ => (name, ""),
    }
}

/// The name in the source language; `None` if it is not mangled, or with `--no-demangle`.
pub fn demangle(name: &str) -> Option<String> {
    if !ENABLED.load(Ordering::Relaxed) {
        return None;
    }
    let (function, parameter) = split_parameter(name);
    if !is_mangled(function) {
        return None;
    }
    DEMANGLED.with_borrow_mut(|cache| {
        if !cache.contains_key(function) {
            if cache.len() >= MAX_CACHED {
                cache.clear();
            }
            let text = spelling(function, Spelling::Full).map(|text| clean(&text).into_owned());
            cache.insert(function.to_owned(), text);
        }
        let text = cache.get(function)?.as_ref()?;
        Some(format!("{text}{parameter}"))
    })
}

/// A name for display: demangled, without control characters.
pub fn display_name(name: &str) -> Cow<'_, str> {
    demangle(name).map_or_else(|| clean(name), Cow::Owned)
}

/// A text for display: names in it are demangled, and control characters are escaped.
#[must_use]
pub fn display_text(text: &str) -> Cow<'_, str> {
    if !MANGLED_PREFIXES.iter().any(|prefix| text.contains(prefix)) {
        return clean(text);
    }
    Cow::Owned(map_names(text, |name| display_name(name).into_owned()))
}

/// A text without control characters, with each name replaced.
fn map_names(text: &str, map: impl Fn(&str) -> String) -> String {
    let mut display = String::new();
    let mut remaining = text;
    while let Some(start) = remaining.find(is_name_char) {
        let (gap, tail) = remaining.split_at(start);
        let len = tail.find(|c| !is_name_char(c)).unwrap_or(tail.len());
        let (name, tail) = tail.split_at(len);
        display.push_str(&clean(gap));
        display.push_str(&map(name));
        remaining = tail;
    }
    display.push_str(&clean(remaining));
    display
}

/// A text for display as by [`display_text`], but with [`short_name`]s.
#[must_use]
pub fn short_text(text: &str) -> String {
    map_names(text, short_name)
}

/// The name of a function or an object without result, parameters and namespaces: `fill<float, Tag>` for
/// `void a::fill<float, a::Tag>(float*)`, `buffer` for an object `buffer` of a function.
#[must_use]
pub fn short_name(name: &str) -> String {
    let (function, parameter) = split_parameter(name);
    let text = demangle(function).and_then(|_| spelling(function, Spelling::WithoutParameters));
    match text {
        Some(text) => unqualified(last_of_local(&clean(&text))) + parameter,
        None => clean(name).into_owned(),
    }
}

/// A short name for each function, with its parameters or its namespaces where several functions have the same short name.
#[must_use]
pub fn short_names(names: &[&str]) -> Vec<String> {
    let mut short: Vec<String> = names.iter().map(|name| short_name(name)).collect();
    for spell in [with_parameters, qualified] {
        let mut counts: HashMap<String, usize> = HashMap::new();
        for text in &short {
            *counts.entry(text.clone()).or_default() += 1;
        }
        for (text, name) in short.iter_mut().zip(names) {
            if counts.get(text).is_some_and(|count| *count > 1) {
                *text = spell(name);
            }
        }
    }
    short
}

/// `fill<float, Tag>(float*)`
fn with_parameters(name: &str) -> String {
    unqualified(&qualified(name))
}

/// `a::fill<float, a::Tag>(float*)`
fn qualified(name: &str) -> String {
    let text = demangle(name).and_then(|_| spelling(name, Spelling::WithoutResult));
    clean(text.as_deref().unwrap_or(name)).into_owned()
}

/// A name without namespaces and classes, also in its template arguments.
fn unqualified(text: &str) -> String {
    let text = text
        .replace("(anonymous namespace)::", "")
        .replace("> >", ">>");
    let mut name = String::new();
    let mut remaining = text.as_str();
    while let Some(first) = remaining.chars().next() {
        let word = remaining
            .find(|c| !is_name_char(c))
            .unwrap_or(remaining.len());
        let (part, tail) = remaining.split_at(word.max(first.len_utf8()));
        let after = tail.strip_prefix("::").unwrap_or_default();
        let is_qualifier = word > 0 && after.starts_with(is_name_char);
        if is_qualifier && !after.starts_with("operator") {
            remaining = after;
        } else {
            name.push_str(part);
            remaining = tail;
        }
    }
    name
}

/// The object of a function: `buffer` for `fill(float*)::buffer`.
fn last_of_local(text: &str) -> &str {
    match text.rsplit_once(")::") {
        Some((_, object)) if object.bytes().all(|b| is_name_char(b.into())) => object,
        _ => text,
    }
}

/// A message with the demangled form after each mangled name in backquotes.
#[must_use]
pub fn display_message(text: &str) -> Cow<'_, str> {
    let mut display = String::new();
    let mut copied = 0;
    let mut backquotes = text.match_indices('`').map(|(index, _)| index);
    while let (Some(open), Some(close)) = (backquotes.next(), backquotes.next()) {
        if let Some(name) = demangle(&text[open + 1..close]) {
            display.push_str(&text[copied..=close]);
            display.push_str(&format!(" ({name})"));
            copied = close + 1;
        }
    }
    match copied {
        0 => Cow::Borrowed(text),
        _ => Cow::Owned(display + &text[copied..]),
    }
}

fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '$')
}

/// The prefixes of mangled names.
const MANGLED_PREFIXES: [&str; 2] = ["_Z", "_R"];

/// The parts of a C++ name that a spelling contains, from the most to the fewest.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Spelling {
    /// `void foo<int>(int*)`
    Full,
    /// `foo<int>(int*)`
    WithoutResult,
    /// `foo<int>`
    WithoutParameters,
}

impl Spelling {
    const ALL: [Self; 3] = [Self::Full, Self::WithoutResult, Self::WithoutParameters];
}

/// Whether a name may be demangled.
fn is_mangled(name: &str) -> bool {
    name.len() <= MAX_MANGLED
        && MANGLED_PREFIXES
            .iter()
            .any(|prefix| name.starts_with(prefix))
}

/// The demangled form of a name; `None` if it is not mangled or too long.
fn spelling(name: &str, spelling: Spelling) -> Option<String> {
    if !is_mangled(name) {
        return None;
    }
    let mut text = Bounded(String::new());
    if let Ok(name) = rustc_demangle::try_demangle(name) {
        // The alternate format omits the hash.
        write!(text, "{name:#}").ok()?;
        return Some(text.0);
    }
    let parse_options = ParseOptions::default().recursion_limit(MAX_DEPTH);
    let symbol = Symbol::new_with_options(name, &parse_options).ok()?;
    let mut options = DemangleOptions::new().recursion_limit(MAX_DEPTH);
    if spelling != Spelling::Full {
        options = options.no_return_type();
    }
    if spelling == Spelling::WithoutParameters {
        options = options.no_params();
    }
    symbol.structured_demangle(&mut text, &options).ok()?;
    Some(text.0)
}

/// Text that does not become longer than [`MAX_TEXT`].
struct Bounded(String);

impl Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > MAX_TEXT {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

/// A function name as given on the command line: mangled or demangled, possibly a pattern with `*` and `?`. The types
/// of the result and of the parameters may be omitted.
#[derive(Clone, Debug)]
pub struct FunctionPattern {
    text: String,
    pattern: WildMatch,
}

impl FunctionPattern {
    /// Reads a name or a pattern as a user writes it.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let text = normalized(text);
        let pattern = WildMatch::new(&text);
        Self { text, pattern }
    }

    /// The selected names, each once and in order: the name with this spelling, or else all names that match the pattern.
    ///
    /// # Errors
    ///
    /// A text without parameters denotes several overloaded functions.
    pub fn select<'n>(
        &self,
        names: impl Iterator<Item = &'n str>,
    ) -> Result<Vec<&'n str>, AmbiguousName> {
        let selected = self.matching(names);
        let is_pattern = self.text.contains(['*', '?']);
        if selected.len() > 1 && !is_pattern {
            return Err(AmbiguousName {
                name: clean(&self.text).into_owned(),
                candidates: listed(&selected),
            });
        }
        Ok(selected)
    }

    /// The selected names as by [`select`](Self::select), but all of several overloaded functions.
    pub fn matching<'n>(&self, names: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
        let mut names: Vec<&str> = names.collect();
        let mut seen = std::collections::HashSet::new();
        names.retain(|name| seen.insert(*name));
        if let Some(exact) = names.iter().find(|name| **name == self.text) {
            return vec![exact];
        }
        let spell = |name: &str, form| {
            let text = spelling(name, form);
            text.map(|text| normalized(&text)).unwrap_or_default()
        };
        for form in Spelling::ALL {
            let equal: Vec<&str> = names
                .iter()
                .copied()
                .filter(|name| spell(name, form) == self.text)
                .collect();
            if !equal.is_empty() {
                return equal;
            }
        }
        if !self.text.contains(['*', '?']) {
            return Vec::new();
        }
        names.retain(|name| {
            self.pattern.matches(name)
                || Spelling::ALL
                    .iter()
                    .any(|form| self.pattern.matches(&spell(name, *form)))
        });
        names
    }
}

impl std::str::FromStr for FunctionPattern {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self::new(text))
    }
}

impl fmt::Display for FunctionPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&clean(&self.text))
    }
}

/// The error for a name that several functions have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AmbiguousName {
    name: String,
    /// The functions, separated by commas.
    candidates: String,
}

impl fmt::Display for AmbiguousName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is ambiguous: {}", self.name, self.candidates)
    }
}

impl std::error::Error for AmbiguousName {}

fn listed(names: &[&str]) -> String {
    names
        .iter()
        .map(|name| match demangle(name) {
            Some(text) => format!("{text} [{name}]"),
            None => clean(name).into_owned(),
        })
        .collect::<Vec<_>>()
        .join(", ")
}

/// A name and its demangled forms: full, without the result, and without parameters. Spaces are as [`normalized`] leaves them.
#[must_use]
pub fn spellings(name: &str) -> Vec<String> {
    let mut names = vec![name.to_owned()];
    names.extend(
        Spelling::ALL
            .iter()
            .filter_map(|form| spelling(name, *form))
            .map(|text| normalized(&text)),
    );
    names
}

/// Removes the spaces from a name, except between two words.
pub fn normalized(text: &str) -> String {
    let mut name = String::new();
    for word in text.split_whitespace() {
        if name.ends_with(is_name_char) && word.starts_with(is_name_char) {
            name.push(' ');
        }
        name.push_str(word);
    }
    name
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    const FOO: &str = "_Z3fooPi";
    const FOO_FLOAT: &str = "_Z3fooPfi";
    const TEMPLATE: &str = "_Z4scalIfEvPT_i";

    fn selected(pattern: &str) -> Vec<&'static str> {
        let names = [FOO, FOO_FLOAT, TEMPLATE, "plain", FOO];
        FunctionPattern::new(pattern)
            .select(names.into_iter())
            .unwrap_or_else(|_| vec!["ambiguous"])
    }

    #[test]
    fn names_of_both_languages() {
        assert_eq!(demangle(FOO).unwrap(), "foo(int*)");
        assert_eq!(demangle(TEMPLATE).unwrap(), "void scal<float>(float*, int)");
        assert_eq!(demangle("_Z3fooPi_param_0").unwrap(), "foo(int*)_param_0");
        assert_eq!(demangle("_RNvC5crate4main").unwrap(), "crate::main");
        let legacy = "_ZN4core3ptr4read17h0123456789abcdefE";
        assert_eq!(demangle(legacy).unwrap(), "core::ptr::read");
        for name in ["plain", "_Zzz", "_R", "", "_Z", "_ZZZZ", "_param_0"] {
            assert_eq!(demangle(name), None, "{name}");
            assert_eq!(display_name(name), name);
        }
        let text = display_text("call _Z3fooPi, _Zx;\x07");
        assert_eq!(text, "call foo(int*), _Zx;\\u{7}");
        let text = display_message("unknown `_Z3fooPi`; `_Zx`");
        assert_eq!(text, "unknown `_Z3fooPi` (foo(int*)); `_Zx`");
        assert_eq!(display_message("`_Zx` `"), "`_Zx` `");
    }

    /// Names of cub, wmma and Rust: what differs stays.
    #[test]
    fn short_names_have_template_arguments_and_no_namespaces() {
        let cases = [
            ("plain", "plain"),
            (FOO, "foo"),
            (TEMPLATE, "scal<float>"),
            (
                "_ZN1a1b4scanINS_6PolicyIiE5TunedEPKfEEvT0_",
                "scan<Policy<int>::Tuned, float const*>",
            ),
            ("_ZN12_GLOBAL__N_14fillIfEEvPT_", "fill<float>"),
            ("_ZZ4fillPfE6buffer", "buffer"),
            ("_ZN1a1FclEi", "F::operator()"),
            ("_Z3fooPi_param_0", "foo_param_0"),
            ("_RNvC5crate4main", "main"),
        ];
        for (name, short) in cases {
            assert_eq!(short_name(name), short, "{name}: {:?}", demangle(name));
        }
        assert_eq!(
            short_text("_ZZ4fillPfE6buffer + 4 * %r1"),
            "buffer + 4 * %r1"
        );
        let other_namespace = ["_ZN1a3fooEPi", "_ZN1b3fooEPi", TEMPLATE];
        assert_eq!(
            short_names(&[FOO, FOO_FLOAT, "plain"]),
            ["foo(int*)", "foo(float*, int)", "plain"]
        );
        assert_eq!(
            short_names(&other_namespace),
            ["a::foo(int*)", "b::foo(int*)", "scal<float>"]
        );
    }

    #[test]
    fn names_on_the_command_line() {
        assert_eq!(selected(FOO), [FOO]);
        assert_eq!(selected("foo(int*)"), [FOO]);
        assert_eq!(selected("foo( float *,int )"), [FOO_FLOAT]);
        assert_eq!(selected("foo"), ["ambiguous"]);
        assert_eq!(selected("foo*"), [FOO, FOO_FLOAT]);
        assert_eq!(selected("void scal<float>(float*, int)"), [TEMPLATE]);
        assert_eq!(selected("scal<float>(float*, int)"), [TEMPLATE]);
        assert_eq!(selected("scal<float>"), [TEMPLATE]);
        assert_eq!(selected("pl?in"), ["plain"]);
        assert_eq!(selected("*"), [FOO, FOO_FLOAT, TEMPLATE, "plain"]);
        assert_eq!(selected("bar"), [""; 0]);
    }

    /// Each type has the one before it twice, so that the text would be exponentially long.
    #[test]
    fn malicious_names_are_left_alone() {
        let mut name = String::from("_Z1fPFviiE");
        for at in 0..60 {
            let before = match at {
                0 => "S_".to_owned(),
                n => format!(
                    "S{}_",
                    char::from_digit(n % 36, 36).unwrap().to_ascii_uppercase()
                ),
            };
            name.push_str(&format!("PFv{before}{before}E"));
        }
        assert_eq!(demangle(&name), None);
        assert_eq!(demangle(&format!("_Z1f{}i", "P".repeat(1 << 13))), None);
        assert_eq!(demangle(&format!("_Z1f{}", "i".repeat(MAX_MANGLED))), None);
        let empty = format!("_Z1fIJ{}EEvv", "JEJE".repeat(1000));
        let _ = demangle(&empty);
    }
}
