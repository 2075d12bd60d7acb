//! The option `--fields`: which keys of the JSON output are written.

use std::collections::BTreeSet;
use std::sync::Mutex;

use anyhow::{Result, bail};
use serde_json::Value;

use crate::render::clean;

/// Which keys are written.
#[derive(Debug, clap::Args)]
pub(crate) struct Fields {
    /// Only these keys of the JSON output, separated by commas. A key is meant wherever it occurs, `memory.space` only below
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
const ALWAYS: [&str; 3] = ["schema", "file", "kind"];

impl Fields {
    /// The selection; `None` for everything.
    pub(crate) fn selection(&self) -> Option<Selection> {
        let reversed = |path: &String| path.rsplit('.').map(|key| key.trim().to_owned()).collect();
        (!self.fields.is_empty()).then(|| Selection {
            paths: self.fields.iter().map(reversed).collect(),
            seen: Mutex::default(),
        })
    }
}

impl Selection {
    /// Removes what was not chosen from an object, which is the value of these keys.
    pub(crate) fn filter(&self, value: &mut Value, outer: &[&str]) {
        let mut seen = Seen::default();
        let mut path = outer.iter().map(|&key| key.to_owned()).collect();
        self.keep(value, &mut path, &mut seen);
        if let Ok(mut all) = self.seen.lock() {
            all.keys.append(&mut seen.keys);
            all.used.append(&mut seen.used);
        }
    }

    /// Filters the JSON text after an offset.
    pub(crate) fn filter_text(
        &self,
        text: &mut Vec<u8>,
        from: usize,
        outer: &[&str],
    ) -> Result<()> {
        let mut value = serde_json::from_slice(text.get(from..).unwrap_or_default())?;
        self.filter(&mut value, outer);
        text.truncate(from);
        Ok(serde_json::to_writer(text, &value)?)
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

    /// Whether anything of a value was chosen; the rest is removed.
    fn keep(&self, value: &mut Value, path: &mut Vec<String>, seen: &mut Seen) -> bool {
        match value {
            Value::Object(map) => {
                let mut any = false;
                map.retain(|key, inner| {
                    seen.keys.insert(key.clone());
                    path.push(key.clone());
                    let chosen = self.choices(path).fold(false, |_, choice| {
                        seen.used.insert(choice);
                        true
                    });
                    let kept = chosen || self.keep(inner, path, seen);
                    path.pop();
                    any |= kept;
                    kept || path.is_empty() && ALWAYS.contains(&key.as_str())
                });
                any
            }
            Value::Array(all) => {
                let kept = all.iter_mut().map(|inner| self.keep(inner, path, seen));
                kept.fold(false, |any, kept| any | kept)
            }
            _ => false,
        }
    }

    /// The choices that mean the value of these keys.
    fn choices(&self, keys: &[String]) -> impl Iterator<Item = usize> {
        let ends = |path: &[String]| {
            path.len() <= keys.len() && path.iter().eq(keys.iter().rev().take(path.len()))
        };
        let paths = self.paths.iter().enumerate();
        paths.filter(move |(_, path)| ends(path)).map(|(i, _)| i)
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
            let mut value = value.clone();
            selection.filter(&mut value, &[]);
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
