//! Structs as arguments of kernels.

/// The bytes of a struct with the layout of C: each field is aligned, and the size is a multiple of the largest alignment.
///
/// ```
/// use ptx_vm::StructArgument;
///
/// // struct { int n; const float *data; struct { char tag; short size; } inner; };
/// let data = 0x6000_0000_0000_u64;
/// let mut inner = StructArgument::new();
/// inner.field(&[7], 1);
/// inner.field(&300u16.to_le_bytes(), 2);
/// let mut argument = StructArgument::new();
/// argument.field(&5u32.to_le_bytes(), 4);
/// assert_eq!(argument.field(&data.to_le_bytes(), 8), 8);
/// assert_eq!(argument.structure(&inner), 16);
/// assert_eq!(argument.bytes().len(), 24);
/// let launch = ptx_vm::Launch::new("kernel").argument(argument.bytes());
/// # assert_eq!(launch.arguments[0].len(), 24);
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StructArgument {
    bytes: Vec<u8>,
    align: usize,
}

impl Default for StructArgument {
    fn default() -> Self {
        Self::new()
    }
}

impl StructArgument {
    /// A struct without fields.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            bytes: Vec::new(),
            align: 1,
        }
    }

    /// Adds zero bytes up to a multiple of an alignment, which the struct gets as well. An alignment of zero is 1.
    pub fn align(&mut self, align: usize) {
        let align = align.max(1);
        self.align = self.align.max(align);
        self.bytes
            .resize(self.bytes.len().next_multiple_of(align), 0);
    }

    /// Adds the bytes of a field with an alignment, and returns its offset.
    pub fn field(&mut self, bytes: &[u8], align: usize) -> usize {
        self.align(align);
        let offset = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        offset
    }

    /// Adds a struct as a field, and returns its offset.
    pub fn structure(&mut self, inner: &Self) -> usize {
        self.field(&inner.bytes(), inner.align)
    }

    /// The bytes of the struct, up to a multiple of its alignment.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        bytes.resize(bytes.len().next_multiple_of(self.align), 0);
        bytes
    }
}
