//! The grammar of denied instructions, such as `ld.generic in loops`.
//!
//! ```text
//! rule    = (pattern | any) ["in" "loops"] ["where" any]
//! pattern = OPCODE ("." (MODIFIER | "generic"))*
//! ```
//!
//! `any` is a condition. A pattern is about instructions with this opcode and all of these modifiers, in any order; `*` and `?` are wildcards in
//! each word. `generic` means an access through a generic address, which has no modifier.

use wildmatch::WildMatch;

use super::fields;
use super::parse::{self, Conditions, Parsed, fail, quoted_word, similar, unknown_value, word};
use super::{Condition, Query, Test};

/// The word for accesses without a modifier for the state space.
const GENERIC: &str = "generic";

/// The keywords that may follow an instruction or a condition.
const KEYWORDS: [&str; 2] = ["in", "where"];

impl Query {
    /// Parses the argument of `--deny`. The error message states what was expected, and where.
    pub(crate) fn rule(text: &str) -> Result<Self, String> {
        parse::parse_all(text, rule)
    }
}

fn rule<'a>(conditions: &mut Conditions<'_>, input: &'a str) -> Parsed<'a, Condition> {
    let (remaining, first) = word(input)?;
    let (mut remaining, instructions) = if is_condition(first, remaining) {
        conditions.any(input, 0)?
    } else {
        (remaining, pattern(input, first)?.1)
    };
    let mut conjunction = vec![instructions];
    let (mut argument, mut keyword) = word(remaining)?;
    if keyword == "in" {
        let (end, loops) = word(argument)?;
        if loops != "loops" {
            return fail(
                argument,
                format!(
                    "expected `loops` after `in`, found {}",
                    quoted_word(argument)
                ),
            );
        }
        conjunction.push(test("in_loop", Test::Flag(true)));
        remaining = end;
        (argument, keyword) = word(remaining)?;
    }
    if keyword == "where" {
        let (end, condition) = conditions.any(argument, 0)?;
        conjunction.push(condition);
        remaining = end;
    }
    if remaining.is_empty() {
        return Ok((remaining, Condition::All(conjunction)));
    }
    let hint =
        similar(word(remaining)?.1, &KEYWORDS).map_or(String::new(), |hint| format!("; {hint}"));
    let next_word = quoted_word(remaining);
    fail(
        remaining,
        format!("expected `in loops`, `where` or the end, found {next_word}{hint}"),
    )
}

/// Whether a rule is a condition, given its first word and the text after it.
fn is_condition(first: &str, remaining: &str) -> bool {
    let operators = ["&&", "||", "==", "!=", "=~", "<", ">", "("];
    if first.is_empty()
        || operators
            .iter()
            .any(|operator| remaining.starts_with(operator))
    {
        return true;
    }
    // A flag, unless it is also an opcode.
    let is_opcode = fields::find("opcode").is_some_and(|field| field.kind.words().contains(&first));
    !is_opcode && fields::find(first).is_some()
}

/// The condition of a pattern for instructions.
fn pattern<'a>(input: &'a str, pattern: &'a str) -> Parsed<'a, Condition> {
    let mut conjunction = Vec::new();
    for (index, word) in pattern.split('.').enumerate() {
        let name = match (index, word) {
            (0, _) => "opcode",
            (_, GENERIC) => "space",
            _ => "modifier",
        };
        let Some(field) = fields::find(name) else {
            return fail(input, format!("there is no field `{name}`"));
        };
        let word_pattern = WildMatch::new(word);
        if !field
            .kind
            .words()
            .iter()
            .any(|word| word_pattern.matches(word))
        {
            let start = word.as_ptr() as usize - pattern.as_ptr() as usize;
            return fail(
                input.get(start..).unwrap_or(input),
                unknown_value(field, word),
            );
        }
        conjunction.push(Condition::Field(
            field,
            None,
            Test::Text(word_pattern, true),
        ));
    }
    Ok((input, Condition::All(conjunction)))
}

fn test(name: &'static str, test: Test) -> Condition {
    match fields::find(name) {
        Some(field) => Condition::Field(field, None, test),
        None => Condition::Any(Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::Query;

    fn error(text: &str) -> String {
        let error = Query::rule(text).err().unwrap_or_default();
        error.lines().next().unwrap_or_default().to_owned()
    }

    #[test]
    fn rules_that_are_accepted() {
        for text in [
            "ld.generic in loops",
            "ld",
            "*.f64",
            "atom*.global where bytes>=8",
            " ld.global.v? in loops where !guarded && bytes<8 ",
            "atomic && space==shared",
            "atomic in loops",
            "call",
            "call in loops",
            "fence && scope==sys in loops",
            "!guarded && (opcode==st)",
            "text=~' where ' where in_loop",
            "after bar",
        ] {
            assert_eq!(error(text), "", "{text}");
        }
    }

    #[test]
    fn rules_that_are_not() {
        for (text, message) in [
            ("", "column 1: expected a field, found the end"),
            (
                "atm.global",
                "column 1: `atm` is not a value of `opcode`; did you mean `atom`?",
            ),
            (
                "ld.globl in loops",
                "column 4: `globl` is not a value of `modifier`; did you mean `global`?",
            ),
            (
                "ld in lops",
                "column 7: expected `loops` after `in`, found `lops`",
            ),
            (
                "ld inside loops",
                "column 4: expected `in loops`, `where` or the end, found `inside`",
            ),
            (
                "ld wher bytes>4",
                "column 4: expected `in loops`, `where` or the end, found `wher`; did you mean `where`?",
            ),
            (
                "ld where bytse>4",
                "column 10: unknown field `bytse`; did you mean `bytes`?",
            ),
            (
                "sapce==shared",
                "column 1: unknown field `sapce`; did you mean `space`?",
            ),
            (
                "atomic ld",
                "column 8: expected `in loops`, `where` or the end, found `ld`",
            ),
        ] {
            assert_eq!(error(text), message, "{text}");
        }
    }
}
