//! Perfect hash tables by "hash and displace": words are distributed over buckets, and for each bucket, largest first,
//! a displacement is searched that sends all its words to free positions.

#[path = "../../../ptx-isa/src/hash.rs"]
mod hash;

/// The value of a position without a word.
pub(crate) const EMPTY: u16 = u16::MAX;

/// The two tables of a perfect hash.
pub(crate) struct Table {
    pub(crate) displacements: Vec<u16>,
    pub(crate) positions: Vec<u16>,
}

/// Builds the tables; the value of a word is its index in `words`, which must be distinct.
pub(crate) fn build(words: &[&str]) -> anyhow::Result<Table> {
    let mut slots = (words.len() * 5 / 4).next_power_of_two().max(2);
    loop {
        let buckets = (words.len() / 3).next_power_of_two().max(1);
        if let Some(table) = try_build(words, buckets, slots) {
            return Ok(table);
        }
        slots *= 2;
        anyhow::ensure!(
            slots < 1 << 20,
            "no perfect hash found for {} words",
            words.len()
        );
    }
}

fn try_build(words: &[&str], buckets: usize, slots: usize) -> Option<Table> {
    let mut members: Vec<(usize, Vec<usize>)> = (0..buckets).map(|b| (b, Vec::new())).collect();
    let hashes: Vec<u64> = words.iter().map(|w| hash::hash(w.as_bytes())).collect();
    for (i, &h) in hashes.iter().enumerate() {
        members[hash::bucket(h, buckets)].1.push(i);
    }
    members.sort_by_key(|(b, words)| (std::cmp::Reverse(words.len()), *b));
    let mut table = Table {
        displacements: vec![0; buckets],
        positions: vec![EMPTY; slots],
    };
    for (bucket, words) in members {
        let displacement = (0..u16::MAX).find(|&d| {
            let mut bucket_positions = Vec::new();
            words.iter().all(|&w| {
                let position = hash::position(hashes[w], d, slots);
                let is_free =
                    table.positions[position] == EMPTY && !bucket_positions.contains(&position);
                bucket_positions.push(position);
                is_free
            })
        })?;
        table.displacements[bucket] = displacement;
        for &w in &words {
            table.positions[hash::position(hashes[w], displacement, slots)] = w as u16;
        }
    }
    Some(table)
}
