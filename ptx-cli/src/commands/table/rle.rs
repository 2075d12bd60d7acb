//! The encoding of small numbers in Parquet: runs of equal numbers, and groups of eight numbers as bits.

/// The length of the shortest run that is written as one.
const MIN_RUN: usize = 8;

/// The bits that numbers up to `most` need; one at least.
pub(super) fn width(most: u32) -> u8 {
    (u32::BITS - most.leading_zeros()).max(1) as u8
}

/// Appends numbers of at most `width` bits.
pub(super) fn encode(numbers: &[u32], width: u8, out: &mut Vec<u8>) {
    // The index of the first number that is not written yet.
    let mut written = 0;
    let mut index = 0;
    while let Some(&number) = numbers.get(index) {
        let run = numbers[index..]
            .iter()
            .take_while(|next| **next == number)
            .count();
        // Bits are written in whole groups, which a run fills up.
        let missing = (index - written).wrapping_neg() % 8;
        if run >= MIN_RUN + missing {
            index += missing;
            bits(&numbers[written..index], width, out);
            let run = run - missing;
            varint(run << 1, out);
            out.extend_from_slice(&number.to_le_bytes()[..usize::from(width).div_ceil(8)]);
            index += run;
            written = index;
        } else {
            index += run;
        }
    }
    bits(&numbers[written..], width, out);
}

/// Appends groups of eight numbers; zeros fill up the last one.
fn bits(numbers: &[u32], width: u8, out: &mut Vec<u8>) {
    if numbers.is_empty() {
        return;
    }
    let groups = numbers.len().div_ceil(8);
    varint(groups << 1 | 1, out);
    let end = out.len() + groups * usize::from(width);
    let (mut waiting, mut count) = (0u64, 0);
    for &number in numbers {
        waiting |= u64::from(number) << count;
        count += u32::from(width);
        while count >= 8 {
            out.push(waiting as u8);
            waiting >>= 8;
            count -= 8;
        }
    }
    if count > 0 {
        out.push(waiting as u8);
    }
    out.resize(end, 0);
}

fn varint(mut number: usize, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

#[cfg(test)]
mod tests {
    /// Reads numbers as the specification of Parquet describes them.
    fn decode(mut bytes: &[u8], width: u8, count: usize) -> Vec<u32> {
        let mut numbers = Vec::new();
        while numbers.len() < count {
            let mut header = 0;
            for shift in (0..).step_by(7) {
                let byte = bytes[0];
                bytes = &bytes[1..];
                header |= usize::from(byte & 0x7f) << shift;
                if byte < 0x80 {
                    break;
                }
            }
            let width = usize::from(width);
            if header & 1 == 0 {
                let mut value = [0; 4];
                value[..width.div_ceil(8)].copy_from_slice(&bytes[..width.div_ceil(8)]);
                bytes = &bytes[width.div_ceil(8)..];
                numbers.extend(std::iter::repeat_n(u32::from_le_bytes(value), header >> 1));
            } else {
                let (group, remaining) = bytes.split_at((header >> 1) * width);
                let bit = |index: usize| u32::from(group[index / 8] >> (index % 8) & 1);
                for number in 0..(header >> 1) * 8 {
                    numbers.push((0..width).map(|b| bit(number * width + b) << b).sum());
                }
                bytes = remaining;
            }
        }
        assert!(bytes.is_empty() && numbers[count..].iter().all(|n| *n == 0));
        numbers.truncate(count);
        numbers
    }

    #[test]
    fn numbers_are_decoded() {
        let mut random = fastrand::Rng::with_seed(1);
        for width in 1..=32 {
            for _ in 0..200 {
                let mut numbers = Vec::new();
                while numbers.len() < random.usize(..400) {
                    let number = random.u32(..) >> (32 - width);
                    let run = if random.bool() {
                        1
                    } else {
                        random.usize(1..60)
                    };
                    numbers.extend(std::iter::repeat_n(number, run));
                }
                let mut out = Vec::new();
                super::encode(&numbers, width, &mut out);
                assert_eq!(decode(&out, width, numbers.len()), numbers, "{width} bits");
            }
        }
    }

    #[test]
    fn runs_are_short() {
        let mut out = Vec::new();
        super::encode(&[5; 1000], super::width(5), &mut out);
        assert_eq!(out, [0xd0, 0x0f, 5]);
        assert_eq!(
            (super::width(0), super::width(1), super::width(256)),
            (1, 1, 9)
        );
    }
}
