//! What the tests of this crate share.
#![allow(dead_code)]

pub mod check;
pub mod corpus;
