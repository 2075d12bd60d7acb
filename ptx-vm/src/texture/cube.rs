//! Cubes: the face that a direction selects, and the neighbors of texels at the edges of faces.
//!
//! The faces are numbered +x, -x, +y, -y, +z, -z. The CUDA programming guide gives the coordinates `s` and `t` of a direction in its face:
//!
//! | face | major axis | s | t |
//! |---|---|---|---|
//! | 0 | x | -z | -y |
//! | 1 | -x | z | -y |
//! | 2 | y | x | z |
//! | 3 | -y | x | -z |
//! | 4 | z | x | -y |
//! | 5 | -z | -x | -y |
//!
//! The texel is at `(s / major + 1) / 2` and `(t / major + 1) / 2`, in units of the edge. The guide does not say which axis is the major one if several have
//! the largest magnitude. It is assumed that z is preferred to y, and y to x, as in Direct3D.

/// A direction in a face.
#[derive(Copy, Clone, PartialEq, Debug)]
pub(super) struct OnFace {
    pub(super) face: u32,
    /// The coordinates in units of the edge, from 0 to 1.
    pub(super) coordinates: [f64; 2],
}

/// The face that a direction selects: twice the number of the major axis, plus 1 if it is negative.
fn face_of(direction: [f64; 3]) -> u32 {
    let [x, y, z] = direction.map(f64::abs);
    let axis = if z >= x && z >= y {
        2
    } else if y >= x {
        1
    } else {
        0
    };
    2 * axis + u32::from(direction[axis as usize] < 0.0)
}

/// The major component of a direction, and `s` and `t`, in a face.
const fn in_face(face: u32, [x, y, z]: [f64; 3]) -> [f64; 3] {
    match face {
        0 => [x, -z, -y],
        1 => [-x, z, -y],
        2 => [y, x, z],
        3 => [-y, x, -z],
        4 => [z, x, -y],
        _ => [-z, -x, -y],
    }
}

/// The direction with a major component of 1 and with `s` and `t` in a face.
const fn direction([s, t]: [f64; 2], face: u32) -> [f64; 3] {
    match face {
        0 => [1.0, -t, -s],
        1 => [-1.0, -t, s],
        2 => [s, 1.0, t],
        3 => [s, -1.0, -t],
        4 => [s, -t, 1.0],
        _ => [-s, -t, -1.0],
    }
}

/// The place that a direction selects. The middle of a face is selected where the direction is zero or not a number.
pub(super) fn project(components: [f32; 3]) -> OnFace {
    let components = components.map(f64::from);
    let face = face_of(components);
    let [major, s, t] = in_face(face, components);
    let place = |minor: f64| {
        let ratio = minor / major;
        if ratio.is_nan() {
            0.5
        } else {
            (ratio + 1.0) / 2.0
        }
    };
    OnFace {
        face,
        coordinates: [place(s), place(t)],
    }
}

/// The change of the coordinates in the face that `project` selects, in units of the edge, if the direction changes at some rates.
pub(super) fn project_gradient(components: [f32; 3], rates: [f32; 3]) -> [f64; 2] {
    let components = components.map(f64::from);
    let face = face_of(components);
    let [major, s, t] = in_face(face, components);
    let [major_rate, s_rate, t_rate] = in_face(face, rates.map(f64::from));
    [(s, s_rate), (t, t_rate)]
        .map(|(minor, rate)| (rate * major - minor * major_rate) / (2.0 * major * major))
}

/// The face and the texel next to an edge of a face with `edge` texels: one of the two numbers is outside of the face by one. `None` for a corner.
pub(super) fn across_edge(face: u32, numbers: [i64; 2], edge: u32) -> Option<(u32, [u32; 2])> {
    let last = i64::from(edge) - 1;
    let outside = numbers.map(|number| !(0..=last).contains(&number));
    if outside == [true, true] {
        return None;
    }
    // The direction through the middle of the texel in the plane of the face meets the same texel of the adjacent face.
    let size = f64::from(edge);
    let components = direction(
        numbers.map(|number| (2.0 * number as f64 + 1.0) / size - 1.0),
        face,
    );
    let face = face_of(components);
    let [major, s, t] = in_face(face, components);
    let texel = |minor: f64| {
        let number = libm::floor((minor / major + 1.0) / 2.0 * size) as i64;
        number.clamp(0, last) as u32
    };
    Some((face, [texel(s), texel(t)]))
}
