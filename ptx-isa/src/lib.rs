//! The PTX instruction set as data.
//!
//! The words of PTX are enums ([`Opcode`], [`Modifier`], [`ScalarType`], [`StateSpace`], [`SpecialReg`],
//! [`Directive`], [`Target`]), each with its text and a look-up by text that allocates nothing. Facts about a word are
//! methods of its enum.
//!
//! Everything is generated from the tables in the folder `isa` of this crate and checked in; there is neither a build
//! script nor a procedural macro.
#![no_std]

#[cfg(test)]
extern crate std;

#[macro_use]
mod words;

mod directive;
mod generated;
mod hash;
mod modifier;
mod register;
mod scalar;
mod space;
mod target;
mod version;

pub use directive::{Ending, Place};
pub use generated::class::ModifierClass;
pub use generated::directive::Directive;
pub use generated::modifier::Modifier;
pub use generated::opcode::Opcode;
pub use generated::register::SpecialReg;
pub use generated::scalar::ScalarType;
pub use generated::space::StateSpace;
pub use generated::target::Target;
pub use scalar::{RegisterClass, TypeKind};
pub use target::{Arch, TargetSet};
pub use version::PtxVersion;
