//! Tests of the crate in one program, which builds faster than one for each file.

#![allow(clippy::expect_used, reason = "a test that cannot go on fails")]
#![allow(clippy::too_many_lines, reason = "lists of cases")]

mod asynchrony;
mod budget;
mod memory_access;
mod provenance;
mod threads;
mod uniformity;
mod work;

use test_support::corpus as files;
