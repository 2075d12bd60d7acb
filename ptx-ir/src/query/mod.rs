//! Queries to the instruction table about instructions of a module: whether one is legal, its form, and the rules that it violates.
//!
//! The answer depends on the mnemonic, on the *shape* of the operands (kinds, types and state spaces, and the values of immediates
//! if the table depends on them), and on the version and the target. Many instructions of a module have the same mnemonic and
//! shape, so [`Queries`] encodes the shape in a few bytes, and remembers one answer for each pair. The operands of a query are
//! decoded from the key alone, so that the answer depends on nothing else.
//!
//! The verifier, requirements, facts, clean-ups and the builder all use [`Queries`].
//!
//! ```
//! use ptx_ir::raw::query::{Environment, Queries};
//! let text = b".version 8.0 .target sm_80 .address_size 64
//! .entry k() { .reg .b32 %r<2>; .reg .f32 %f; add.s32 %r0, %r1, %f; }";
//! let module = ptx_parse::parse(text).module;
//! let environment = Environment::of(&module);
//! let mut queries: Queries<bool> = Queries::new(&module);
//! for (function, _, body) in module.definitions() {
//!     queries.enter(&module, function, body);
//!     for (id, inst) in body.insts() {
//!         let operands = body.operands(id);
//!         let legal = queries.answer(&module, body, inst.sig, operands, |query| {
//!             environment.select(query).is_ok_and(|form| form.violations().is_empty())
//!         });
//!         assert_eq!(legal, Some(false));
//!     }
//! }
//! ```

mod decode;
mod encode;
mod engine;
mod environment;
mod key;
mod mnemonic;
mod names;
mod tag;

pub use key::ShapeKey;

pub use engine::Queries;
pub use environment::Environment;
pub use mnemonic::Mnemonic;
pub use names::{NameKind, NameTypes};
