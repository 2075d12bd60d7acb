//! Output about PTX modules that the program `ptxkit`, its language server and its bindings share.
//!
//! | module | contents |
//! |---|---|
//! | [`demangle`] | names of C++ and Rust in the source language, and functions by such names |
//! | [`source_frames`] | source lines of statements, as text and JSON |
//! | [`labels`], [`register_names`] | names of state spaces, kinds of accesses, register classes and registers |
//! | [`instruction_facts`], [`records`] | the facts of instructions; everything in a module, and results of analyses, for JSON |
//! | [`function_stats`] | statistics of functions: instructions, loops, memory accesses, live registers |
//! | [`function_values`] | affine forms, trip counts, and access patterns of lanes |
//! | [`report`] | factors that limit the performance of functions: work, accesses, live registers, asynchronous operations |
//! | [`requirements`] | the targets and PTX versions on which a module is legal, and why |
//! | [`retarget`] | the text of a module for another target, or the reasons why that is impossible |
//! | [`explain`] | explanations of instructions, keywords and diagnostics |
//! | [`sass`] | machine code beside PTX, from the output of nvdisasm |
//! | [`fragments`] | the lanes and registers that have the elements of matrices |
//! | [`control_flow`] | drawings of control-flow graphs |
//! | [`page`] | pages of HTML without other files |
//! | `container_choice` | the selection of modules in a binary file, with the feature `container` |
//! | [`basic_blocks`], [`operand_text`] | blocks without the dispatch blocks of branch tables, limits on lists; operands as written |
//! | [`scalars`], [`affine_text`] | values of scalar types, and affine forms, as text |
//!
//! JSON has the fields that `ptx-cli/JSON.md` describes.
#![forbid(unsafe_code)]

pub mod affine_text;
pub mod basic_blocks;
#[cfg(feature = "container")]
pub mod container_choice;
pub mod control_flow;
mod current_text;
pub mod demangle;
pub mod environment;
pub mod explain;
pub mod fragments;
pub mod function_stats;
pub mod function_values;
pub mod instruction_facts;
pub mod labels;
pub mod launch_estimate;
#[doc(hidden)]
pub mod launch_log;
pub mod occupancy;
pub mod operand_text;
pub mod page;
pub mod records;
pub mod register_names;
pub mod report;
pub mod requirements;
pub mod retarget;
pub mod sass;
pub mod scalars;
pub mod source_frames;
pub mod source_span;
pub mod warnings;

mod generated {
    pub(crate) mod pages;
}

pub use ptx_ir::render::escape_controls as clean;

/// The version of all JSON that this crate and the program write.
pub const SCHEMA: u32 = 1;

/// A number with a noun: `1 error`, `2 errors`, `2 launches`.
#[must_use]
pub fn counted(count: usize, noun: &str) -> String {
    let plural = match count {
        1 => "",
        _ if noun.ends_with("ch") => "es",
        _ => "s",
    };
    format!("{count} {noun}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_and_many() {
        assert_eq!(counted(1, "error"), "1 error");
        assert_eq!(counted(0, "error"), "0 errors");
        assert_eq!(counted(2, "launch"), "2 launches");
    }
}
