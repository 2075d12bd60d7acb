//! Programs that provide functions to the modules that they load.

use ptx_ir::{Code, Diagnostic};

/// A program that provides functions which a module calls without declaring them.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Environment {
    /// NVIDIA OptiX, which compiles the PTX of its programs itself.
    Optix,
}

/// The beginnings of the names of the functions of OptiX: those since OptiX 7, and those before.
const OPTIX: [&str; 2] = ["_optix_", "_rt_"];

impl Environment {
    /// All of them, with the names that the command line has for them.
    pub const ALL: [(&str, Self); 1] = [("optix", Self::Optix)];

    /// The environment with a name.
    ///
    /// # Errors
    ///
    /// There is none; the message lists the names.
    pub fn from_name(name: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|(known, _)| *known == name);
        found.map(|(_, found)| *found).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|(name, _)| *name).collect();
            format!("unknown environment; expected {}", names.join(", "))
        })
    }

    /// Whether it provides a function.
    #[must_use]
    pub fn provides(self, function: &str) -> bool {
        match self {
            Self::Optix => OPTIX.iter().any(|start| function.starts_with(start)),
        }
    }

    /// Removes the errors about functions that it provides.
    pub fn retain(self, source: &[u8], diagnostics: &mut Vec<Diagnostic>) {
        diagnostics.retain(|d| {
            let name = String::from_utf8_lossy(d.span.of(source));
            d.code != Code::UndefinedName || !self.provides(&name)
        });
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
        assert!(Environment::from_name("metal").is_err());
    }
}
