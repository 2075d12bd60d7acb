//! All tests of the crate in one program.

mod constants;
mod lexer;
mod memory_accesses;
mod trivia_map;
mod typed_operands;
mod words;
