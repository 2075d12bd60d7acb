//! The instruction tables, the enums of keywords, and queries about instructions.
#![allow(clippy::unwrap_used, reason = "tests")]

mod accuracy;
mod condition;
mod describe;
mod directive;
mod keyword_table;
mod legality;
mod matching;
mod modifier;
mod register;
mod repair;
mod scalar;
mod selector;
mod space;
mod summary;
mod table;
mod target;
mod type_compat;
mod version;
