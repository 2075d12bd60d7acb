//! What the tests of this crate share.
#![allow(dead_code)]

pub(crate) mod check;
pub(crate) mod corpus;
pub(crate) mod grammar;
pub(crate) mod mutate;
pub(crate) mod sample;
