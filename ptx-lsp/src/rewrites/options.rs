//! The options of a rewrite, and the values that a client chose for them.

use serde::Serialize;
use serde_json::{Map, Value};

/// An option of a rewrite.
#[derive(Clone, Serialize)]
pub(super) struct RewriteOption {
    name: &'static str,
    #[serde(flatten)]
    kind: Kind,
    /// A phrase without a full stop.
    description: String,
}

/// The values that an option accepts. An option without a default value is required.
#[derive(Clone, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Kind {
    Bool {
        default: bool,
    },
    String {
        #[serde(skip_serializing_if = "Option::is_none")]
        default: Option<&'static str>,
    },
    Number(NumberKind),
    Choice {
        choices: Vec<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        default: Option<&'static str>,
    },
}

/// The values of a number.
#[derive(Copy, Clone, Serialize)]
pub(super) struct NumberKind {
    pub(super) minimum: u32,
    pub(super) maximum: u32,
    pub(super) default: u32,
}

impl RewriteOption {
    fn new(name: &'static str, kind: Kind, description: impl Into<String>) -> Self {
        let description = description.into();
        Self {
            name,
            kind,
            description,
        }
    }

    pub(super) fn bool(name: &'static str, default: bool, description: impl Into<String>) -> Self {
        Self::new(name, Kind::Bool { default }, description)
    }

    pub(super) fn string(
        name: &'static str,
        default: Option<&'static str>,
        description: impl Into<String>,
    ) -> Self {
        Self::new(name, Kind::String { default }, description)
    }

    pub(super) fn number(
        name: &'static str,
        kind: NumberKind,
        description: impl Into<String>,
    ) -> Self {
        Self::new(name, Kind::Number(kind), description)
    }

    pub(super) fn choice(
        name: &'static str,
        choices: impl IntoIterator<Item = impl Into<String>>,
        default: Option<&'static str>,
        description: impl Into<String>,
    ) -> Self {
        let choices = choices.into_iter().map(Into::into).collect();
        Self::new(name, Kind::Choice { choices, default }, description)
    }

    /// Fails if the option does not accept a value.
    fn check(&self, value: &Value) -> Result<(), String> {
        let name = self.name;
        match (&self.kind, value) {
            (Kind::Bool { .. }, Value::Bool(_)) | (Kind::String { .. }, Value::String(_)) => Ok(()),
            (Kind::Number(kind), Value::Number(number)) => {
                let NumberKind {
                    minimum, maximum, ..
                } = *kind;
                let range = u64::from(minimum)..=u64::from(maximum);
                if number.as_u64().is_some_and(|n| range.contains(&n)) {
                    return Ok(());
                }
                Err(format!(
                    "`{name}` is {number}; expected a number from {minimum} to {maximum}"
                ))
            }
            (Kind::Choice { choices, .. }, Value::String(text)) => {
                if choices.contains(text) {
                    return Ok(());
                }
                Err(format!("`{name}` has no choice `{text}`"))
            }
            _ => Err(format!("`{name}` has a value of another type: {value}")),
        }
    }

    fn is_required(&self) -> bool {
        matches!(
            self.kind,
            Kind::String { default: None } | Kind::Choice { default: None, .. }
        )
    }
}

/// The values of the options of a rewrite: chosen ones and defaults.
pub(super) struct Values<'a> {
    options: &'a [RewriteOption],
    chosen: &'a Map<String, Value>,
}

impl<'a> Values<'a> {
    /// Fails if an option does not exist, does not accept its value, or is required and missing. An option with the value `null` is missing.
    pub(super) fn new(
        options: &'a [RewriteOption],
        chosen: &'a Map<String, Value>,
    ) -> Result<Self, String> {
        for (name, value) in chosen.iter().filter(|(_, value)| !value.is_null()) {
            let option = options
                .iter()
                .find(|option| option.name == name)
                .ok_or_else(|| format!("unknown option `{name}`"))?;
            option.check(value)?;
        }
        let values = Self { options, chosen };
        let missing = options
            .iter()
            .find(|option| option.is_required() && values.text(option.name).is_empty());
        match missing {
            Some(option) => Err(format!("`{}` is missing", option.name)),
            None => Ok(values),
        }
    }

    fn kind(&self, name: &str) -> Option<&'a Kind> {
        let option = self.options.iter().find(|option| option.name == name)?;
        Some(&option.kind)
    }

    pub(super) fn is_set(&self, name: &str) -> bool {
        let default = matches!(self.kind(name), Some(Kind::Bool { default: true }));
        self.chosen
            .get(name)
            .and_then(Value::as_bool)
            .unwrap_or(default)
    }

    /// The value of a string or a choice without spaces at its ends.
    pub(super) fn text(&self, name: &str) -> &'a str {
        let default = match self.kind(name) {
            Some(Kind::String { default } | Kind::Choice { default, .. }) => *default,
            _ => None,
        };
        self.chosen
            .get(name)
            .and_then(Value::as_str)
            .or(default)
            .unwrap_or_default()
            .trim()
    }

    pub(super) fn number(&self, name: &str) -> u32 {
        match self.chosen.get(name).and_then(Value::as_u64) {
            Some(number) => u32::try_from(number).unwrap_or(u32::MAX),
            None => match self.kind(name) {
                Some(Kind::Number(kind)) => kind.default,
                _ => 0,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(given: &Value) -> String {
        let options = [
            RewriteOption::bool("on", true, ""),
            RewriteOption::number(
                "count",
                NumberKind {
                    minimum: 1,
                    default: 5,
                    maximum: 9,
                },
                "",
            ),
            RewriteOption::choice("target", ["a", "b"], None, ""),
            RewriteOption::string("name", Some("x"), ""),
        ];
        let given = given.as_object().unwrap();
        match Values::new(&options, given) {
            Ok(v) => {
                let (on, count) = (v.is_set("on"), v.number("count"));
                format!("{on} {count} {} {}", v.text("target"), v.text("name"))
            }
            Err(why) => why,
        }
    }

    #[test]
    fn values_are_checked() {
        use serde_json::json;
        assert_eq!(problem(&json!({"target": "a"})), "true 5 a x");
        let all = json!({"target": "b", "on": false, "count": 9, "name": " y "});
        assert_eq!(problem(&all), "false 9 b y");
        let null = json!({"target": "b", "on": null});
        assert_eq!(problem(&null), "true 5 b x");
        assert_eq!(problem(&json!({})), "`target` is missing");
        for (given, why) in [
            (json!({"target": "c"}), "`target` has no choice `c`"),
            (json!({"x": 1}), "unknown option `x`"),
            (json!({"on": 1}), "`on` has a value of another type: 1"),
            (
                json!({"count": 10}),
                "`count` is 10; expected a number from 1 to 9",
            ),
            (
                json!({"count": 1.5}),
                "`count` is 1.5; expected a number from 1 to 9",
            ),
        ] {
            assert_eq!(problem(&given), why);
        }
    }
}
