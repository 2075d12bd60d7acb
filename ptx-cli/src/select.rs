//! The option `--fields`: which keys of the JSON output are written.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Mutex;

use anyhow::{Result, bail};
use serde::Deserialize;
use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::{Deserializer, Map, Value};

use ptx_report::clean;

/// Which keys are written.
#[derive(Debug, clap::Args)]
pub(crate) struct Fields {
    /// Write only these keys of the JSON output, separated by commas. A key applies wherever it occurs; `memory.space` applies only below
    /// `memory`
    #[arg(long, value_name = "KEYS", value_delimiter = ',', requires = "json")]
    fields: Vec<String>,
}

/// Keeps the chosen keys and notes which ones occur.
pub(crate) struct Selection {
    /// For each choice its keys, the innermost first.
    paths: Vec<Vec<String>>,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    keys: BTreeSet<String>,
    used: BTreeSet<usize>,
}

/// Keys that are always written.
const ALWAYS: [&str; 4] = ["schema", "file", "kind", "record"];

impl Fields {
    /// The selection; `None` for everything.
    pub(crate) fn selection(&self) -> Option<Selection> {
        Selection::of(&self.fields)
    }
}

impl Selection {
    /// The selection of these keys; `None` for everything.
    pub(crate) fn of(fields: &[String]) -> Option<Self> {
        let reversed = |path: &String| path.rsplit('.').map(|key| key.trim().to_owned()).collect();
        (!fields.is_empty()).then(|| Self {
            paths: fields.iter().map(reversed).collect(),
            seen: Mutex::default(),
        })
    }

    /// Removes what was not chosen from an object, which is the value of these keys.
    pub(crate) fn filter(&self, value: &mut Value, outer: &[&str]) {
        let mut text = value.to_string().into_bytes();
        if self.filter_text(&mut text, 0, outer).is_ok()
            && let Ok(kept) = serde_json::from_slice(&text)
        {
            *value = kept;
        }
    }

    /// The same for the JSON text after an offset.
    pub(crate) fn filter_text(
        &self,
        text: &mut Vec<u8>,
        from: usize,
        outer: &[&str],
    ) -> Result<()> {
        let seen = RefCell::default();
        let outer = outer.first().map(|key| Path { key, outer: None });
        let reader = Reader {
            selection: self,
            path: outer.as_ref(),
            seen: &seen,
        };
        let object = text.get(from..).unwrap_or_default();
        let kept = reader.deserialize(&mut Deserializer::from_slice(object))?;
        if let Ok(mut all) = self.seen.lock() {
            let mut seen = seen.into_inner();
            all.keys.append(&mut seen.keys);
            all.used.append(&mut seen.used);
        }
        text.truncate(from);
        Ok(serde_json::to_writer(text, &kept.unwrap_or_else(empty))?)
    }

    /// Checks that every choice was a key of the output.
    ///
    /// # Errors
    ///
    /// There are functions, but no such key.
    pub(crate) fn check(&self) -> Result<()> {
        let Ok(seen) = self.seen.lock() else {
            return Ok(());
        };
        let unused = (0..self.paths.len()).find(|i| !seen.used.contains(i));
        let Some(path) = unused.and_then(|i| self.paths.get(i)) else {
            return Ok(());
        };
        if !seen.keys.contains("name") {
            return Ok(());
        }
        let whole: Vec<&str> = path.iter().rev().map(String::as_str).collect();
        let key = path.first().map_or("", String::as_str);
        let similar = seen.keys.iter().map(|k| (strsim::osa_distance(k, key), k));
        let hint = match similar.min() {
            Some((1..=2, similar)) => format!("; did you mean `{similar}`?"),
            _ => String::new(),
        };
        bail!("the output has no key `{}`{hint}", clean(&whole.join(".")))
    }
}

fn empty() -> Value {
    Value::Object(Map::new())
}

/// The keys above a value.
struct Path<'p> {
    key: &'p str,
    outer: Option<&'p Path<'p>>,
}

impl Path<'_> {
    /// Whether it ends with these keys, the innermost first.
    fn ends_with(&self, keys: &[String]) -> bool {
        let mut at = Some(self);
        keys.iter().all(|key| {
            let same = at.is_some_and(|path| path.key == key);
            at = at.and_then(|path| path.outer);
            same
        })
    }
}

/// Reads what was chosen of a value; `None` for nothing.
#[derive(Copy, Clone)]
struct Reader<'s, 'p> {
    selection: &'s Selection,
    path: Option<&'p Path<'p>>,
    seen: &'s RefCell<Seen>,
}

/// A key that is copied only if it has escapes.
#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

impl Reader<'_, '_> {
    /// Whether a key was chosen.
    fn chooses(&self, path: &Path<'_>) -> bool {
        let mut seen = self.seen.borrow_mut();
        if !seen.keys.contains(path.key) {
            seen.keys.insert(path.key.to_owned());
        }
        let choices = self.selection.paths.iter().enumerate();
        let chosen = choices.filter(|(_, keys)| path.ends_with(keys));
        chosen.fold(false, |_, (choice, _)| {
            seen.used.insert(choice);
            true
        })
    }
}

impl<'de> DeserializeSeed<'de> for Reader<'_, '_> {
    type Value = Option<Value>;

    fn deserialize<D: serde::Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reader<'_, '_> {
    type Value = Option<Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Self::Value, A::Error> {
        let (mut all, mut any) = (Vec::new(), false);
        while let Some(value) = from.next_element_seed(self)? {
            any |= value.is_some();
            all.push(value.unwrap_or_else(empty));
        }
        Ok(any.then_some(Value::Array(all)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Self::Value, A::Error> {
        let mut map = Map::new();
        while let Some(Key(key)) = from.next_key()? {
            let path = Path {
                key: &key,
                outer: self.path,
            };
            let always = self.path.is_none() && ALWAYS.contains(&&*key);
            let value = match self.chooses(&path) || always {
                true => Some(from.next_value()?),
                false => from.next_value_seed(Reader {
                    path: Some(&path),
                    ..self
                })?,
            };
            map.extend(value.map(|value| (key.clone().into_owned(), value)));
        }
        Ok((!map.is_empty()).then_some(Value::Object(map)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chosen_keys_and_what_contains_them_are_kept() {
        let value = serde_json::json!({
            "schema": 1, "file": "a", "bytes": 7,
            "functions": [
                {"name": "k", "insts": [{"line": 1, "memory": [{"space": "global", "bytes": 4}]}, {"line": 2, "memory": []}]},
                {"name": "l", "insts": []},
            ],
        });
        let filtered = |fields: &[&str]| {
            let fields = fields.iter().map(|f| (*f).to_owned()).collect();
            let selection = Fields { fields }.selection().unwrap();
            let mut text = serde_json::to_vec(&value).unwrap();
            selection.filter_text(&mut text, 0, &[]).unwrap();
            let value: Value = serde_json::from_slice(&text).unwrap();
            (value, selection.check().map_err(|e| e.to_string()).err())
        };
        let start = serde_json::json!({"schema": 1, "file": "a"});
        assert_eq!(filtered(&["file"]), (start.clone(), None));
        let wanted = serde_json::json!({"schema": 1, "file": "a", "functions": [{"name": "k"}, {"name": "l"}]});
        assert_eq!(filtered(&["name"]), (wanted, None));
        let wanted = serde_json::json!({
            "schema": 1, "file": "a", "functions": [{"insts": [{"memory": [{"bytes": 4}]}, {}]}, {}],
        });
        assert_eq!(filtered(&["memory.bytes"]), (wanted, None));
        let (_, error) = filtered(&["insts.lnie"]);
        let message = "the output has no key `insts.lnie`; did you mean `line`?";
        assert_eq!(error.as_deref(), Some(message));
    }
}
