//! Tests of the crate in one program, which builds faster than one for each file.

mod attention;
mod building;
mod built_modules;
mod clients;
mod evaluate;
mod guides;
mod kernels;
mod rewrites;
mod run;
mod rust;
