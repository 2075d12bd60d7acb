//! Batches of copies.

use ptx_cuda::abi::arrays::{BatchCopy, BatchOperand, CopyAttributes, operand_type};
use ptx_cuda::driver::copy_batch::*;
use ptx_cuda::driver::stream::cuStreamCreate;
use ptx_cuda::status::Status;

use crate::common::{Random, U32, contents, create, descriptor, fill, session};
use crate::session::{result, succeeds};

const IN_STREAM: CopyAttributes = CopyAttributes {
    source_order: 1,
    source_location: [0; 2],
    target_location: [0; 2],
    flags: 0,
};

#[test]
fn batches_of_bytes_are_copied() {
    let session = session();
    let stream = result(|stream| cuStreamCreate(stream, 1)).unwrap();
    let sources = [[1u32, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]];
    let to = sources.map(|_| session.buffer(&[0u32; 4]));
    let from = [0, 1, 2].map(|index| sources[index].as_ptr().addr() as u64);
    let bytes = [16usize, 8, 4];
    let attributes = [IN_STREAM; 2];
    let copy = |starts: &[usize; 2], count: usize, attribute_count: usize| {
        cuMemcpyBatchAsync_v2(
            to.as_ptr(),
            from.as_ptr(),
            bytes.as_ptr(),
            count,
            attributes.as_ptr(),
            starts.as_ptr(),
            attribute_count,
            stream,
        )
    };
    succeeds(copy(&[0, 2], 3, 2));
    for (index, to) in to.into_iter().enumerate() {
        let mut expected = [0; 4];
        let words = bytes[index] / 4;
        expected[..words].copy_from_slice(&sources[index][..words]);
        assert_eq!(session.numbers(to, 4), expected);
    }
    for refused in [
        copy(&[1, 2], 3, 2),
        copy(&[0, 3], 3, 2),
        copy(&[0, 0], 3, 2),
        copy(&[0, 1], 3, 0),
    ] {
        assert_eq!(refused, Status::INVALID_VALUE);
    }
    // The second copy is longer than its target.
    let long = [4usize, 20, 4];
    let mut failed = std::mem::MaybeUninit::new(0);
    let status = cuMemcpyBatchAsync(
        to.as_ptr(),
        from.as_ptr(),
        long.as_ptr(),
        3,
        attributes.as_ptr(),
        [0].as_ptr(),
        1,
        Some(&mut failed),
        stream,
    );
    assert_eq!(status, Status::INVALID_VALUE);
    // SAFETY: it was initialized above.
    assert_eq!(unsafe { failed.assume_init() }, 1);
    let one = |order| {
        let attributes = CopyAttributes {
            source_order: order,
            ..IN_STREAM
        };
        cuMemcpyWithAttributesAsync(to[0], from[2], 16, Some(&attributes), stream)
    };
    succeeds(one(2));
    assert_eq!(session.numbers(to[0], 4), sources[2]);
    assert_eq!(one(0), Status::INVALID_VALUE);
    assert_eq!(one(4), Status::INVALID_VALUE);
}

#[test]
fn batches_of_regions_are_copied() {
    let _session = session();
    let mut random = Random(31);
    let shape = descriptor([6, 5, 4], U32, 1);
    let sizes = [24, 5, 4];
    let [first, second] = [0; 2].map(|_| create(&shape));
    let source = random.bytes(480);
    fill(first, sizes, &source);
    fill(second, sizes, &[0; 480]);
    let operand = |operand_type, words| BatchOperand {
        operand_type,
        words,
    };
    let mut host = vec![0u8; 7 * 4 * 6 * 2];
    let address = host.as_mut_ptr().addr() as u64;
    let to_host = BatchCopy {
        from: operand(operand_type::ARRAY, [first as u64, 1, 2, 1]),
        // Rows of 7 elements, layers of 6 rows.
        to: operand(operand_type::POINTER, [address, 7, 6, 0]),
        extent: [5, 3, 2],
        source_order: 1,
        flags: 0,
    };
    let to_array = BatchCopy {
        to: operand(operand_type::ARRAY, [second as u64, 0, 0, 2]),
        ..to_host
    };
    succeeds(cuMemcpy3DBatchAsync_v2(
        2,
        [to_host, to_array].as_ptr(),
        0,
        0,
    ));
    let copied = contents(second, sizes);
    for z in 0..2 {
        for y in 0..3 {
            for x in 0..20 {
                let expected = source[((z + 1) * 5 + y + 2) * 24 + 4 + x];
                assert_eq!(host[(z * 6 + y) * 28 + x], expected);
                assert_eq!(copied[((z + 2) * 5 + y) * 24 + x], expected);
            }
        }
    }
    let change = |change: &dyn Fn(&mut BatchCopy)| {
        let mut copy = to_host;
        change(&mut copy);
        cuMemcpy3DWithAttributesAsync(&copy, 0, 0)
    };
    succeeds(change(&|_| {}));
    for refused in [
        change(&|copy| copy.extent[0] = 6),
        change(&|copy| copy.extent[2] = 0),
        change(&|copy| copy.to.words[1] = 4),
        change(&|copy| copy.to.words[2] = 2),
        change(&|copy| copy.source_order = 0),
        change(&|copy| copy.from.operand_type = 3),
        change(&|copy| copy.from.words[3] = u64::MAX),
        change(&|copy| copy.from.words[1] = u64::MAX),
        cuMemcpy3DBatchAsync_v2(1, std::ptr::null(), 0, 0),
        cuMemcpy3DBatchAsync_v2(1, &to_host, 1, 0),
    ] {
        assert_eq!(refused, Status::INVALID_VALUE);
    }
    let mut failed = std::mem::MaybeUninit::new(0);
    let status = cuMemcpy3DBatchAsync(1, &to_host, Some(&mut failed), 0, 0);
    succeeds(status);
}
