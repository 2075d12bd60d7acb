//! Programs that provide functions to the modules that they load.

use std::fmt;
use std::str::FromStr;

use ptx_ir::{Code, Diagnostic};

/// A program that provides functions which a module calls without declaring them.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Environment {
    /// NVIDIA OptiX, which compiles the PTX of its programs itself.
    Optix,
}

/// The prefixes of the names of the functions of OptiX: those since OptiX 7, and those before.
const OPTIX_PREFIXES: [&str; 2] = ["_optix_", "_rt_"];

impl Environment {
    /// All environments, with their names on the command line.
    pub const ALL: [(&str, Self); 1] = [("optix", Self::Optix)];

    /// Whether the environment provides a function.
    #[must_use]
    pub fn provides(self, function: &str) -> bool {
        match self {
            Self::Optix => OPTIX_PREFIXES
                .iter()
                .any(|prefix| function.starts_with(prefix)),
        }
    }

    /// Removes the errors about functions that the environment provides.
    pub fn retain(self, source: &[u8], diagnostics: &mut Vec<Diagnostic>) {
        diagnostics.retain(|d| {
            let name = String::from_utf8_lossy(d.span.of(source));
            d.code != Code::UndefinedName || !self.provides(&name)
        });
    }
}

/// The error for a text that is not the name of an environment.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct UnknownEnvironment;

impl fmt::Display for UnknownEnvironment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Environment::ALL.map(|(name, _)| name).join(", ");
        write!(f, "unknown environment; expected {names}")
    }
}

impl std::error::Error for UnknownEnvironment {}

impl FromStr for Environment {
    type Err = UnknownEnvironment;

    fn from_str(text: &str) -> Result<Self, UnknownEnvironment> {
        Self::ALL
            .into_iter()
            .find(|(name, _)| *name == text)
            .map(|(_, environment)| environment)
            .ok_or(UnknownEnvironment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_optix_are_provided() {
        let text = b".version 8.0\n.target sm_80\n.address_size 64\n.entry k() { .reg .b32 %r<3>; \
            call (%r1), _optix_get_launch_index_x, (); call _rt_terminate_ray, (); call other, (); ret; }";
        let mut found = ptx_parse::parse(text).diagnostics;
        assert_eq!(found.len(), 3);
        Environment::Optix.retain(text, &mut found);
        assert_eq!(found.len(), 1);
        assert!(found[0].message.contains("`other`"), "{found:?}");
        assert!("metal".parse::<Environment>().is_err());
    }
}
