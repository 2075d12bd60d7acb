//! Launches from kernels.

use super::copies::words;
use super::host::Host;
use super::{Program, program};

pub(crate) const PROGRAMS: &[Program] = &[program!(nested, launch_groups), program!(nested, halve)];

fn launch_groups(host: &mut Host<'_>) -> Result<(), String> {
    let (mut groups, mut results) = (Vec::new(), Vec::new());
    for (seed, (rows, columns)) in (1..).zip([(20, 24), (3, 64), (16, 4), (9, 44)]) {
        let tensor = words(rows * columns, 1000, seed);
        let (from, sums) = (host.buffer(&tensor), host.zeros(rows * 4));
        groups.extend([from, sums, (rows | columns << 32) as u64]);
        let expected: Vec<u32> = tensor.chunks(columns).map(|row| row.iter().sum()).collect();
        results.push((sums, expected));
    }
    let (list, maps) = (host.buffer(&groups), host.zeros(4 * 128));
    host.kernel("launch_groups")
        .block(4)
        .address(list)
        .address(maps)
        .run()?;
    for (sums, expected) in results {
        host.expect(sums, &expected)?;
    }
    Ok(())
}

fn halve(host: &mut Host<'_>) -> Result<(), String> {
    let count = 1000;
    let data = words(count, 1 << 20, 5);
    let (numbers, levels) = (host.buffer(&data), host.zeros(4));
    host.kernel("halve")
        .grid([8, 1, 1])
        .block(64)
        .address(numbers)
        .integer(count as i32)
        .address(levels)
        .run()?;
    host.expect(numbers, &[data.iter().sum::<u32>()])?;
    // 1000, 500, 250, 125, 63, 32, 16, 8, 4 and 2 numbers.
    host.expect(levels, &[10u32])
}
