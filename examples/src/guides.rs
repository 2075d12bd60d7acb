//! The Rust code of the guides runs as tests: each block is a whole program that uses the crate `ptxkit`.

#[doc = include_str!("../../README.md")]
struct Readme;
#[doc = include_str!("../../docs/analyzing.md")]
struct Analyzing;
#[doc = include_str!("../../docs/building.md")]
struct Building;
#[doc = include_str!("../../docs/cleanups.md")]
struct Cleanups;
#[doc = include_str!("../../docs/editing.md")]
struct Editing;
#[doc = include_str!("../../docs/linting.md")]
struct Linting;
#[doc = include_str!("../../docs/transforming.md")]
struct Transforming;
#[doc = include_str!("../../docs/vm.md")]
struct Vm;
#[doc = include_str!("../../docs/getting-started/rust.md")]
struct FirstPass;
