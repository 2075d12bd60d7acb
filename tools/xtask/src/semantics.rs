//! `cargo xtask semantics`: the execution of each form by the machine, one line per form, and the number of forms of each kind.

use anyhow::Result;
use ptx_isa::internals::EffectKind;
use ptx_isa::{Action, Form, Instruction};

use crate::docs::columns;

/// Arguments of `cargo xtask semantics`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Print nothing; fail if a form has neither a computation nor an action
    #[arg(long)]
    check: bool,
}

/// The execution of a form by the machine.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Execution {
    /// The computation in the tables is evaluated.
    Computed,
    /// The form is executed as control flow.
    ControlFlow,
    /// The machine performs the action.
    Performed(Action),
    /// The machine does not support the action.
    Unsupported(Action),
    /// The tables state neither a computation nor an action.
    Missing,
}

impl Execution {
    pub(crate) fn of(form: &Form) -> Self {
        if form.computation().is_some() {
            return Self::Computed;
        }
        if let Some(action) = form.action() {
            return if ptx_vm::performs(action) {
                Self::Performed(action)
            } else {
                Self::Unsupported(action)
            };
        }
        let has_control_flow = form
            .effects()
            .iter()
            .any(|e| matches!(e.kind(), EffectKind::Control(_)));
        if has_control_flow {
            Self::ControlFlow
        } else {
            Self::Missing
        }
    }

    /// The index of the column in tables.
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
    let mut rows = Vec::new();
    let mut counts = [0; Execution::COLUMNS.len()];
    let mut missing = Vec::new();
    for instruction in Instruction::ALL {
        for form in instruction.forms() {
            let execution = Execution::of(form);
            let syntax = format!("{}{}", instruction.name(), form.syntax());
            counts[execution.column()] += 1;
            if execution == Execution::Missing {
                missing.push(syntax.clone());
            }
            rows.push(vec![form.section().into(), syntax, execution.text()]);
        }
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
        let execution = |name: &str| {
            let instruction = Instruction::ALL.iter().find(|i| i.name() == name);
            Execution::of(instruction.unwrap().forms()[0])
        };
        assert_eq!(execution("add"), Execution::Computed);
        assert_eq!(execution("bra"), Execution::ControlFlow);
        assert_eq!(execution("elect"), Execution::Performed(Action::Elect));
        assert_eq!(execution("tex"), Execution::Performed(Action::TextureFetch));
        let undescribed = execution("spcompress");
        assert!(
            matches!(undescribed, Execution::Unsupported(_)),
            "{undescribed:?}"
        );
    }
}
