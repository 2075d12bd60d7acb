//! Profiles of `ptxkit run --profile --json` and of `ptxkit exec --profile`, which `report --profile` shows beside the static numbers.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use serde::Serialize;
use serde_json::Value;

/// What was counted at a PTX line.
#[derive(Copy, Clone, Default, PartialEq, Eq, Debug, Serialize)]
pub(super) struct LineCounts {
    /// The number of executions by warps.
    pub(super) executions: u64,
    /// The number of active lanes, summed over all executions.
    pub(super) lanes: u64,
    /// The requests of warps to global memory.
    pub(super) requests: u64,
    /// The 32-byte sectors of global memory.
    pub(super) sectors: u64,
    /// The additional passes through shared memory.
    pub(super) conflicts: u64,
}

/// The counts of the lines of functions, by their names.
#[derive(Default, Debug)]
pub(super) struct Profile {
    functions: HashMap<String, BTreeMap<u32, LineCounts>>,
}

impl Profile {
    /// Reads the JSON objects of a file, one after the other.
    ///
    /// # Errors
    ///
    /// The file cannot be read, is not JSON, or contains no profile.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let name = || path.display().to_string();
        let text = fs::read_to_string(path).with_context(name)?;
        let mut profile = Self::default();
        for object in serde_json::Deserializer::from_str(&text).into_iter::<Value>() {
            profile.add(&object.with_context(name)?);
        }
        if profile.functions.is_empty() {
            bail!(
                "{}: no profile; `ptxkit run --profile --json` and `ptxkit exec --profile` write one",
                path.display()
            );
        }
        Ok(profile)
    }

    /// Adds the profiles of the launches, or of the kernels, of an object.
    fn add(&mut self, object: &Value) {
        for list in ["launches", "kernels"] {
            for launch in object[list].as_array().into_iter().flatten() {
                let kernel = launch["kernel"].as_str();
                for counts in launch["profile"].as_array().into_iter().flatten() {
                    self.add_line(kernel, counts);
                }
            }
        }
    }

    fn add_line(&mut self, kernel: Option<&str>, counts: &Value) {
        let Some(function) = counts["function"].as_str().or(kernel) else {
            return;
        };
        let Some(line) = counts["line"]
            .as_u64()
            .and_then(|line| u32::try_from(line).ok())
        else {
            return;
        };
        let number = |value: &Value| value.as_u64().unwrap_or(0);
        let lines = self.functions.entry(function.to_owned()).or_default();
        let sum = lines.entry(line).or_default();
        let add = |sum: &mut u64, value: u64| *sum = sum.saturating_add(value);
        add(&mut sum.executions, number(&counts["executions"]));
        add(&mut sum.lanes, number(&counts["lanes"]));
        for memory in counts["memory"].as_array().into_iter().flatten() {
            let sectors = number(&memory["sectors"]);
            if sectors > 0 {
                add(&mut sum.requests, number(&memory["requests"]));
            }
            add(&mut sum.sectors, sectors);
            add(&mut sum.conflicts, number(&memory["bank_conflicts"]));
        }
    }

    /// The counts of the lines of a function; `None` if it was not executed.
    pub(super) fn of_function(&self, name: &str) -> Option<&BTreeMap<u32, LineCounts>> {
        self.functions.get(name)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panics")]
mod tests {
    use super::*;

    #[test]
    fn launches_are_added() {
        let launch = r#"{"kernel": "k", "profile": [{"function": null, "line": 7, "executions": 2, "lanes": 64,
            "memory": [{"space": "global", "requests": 2, "sectors": 32, "bank_conflicts": 0}, {"space": "shared", "requests": 2, "sectors": 0, "bank_conflicts": 6}]}]}"#;
        let mut profile = Profile::default();
        for list in ["launches", "kernels"] {
            let text = format!(r#"{{"schema": 1, "{list}": [{launch}, {launch}]}}"#);
            profile.add(&serde_json::from_str(&text).unwrap());
        }
        let expected = LineCounts {
            executions: 8,
            lanes: 256,
            requests: 8,
            sectors: 128,
            conflicts: 24,
        };
        assert_eq!(profile.of_function("k").unwrap()[&7], expected);
        assert_eq!(profile.of_function("f"), None);
    }
}
