//! A case: one instruction with the rule by which it was generated, and the kind of module around it.

use std::fmt;

use ptx_isa::{Modifier, Opcode, ScalarType};

use super::operand::{Kind, Operand};

/// An instruction to be judged.
#[derive(Clone)]
pub struct Case {
    /// `form` for a case that is valid according to the tables, else the change of a valid case.
    pub kind: &'static str,
    pub opcode: Opcode,
    pub modifiers: Vec<Modifier>,
    pub operands: Vec<Operand>,
}

/// The properties of the module of a case besides its version and its target.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Setting {
    /// There are no further properties.
    Plain,
    /// Samplers are separate from textures.
    Independent,
    /// The declarations of the shared cases.
    Shared,
}

impl Setting {
    pub const ALL: [Self; 3] = [Self::Plain, Self::Independent, Self::Shared];

    /// The name of the setting in files of verdicts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Independent => "independent",
            Self::Shared => "shared",
        }
    }

    /// The option after the target.
    pub const fn option(self) -> &'static str {
        match self {
            Self::Plain | Self::Shared => "",
            Self::Independent => ", texmode_independent",
        }
    }
}

impl Case {
    pub fn setting(&self) -> Setting {
        let has_sampler = self
            .operands
            .iter()
            .any(|operand| is_sampler(operand) || operand.parts().iter().any(is_sampler));
        if has_sampler {
            Setting::Independent
        } else {
            Setting::Plain
        }
    }
}

fn is_sampler(operand: &Operand) -> bool {
    matches!(operand.kind, Kind::Variable(_, ScalarType::Samplerref))
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.opcode)?;
        self.modifiers.iter().try_for_each(|m| write!(f, "{m}"))?;
        for (i, operand) in self.operands.iter().enumerate() {
            write!(f, "{}{operand}", if i == 0 { " " } else { ", " })?;
        }
        f.write_str(";")
    }
}
