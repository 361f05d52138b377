//! SM4's constants, shared by portable code and kernels: the parameters of its key schedule, and its S-box as an inverse in a field of our
//! choice, computed when this crate is compiled.
//!
//! GB/T 32907 gives the S-box as a table. It is S(x) = A·(A·x + C)⁻¹ + C, where the inverse is that of GF(2⁸) modulo
//! x⁸ + x⁷ + x⁶ + x⁵ + x⁴ + x² + 1 and A is a circulant matrix. All fields of 256 elements are the same but for a change of basis, so any unit
//! that inverts can compute it: the AES instructions, GFNI, or a boolean circuit for a tower of fields.
//!
//! The arms go one step further. They hold the whole state in the basis of their unit, each byte multiplied by [`Basis::enter`]. What follows the
//! inverse in a round, the rest of the S-box and the linear transformation L, is a sum of byte-wise linear maps of the inverse, each moved by
//! whole bytes. These maps absorb the changes of basis, so that no round pays for them.

/// The system parameter FK (GB/T 32907 §7.3.1).
pub(crate) const FK: [u32; 4] = [0xa3b1bac6, 0x56aa3350, 0x677d9197, 0xb27022dc];

/// The fixed parameters CK (§7.3.1): byte j of the i-th is 7 · (4i + j) modulo 256.
pub(crate) const CK: [u32; 32] = {
    let (mut parameters, mut i) = ([0; 32], 0);
    while i < 32 {
        let at = 4 * i as u8;
        parameters[i] = u32::from_be_bytes([
            at.wrapping_mul(7),
            (at + 1).wrapping_mul(7),
            (at + 2).wrapping_mul(7),
            (at + 3).wrapping_mul(7),
        ]);
        i += 1;
    }
    parameters
};

/// A linear map of bytes: bit i of the image is the parity of the argument and row i.
#[derive(Clone, Copy)]
pub(crate) struct Map([u8; 8]);

/// A linear map and a constant that is added afterwards.
#[derive(Clone, Copy)]
pub(crate) struct Affine {
    pub(crate) map: Map,
    pub(crate) constant: u8,
}

impl Map {
    const IDENTITY: Self = Self([1, 2, 4, 8, 16, 32, 64, 128]);

    /// The bytes shifted left by `by` bits; to the right, if it is negative.
    const fn shift(by: i32) -> Self {
        let (mut rows, mut bit) = ([0; 8], 0);
        while bit < 8 {
            let from = bit - by;
            if from >= 0 && from < 8 {
                rows[bit as usize] = 1 << from;
            }
            bit += 1;
        }
        Self(rows)
    }

    /// The map that takes bit i to `images[i]`.
    const fn of_images(images: [u8; 8]) -> Self {
        let (mut rows, mut i) = ([0; 8], 0);
        while i < 64 {
            rows[i / 8] |= (images[i % 8] >> (i / 8) & 1) << (i % 8);
            i += 1;
        }
        Self(rows)
    }

    pub(crate) const fn of(self, x: u8) -> u8 {
        let (mut image, mut i) = (0, 0);
        while i < 8 {
            image |= ((self.0[i] & x).count_ones() as u8 & 1) << i;
            i += 1;
        }
        image
    }

    /// `self` of what `first` gives.
    const fn after(self, first: Self) -> Self {
        let (mut images, mut i) = ([0; 8], 0);
        while i < 8 {
            images[i] = self.of(first.of(1 << i));
            i += 1;
        }
        Self::of_images(images)
    }

    const fn plus(self, other: Self) -> Self {
        let (mut rows, mut i) = (self.0, 0);
        while i < 8 {
            rows[i] ^= other.0[i];
            i += 1;
        }
        Self(rows)
    }

    const fn inverse(self) -> Self {
        let (mut images, mut x) = ([0; 8], 0);
        while x < 256 {
            let image = self.of(x as u8);
            if image.is_power_of_two() {
                images[image.trailing_zeros() as usize] = x as u8;
            }
            x += 1;
        }
        Self::of_images(images)
    }

    /// The bits of the argument whose sum is bit `i` of the image.
    pub(crate) const fn row(self, i: usize) -> u8 {
        self.0[i]
    }

    /// The matrix as GFNI's instructions take it: the row of bit 0 in the highest byte.
    #[cfg(target_arch = "x86_64")]
    pub(crate) const fn gfni(self) -> i64 {
        i64::from_be_bytes(self.0)
    }
}

impl Affine {
    /// The image of a byte.
    #[cfg(any(target_arch = "x86_64", test))]
    pub(crate) const fn of(self, x: u8) -> u8 {
        self.map.of(x) ^ self.constant
    }

    /// The images of the lower and of the upper nibble, whose sum is the image of the byte.
    #[cfg(target_arch = "x86_64")]
    pub(crate) const fn nibbles(self) -> [[u8; 16]; 2] {
        let (mut tables, mut i) = ([[0; 16]; 2], 0);
        while i < 16 {
            tables[0][i] = self.of(i as u8);
            tables[1][i] = self.map.of((i as u8) << 4);
            i += 1;
        }
        tables
    }
}

/// A and C of the S-box.
const A: Map = Map([0xa7, 0x4f, 0x9e, 0x3d, 0x7a, 0xf4, 0xe9, 0xd3]);
const C: u8 = 0xd3;

/// The polynomial of SM4's field.
const SM4_FIELD: u16 = 0x1f5;
/// The polynomial of AES's field (FIPS 197 §4.2).
#[cfg(target_arch = "x86_64")]
const AES_FIELD: u16 = 0x11b;

/// How an arm that inverts in another field computes the rounds. The state is held in its basis.
pub(crate) struct Basis {
    /// From bytes as the standard has them into the basis.
    pub(crate) enter: Map,
    /// And back.
    pub(crate) leave: Map,
    /// To be added to what the S-box takes; the round keys hold it.
    pub(crate) constant: u8,
    /// L(S(x)) is the sum of these maps of the inverse, the i-th moved by i bytes: byte j comes from byte j + i of the word. The second
    /// and the third are the same, and the sum of the first two is the fourth.
    pub(crate) cipher: [Affine; 4],
    /// The same for L′(S(x)), of the key schedule.
    pub(crate) key: [Affine; 4],
}

impl Basis {
    /// The basis of the field into which `isomorphism` goes from SM4's.
    const fn new(isomorphism: Map) -> Self {
        let enter = isomorphism.after(A);
        let box_end = A.after(isomorphism.inverse());
        macro_rules! maps {
            ($($map:expr),+) => {
                [$({
                    let map = enter.after($map);
                    Affine { map: map.after(box_end), constant: map.of(C) }
                }),+]
            };
        }
        // B <<< 2 is made of bytes b << 2 and, from the next byte, b >> 6. So L(B), the sum of B rotated by 0, 2, 10, 18 and 24, is
        let (left, right) = (Map::shift(2), Map::shift(-6));
        let middle = left.plus(right);
        let cipher = maps!(Map::IDENTITY.plus(left), middle, middle, right.plus(Map::IDENTITY));
        // and L′(B), of 0, 13 and 23:
        let third = Map::shift(-3).plus(Map::shift(7));
        let key = maps!(Map::IDENTITY, Map::shift(5), third, Map::shift(-1));
        Self { enter, leave: enter.inverse(), constant: isomorphism.of(C), cipher, key }
    }
}

/// The isomorphism from SM4's field into the one with this product: it takes x to the first root of SM4's polynomial.
macro_rules! isomorphism {
    (|$a:ident, $b:ident| $product:expr) => {{
        let mut root = 2;
        loop {
            let (mut images, mut power, mut value, mut i) = ([0; 8], 1, 0, 0);
            while i <= 8 {
                if i < 8 {
                    images[i] = power;
                }
                if SM4_FIELD >> i & 1 == 1 {
                    value ^= power;
                }
                let ($a, $b) = (power, root);
                power = $product;
                i += 1;
            }
            if value == 0 {
                break Map::of_images(images);
            }
            root += 1;
        }
    }};
}

/// The basis of AES's field, for GFNI, whose instruction inverts and then applies an affine map.
#[cfg(target_arch = "x86_64")]
pub(crate) const GFNI: Basis = Basis::new(isomorphism!(|a, b| multiply(a, b, AES_FIELD)));

/// The same for AESENCLAST, which inverts and then applies AES's own affine map: it is undone first.
#[cfg(target_arch = "x86_64")]
pub(crate) const AES: Basis = {
    /// FIPS 197, equation 5.2.
    const SUB_BYTES: Affine = Affine { map: Map([0xf1, 0xe3, 0xc7, 0x8f, 0x1f, 0x3e, 0x7c, 0xf8]), constant: 0x63 };
    const fn undoing(maps: [Affine; 4]) -> [Affine; 4] {
        let (mut undone, mut i) = (maps, 0);
        while i < 4 {
            let map = maps[i].map.after(SUB_BYTES.map.inverse());
            undone[i] = Affine { map, constant: maps[i].constant ^ map.of(SUB_BYTES.constant) };
            i += 1;
        }
        undone
    }
    Basis { cipher: undoing(GFNI.cipher), key: undoing(GFNI.key), ..GFNI }
};

/// A product modulo a polynomial of degree 8.
#[cfg(target_arch = "x86_64")]
const fn multiply(a: u8, b: u8, modulus: u16) -> u8 {
    let (mut product, mut i) = (0_u16, 8);
    while i > 0 {
        i -= 1;
        product <<= 1;
        if product & 0x100 != 0 {
            product ^= modulus;
        }
        if b >> i & 1 == 1 {
            product ^= a as u16;
        }
    }
    product as u8
}

/// The basis of [`tower`], for the portable arm.
pub(crate) const TOWER: Basis = Basis::new(isomorphism!(|a, b| tower::multiply(a, b)));

/// GF(((2²)²)²) as a boolean circuit, on 64 elements at once: bit i of all of them is a word.
///
/// The steps are w² = w + 1, z² = z + w and y² = y + wz. An element of each field is (a, b), for a times its generator plus b; bits count from
/// the lowest.
pub(crate) mod tower {
    type F4 = [u64; 2];
    type F16 = [u64; 4];
    type F256 = [u64; 8];

    /// The inverse, and zero of zero.
    #[inline(always)]
    pub(crate) const fn invert([b0, b1, b2, b3, a0, a1, a2, a3]: F256) -> F256 {
        // (ay + b)(ay + a + b) = a²wz + ab + b², which lies in GF(2⁴).
        let (a, b) = ([a0, a1, a2, a3], [b0, b1, b2, b3]);
        let sum = add16(a, b);
        let norm = add16(times_wz(square16(a)), multiply16(sum, b));
        let inverse = invert16(norm);
        let [c0, c1, c2, c3] = multiply16(a, inverse);
        let [d0, d1, d2, d3] = multiply16(sum, inverse);
        [d0, d1, d2, d3, c0, c1, c2, c3]
    }

    /// A product of two single elements, for constants.
    pub(super) const fn multiply(a: u8, b: u8) -> u8 {
        const fn half(x: u8) -> F16 {
            let x = x as u64;
            [x & 1, x >> 1 & 1, x >> 2 & 1, x >> 3 & 1]
        }
        let (a, b) = ([half(a), half(a >> 4)], [half(b), half(b >> 4)]);
        let (low, high) = (multiply16(a[0], b[0]), multiply16(a[1], b[1]));
        let middle = multiply16(add16(a[0], a[1]), add16(b[0], b[1]));
        let [d, c] = [add16(low, times_wz(high)), add16(middle, low)];
        (d[0] | d[1] << 1 | d[2] << 2 | d[3] << 3 | c[0] << 4 | c[1] << 5 | c[2] << 6 | c[3] << 7) as u8
    }

    #[inline(always)]
    const fn invert16([b0, b1, a0, a1]: F16) -> F16 {
        // (az + b)(az + a + b) = a²w + ab + b²; in GF(2²) a square is an inverse.
        let (a, b) = ([a0, a1], [b0, b1]);
        let sum = add4(a, b);
        let norm = add4(times_w(square4(a)), multiply4(sum, b));
        let inverse = square4(norm);
        let ([c0, c1], [d0, d1]) = (multiply4(a, inverse), multiply4(sum, inverse));
        [d0, d1, c0, c1]
    }

    #[inline(always)]
    const fn multiply16([b0, b1, a0, a1]: F16, [d0, d1, c0, c1]: F16) -> F16 {
        let (a, b, c, d) = ([a0, a1], [b0, b1], [c0, c1], [d0, d1]);
        let low = multiply4(b, d);
        let [x0, x1] = add4(low, times_w(multiply4(a, c)));
        let [y0, y1] = add4(low, multiply4(add4(a, b), add4(c, d)));
        [x0, x1, y0, y1]
    }

    #[inline(always)]
    const fn square16([b0, b1, a0, a1]: F16) -> F16 {
        let [a0, a1] = square4([a0, a1]);
        let [b0, b1] = add4(square4([b0, b1]), times_w([a0, a1]));
        [b0, b1, a0, a1]
    }

    #[inline(always)]
    const fn times_wz([b0, b1, a0, a1]: F16) -> F16 {
        let [x0, x1] = times_w(times_w([a0, a1]));
        let [y0, y1] = times_w([a0 ^ b0, a1 ^ b1]);
        [x0, x1, y0, y1]
    }

    #[inline(always)]
    const fn add16([b0, b1, a0, a1]: F16, [d0, d1, c0, c1]: F16) -> F16 {
        [b0 ^ d0, b1 ^ d1, a0 ^ c0, a1 ^ c1]
    }

    #[inline(always)]
    const fn multiply4([b, a]: F4, [d, c]: F4) -> F4 {
        let (low, high) = (b & d, a & c);
        [low ^ high, ((a ^ b) & (c ^ d)) ^ low]
    }

    #[inline(always)]
    const fn square4([b, a]: F4) -> F4 {
        [a ^ b, a]
    }

    #[inline(always)]
    const fn times_w([b, a]: F4) -> F4 {
        [a, a ^ b]
    }

    #[inline(always)]
    const fn add4([b, a]: F4, [d, c]: F4) -> F4 {
        [b ^ d, a ^ c]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_test_support::vectors;

    fn standard() -> [u8; 256] {
        vectors::array(&vectors::load("sm4.json"), "sbox")
    }

    /// What the maps of a basis make of the S-box's argument, against what the standard's table says.
    fn agrees(basis: &Basis, unit: impl Fn(u8) -> u8) {
        for (x, s) in standard().into_iter().enumerate() {
            let out = unit(basis.enter.of(x as u8) ^ basis.constant);
            let cipher = [s ^ s << 2, s << 2 ^ s >> 6, s << 2 ^ s >> 6, s >> 6 ^ s];
            let key = [s, s << 5, s >> 3 ^ s << 7, s >> 1];
            for i in 0..4 {
                assert_eq!(basis.leave.of(basis.cipher[i].of(out)), cipher[i], "map {i} of S({x})");
                assert_eq!(basis.leave.of(basis.key[i].of(out)), key[i], "map {i} of S({x}), key schedule");
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    fn inverse(x: u8) -> u8 {
        (0..=255).find(|y| multiply(x, *y, AES_FIELD) == 1).unwrap_or(0)
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn the_maps_after_an_inverse_in_aes_field_are_the_standards_table() {
        agrees(&GFNI, inverse);
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn the_maps_after_aes_own_s_box_are_the_standards_table() {
        // FIPS 197, equation 5.2.
        agrees(&AES, |x| {
            let y = inverse(x);
            (0..5).fold(0x63, |sum, by| sum ^ y.rotate_left(by))
        });
    }

    #[test]
    fn the_maps_after_the_towers_circuit_are_the_standards_table() {
        agrees(&TOWER, |x| {
            let inverse = tower::invert(core::array::from_fn(|i| u64::from(x >> i & 1)));
            (0..8).fold(0, |byte, i| byte | (inverse[i] as u8) << i)
        });
    }
}
