//! Instances of forms, which the comparisons with ptxas use, too.

#[path = "../../../oracle/src/conformance/case.rs"]
pub(crate) mod case;
#[path = "../../../oracle/src/conformance/coverage.rs"]
pub(crate) mod coverage;
#[path = "../../../oracle/src/conformance/operand.rs"]
pub(crate) mod operand;
#[path = "../../../oracle/src/conformance/operand_gen.rs"]
mod operand_gen;
