//! Matrices in the registers of warps: the mapping of elements to registers, and matrix products as computed by tensor cores.
//!
//! Sums of floating-point products are those of the hardware, to the bit. [`dot`] has the rule; its parameters depend on the architecture and the
//! types ([`model`]). They come from hardware: sums that were measured on V100, A100, A2, L40S and another GPU of its architecture, H100, H200 and
//! B200, and the machine code that ptxas generates where an architecture has no unit for an instruction. What was not measured is done as follows:
//!
//! * An architecture without the instruction does what the first one with it does.
//! * sm_72 is like sm_70, sm_86 to sm_88 are like sm_80, sm_103 and sm_110 like sm_100, sm_121 like sm_120. Turing adds blocks of 8 products.
//! * Results of binary16 of more than one block are rounded after each block.
//! * Sparse products are in blocks of stored elements, as many as without sparsity.
//! * Terms are aligned to an exponent of -132 on sm_75 to sm_89 and -133 from sm_90 on at least (with results of binary16 -20 and -21), which
//!   matters if all products are below about 2^-126.
//! * A sum of which nothing remains is +0.

pub(crate) mod datapath;
pub(crate) mod dot;
pub(crate) mod formats;
pub(crate) mod instruction;
pub(crate) mod model;
pub(crate) mod multiply;
pub(crate) mod operation;
pub(crate) mod sparse;
pub(crate) mod units;
pub(crate) mod zero_columns;

pub(crate) use ptx_analysis::internals::fragments::{layout, shared};
