//! The layouts of structures against NVIDIA's headers, whose folder is in the variable `CUDA_INCLUDE` (several folders are separated by colons). Without it, the test does
//! nothing.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::mem::offset_of;
use std::path::Path;
use std::process::Command;

use super::properties::{Layout, offsets};
use super::types::*;
use crate::abi::graph::{MemoryAccess, MemoryLocation, PoolProperties};

/// A structure: its name in C, its bytes, and the names of its fields in C with their offsets.
struct Structure {
    name: &'static str,
    bytes: usize,
    fields: Vec<(&'static str, usize)>,
}

/// Describes a structure by the fields of Rust and of C.
macro_rules! structure {
    ($name:literal, $rust:ty, $($field:ident: $c:literal),+) => {
        Structure {
            name: $name,
            bytes: size_of::<$rust>(),
            fields: vec![$(($c, offset_of!($rust, $field))),+],
        }
    };
}

fn structures(is_thirteen: bool) -> Vec<Structure> {
    let mut pointer = structure!(
        "struct cudaPointerAttributes", PointerAttributes,
        memory_type: "type", device: "device", device_pointer: "devicePointer",
        host_pointer: "hostPointer"
    );
    if !is_thirteen {
        pointer.bytes = offset_of!(PointerAttributes, reserved);
    }
    let layout = if is_thirteen {
        Layout::Thirteen
    } else {
        Layout::Twelve
    };
    let properties = Structure {
        name: "struct cudaDeviceProp",
        bytes: if is_thirteen { 1008 } else { 1032 },
        fields: offsets(layout),
    };
    vec![
        pointer,
        properties,
        structure!("dim3", Dim3, x: "x", y: "y", z: "z"),
        structure!(
            "struct cudaPitchedPtr", PitchedPointer,
            pointer: "ptr", pitch: "pitch", width: "xsize", height: "ysize"
        ),
        structure!("struct cudaPos", Position, x: "x", y: "y", z: "z"),
        structure!("struct cudaExtent", Extent, width: "width", height: "height", depth: "depth"),
        structure!(
            "struct cudaMemcpy3DParms", Copy3dParameters,
            from_array: "srcArray", from_position: "srcPos", from: "srcPtr", to_array: "dstArray",
            to_position: "dstPos", to: "dstPtr", extent: "extent", kind: "kind"
        ),
        structure!(
            "struct cudaMemcpy3DPeerParms", Copy3dPeerParameters,
            from_array: "srcArray", from_position: "srcPos", from: "srcPtr",
            from_device: "srcDevice", to_array: "dstArray", to_position: "dstPos", to: "dstPtr",
            to_device: "dstDevice", extent: "extent"
        ),
        structure!(
            "struct cudaFuncAttributes", FunctionAttributes,
            shared_bytes: "sharedSizeBytes", constant_bytes: "constSizeBytes",
            local_bytes: "localSizeBytes", max_threads_per_block: "maxThreadsPerBlock",
            registers: "numRegs", ptx_version: "ptxVersion", binary_version: "binaryVersion",
            caches_as_marked: "cacheModeCA", max_dynamic_shared_bytes: "maxDynamicSharedSizeBytes",
            preferred_shared_carveout: "preferredShmemCarveout",
            requires_cluster: "clusterDimMustBeSet", required_cluster: "requiredClusterWidth",
            cluster_scheduling_policy: "clusterSchedulingPolicyPreference",
            allows_non_portable_clusters: "nonPortableClusterSizeAllowed"
        ),
        structure!(
            "cudaLaunchConfig_t", LaunchConfig,
            grid: "gridDim", block: "blockDim", shared_bytes: "dynamicSmemBytes",
            stream: "stream", attributes: "attrs", attribute_count: "numAttrs"
        ),
        structure!("struct cudaMemLocation", MemoryLocation, kind: "type", number: "id"),
        structure!("struct cudaMemAccessDesc", MemoryAccess, location: "location", flags: "flags"),
        structure!(
            "struct cudaMemPoolProps", PoolProperties,
            allocation_type: "allocType", handle_types: "handleTypes", location: "location",
            security: "win32SecurityAttributes", limit_bytes: "maxSize", usage: "usage",
            reserved: "reserved"
        ),
    ]
}

/// A program in C that does not compile if a layout is another one.
fn program(is_thirteen: bool) -> String {
    let mut text = "#include <stddef.h>\n#include <cuda_runtime_api.h>\n".to_owned();
    for Structure {
        name,
        bytes,
        fields,
    } in structures(is_thirteen)
    {
        let mut state = |condition: String| {
            let _ = writeln!(text, "_Static_assert({condition}, \"{name}\");");
        };
        state(format!("sizeof({name}) == {bytes}"));
        for (field, offset) in fields {
            state(format!("offsetof({name}, {field}) == {offset}"));
        }
    }
    text
}

#[test]
fn layouts_are_those_of_the_headers() {
    let Ok(folders) = env::var("CUDA_INCLUDE") else {
        return;
    };
    let file = env::temp_dir().join(format!("ptx-cuda-layouts-{}.c", std::process::id()));
    for folder in folders.split(':') {
        let header = Path::new(folder).join("cuda_runtime_api.h");
        let header = fs::read_to_string(header).unwrap();
        let is_thirteen = header.contains("#define CUDART_VERSION  13");
        fs::write(&file, program(is_thirteen)).unwrap();
        let mut compiler = Command::new("cc");
        compiler.args(["-fsyntax-only", "-I", folder]).arg(&file);
        // The headers of CUDA 12 from PyPI need some of another package, which CUDA 13 has.
        for other in folders.split(':').filter(|other| *other != folder) {
            compiler.args(["-idirafter", other]);
        }
        let output = compiler.output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{folder}: {errors}");
    }
    fs::remove_file(file).unwrap();
}
