//! Numbers of the host as bytes of device memory.

/// A number of the host that has the same layout in device memory: little-endian, without padding.
///
/// The trait is implemented for the integers of 8 to 128 bits, `f32` and `f64`, and cannot be implemented elsewhere.
pub trait DeviceValue: layout::Layout {}

mod layout {
    /// The layout of a number in device memory.
    pub trait Layout: Copy {
        /// The size in bytes, at least 1.
        const BYTES: usize;

        /// Appends the bytes of the number.
        fn append_to(self, bytes: &mut Vec<u8>);

        /// Reads a number from [`BYTES`](Self::BYTES) bytes; `None` if there are not as many.
        fn from_bytes(bytes: &[u8]) -> Option<Self>;
    }
}

macro_rules! device_values {
    ($($number:ty)*) => {
        $(
            impl DeviceValue for $number {}

            impl layout::Layout for $number {
                const BYTES: usize = size_of::<Self>();

                fn append_to(self, bytes: &mut Vec<u8>) {
                    bytes.extend_from_slice(&self.to_le_bytes());
                }

                fn from_bytes(bytes: &[u8]) -> Option<Self> {
                    Some(Self::from_le_bytes(bytes.try_into().ok()?))
                }
            }
        )*
    };
}

device_values! { i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 }

/// The bytes of numbers, one after the other.
pub(crate) fn bytes_of<T: DeviceValue>(values: &[T]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(values.len() * T::BYTES);
    for value in values {
        value.append_to(&mut bytes);
    }
    bytes
}

/// The numbers that bytes are; an incomplete one at the end is not read.
pub(crate) fn values_of<T: DeviceValue>(bytes: &[u8]) -> Vec<T> {
    bytes
        .chunks_exact(T::BYTES)
        .filter_map(T::from_bytes)
        .collect()
}
