//! Names as in the source language: Rust and C++ names that compilers encoded.

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
/// How deep the types in a name may be nested.
const MAX_DEPTH: u32 = 96;

/// How many names a thread remembers.
const MOST_KNOWN: usize = 1 << 12;

thread_local! {
    /// Names and their demangled form, since a file mentions few names often.
    static DEMANGLED: RefCell<HashMap<String, Option<String>>> = RefCell::default();
}

static ENABLED: AtomicBool = AtomicBool::new(true);

/// Demangles names from now on, or leaves them as they are.
pub fn set_enabled(enabled: bool) {
    ENABLED.store(enabled, Ordering::Relaxed);
}

/// The name in the source language; `None` if it is not mangled, or with `--no-demangle`.
pub fn demangle(name: &str) -> Option<String> {
    if !ENABLED.load(Ordering::Relaxed) {
        return None;
    }
    // ptxas and nvcc name the parameters of a function after it.
    let (function, parameter) = match name.rfind("_param_") {
        Some(at) if name[at + 7..].bytes().all(|b| b.is_ascii_digit()) => name.split_at(at),
        _ => (name, ""),
    };
    if !is_mangled(function) {
        return None;
    }
    DEMANGLED.with_borrow_mut(|known| {
        if !known.contains_key(function) {
            if known.len() >= MOST_KNOWN {
                known.clear();
            }
            let text = spelling(function, Spelling::Full);
            let text = text.map(|text| clean(&text).into_owned());
            known.insert(function.to_owned(), text);
        }
        let text = known.get(function)?.as_ref()?;
        Some(format!("{text}{parameter}"))
    })
}

/// A name for display, without control characters.
pub fn shown(name: &str) -> Cow<'_, str> {
    demangle(name).map_or_else(|| clean(name), Cow::Owned)
}

/// A text for display: names in it are demangled, and control characters are escaped.
pub fn in_text(text: &str) -> Cow<'_, str> {
    if !MANGLED.iter().any(|start| text.contains(start)) {
        return clean(text);
    }
    let mut new = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(is_name_char) {
        let (before, from) = rest.split_at(start);
        let len = from.find(|c| !is_name_char(c)).unwrap_or(from.len());
        let (name, after) = from.split_at(len);
        new.push_str(&clean(before));
        new.push_str(&shown(name));
        rest = after;
    }
    new.push_str(&clean(rest));
    Cow::Owned(new)
}

/// A message with the demangled form after each mangled name in backquotes.
#[must_use]
pub fn in_message(text: &str) -> Cow<'_, str> {
    let mut new = String::new();
    let mut copied = 0;
    let mut marks = text.match_indices('`').map(|(at, _)| at);
    while let (Some(open), Some(close)) = (marks.next(), marks.next()) {
        if let Some(name) = demangle(&text[open + 1..close]) {
            new.push_str(&text[copied..=close]);
            new.push_str(&format!(" ({name})"));
            copied = close + 1;
        }
    }
    match copied {
        0 => Cow::Borrowed(text),
        _ => Cow::Owned(new + &text[copied..]),
    }
}

fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '$')
}

/// How mangled names begin.
const MANGLED: [&str; 2] = ["_Z", "_R"];

/// How much of a C++ name is given, from the most to the least.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Spelling {
    /// `void foo<int>(int*)`
    Full,
    /// `foo<int>(int*)`
    WithoutResult,
    /// `foo<int>`
    WithoutParameters,
}

/// Whether a name may be demangled.
fn is_mangled(name: &str) -> bool {
    name.len() <= MAX_MANGLED && MANGLED.iter().any(|start| name.starts_with(start))
}

fn spelling(name: &str, spelling: Spelling) -> Option<String> {
    if !is_mangled(name) {
        return None;
    }
    let mut text = Bounded(String::new());
    if let Ok(name) = rustc_demangle::try_demangle(name) {
        // Without the hash.
        write!(text, "{name:#}").ok()?;
        return Some(text.0);
    }
    let depth = ParseOptions::default().recursion_limit(MAX_DEPTH);
    let symbol = Symbol::new_with_options(name, &depth).ok()?;
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

/// A function as given on the command line: its mangled or demangled name, which may be a pattern with `*` and `?`. The types
/// of the result and of the parameters may be omitted.
#[derive(Clone, Debug)]
pub struct Wanted {
    text: String,
    pattern: WildMatch,
}

impl Wanted {
    /// A name or a pattern as a user writes it.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let text = normal(text);
        let pattern = WildMatch::new(&text);
        Self { text, pattern }
    }

    /// The selected names, each once and in order: the name with this spelling, or else all names that match the pattern.
    ///
    /// # Errors
    ///
    /// A text without parameters denotes several overloaded functions.
    pub fn among<'n>(
        &self,
        names: impl Iterator<Item = &'n str>,
    ) -> Result<Vec<&'n str>, AmbiguousName> {
        let found = self.matching(names);
        let is_pattern = self.text.contains(['*', '?']);
        if found.len() > 1 && !is_pattern {
            return Err(AmbiguousName {
                name: clean(&self.text).into_owned(),
                found: listed(&found),
            });
        }
        Ok(found)
    }

    /// The same with all of several overloaded functions.
    pub fn matching<'n>(&self, names: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
        let mut names: Vec<&str> = names.collect();
        let mut seen = std::collections::HashSet::new();
        names.retain(|name| seen.insert(*name));
        if let Some(exact) = names.iter().find(|name| **name == self.text) {
            return vec![exact];
        }
        let spelled = |how| {
            let texts = names.iter().map(move |name| spelling(name, how));
            texts.map(|text| text.map(|t| normal(&t)).unwrap_or_default())
        };
        let all = [
            Spelling::Full,
            Spelling::WithoutResult,
            Spelling::WithoutParameters,
        ];
        for how in all {
            let same = names.iter().zip(spelled(how));
            let same = same.filter(|(_, text)| *text == self.text);
            let found: Vec<&str> = same.map(|(name, _)| *name).collect();
            if !found.is_empty() {
                return found;
            }
        }
        if !self.text.contains(['*', '?']) {
            return Vec::new();
        }
        let mut matching: Vec<bool> = names.iter().map(|n| self.pattern.matches(n)).collect();
        for how in all {
            for (matching, text) in matching.iter_mut().zip(spelled(how)) {
                *matching |= self.pattern.matches(&text);
            }
        }
        let mut matching = matching.into_iter();
        names.retain(|_| matching.next() == Some(true));
        names
    }
}

impl std::str::FromStr for Wanted {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self::new(text))
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&clean(&self.text))
    }
}

/// Several functions have a name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AmbiguousName {
    name: String,
    found: String,
}

impl fmt::Display for AmbiguousName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is ambiguous: {}", self.name, self.found)
    }
}

impl std::error::Error for AmbiguousName {}

fn listed(names: &[&str]) -> String {
    let each = names.iter().map(|name| match demangle(name) {
        Some(text) => format!("{text} [{name}]"),
        None => clean(name).into_owned(),
    });
    each.collect::<Vec<_>>().join(", ")
}

/// A name and its demangled forms: whole, without the result, and without parameters; spaces are as [`normal`] leaves them.
#[must_use]
pub fn spellings(name: &str) -> Vec<String> {
    let all = [
        Spelling::Full,
        Spelling::WithoutResult,
        Spelling::WithoutParameters,
    ];
    let demangled = all.iter().filter_map(|how| spelling(name, *how));
    let mut names = vec![name.to_owned()];
    names.extend(demangled.map(|text| normal(&text)));
    names
}

/// Without spaces, except between two words.
pub fn normal(text: &str) -> String {
    let mut new = String::new();
    for word in text.split_whitespace() {
        if new.ends_with(is_name_char) && word.starts_with(is_name_char) {
            new.push(' ');
        }
        new.push_str(word);
    }
    new
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    const FOO: &str = "_Z3fooPi";
    const FOO_FLOAT: &str = "_Z3fooPfi";
    const TEMPLATE: &str = "_Z4scalIfEvPT_i";

    fn found(wanted: &str) -> Vec<&'static str> {
        let names = [FOO, FOO_FLOAT, TEMPLATE, "plain", FOO];
        let names = Wanted::new(wanted).among(names.into_iter());
        names.unwrap_or_else(|_| vec!["ambiguous"])
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
            assert_eq!(shown(name), name);
        }
        let text = in_text("call _Z3fooPi, _Zx;\x07");
        assert_eq!(text, "call foo(int*), _Zx;\\u{7}");
        let text = in_message("unknown `_Z3fooPi`; `_Zx`");
        assert_eq!(text, "unknown `_Z3fooPi` (foo(int*)); `_Zx`");
        assert_eq!(in_message("`_Zx` `"), "`_Zx` `");
    }

    #[test]
    fn names_on_the_command_line() {
        assert_eq!(found(FOO), [FOO]);
        assert_eq!(found("foo(int*)"), [FOO]);
        assert_eq!(found("foo( float *,int )"), [FOO_FLOAT]);
        assert_eq!(found("foo"), ["ambiguous"]);
        assert_eq!(found("foo*"), [FOO, FOO_FLOAT]);
        assert_eq!(found("void scal<float>(float*, int)"), [TEMPLATE]);
        assert_eq!(found("scal<float>(float*, int)"), [TEMPLATE]);
        assert_eq!(found("scal<float>"), [TEMPLATE]);
        assert_eq!(found("pl?in"), ["plain"]);
        assert_eq!(found("*"), [FOO, FOO_FLOAT, TEMPLATE, "plain"]);
        assert_eq!(found("bar"), [""; 0]);
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
