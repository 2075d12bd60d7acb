//! The facts about the forms of a block: each once, with the forms to which it applies.

/// Lines in the order in which they came up first.
#[derive(Default)]
pub(crate) struct Facts {
    lines: Vec<(String, Vec<usize>)>,
}

impl Facts {
    pub(crate) fn add(&mut self, form: usize, line: String) {
        match self.lines.iter_mut().find(|(l, _)| *l == line) {
            Some((_, forms)) if forms.last() == Some(&form) => {}
            Some((_, forms)) => forms.push(form),
            None => self.lines.push((line, vec![form])),
        }
    }

    /// The lines; those that are not true of all forms name theirs, counted from one.
    pub(crate) fn lines(&self, forms: usize) -> impl Iterator<Item = String> {
        self.lines.iter().map(move |(line, of)| {
            if of.len() == forms {
                return line.clone();
            }
            let numbers: Vec<String> = of.iter().map(|n| (n + 1).to_string()).collect();
            let word = if of.len() == 1 { "form" } else { "forms" };
            format!("{line} — {word} {}", numbers.join(", "))
        })
    }
}
