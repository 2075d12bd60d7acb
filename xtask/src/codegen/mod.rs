//! `isa/*.isa` → checked-in Rust.
