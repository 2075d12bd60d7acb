//! Shared-memory descriptors of the fifth generation of tensor cores (PTX ISA manual 9.7.16.4.1).

use super::shared::{LeadingDimension, SharedMatrix, descriptor_bytes};
use super::swizzle::Swizzle;
use alloc::format;
use alloc::string::String;

impl SharedMatrix {
    /// Decodes a descriptor. The error is the reason why the PTX ISA manual does not allow it.
    ///
    /// ```text
    ///  63…61   | 60…53 | 52            | 51…49       | 48…46 | 45…32  | 31 30 | 29…16   | 15 14 | 13…0
    ///  swizzle |   0   | leading: 0 an | base offset | 0b001 | stride |       | leading |       | start
    ///          |       | offset, 1 an  |             |       |        |       |         |       |
    ///          |       | address       |             |       |        |       |         |       |
    /// ```
    ///
    /// # Errors
    ///
    /// The PTX ISA manual does not allow the descriptor.
    pub fn of_tensor_core(descriptor: u64) -> Result<Self, String> {
        let fixed = descriptor >> 46 & 7;
        if fixed != 1 {
            return Err(format!(
                "bits 46 to 48 of the shared memory descriptor {descriptor:#x} are {fixed:#05b}; they have to be 0b001"
            ));
        }
        let fixed = descriptor >> 53 & 0xff;
        if fixed != 0 {
            return Err(format!(
                "bits 53 to 60 of the shared memory descriptor {descriptor:#x} are {fixed:#x}; they have to be 0"
            ));
        }
        let swizzle = match descriptor >> 61 {
            0 => Swizzle::None,
            1 => Swizzle::Bytes128Atom32,
            2 => Swizzle::Bytes128,
            4 => Swizzle::Bytes64,
            6 => Swizzle::Bytes32,
            mode => {
                return Err(format!(
                    "the shared memory descriptor {descriptor:#x} has the swizzling mode {mode}; expected 0, 1, 2, 4 or 6"
                ));
            }
        };
        let leading = descriptor_bytes(descriptor, 16);
        let is_absolute = descriptor >> 52 & 1 == 1;
        let base_offset = descriptor >> 49 & 7;
        if is_absolute && (swizzle != Swizzle::Bytes128 || base_offset != 0) {
            return Err(format!(
                "the shared memory descriptor {descriptor:#x} has an absolute leading dimension; then the swizzling mode has to be 2 and the base offset 0"
            ));
        }
        Ok(Self {
            start: descriptor_bytes(descriptor, 0),
            leading: if is_absolute {
                LeadingDimension::Address(leading)
            } else {
                LeadingDimension::Offset(leading)
            },
            stride: descriptor_bytes(descriptor, 32),
            base_offset,
            swizzle,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{LeadingDimension, SharedMatrix, Swizzle};

    #[test]
    fn descriptors_are_decoded() {
        let descriptor = 0x1000 >> 4 | 0x80 << 16 | 0x40 << 32 | 1 << 46 | 3 << 49 | 2 << 61;
        let matrix = SharedMatrix {
            start: 0x1000,
            leading: LeadingDimension::Offset(0x800),
            stride: 0x400,
            base_offset: 3,
            swizzle: Swizzle::Bytes128,
        };
        assert_eq!(SharedMatrix::of_tensor_core(descriptor), Ok(matrix));
        let absolute = descriptor & !(7 << 49) | 1 << 52;
        let matrix = SharedMatrix {
            leading: LeadingDimension::Address(0x800),
            base_offset: 0,
            ..matrix
        };
        assert_eq!(SharedMatrix::of_tensor_core(absolute), Ok(matrix));
        for wrong in [
            0,
            descriptor | 1 << 47,
            descriptor | 1 << 53,
            descriptor | 1 << 61,
        ] {
            assert!(SharedMatrix::of_tensor_core(wrong).is_err(), "{wrong:#x}");
        }
        assert!(SharedMatrix::of_tensor_core(absolute ^ 6 << 61).is_err());
    }
}
