//! The options of a rewrite: which there are, and their values.

use serde::Serialize;
use serde_json::{Map, Value};

/// An option.
#[derive(Clone, Serialize)]
pub(super) struct OptionOf {
    name: &'static str,
    #[serde(flatten)]
    kind: Kind,
    /// Without a full stop.
    description: String,
}

/// What values an option has. Without a default value it has to be given.
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
    Number {
        minimum: u32,
        maximum: u32,
        default: u32,
    },
    Choice {
        choices: Vec<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        default: Option<&'static str>,
    },
}

impl OptionOf {
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
        (minimum, default, maximum): (u32, u32, u32),
        description: impl Into<String>,
    ) -> Self {
        let kind = Kind::Number {
            minimum,
            maximum,
            default,
        };
        Self::new(name, kind, description)
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

    /// Why a value is not one of this option, if it is not.
    fn check(&self, value: &Value) -> Result<(), String> {
        let name = self.name;
        match (&self.kind, value) {
            (Kind::Bool { .. }, Value::Bool(_)) | (Kind::String { .. }, Value::String(_)) => Ok(()),
            (
                Kind::Number {
                    minimum, maximum, ..
                },
                Value::Number(number),
            ) => {
                let range = u64::from(*minimum)..=u64::from(*maximum);
                let is_one = number.as_u64().is_some_and(|n| range.contains(&n));
                is_one.then_some(()).ok_or_else(|| {
                    format!("`{name}` is {number}; expected a number from {minimum} to {maximum}")
                })
            }
            (Kind::Choice { choices, .. }, Value::String(text)) => {
                let is_one = choices.contains(text);
                let unknown = || format!("`{name}` has no choice `{text}`");
                is_one.then_some(()).ok_or_else(unknown)
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

/// The values of the options of a rewrite: those that were given, or else the default ones.
pub(super) struct Values<'a> {
    options: &'a [OptionOf],
    given: &'a Map<String, Value>,
}

impl<'a> Values<'a> {
    /// Fails if an option does not exist, has a wrong value, or is missing. `null` is as good as missing.
    pub(super) fn new(
        options: &'a [OptionOf],
        given: &'a Map<String, Value>,
    ) -> Result<Self, String> {
        for (name, value) in given.iter().filter(|(_, value)| !value.is_null()) {
            let option = options.iter().find(|o| o.name == name);
            let option = option.ok_or_else(|| format!("unknown option `{name}`"))?;
            option.check(value)?;
        }
        let values = Self { options, given };
        let mut required = options.iter().filter(|o| o.is_required());
        match required.find(|o| values.text(o.name).is_empty()) {
            Some(missing) => Err(format!("`{}` is missing", missing.name)),
            None => Ok(values),
        }
    }

    fn kind(&self, name: &str) -> Option<&'a Kind> {
        let option = self.options.iter().find(|o| o.name == name);
        option.map(|o| &o.kind)
    }

    pub(super) fn is_set(&self, name: &str) -> bool {
        let default = matches!(self.kind(name), Some(Kind::Bool { default: true }));
        self.given
            .get(name)
            .and_then(Value::as_bool)
            .unwrap_or(default)
    }

    /// Without spaces around it.
    pub(super) fn text(&self, name: &str) -> &'a str {
        let default = match self.kind(name) {
            Some(Kind::String { default } | Kind::Choice { default, .. }) => *default,
            _ => None,
        };
        let given = self.given.get(name).and_then(Value::as_str);
        given.or(default).unwrap_or_default().trim()
    }

    pub(super) fn number(&self, name: &str) -> u32 {
        let default = match self.kind(name) {
            Some(Kind::Number { default, .. }) => *default,
            _ => 0,
        };
        let given = self.given.get(name).and_then(Value::as_u64);
        given.map_or(default, |n| u32::try_from(n).unwrap_or(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(given: &Value) -> String {
        let options = [
            OptionOf::bool("on", true, ""),
            OptionOf::number("count", (1, 5, 9), ""),
            OptionOf::choice("target", ["a", "b"], None, ""),
            OptionOf::string("name", Some("x"), ""),
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
