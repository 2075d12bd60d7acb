//! Tests of the memory consistency model.

mod families;
mod naive;
mod random;
