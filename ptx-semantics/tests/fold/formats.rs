//! Floating-point formats by their definition: every value of a format in a list, rounding by search in it.

/// The magnitudes of a format: the value of every code, in ascending order, up to the greatest number.
pub(crate) struct Values {
    pub(crate) name: &'static str,
    /// The bit of the sign.
    pub(crate) sign: u128,
    pub(crate) all: Vec<f64>,
    /// The code after the last one is infinity.
    pub(crate) infinite: bool,
    /// The value that a code after the last one would have.
    next: f64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    Nearest,
    Zero,
    Down,
    Up,
}

impl Values {
    pub(crate) fn of(name: &'static str) -> Self {
        // Bits of exponent and fraction, codes that are finite numbers, whether infinity follows.
        let (exponent, fraction, finite, infinite) = match name {
            "f16" => (5, 10, 0x7c00, true),
            "bf16" => (8, 7, 0x7f80, true),
            "e5m2" => (5, 2, 0x7c, true),
            "e4m3" => (4, 3, 0x7f, false),
            "e3m2" => (3, 2, 0x20, false),
            "e2m3" => (2, 3, 0x20, false),
            "e2m1" => (2, 1, 0x8, false),
            _ => panic!("{name}"),
        };
        let bias = (1 << (exponent - 1)) - 1;
        let value = |code: u32| {
            let (e, f) = (code >> fraction, f64::from(code & ((1 << fraction) - 1)));
            let scale = |e: i32| 2f64.powi(e - bias);
            let f = f / f64::from(1 << fraction);
            if e == 0 {
                f * scale(1)
            } else {
                (1.0 + f) * scale(e as i32)
            }
        };
        Self {
            name,
            sign: 1 << (exponent + fraction),
            all: (0..finite).map(value).collect(),
            infinite,
            next: value(finite),
        }
    }

    pub(crate) fn most(&self) -> f64 {
        *self.all.last().unwrap()
    }

    /// The number of some bits; NaN if they are not a number.
    pub(crate) fn decode(&self, bits: u128) -> f64 {
        let magnitude = (bits & (self.sign - 1)) as usize;
        let size = match self.all.get(magnitude) {
            Some(&value) => value,
            None if self.infinite && magnitude == self.all.len() => f64::INFINITY,
            None => f64::NAN,
        };
        if bits & self.sign != 0 { -size } else { size }
    }

    /// The bits of the number next to `x` in the direction; `None` where the format has none.
    pub(crate) fn round(&self, x: f64, way: Way) -> Option<u128> {
        let size = x.abs();
        let sign = if x.is_sign_negative() { self.sign } else { 0 };
        let end = self.all.len();
        let behind = self.all.partition_point(|&v| v <= size);
        // The last value that is not larger, and the next one.
        let below = behind.checked_sub(1)?;
        let above = self.all.get(behind).copied().unwrap_or(self.next);
        let middle = (self.all[below] + above) / 2.0;
        let up = match way {
            Way::Nearest => size > middle || size == middle && below % 2 == 1,
            Way::Zero => false,
            Way::Down => sign != 0,
            Way::Up => sign == 0,
        };
        let code = match size {
            f64::INFINITY => end,
            _ if self.all[below] == size => below,
            _ => below + usize::from(up),
        };
        (code < end || self.infinite).then_some(sign | code as u128)
    }

    /// Values, the middles between them and what is next to those, beyond both ends too, with both signs.
    pub(crate) fn singles(&self) -> Vec<f32> {
        let step = self.all.len() / 400 + 1;
        let mut all = Vec::new();
        for pair in self.all.windows(2).step_by(step) {
            let values = [pair[0], (pair[0] + pair[1]) / 2.0];
            all.extend(
                values
                    .map(|v| v as f32)
                    .map(|v| [v, v.next_up(), v.next_down()]),
            );
        }
        let most = self.most() as f32;
        let past = ((self.most() + self.next) / 2.0) as f32;
        let mut all = all.concat();
        all.extend([
            most,
            most.next_up(),
            past,
            past.next_down(),
            past.next_up(),
            f32::MAX,
        ]);
        all.extend([f32::INFINITY, f32::NAN, f32::from_bits(1), 1e-40, 3.3, 1e-9]);
        let minus: Vec<f32> = all.iter().map(|v| -v).collect();
        all.extend(minus);
        all
    }
}
