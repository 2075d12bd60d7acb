//! The names of registers: as they are written, followed by `#2` and so on for registers with a name that occurred before.

use std::collections::HashMap;
use std::fmt::Write as _;

use ptx_analysis::reg_lanes::{VariableId, Variables};
use ptx_ir::{Body, EntityId, Module, NameId};

/// The name of every variable of a function.
#[derive(Debug)]
pub struct RegisterNames {
    text: String,
    /// The end of the name of each variable in the text.
    ends: Vec<u32>,
}

impl RegisterNames {
    /// Collects the names of the variables of a function.
    #[must_use]
    pub fn new(module: &Module, body: &Body, variables: &Variables) -> Self {
        let may_repeat = shared_stems(module, body);
        let mut names = Self {
            text: String::new(),
            ends: Vec::with_capacity(variables.len()),
        };
        let mut seen: HashMap<String, u32> = HashMap::new();
        for (id, register) in body.registers().iter() {
            let start = names.text.len();
            if let Some(decl) = body.reg_decls().get(register.decl) {
                names.text.push_str(module.name(decl.name));
                if decl.count.is_some() {
                    let mut digits = itoa::Buffer::new();
                    names.text.push_str(digits.format(register.number));
                }
            }
            if may_repeat.get(register.decl.index()) == Some(&true) {
                let count = seen.entry(names.text[start..].to_owned()).or_insert(0);
                *count += 1;
                if *count > 1 {
                    let _ = write!(names.text, "#{count}");
                }
            }
            names.finish(start, variables.of(id.into()).len());
        }
        names
    }

    /// Ends the name of a register, or the names of the elements of a vector register.
    fn finish(&mut self, start: usize, elements: usize) {
        if elements > 1 {
            let base = self.text.split_off(start);
            for element in 0..elements {
                self.text.push_str(&base);
                self.text.push('.');
                self.text
                    .push_str(["x", "y", "z", "w"].get(element).unwrap_or(&"?"));
                self.ends.push(self.text.len() as u32);
            }
        } else {
            self.ends.push(self.text.len() as u32);
        }
    }

    /// The name of a variable.
    #[must_use]
    pub fn get(&self, variable: VariableId) -> &str {
        let end = |index: usize| self.ends.get(index).map_or(0, |end| *end as usize);
        let index = variable.index();
        let start = index.checked_sub(1).map_or(0, end);
        self.text.get(start..end(index)).unwrap_or_default()
    }

    /// All names, by variable.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.ends.len()).map(|index| self.get(VariableId::from_index(index)))
    }
}

/// For each declaration, whether registers of another declaration may be spelled like one of its registers.
fn shared_stems(module: &Module, body: &Body) -> Vec<bool> {
    let stem = |name: NameId| {
        module
            .name(name)
            .trim_end_matches(|c: char| c.is_ascii_digit())
    };
    let stems: Vec<&str> = body.reg_decls().values().map(|d| stem(d.name)).collect();
    let mut count: HashMap<&str, u32> = HashMap::new();
    for stem in &stems {
        *count.entry(stem).or_insert(0) += 1;
    }
    stems
        .iter()
        .map(|stem| count.get(stem) > Some(&1))
        .collect()
}
