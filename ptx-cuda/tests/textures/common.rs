//! What the tests share: sessions, arrays with contents, and random numbers.

use std::ffi::CString;
use std::sync::Once;

use ptx_cuda::abi::arrays::{ArrayDescriptor, array_flag};
use ptx_cuda::abi::{Copy3d, Place3d, memory_type};
use ptx_cuda::driver::array::cuArray3DCreate_v2;
use ptx_cuda::driver::copy::cuMemcpy3D_v2;
use ptx_cuda::driver::module::{cuModuleGetFunction, cuModuleLoadData};
use ptx_cuda::handles::Raw;

use crate::session::{Session, result, succeeds};

static CONFIGURE: Once = Once::new();

/// A session on a device of compute capability 10.0.
pub(crate) fn session() -> Session {
    CONFIGURE.call_once(|| {
        // SAFETY: the tests of this program read and write the environment here only, and the driver reads it later.
        unsafe { std::env::set_var("PTXKIT_CUDA_CC", "10.0") }
    });
    Session::new()
}

/// A generator of random numbers.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// A number below a limit.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    /// Random bytes.
    pub(crate) fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.below(256) as u8).collect()
    }
}

pub(crate) const U8: u32 = 1;
pub(crate) const U32: u32 = 3;
pub(crate) const F32: u32 = 0x20;

/// A descriptor of an array without flags.
pub(crate) fn descriptor(
    [width, height, depth]: [usize; 3],
    format: u32,
    channels: u32,
) -> ArrayDescriptor {
    ArrayDescriptor {
        width,
        height,
        depth,
        format,
        channels,
        flags: 0,
    }
}

/// A descriptor of an array with layers.
pub(crate) fn layered(size: [usize; 3], format: u32, channels: u32) -> ArrayDescriptor {
    ArrayDescriptor {
        flags: array_flag::LAYERED,
        ..descriptor(size, format, channels)
    }
}

pub(crate) fn create(descriptor: &ArrayDescriptor) -> Raw {
    result(|array| cuArray3DCreate_v2(array, Some(descriptor))).unwrap()
}

/// The bytes of a format with one channel.
pub(crate) fn channel_bytes(format: u32) -> usize {
    match format {
        1 | 8 => 1,
        2 | 9 | 0x10 => 2,
        _ => 4,
    }
}

/// An end of a copy without a place.
pub(crate) const NOWHERE: Place3d = Place3d {
    x_bytes: 0,
    y: 0,
    z: 0,
    level: 0,
    memory_type: 0,
    host: 0,
    device: 0,
    array: 0,
    reserved: 0,
    pitch: 0,
    height: 0,
};

/// An array as an end of a copy.
pub(crate) fn in_array(array: Raw, [x_bytes, y, z]: [usize; 3]) -> Place3d {
    Place3d {
        x_bytes,
        y,
        z,
        memory_type: memory_type::ARRAY,
        array,
        ..NOWHERE
    }
}

/// Memory of the host as an end of a copy, whose rows and layers follow each other.
pub(crate) fn on_host(address: usize) -> Place3d {
    Place3d {
        memory_type: memory_type::HOST,
        host: address,
        ..NOWHERE
    }
}

/// The bytes, the rows and the layers of an array.
pub(crate) fn sizes(descriptor: &ArrayDescriptor) -> [usize; 3] {
    let element = channel_bytes(descriptor.format) * descriptor.channels as usize;
    [
        descriptor.width * element,
        descriptor.height.max(1),
        descriptor.depth.max(1),
    ]
}

/// Writes all bytes of an array.
pub(crate) fn fill(array: Raw, sizes: [usize; 3], bytes: &[u8]) {
    assert_eq!(bytes.len(), sizes.iter().product::<usize>());
    let copy = Copy3d {
        from: on_host(bytes.as_ptr().addr()),
        to: in_array(array, [0; 3]),
        width_bytes: sizes[0],
        height: sizes[1],
        depth: sizes[2],
    };
    succeeds(cuMemcpy3D_v2(Some(&copy)));
}

/// All bytes of an array.
pub(crate) fn contents(array: Raw, sizes: [usize; 3]) -> Vec<u8> {
    let mut bytes = vec![0u8; sizes.iter().product()];
    let copy = Copy3d {
        from: in_array(array, [0; 3]),
        to: on_host(bytes.as_mut_ptr().addr()),
        width_bytes: sizes[0],
        height: sizes[1],
        depth: sizes[2],
    };
    succeeds(cuMemcpy3D_v2(Some(&copy)));
    bytes
}

/// Loads a module.
pub(crate) fn load(text: &str) -> Raw {
    let text = CString::new(text).unwrap();
    result(|module| cuModuleLoadData(module, text.as_ptr().cast())).unwrap()
}

/// A kernel of a module.
pub(crate) fn kernel(module: Raw, name: &str) -> Raw {
    let name = CString::new(name).unwrap();
    result(|function| cuModuleGetFunction(function, module, name.as_ptr())).unwrap()
}
