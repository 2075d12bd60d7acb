//! Results that the hardware approximates: what its tables give is the exact value, rounded, and the steps around the tables are those of the
//! machine code.
#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

use crate::common::{kernel, run};

#[test]
fn approximations_are_the_rounded_exact_values() {
    let cases: [(&str, f32, f32); 9] = [
        ("sin.approx.f32", 1.0, 0.841_470_96),
        // The product with 1 / 2 pi is rounded towards zero, so the angle is a little less.
        ("cos.approx.ftz.f32", 1.0, 0.540_302_34),
        ("ex2.approx.f32", 0.5, core::f32::consts::SQRT_2),
        ("lg2.approx.ftz.f32", 10.0, core::f32::consts::LOG2_10),
        ("rcp.approx.f32", 3.0, 0.333_333_34),
        ("rsqrt.approx.f32", 2.0, core::f32::consts::FRAC_1_SQRT_2),
        ("sqrt.approx.ftz.f32", 2.0, core::f32::consts::SQRT_2),
        ("tanh.approx.f32", 0.5, 0.462_117_16),
        // A subnormal number counts as zero.
        ("rcp.approx.ftz.f32", 1e-40, f32::INFINITY),
    ];
    for (instruction, from, expected) in cases {
        let body = format!(
            "mov.b32 %f1, {};\n{instruction} %f2, %f1;\nst.global.f32 [%mine], %f2;",
            from.to_bits()
        );
        let found = run(&kernel("", &body), 1, 1, &[0]).unwrap();
        assert_eq!(f32::from_bits(found[0]), expected, "{instruction}");
    }
}

#[test]
fn first_guesses_have_the_high_half_of_the_exact_values() {
    let body = "mov.b64 %rd1, {-1, 0x40080000};\nmov.b64 %rd2, {1, 0};\n\
                rcp.approx.ftz.f64 %rd3, %rd1;\nrcp.approx.ftz.f64 %rd4, %rd2;\nrsqrt.approx.ftz.f64 %rd5, %rd1;\n\
                st.global.b64 [%out], %rd3;\nst.global.b64 [%out+8], %rd4;\nst.global.b64 [%out+16], %rd5;";
    let found = run(&kernel("", body), 1, 1, &[7; 6]).unwrap();
    // Only the high half of 3.000001 is read, and a subnormal number counts as zero.
    let high = |value: f64| (value.to_bits() >> 32) as u32;
    let expected = [
        high(1.0 / 3.0),
        high(f64::INFINITY),
        high(1.0 / 3f64.sqrt()),
    ];
    assert_eq!(found, [0, expected[0], 0, expected[1], 0, expected[2]]);
}

/// What a table gives: it takes no subnormal numbers and gives none.
fn table(function: fn(f64) -> f64, x: f32) -> f32 {
    flush(function(flush(x).into()) as f32)
}

fn flush(x: f32) -> f32 {
    if x.is_subnormal() {
        0f32.copysign(x)
    } else {
        x
    }
}

const LEAST: f32 = f32::MIN_POSITIVE;
const TWO_TO_24: f32 = 16_777_216.0;
const TWO_TO_126: f32 = 8.507_059e37;

type OneSource = fn(f32) -> f32;
type TwoSources = fn(f32, f32) -> f32;

/// The machine code that ptxas generates, with these tables.
const ONE_SOURCE: [(&str, OneSource); 15] = [
    ("rcp.approx.f32", |x| {
        let mut scale = if x.abs() < LEAST { TWO_TO_24 } else { 1.0 };
        if x.abs() > TWO_TO_126 {
            scale = 0.25;
        }
        table(|x| 1.0 / x, x * scale) * scale
    }),
    ("rcp.approx.ftz.f32", |x| table(|x| 1.0 / x, x)),
    ("rsqrt.approx.f32", |x| match x.abs() < LEAST {
        true => table(|x| 1.0 / x.sqrt(), x * TWO_TO_24) * 4096.0,
        false => table(|x| 1.0 / x.sqrt(), x),
    }),
    ("rsqrt.approx.ftz.f32", |x| table(|x| 1.0 / x.sqrt(), x)),
    ("sqrt.approx.f32", |x| match x.abs() < LEAST {
        true => table(f64::sqrt, x * TWO_TO_24) / 4096.0,
        false => table(f64::sqrt, x),
    }),
    ("sqrt.approx.ftz.f32", |x| table(f64::sqrt, x)),
    ("sin.approx.f32", |x| turn(x, sine)),
    ("sin.approx.ftz.f32", |x| flush(turn(flush(x), sine))),
    ("cos.approx.f32", |x| turn(x, cosine)),
    ("cos.approx.ftz.f32", |x| flush(turn(flush(x), cosine))),
    ("lg2.approx.f32", |x| match x.abs() < LEAST {
        true => table(libm::log2, x * TWO_TO_24) - 24.0,
        false => table(libm::log2, x),
    }),
    ("lg2.approx.ftz.f32", |x| table(libm::log2, x)),
    ("ex2.approx.f32", |x| match x < -126.0 {
        true => table(libm::exp2, x * 0.5).powi(2),
        false => table(libm::exp2, x),
    }),
    ("ex2.approx.ftz.f32", |x| table(libm::exp2, x)),
    ("tanh.approx.f32", |x| libm::tanh(x.into()) as f32),
];

/// A function of an angle, which is first converted to turns: the product is rounded towards zero to 24 bits. What the hardware does with subnormal
/// products is not known; here they have as many bits.
fn turn(x: f32, function: fn(f64) -> f64) -> f32 {
    let product = f64::from(x) * f64::from(f32::from_bits(0x3e22_f983));
    let scale = match product.abs() < 1e-30 {
        true => 2f64.powi(120),
        false => 1.0,
    };
    let nearest = (product * scale) as f32;
    let turns = match f64::from(nearest.abs()) > (product * scale).abs() {
        true => f32::from_bits(nearest.to_bits() - 1),
        false => nearest,
    };
    let turns = f64::from(turns) / scale;
    function(turns) as f32
}

/// Of a number of turns: by the nearest quarter.
fn sine(turns: f64) -> f64 {
    let (quarter, rest) = quarter(turns);
    match quarter {
        _ if turns % 0.5 == 0.0 => 0f64.copysign(turns),
        0 => libm::sin(rest),
        1 => libm::cos(rest),
        2 => -libm::sin(rest),
        _ => -libm::cos(rest),
    }
}

fn cosine(turns: f64) -> f64 {
    let (quarter, rest) = quarter(turns);
    match quarter {
        _ if turns % 1.0 != 0.0 && turns % 0.5 != 0.0 && turns % 0.25 == 0.0 => 0.0,
        0 => libm::cos(rest),
        1 => -libm::sin(rest),
        2 => -libm::cos(rest),
        _ => libm::sin(rest),
    }
}

/// The quarter turns nearest to a number of turns, without whole turns, and the rest as an angle.
fn quarter(turns: f64) -> (i32, f64) {
    let fraction = turns % 1.0;
    let quarters = (4.0 * fraction).round();
    let rest = (fraction - quarters / 4.0) * core::f64::consts::TAU;
    ((quarters as i32).rem_euclid(4), rest)
}

const TWO_SOURCES: [(&str, TwoSources); 4] = [
    ("div.approx.f32", |a, b| match b.abs() < LEAST {
        true => table(|x| 1.0 / x, b * TWO_TO_24) * (a * TWO_TO_24),
        false => table(|x| 1.0 / x, b) * a,
    }),
    ("div.approx.ftz.f32", |a, b| {
        flush(table(|x| 1.0 / x, b) * flush(a))
    }),
    ("div.full.f32", |a, b| {
        let scale = match b.abs() {
            b if b < LEAST => TWO_TO_24,
            b if b > TWO_TO_126 => 0.25,
            _ => 1.0,
        };
        table(|x| 1.0 / x, b * scale) * (a * scale)
    }),
    ("div.full.ftz.f32", |a, b| {
        let scale = if b.abs() > TWO_TO_126 { 0.25 } else { 1.0 };
        flush(table(|x| 1.0 / x, b * scale) * flush(flush(a) * scale))
    }),
];

/// Numbers at the edges of ranges, and random ones in all binades.
fn numbers(random: &mut fastrand::Rng) -> Vec<f32> {
    let edges = [
        0,
        1,
        2,
        0x40_0000,
        0x7f_ffff,
        0x80_0000,
        0x80_0001,
        0x3f80_0000,
        0x42fc_0000,
        0x4310_0000,
        0x7e7f_ffff,
        0x7e80_0000,
        0x7e80_0001,
        0x7f7f_ffff,
        0x7f80_0000,
        0x7fc0_0000,
    ];
    let signs = edges.into_iter().flat_map(|bits| [bits, bits | 1 << 31]);
    let mut bits: Vec<u32> = signs.collect();
    bits.extend((0..400).map(|_| random.u32(..)));
    // Subnormal numbers, those with subnormal reciprocals, and those with subnormal powers.
    for _ in 0..100 {
        bits.push(random.u32(..0x80_0000) >> random.u32(..20) | random.u32(..2) << 31);
        bits.push(random.u32(0x7e80_0000..0x7f80_0000) | random.u32(..2) << 31);
        bits.push((-130.0 - 20.0 * random.f32()).to_bits());
    }
    bits.truncate(1024);
    bits.into_iter().map(f32::from_bits).collect()
}

/// Whether two results are equal to the bit; every NaN of 32 bits is the same one.
fn equal(found: u32, expected: f32) -> bool {
    match expected.is_nan() {
        true => found == 0x7fff_ffff,
        false => found == expected.to_bits(),
    }
}

#[test]
fn steps_around_tables_are_those_of_the_machine_code() {
    let numbers = numbers(&mut fastrand::Rng::with_seed(1));
    let words: Vec<u32> = numbers.iter().map(|x| x.to_bits()).collect();
    for (instruction, expected) in ONE_SOURCE {
        let body = format!(
            "ld.global.f32 %f1, [%mine];\n{instruction} %f2, %f1;\nst.global.f32 [%mine], %f2;"
        );
        let found = run(&kernel("", &body), 1, words.len() as u32, &words).unwrap();
        for (x, found) in numbers.iter().zip(found) {
            let expected = expected(*x);
            assert!(
                equal(found, expected),
                "{instruction} of {x:e} is {:e}, not {expected:e}",
                f32::from_bits(found)
            );
        }
    }
}

#[test]
fn quotients_are_products_with_reciprocals() {
    let mut random = fastrand::Rng::with_seed(2);
    let (mut dividends, mut divisors) = (numbers(&mut random), numbers(&mut random));
    random.shuffle(&mut dividends);
    random.shuffle(&mut divisors);
    let both = dividends.iter().zip(&divisors);
    let both: Vec<(f32, f32)> = both.map(|(a, b)| (*a, *b)).take(512).collect();
    let words = both.iter().map(|p| p.0).chain(both.iter().map(|p| p.1));
    let words: Vec<u32> = words.map(f32::to_bits).collect();
    for (instruction, expected) in TWO_SOURCES {
        let body = format!(
            "ld.global.f32 %f1, [%mine];\nld.global.f32 %f2, [%mine+2048];\n\
             {instruction} %f2, %f1, %f2;\nst.global.f32 [%mine], %f2;"
        );
        let found = run(&kernel("", &body), 1, both.len() as u32, &words).unwrap();
        for (&(a, b), found) in both.iter().zip(found) {
            let expected = expected(a, b);
            assert!(
                equal(found, expected),
                "{instruction} of {a:e} and {b:e} is {:e}, not {expected:e}",
                f32::from_bits(found)
            );
        }
    }
}

/// As the PTX ISA manual says, `div.approx` gives zero for large divisors, where `div.full` gives the quotient.
#[test]
fn large_divisors() {
    let of = |instruction: &str, a: f32, b: f32| {
        let body = format!(
            "mov.b32 %f1, {};\nmov.b32 %f2, {};\n{instruction} %f2, %f1, %f2;\nst.global.f32 [%mine], %f2;",
            a.to_bits(),
            b.to_bits()
        );
        f32::from_bits(run(&kernel("", &body), 1, 1, &[0]).unwrap()[0])
    };
    assert_eq!(of("div.approx.f32", 1e38, 2e38), 0.0);
    assert!(of("div.approx.f32", f32::INFINITY, 2e38).is_nan());
    assert_eq!(of("div.full.f32", 1e38, 2e38), 0.5);
    assert!((of("div.approx.f32", 3e-40, 1e-40) - 3.0).abs() < 1e-4);
}
