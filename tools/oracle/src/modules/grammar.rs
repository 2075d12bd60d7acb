//! A grammar with a usual alternative for every choice, and derivations with a few unusual alternatives.

use std::collections::HashMap;

use anyhow::{Context as _, Result, bail};
use fastrand::Rng;

/// The greatest depth of nested rules with a choice; deeper rules derive their first alternative.
const MAX_DEPTH: usize = 40;

/// The rules of `tools/conformance/grammar.txt`, whose head describes the notation.
pub(crate) struct Grammar<'t> {
    rules: HashMap<&'t str, Rule<'t>>,
}

struct Rule<'t> {
    name: &'t str,
    /// Whether the alternatives are equally usual.
    any: bool,
    alternatives: Vec<Vec<Piece<'t>>>,
}

/// A part of an alternative.
enum Piece<'t> {
    Text(&'t str),
    Break,
    Rule(&'t str),
}

/// A text and the unusual alternatives in it, as `rule: alternative`.
pub(crate) struct Derivation {
    pub(crate) text: String,
    pub(crate) unusual: Vec<String>,
}

impl<'t> Grammar<'t> {
    pub(crate) fn parse(text: &'t str) -> Result<Self> {
        let mut rules: HashMap<&str, Rule<'_>> = HashMap::new();
        let mut current = None;
        for line in text
            .lines()
            .filter(|l| !l.is_empty() && !l.starts_with('#'))
        {
            if let Some(alternative) = line.strip_prefix("  ") {
                let rule = current
                    .and_then(|name| rules.get_mut(name))
                    .with_context(|| format!("no rule before `{line}`"))?;
                rule.alternatives.push(pieces(alternative));
            } else {
                let name = line.strip_suffix(" any").unwrap_or(line);
                let rule = Rule {
                    name,
                    any: name != line,
                    alternatives: Vec::new(),
                };
                if rules.insert(name, rule).is_some() {
                    bail!("two rules `{name}`");
                }
                current = Some(name);
            }
        }
        let grammar = Self { rules };
        for rule in grammar.rules.values() {
            if rule.alternatives.is_empty() {
                bail!("`{}` has no alternative", rule.name);
            }
            for piece in rule.alternatives.iter().flatten() {
                if let Piece::Rule(name) = piece {
                    grammar.rule(name)?;
                }
            }
        }
        Ok(grammar)
    }

    fn rule(&self, name: &str) -> Result<&Rule<'t>> {
        self.rules
            .get(name)
            .with_context(|| format!("no rule `{name}`"))
    }

    /// A text of a rule with at most `unusual` unusual alternatives.
    pub(crate) fn derive(&self, rule: &str, unusual: usize, rng: &mut Rng) -> Result<Derivation> {
        let seed = rng.u64(..);
        let usual = self.expand(rule, seed, Vec::new())?;
        let unusual_choices: Vec<usize> = (0..unusual)
            .map(|_| rng.usize(..usual.choices.max(1)))
            .collect();
        let expansion = self.expand(rule, seed, unusual_choices)?;
        Ok(Derivation {
            text: expansion.text,
            unusual: expansion.unusual,
        })
    }

    fn expand(
        &self,
        rule: &str,
        seed: u64,
        unusual_choices: Vec<usize>,
    ) -> Result<Expansion<'_, 't>> {
        let mut expansion = Expansion {
            grammar: self,
            rng: Rng::with_seed(seed),
            unusual_choices,
            choices: 0,
            text: String::new(),
            unusual: Vec::new(),
        };
        expansion.add(self.rule(rule)?, 0)?;
        Ok(expansion)
    }
}

/// The text so far.
struct Expansion<'g, 't> {
    grammar: &'g Grammar<'t>,
    rng: Rng,
    /// The numbers of the choices that take an unusual alternative.
    unusual_choices: Vec<usize>,
    /// The number of choices so far.
    choices: usize,
    text: String,
    unusual: Vec<String>,
}

impl<'t> Expansion<'_, 't> {
    fn add(&mut self, rule: &Rule<'t>, depth: usize) -> Result<()> {
        let count = rule.alternatives.len();
        // The same number of random numbers in both expansions, so that they make the same usual choices.
        let chosen = self.rng.usize(..count);
        let index = if rule.any && depth < MAX_DEPTH {
            chosen
        } else {
            let choice = self.choices;
            self.choices += usize::from(!rule.any);
            let is_unusual = !rule.any && self.unusual_choices.contains(&choice);
            if is_unusual { chosen } else { 0 }
        };
        let alternative = &rule.alternatives[index];
        if !rule.any && index > 0 {
            let shown: String = alternative.iter().map(Piece::show).collect();
            self.unusual.push(format!("{}: {shown}", rule.name));
        }
        for piece in alternative {
            match piece {
                Piece::Text(text) => self.text.push_str(text),
                Piece::Break => self.text.push('\n'),
                Piece::Rule(name) => self.add(self.grammar.rule(name)?, depth + 1)?,
            }
        }
        Ok(())
    }
}

impl Piece<'_> {
    fn show(&self) -> String {
        match self {
            Self::Text(text) => (*text).to_owned(),
            Self::Break => "\\n".to_owned(),
            Self::Rule(name) => format!("<{name}>"),
        }
    }
}

/// The parts of an alternative: `<word>` is a rule, `<4>` is text.
fn pieces(mut text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut start = 0;
    while let Some(offset) = text[start..].find(['<', '\\']) {
        let special = start + offset;
        let (piece, end) = if text[special..].starts_with("\\n") {
            (Piece::Break, special + 2)
        } else if let Some(name) = rule_name(&text[special..]) {
            (Piece::Rule(name), special + name.len() + 2)
        } else {
            start = special + 1;
            continue;
        };
        pieces.push(Piece::Text(&text[..special]));
        pieces.push(piece);
        text = &text[end..];
        start = 0;
    }
    pieces.push(Piece::Text(text));
    pieces.retain(|p| !matches!(p, Piece::Text("") | Piece::Rule("nothing")));
    pieces
}

/// The name of the rule at the beginning of a text: `<word>`.
fn rule_name(text: &str) -> Option<&str> {
    let (name, _) = text.strip_prefix('<')?.split_once('>')?;
    let is_name = name.starts_with(char::is_alphabetic)
        && name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    is_name.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::Grammar;
    use fastrand::Rng;

    const TEXT: &str =
        "start any\n  <a>-<a>\n  [<a>]<4>\n\na\n  x\n  y\\n\n  <b>\n\nb\n  <nothing>\n  z\n";

    #[test]
    fn no_unusual_alternative_without_places() {
        let grammar = Grammar::parse(TEXT).unwrap();
        for seed in 0..20 {
            let derived = grammar
                .derive("start", 0, &mut Rng::with_seed(seed))
                .unwrap();
            assert!(
                ["x-x", "[x]<4>"].contains(&&*derived.text),
                "{}",
                derived.text
            );
            assert!(derived.unusual.is_empty());
        }
    }

    #[test]
    fn unusual_alternatives_are_taken_and_listed() {
        let grammar = Grammar::parse(TEXT).unwrap();
        let texts: Vec<_> = (0..200)
            .map(|seed| {
                grammar
                    .derive("start", 1, &mut Rng::with_seed(seed))
                    .unwrap()
            })
            .collect();
        for (text, unusual) in [("x-y\n", "a: y\\n"), ("-x", "a: <b>"), ("[]<4>", "a: <b>")] {
            let found = texts.iter().find(|d| d.text == text);
            assert_eq!(found.map(|d| &*d.unusual), Some(&[unusual.to_owned()][..]));
        }
    }

    #[test]
    fn every_rule_is_used() {
        let text = super::super::text().unwrap();
        let grammar = Grammar::parse(&text).unwrap();
        let rules = grammar.rules.values();
        let mut used: Vec<&str> = rules
            .flat_map(|r| r.alternatives.iter().flatten())
            .filter_map(|p| match p {
                super::Piece::Rule(name) => Some(*name),
                _ => None,
            })
            .collect();
        used.extend(["module", "operand", "nothing"]);
        let unused = grammar.rules.keys().filter(|name| !used.contains(name));
        assert_eq!(unused.collect::<Vec<_>>(), Vec::<&&str>::new());
    }

    #[test]
    fn unknown_rules_are_errors() {
        assert!(Grammar::parse("a\n  <b>\n").is_err());
        assert!(Grammar::parse("  a\n").is_err());
        assert!(Grammar::parse("a\n\nb\n  x\n").is_err());
    }
}
