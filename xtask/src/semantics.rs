//! `cargo xtask semantics`: how the machine comes to the results of each form, one line per form, and how many there are.

use anyhow::Result;
use ptx_isa::{Action, EffectKind, Form, Instruction};

use crate::docs::columns;

/// Arguments of `cargo xtask semantics`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Print nothing; fail where a form states neither what it computes nor what it does
    #[arg(long)]
    check: bool,
}

/// How the machine comes to the results of a form.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Execution {
    /// From what the tables say it computes.
    Computed,
    /// By control flow.
    ControlFlow,
    /// By an action of the machine.
    Performed(Action),
    /// Not yet: the machine does not perform the action.
    Unsupported(Action),
    /// The tables do not say what it does.
    Missing,
}

impl Execution {
    pub(crate) fn of(form: &Form) -> Self {
        let mut effects = form.effects().iter();
        match (form.computation(), form.action()) {
            (Some(_), _) => Self::Computed,
            (None, Some(action)) if ptx_vm::performs(action) => Self::Performed(action),
            (None, Some(action)) => Self::Unsupported(action),
            _ if effects.any(|e| matches!(e.kind(), EffectKind::Control(_))) => Self::ControlFlow,
            _ => Self::Missing,
        }
    }

    /// The number of its column in tables.
    pub(crate) const fn column(self) -> usize {
        match self {
            Self::Computed => 0,
            Self::ControlFlow => 1,
            Self::Performed(_) => 2,
            Self::Unsupported(_) => 3,
            Self::Missing => 4,
        }
    }

    /// The headings of the columns.
    pub(crate) const COLUMNS: [&str; 5] = [
        "computed from the tables",
        "control flow",
        "executed by the machine",
        "not supported",
        "missing",
    ];

    fn text(self) -> String {
        let kind = Self::COLUMNS[self.column()];
        match self {
            Self::Performed(action) | Self::Unsupported(action) => {
                format!("{kind}: {}", action.meaning())
            }
            _ => kind.into(),
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let all = Instruction::ALL.iter();
    let forms = all.flat_map(|i| i.forms().iter().map(move |f| (i.name(), *f)));
    let mut rows = Vec::new();
    let mut counts = [0; Execution::COLUMNS.len()];
    let mut missing = Vec::new();
    for (name, form) in forms {
        let execution = Execution::of(form);
        let spelling = format!("{name}{}", form.syntax());
        counts[execution.column()] += 1;
        if execution == Execution::Missing {
            missing.push(spelling.clone());
        }
        rows.push(vec![form.section().into(), spelling, execution.text()]);
    }
    if !args.check {
        print!("{}", columns(&rows));
        for (count, heading) in counts.iter().zip(Execution::COLUMNS) {
            println!("{count} {heading}");
        }
    }
    anyhow::ensure!(
        missing.is_empty(),
        "the tables do not say what these do:\n{}",
        missing.join("\n")
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_missing() {
        run(&Args { check: true }).unwrap();
    }

    #[test]
    fn each_kind_is_told_apart() {
        let of = |name: &str| {
            let instruction = Instruction::ALL.iter().find(|i| i.name() == name);
            Execution::of(instruction.unwrap().forms()[0])
        };
        assert_eq!(of("add"), Execution::Computed);
        assert_eq!(of("bra"), Execution::ControlFlow);
        assert_eq!(of("elect"), Execution::Performed(Action::Elect));
        assert_eq!(of("tex"), Execution::Unsupported(Action::TextureFetch));
    }
}
