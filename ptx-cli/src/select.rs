//! The option `--fields`, which selects keys of the JSON output.

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

/// The choice of the keys that are written.
#[derive(Debug, clap::Args)]
pub(crate) struct Fields {
    /// Write only these keys of the JSON output, separated by commas. A key applies wherever it occurs; `memory.space` applies only below
    /// `memory`
    #[arg(long, value_name = "KEYS", value_delimiter = ',')]
    fields: Vec<String>,
}

/// The selected keys, and the keys that occurred.
pub(crate) struct Selection {
    /// For each choice, its keys, the innermost first.
    paths: Vec<Vec<String>>,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    keys: BTreeSet<String>,
    /// The indices of the choices that occurred.
    choices: BTreeSet<usize>,
}

/// Keys that are always written.
const ALWAYS: [&str; 4] = ["schema", "file", "kind", "record"];

impl Fields {
    /// The selection; `None` for everything.
    ///
    /// # Errors
    ///
    /// The option is given, and the output is not JSON.
    pub(crate) fn selection(&self, is_json: bool) -> Result<Option<Selection>> {
        if !self.fields.is_empty() && !is_json {
            bail!("--fields needs --json");
        }
        Ok(Selection::of(&self.fields))
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

    /// Removes the keys that were not selected from an object, which is the value of the key `outer`.
    pub(crate) fn filter(&self, value: &mut Value, outer: &[&str]) {
        let mut text = value.to_string().into_bytes();
        if self.filter_text(&mut text, 0, outer).is_ok()
            && let Ok(kept) = serde_json::from_slice(&text)
        {
            *value = kept;
        }
    }

    /// Removes the keys that were not selected from the JSON text after an offset.
    pub(crate) fn filter_text(
        &self,
        text: &mut Vec<u8>,
        start: usize,
        outer: &[&str],
    ) -> Result<()> {
        let seen = RefCell::default();
        let outer = outer.first().map(|key| Path { key, outer: None });
        let reader = Reader {
            selection: self,
            path: outer.as_ref(),
            seen: &seen,
        };
        let object = text.get(start..).unwrap_or_default();
        let filtered = reader.deserialize(&mut Deserializer::from_slice(object))?;
        if let Ok(mut total) = self.seen.lock() {
            let mut seen = seen.into_inner();
            total.keys.append(&mut seen.keys);
            total.choices.append(&mut seen.choices);
        }
        text.truncate(start);
        Ok(serde_json::to_writer(
            text,
            &filtered.unwrap_or_else(empty),
        )?)
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
        let unused = (0..self.paths.len()).find(|i| !seen.choices.contains(i));
        let Some(path) = unused.and_then(|i| self.paths.get(i)) else {
            return Ok(());
        };
        if !seen.keys.contains("name") {
            return Ok(());
        }
        let keys: Vec<&str> = path.iter().rev().map(String::as_str).collect();
        let key = path.first().map_or("", String::as_str);
        let similar = seen.keys.iter().map(|k| (strsim::osa_distance(k, key), k));
        let hint = match similar.min() {
            Some((1..=2, similar)) => format!("; did you mean `{similar}`?"),
            _ => String::new(),
        };
        bail!("the output has no key `{}`{hint}", clean(&keys.join(".")))
    }
}

fn empty() -> Value {
    Value::Object(Map::new())
}

/// The keys that lead to a value.
struct Path<'p> {
    key: &'p str,
    outer: Option<&'p Path<'p>>,
}

impl Path<'_> {
    /// Whether the path ends with these keys, the innermost first.
    fn ends_with(&self, keys: &[String]) -> bool {
        let mut path = Some(self);
        keys.iter().all(|key| {
            let is_equal = path.is_some_and(|path| path.key == key);
            path = path.and_then(|path| path.outer);
            is_equal
        })
    }
}

/// Reads the selected part of a value; `None` if nothing of it is selected.
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
    /// Whether a key is selected.
    fn is_selected(&self, path: &Path<'_>) -> bool {
        let mut seen = self.seen.borrow_mut();
        if !seen.keys.contains(path.key) {
            seen.keys.insert(path.key.to_owned());
        }
        let mut is_selected = false;
        for (choice, keys) in self.selection.paths.iter().enumerate() {
            if path.ends_with(keys) {
                seen.choices.insert(choice);
                is_selected = true;
            }
        }
        is_selected
    }
}

impl<'de> DeserializeSeed<'de> for Reader<'_, '_> {
    type Value = Option<Value>;

    fn deserialize<D: serde::Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
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

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
        let mut values = Vec::new();
        let mut is_selected = false;
        while let Some(value) = access.next_element_seed(self)? {
            is_selected |= value.is_some();
            values.push(value.unwrap_or_else(empty));
        }
        Ok(is_selected.then_some(Value::Array(values)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
        let mut map = Map::new();
        while let Some(Key(key)) = access.next_key()? {
            let path = Path {
                key: &key,
                outer: self.path,
            };
            let is_kept = self.path.is_none() && ALWAYS.contains(&&*key);
            let value = if self.is_selected(&path) || is_kept {
                Some(access.next_value()?)
            } else {
                access.next_value_seed(Reader {
                    path: Some(&path),
                    ..self
                })?
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
            let selection = Fields { fields }.selection(true).unwrap().unwrap();
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
