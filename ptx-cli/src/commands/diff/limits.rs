//! Limits of metrics and of their changes: `instructions>+5%`, `total memory.local>+0`, `pressure>64`.

use nom::branch::alt;
use nom::bytes::complete::{tag, take_while};
use nom::character::complete::{multispace0, multispace1};
use nom::combinator::{opt, value};
use nom::sequence::{delimited, terminated};
use nom::{IResult, Parser};

use crate::metrics::Metric;
use ptx_report::clean;
use ptx_report::function_stats::FunctionStats;

/// A comparison that must not be true of a function, or of all functions together.
#[derive(Clone, Debug)]
pub(super) struct Limit {
    text: String,
    total: bool,
    metric: Metric,
    comparison: Comparison,
    bound: Bound,
}

/// The statistics of a function in both modules; `None` for a module without it.
#[derive(Copy, Clone)]
pub(super) struct ComparedStats<'f> {
    pub(super) left: Option<&'f FunctionStats>,
    pub(super) right: Option<&'f FunctionStats>,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Comparison {
    Less,
    AtMost,
    Greater,
    AtLeast,
    Equal,
    NotEqual,
}

/// The number that is compared with the value of a metric or with its change.
#[derive(Copy, Clone, PartialEq, Debug)]
enum Bound {
    Value(u64),
    Change(i128),
    /// A number of hundredths of a percent.
    Percent(i128),
}

type Parsed<'a, T> = IResult<&'a str, T>;

fn comparison(input: &str) -> Parsed<'_, Comparison> {
    let symbols = alt((
        value(Comparison::AtMost, tag("<=")),
        value(Comparison::AtLeast, tag(">=")),
        value(Comparison::Equal, tag("==")),
        value(Comparison::NotEqual, tag("!=")),
        value(Comparison::Less, tag("<")),
        value(Comparison::Greater, tag(">")),
    ));
    delimited(multispace0, symbols, multispace0).parse(input)
}

/// Parses a limit.
pub(super) fn parse(text: &str) -> Result<Limit, String> {
    let name = take_while(|c: char| c.is_alphanumeric() || "_.".contains(c));
    let total = opt(terminated(tag("total"), multispace1));
    let (condition, (total, name)) = (total, name)
        .parse(text.trim())
        .map_err(|_: nom::Err<()>| "expected a metric".to_owned())?;
    let metric = Metric::parse(name)?;
    let (number, comparison) = comparison(condition).map_err(|_| {
        format!(
            "expected `>`, `>=`, `<`, `<=`, `==` or `!=` after `{name}`, found `{}`",
            clean(condition)
        )
    })?;
    Ok(Limit {
        text: clean(text.trim()).into_owned(),
        total: total.is_some(),
        bound: bound(&metric, number.trim())?,
        metric,
        comparison,
    })
}

fn bound(metric: &Metric, text: &str) -> Result<Bound, String> {
    let (sign, digits) = match text.split_at_checked(1) {
        Some(("+", digits)) => (Some(1), digits),
        Some(("-", digits)) => (Some(-1), digits),
        _ => (None, text),
    };
    let Some(percent) = digits.strip_suffix('%') else {
        let amount = metric.amount(digits)?;
        return Ok(match sign {
            Some(sign) => Bound::Change(sign * i128::from(amount)),
            None => Bound::Value(amount),
        });
    };
    let Some(sign) = sign else {
        return Err(format!(
            "a percentage must be a change: write `+{digits}` or `-{digits}`"
        ));
    };
    hundredths(percent.trim())
        .map(|n| Bound::Percent(sign * n))
        .ok_or_else(|| {
            format!(
                "expected a percentage such as 5 or 2.5, found `{}`",
                clean(percent)
            )
        })
}

/// The hundredths of a decimal number: 250 for `2.5`.
fn hundredths(text: &str) -> Option<i128> {
    let (integer, fraction) = text.split_once('.').unwrap_or((text, ""));
    let has_digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if integer.is_empty() || !has_digits(integer) || !has_digits(fraction) || fraction.len() > 2 {
        return None;
    }
    let integer: u32 = integer.parse().ok()?;
    let fraction: u32 = format!("{fraction:0<2}").parse().ok()?;
    Some(i128::from(integer) * 100 + i128::from(fraction))
}

impl Limit {
    pub(super) const fn metric(&self) -> &Metric {
        &self.metric
    }

    /// Whether the values of equal functions are needed.
    pub(super) fn needs_equal_functions(&self) -> bool {
        self.total || matches!(self.bound, Bound::Value(_))
    }

    /// The messages for the functions that exceed the limit: one for each, or one for all.
    pub(super) fn exceeded<'f>(
        &self,
        functions: impl Iterator<Item = ComparedStats<'f>>,
    ) -> Vec<String> {
        let value =
            |stats: Option<&FunctionStats>| stats.and_then(|stats| self.metric.value(stats));
        if !self.total {
            return functions
                .filter_map(|function| {
                    let (left, right) = (value(function.left), value(function.right));
                    let name = match function.right.or(function.left) {
                        Some(stats) => stats.title(),
                        None => "",
                    };
                    self.holds(left, right)
                        .then(|| self.message(name, left, right))
                })
                .collect();
        }
        let (mut left, mut right) = (0u64, 0u64);
        for function in functions {
            left = left.saturating_add(value(function.left).unwrap_or(0));
            right = right.saturating_add(value(function.right).unwrap_or(0));
        }
        let (left, right) = (Some(left), Some(right));
        if self.holds(left, right) {
            vec![self.message("all functions", left, right)]
        } else {
            Vec::new()
        }
    }

    fn message(&self, function: &str, left: Option<u64>, right: Option<u64>) -> String {
        let number = |value: Option<u64>| value.map_or("none".to_owned(), |n| n.to_string());
        let (metric, text) = (&self.metric, &self.text);
        let (left, right) = (number(left), number(right));
        format!("{function}: {metric} from {left} to {right} exceeds `{text}`")
    }

    /// Whether the comparison is true of a value before and after. Of a function that only one module has, only a value is compared, not a change.
    fn holds(&self, left: Option<u64>, right: Option<u64>) -> bool {
        let Some(right) = right.map(i128::from) else {
            return false;
        };
        let change = left.map(|left| (i128::from(left), right - i128::from(left)));
        let (value, bound) = match (self.bound, change) {
            (Bound::Value(bound), _) => (right, i128::from(bound)),
            (Bound::Change(bound), Some((_, change))) => (change, bound),
            // An increase from 0 is more than any percentage.
            (Bound::Percent(bound), Some((0, change))) => {
                (if change > 0 { i128::MAX } else { 0 }, bound)
            }
            (Bound::Percent(bound), Some((left, change))) => (change * 10_000, bound * left),
            _ => return false,
        };
        match self.comparison {
            Comparison::Less => value < bound,
            Comparison::AtMost => value <= bound,
            Comparison::Greater => value > bound,
            Comparison::AtLeast => value >= bound,
            Comparison::Equal => value == bound,
            Comparison::NotEqual => value != bound,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::parse;

    #[test]
    fn limits_of_changes() {
        for (limit, left, right, expected) in [
            ("instructions>+5%", 100, 105, false),
            ("instructions>+5%", 100, 106, true),
            ("instructions > +2.5%", 1000, 1026, true),
            ("instructions>=+5%", 100, 105, true),
            ("instructions>+5%", 0, 1, true),
            ("instructions>+5%", 0, 0, false),
            ("instructions<-10%", 100, 89, true),
            ("instructions<-10%", 100, 90, false),
            ("memory.local>+0", 0, 1, true),
            ("memory.local>+0", 3, 3, false),
            ("pressure>64", 80, 64, false),
            ("pressure>64", 10, 65, true),
            ("shared>48K", 0, (48 << 10) + 1, true),
            ("shared!=+0", 8, 4, true),
            ("shared==16", 8, 16, true),
            ("total loops<=-1", 8, 7, true),
        ] {
            let is_met = parse(limit).unwrap().holds(Some(left), Some(right));
            assert_eq!(is_met, expected, "{limit}: {left} {right}");
        }
        assert!(parse("pressure>64").unwrap().holds(None, Some(65)));
        assert!(!parse("pressure>+1").unwrap().holds(None, Some(65)));
        assert!(!parse("pressure<65").unwrap().holds(Some(65), None));
    }

    #[test]
    fn malformed_limits() {
        for (limit, expected) in [
            (
                "instruction>+5%",
                "unknown metric `instruction`; did you mean `instructions`?",
            ),
            (
                "instructions",
                "expected `>`, `>=`, `<`, `<=`, `==` or `!=` after `instructions`, found ``",
            ),
            (
                "instructions=>5",
                "expected `>`, `>=`, `<`, `<=`, `==` or `!=` after `instructions`, found `=>5`",
            ),
            (
                "instructions>5%",
                "a percentage must be a change: write `+5%` or `-5%`",
            ),
            (
                "instructions>+x%",
                "expected a percentage such as 5 or 2.5, found `x`",
            ),
            (
                "instructions>+1.234%",
                "expected a percentage such as 5 or 2.5, found `1.234`",
            ),
            (
                "instructions>",
                "expected a number such as 64 or 48K for `instructions`, found ``",
            ),
            (
                "instructions>+5% loops",
                "expected a number such as 64 or 48K for `instructions`, found `5% loops`",
            ),
            ("", "unknown metric ``; --help lists all metrics"),
        ] {
            assert_eq!(parse(limit).unwrap_err(), expected, "{limit}");
        }
    }
}
