//! Arguments as bytes, without a machine.

use anyhow::{Context as _, Result, anyhow, bail};
use ptx_ir::{Module, Param};

use super::argument::{Argument, Content};
use super::npy::Reader;
use super::parameters::number_bytes;
use ptx_report::clean;

/// An argument of a kernel.
pub(crate) enum PlainArgument {
    /// The bytes of the parameter.
    Bytes(Vec<u8>),
    /// The initial contents of a buffer; `None` for bytes that were never written.
    Buffer(Vec<Option<u8>>),
}

/// The largest number of bytes of a buffer.
const MAX_BYTES: u64 = 1 << 20;

impl PlainArgument {
    /// The bytes of an argument for a parameter. `number` is the number of the buffer.
    pub(crate) fn new(
        module: &Module,
        parameter: &Param,
        argument: &Argument,
        number: usize,
    ) -> Result<Self> {
        let size = parameter
            .layout(module.pool())
            .and_then(|layout| layout.size)
            .context("the size of a parameter is unknown")?;
        match argument {
            Argument::Number(text) => {
                let bytes = number_bytes(parameter.ty.known(), size, text);
                Ok(Self::Bytes(bytes.map_err(|why| anyhow!(why))?))
            }
            Argument::Values(_, bytes) | Argument::Bytes(bytes) => {
                if bytes.len() as u64 != size {
                    bail!(
                        "an argument has {} bytes, but its parameter has {size}",
                        bytes.len()
                    );
                }
                Ok(Self::Bytes(bytes.clone()))
            }
            Argument::Buffer(buffer) => contents(&buffer.content, number).map(Self::Buffer),
            _ => bail!("expected a number, `TYPE:VALUE`, `bytes:HEX` or a buffer"),
        }
    }
}

/// The initial contents of a buffer.
fn contents(content: &Content, number: usize) -> Result<Vec<Option<u8>>> {
    let mut file = None;
    let bytes = match content {
        Content::Zeros(size) | Content::Unwritten(size) => size.bytes,
        Content::File(path) => {
            let name = || clean(&path.to_string_lossy()).into_owned();
            let reader = Reader::open(path).with_context(name)?;
            let bytes = reader.layout.bytes().map_err(|why| anyhow!(why))?;
            file = Some(reader);
            bytes
        }
        content => match content.layout() {
            Some(layout) => layout.bytes().map_err(|why| anyhow!(why))?,
            None => bail!("expected a buffer of one memory"),
        },
    };
    if bytes > MAX_BYTES {
        bail!("a buffer has {bytes} bytes, but at most {MAX_BYTES} can be explored");
    }
    if matches!(content, Content::Unwritten(_)) {
        return Ok(vec![None; bytes as usize]);
    }
    let mut all = vec![0; bytes as usize];
    let mut write = |offset: u64, part: &[u8]| {
        let start = offset as usize;
        if let Some(slot) = all.get_mut(start..start + part.len()) {
            slot.copy_from_slice(part);
        }
        anyhow::Ok(())
    };
    if let Some(reader) = file {
        reader.copy(&mut write)?;
    } else if let Content::Random(random) = content {
        random.copy(number, &mut write)?;
    }
    Ok(all.into_iter().map(Some).collect())
}
