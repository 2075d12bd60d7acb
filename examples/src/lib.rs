//! Short programs to copy, one a file in `src/bin`. The code of the README is tested from here.

#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
