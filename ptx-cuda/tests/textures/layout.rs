//! The layouts of structures. With NVIDIA's headers, whose folder is in the variable `CUDA_INCLUDE`, and a C compiler, those that a C program sees are compared, too.

use std::fmt::Write as _;
use std::mem::offset_of;
use std::path::PathBuf;
use std::process::Command;

use ptx_cuda::abi::arrays::*;
use ptx_cuda::abi::{Copy2d, Copy3d, Place2d, Place3d};

/// An expression in C, its value as documented for 64-bit systems, and the value here.
type Row = (&'static str, usize, usize);

#[expect(clippy::too_many_lines, reason = "a table")]
fn rows() -> Vec<Row> {
    vec![
        (
            "sizeof(CUDA_ARRAY_DESCRIPTOR)",
            24,
            size_of::<ImageDescriptor>(),
        ),
        (
            "offsetof(CUDA_ARRAY_DESCRIPTOR, Format)",
            16,
            offset_of!(ImageDescriptor, format),
        ),
        (
            "offsetof(CUDA_ARRAY_DESCRIPTOR, NumChannels)",
            20,
            offset_of!(ImageDescriptor, channels),
        ),
        (
            "sizeof(CUDA_ARRAY3D_DESCRIPTOR)",
            40,
            size_of::<ArrayDescriptor>(),
        ),
        (
            "offsetof(CUDA_ARRAY3D_DESCRIPTOR, Depth)",
            16,
            offset_of!(ArrayDescriptor, depth),
        ),
        (
            "offsetof(CUDA_ARRAY3D_DESCRIPTOR, Format)",
            24,
            offset_of!(ArrayDescriptor, format),
        ),
        (
            "offsetof(CUDA_ARRAY3D_DESCRIPTOR, Flags)",
            32,
            offset_of!(ArrayDescriptor, flags),
        ),
        (
            "sizeof(CUDA_ARRAY_MEMORY_REQUIREMENTS)",
            32,
            size_of::<ArrayMemory>(),
        ),
        (
            "offsetof(CUDA_ARRAY_MEMORY_REQUIREMENTS, reserved)",
            16,
            offset_of!(ArrayMemory, reserved),
        ),
        (
            "sizeof(CUDA_RESOURCE_DESC)",
            144,
            size_of::<ResourceDescriptor>(),
        ),
        (
            "offsetof(CUDA_RESOURCE_DESC, res)",
            8,
            offset_of!(ResourceDescriptor, words),
        ),
        (
            "offsetof(CUDA_RESOURCE_DESC, flags)",
            136,
            offset_of!(ResourceDescriptor, flags),
        ),
        (
            "offsetof(CUDA_RESOURCE_DESC, res.linear.format)",
            16,
            offset_of!(ResourceDescriptor, words) + 8,
        ),
        (
            "offsetof(CUDA_RESOURCE_DESC, res.linear.numChannels)",
            20,
            offset_of!(ResourceDescriptor, words) + 12,
        ),
        (
            "offsetof(CUDA_RESOURCE_DESC, res.linear.sizeInBytes)",
            24,
            offset_of!(ResourceDescriptor, words) + 16,
        ),
        (
            "offsetof(CUDA_RESOURCE_DESC, res.pitch2D.width)",
            24,
            offset_of!(ResourceDescriptor, words) + 16,
        ),
        (
            "offsetof(CUDA_RESOURCE_DESC, res.pitch2D.height)",
            32,
            offset_of!(ResourceDescriptor, words) + 24,
        ),
        (
            "offsetof(CUDA_RESOURCE_DESC, res.pitch2D.pitchInBytes)",
            40,
            offset_of!(ResourceDescriptor, words) + 32,
        ),
        (
            "sizeof(CUDA_TEXTURE_DESC)",
            104,
            size_of::<TextureDescriptor>(),
        ),
        (
            "offsetof(CUDA_TEXTURE_DESC, filterMode)",
            12,
            offset_of!(TextureDescriptor, filter),
        ),
        (
            "offsetof(CUDA_TEXTURE_DESC, flags)",
            16,
            offset_of!(TextureDescriptor, flags),
        ),
        (
            "offsetof(CUDA_TEXTURE_DESC, maxAnisotropy)",
            20,
            offset_of!(TextureDescriptor, max_anisotropy),
        ),
        (
            "offsetof(CUDA_TEXTURE_DESC, mipmapFilterMode)",
            24,
            offset_of!(TextureDescriptor, level_filter),
        ),
        (
            "offsetof(CUDA_TEXTURE_DESC, mipmapLevelBias)",
            28,
            offset_of!(TextureDescriptor, level_bias),
        ),
        (
            "offsetof(CUDA_TEXTURE_DESC, minMipmapLevelClamp)",
            32,
            offset_of!(TextureDescriptor, min_level),
        ),
        (
            "offsetof(CUDA_TEXTURE_DESC, maxMipmapLevelClamp)",
            36,
            offset_of!(TextureDescriptor, max_level),
        ),
        (
            "offsetof(CUDA_TEXTURE_DESC, borderColor)",
            40,
            offset_of!(TextureDescriptor, border_color),
        ),
        (
            "sizeof(CUDA_RESOURCE_VIEW_DESC)",
            112,
            size_of::<ResourceView>(),
        ),
        (
            "offsetof(CUDA_RESOURCE_VIEW_DESC, width)",
            8,
            offset_of!(ResourceView, width),
        ),
        (
            "offsetof(CUDA_RESOURCE_VIEW_DESC, depth)",
            24,
            offset_of!(ResourceView, depth),
        ),
        (
            "offsetof(CUDA_RESOURCE_VIEW_DESC, firstMipmapLevel)",
            32,
            offset_of!(ResourceView, first_level),
        ),
        (
            "offsetof(CUDA_RESOURCE_VIEW_DESC, lastLayer)",
            44,
            offset_of!(ResourceView, last_layer),
        ),
        ("sizeof(CUDA_MEMCPY2D)", 128, size_of::<Copy2d>()),
        (
            "offsetof(CUDA_MEMCPY2D, srcArray)",
            40,
            offset_of!(Copy2d, from) + offset_of!(Place2d, array),
        ),
        (
            "offsetof(CUDA_MEMCPY2D, dstXInBytes)",
            56,
            offset_of!(Copy2d, to),
        ),
        (
            "offsetof(CUDA_MEMCPY2D, dstPitch)",
            104,
            offset_of!(Copy2d, to) + offset_of!(Place2d, pitch),
        ),
        (
            "offsetof(CUDA_MEMCPY2D, WidthInBytes)",
            112,
            offset_of!(Copy2d, width_bytes),
        ),
        ("sizeof(CUDA_MEMCPY3D)", 200, size_of::<Copy3d>()),
        (
            "offsetof(CUDA_MEMCPY3D, srcLOD)",
            24,
            offset_of!(Copy3d, from) + offset_of!(Place3d, level),
        ),
        (
            "offsetof(CUDA_MEMCPY3D, srcArray)",
            56,
            offset_of!(Copy3d, from) + offset_of!(Place3d, array),
        ),
        (
            "offsetof(CUDA_MEMCPY3D, dstXInBytes)",
            88,
            offset_of!(Copy3d, to),
        ),
        (
            "offsetof(CUDA_MEMCPY3D, dstHeight)",
            168,
            offset_of!(Copy3d, to) + offset_of!(Place3d, height),
        ),
        (
            "offsetof(CUDA_MEMCPY3D, Depth)",
            192,
            offset_of!(Copy3d, depth),
        ),
        (
            "sizeof(CUmemcpyAttributes)",
            24,
            size_of::<CopyAttributes>(),
        ),
        (
            "offsetof(CUmemcpyAttributes, flags)",
            20,
            offset_of!(CopyAttributes, flags),
        ),
        ("sizeof(CUmemcpy3DOperand)", 40, size_of::<BatchOperand>()),
        (
            "offsetof(CUmemcpy3DOperand, op.array.offset)",
            16,
            offset_of!(BatchOperand, words) + 8,
        ),
        (
            "sizeof(CUDA_MEMCPY3D_BATCH_OP)",
            112,
            size_of::<BatchCopy>(),
        ),
        (
            "offsetof(CUDA_MEMCPY3D_BATCH_OP, dst)",
            40,
            offset_of!(BatchCopy, to),
        ),
        (
            "offsetof(CUDA_MEMCPY3D_BATCH_OP, extent)",
            80,
            offset_of!(BatchCopy, extent),
        ),
        (
            "offsetof(CUDA_MEMCPY3D_BATCH_OP, flags)",
            108,
            offset_of!(BatchCopy, flags),
        ),
        (
            "sizeof(struct cudaChannelFormatDesc)",
            20,
            size_of::<ChannelFormat>(),
        ),
        (
            "offsetof(struct cudaChannelFormatDesc, f)",
            16,
            offset_of!(ChannelFormat, kind),
        ),
        (
            "sizeof(struct cudaArrayMemoryRequirements)",
            32,
            size_of::<ArrayMemory>(),
        ),
        (
            "sizeof(struct cudaResourceDesc)",
            144,
            size_of::<ResourceDescriptor>(),
        ),
        (
            "offsetof(struct cudaResourceDesc, res)",
            8,
            offset_of!(ResourceDescriptor, words),
        ),
        (
            "offsetof(struct cudaResourceDesc, res.linear.desc)",
            16,
            offset_of!(ResourceDescriptor, words) + 8,
        ),
        (
            "offsetof(struct cudaResourceDesc, res.linear.sizeInBytes)",
            40,
            offset_of!(ResourceDescriptor, words) + 32,
        ),
        (
            "offsetof(struct cudaResourceDesc, res.pitch2D.width)",
            40,
            offset_of!(ResourceDescriptor, words) + 32,
        ),
        (
            "offsetof(struct cudaResourceDesc, res.pitch2D.height)",
            48,
            offset_of!(ResourceDescriptor, words) + 40,
        ),
        (
            "offsetof(struct cudaResourceDesc, res.pitch2D.pitchInBytes)",
            56,
            offset_of!(ResourceDescriptor, words) + 48,
        ),
        (
            "offsetof(struct cudaResourceDesc, flags)",
            136,
            offset_of!(ResourceDescriptor, flags),
        ),
        (
            "sizeof(struct cudaResourceViewDesc)",
            112,
            size_of::<ResourceView>(),
        ),
        (
            "sizeof(struct cudaTextureDesc)",
            72,
            size_of::<RuntimeTextureDescriptor>(),
        ),
        (
            "offsetof(struct cudaTextureDesc, filterMode)",
            12,
            offset_of!(RuntimeTextureDescriptor, filter),
        ),
        (
            "offsetof(struct cudaTextureDesc, readMode)",
            16,
            offset_of!(RuntimeTextureDescriptor, read_mode),
        ),
        (
            "offsetof(struct cudaTextureDesc, sRGB)",
            20,
            offset_of!(RuntimeTextureDescriptor, srgb),
        ),
        (
            "offsetof(struct cudaTextureDesc, borderColor)",
            24,
            offset_of!(RuntimeTextureDescriptor, border_color),
        ),
        (
            "offsetof(struct cudaTextureDesc, normalizedCoords)",
            40,
            offset_of!(RuntimeTextureDescriptor, normalized_coordinates),
        ),
        (
            "offsetof(struct cudaTextureDesc, mipmapFilterMode)",
            48,
            offset_of!(RuntimeTextureDescriptor, level_filter),
        ),
        (
            "offsetof(struct cudaTextureDesc, maxMipmapLevelClamp)",
            60,
            offset_of!(RuntimeTextureDescriptor, max_level),
        ),
        (
            "offsetof(struct cudaTextureDesc, seamlessCubemap)",
            68,
            offset_of!(RuntimeTextureDescriptor, seamless_cubemap),
        ),
    ]
}

#[test]
fn structures_have_the_documented_layout() {
    for (expression, documented, value) in rows() {
        assert_eq!(value, documented, "{expression}");
    }
}

#[test]
fn structures_have_the_layout_of_the_headers() {
    let Some(headers) = std::env::var_os("CUDA_INCLUDE").map(PathBuf::from) else {
        return;
    };
    let mut source = String::from(
        "#include <cuda.h>\n#include <driver_types.h>\n#include <texture_types.h>\n#include <stddef.h>\n",
    );
    for (expression, documented, _) in rows() {
        let _ = writeln!(
            source,
            "_Static_assert({expression} == {documented}, \"{}\");",
            expression.replace('"', "")
        );
    }
    let path = std::env::temp_dir().join(format!("ptxkit-layout-{}.c", std::process::id()));
    std::fs::write(&path, source).unwrap();
    let output = Command::new("cc")
        .args(["-std=c11", "-fsyntax-only", "-I"])
        .args([&headers, &path])
        .output();
    let _ = std::fs::remove_file(&path);
    match output {
        Ok(output) => assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        ),
        Err(error) => eprintln!("there is no C compiler: {error}"),
    }
}
