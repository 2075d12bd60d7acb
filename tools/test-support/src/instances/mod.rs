//! Instances of the forms of the tables: operands that are legal, and values of them. The comparisons with ptxas and with a GPU use them.

pub mod assign;
pub mod case;
pub mod coverage;
pub mod expected;
pub mod operand;
pub mod operand_gen;
pub mod template;
pub mod values;
