//! The names of facts in the output of several commands.

use ptx_ir::facts::Space;
use ptx_isa::{Access, RegisterClass};

/// `global`, `shared::cta`, `generic`, …
pub(crate) fn space(space: Space) -> &'static str {
    match space {
        Space::State(space) => space.text().trim_start_matches('.'),
        Space::Generic => "generic",
        Space::Tensor => "tensor",
        Space::Texture => "texture",
        Space::Surface => "surface",
        _ => "any",
    }
}

/// `read`, `write`, `atomic`, `update`.
pub(crate) fn access(access: Access) -> &'static str {
    match access {
        Access::Read => "read",
        Access::Write => "write",
        Access::ReadModifyWrite => "atomic",
        _ => "update",
    }
}

/// `pred`, `b32`, …
pub(crate) fn class(class: RegisterClass) -> String {
    match class {
        RegisterClass::Predicate => "pred".to_owned(),
        class => format!("b{}", class.bits()),
    }
}
