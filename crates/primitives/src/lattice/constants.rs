//! Constants of the ring. All follow from q = 3329 and ζ = 17, a primitive 256th root of unity (FIPS 203 §4.3).

/// The modulus.
pub(crate) const Q: i16 = 3329;

/// The inverse of q modulo 2¹⁶.
pub(crate) const Q_INVERSE: i16 = -3327;

/// A constant to multiply by: its representative nearest to zero, and 2¹⁵ times its ratio to q, rounded, which tells how many times q is in a product.
#[derive(Clone, Copy)]
pub(crate) struct Twiddle {
    pub(crate) factor: i16,
    pub(crate) ratio: i16,
}

impl Twiddle {
    const fn of(value: i32) -> Self {
        let q = Q as i32;
        let least = value.rem_euclid(q);
        let factor = if least > q / 2 { least - q } else { least };
        Self { factor: factor as i16, ratio: (2 * factor * 32768 + q).div_euclid(2 * q) as i16 }
    }
}

/// Multiplication by 1, which makes a representative small.
pub(crate) const REDUCE: Twiddle = Twiddle::of(1);

/// 1/128: what the inverse transform's sums are too large by.
pub(crate) const SCALE: Twiddle = Twiddle::of(3303);

/// 2¹⁶: what a Montgomery reduction divides by.
pub(crate) const MONTGOMERY: Twiddle = Twiddle::of(1 << 16);

/// The powers of ζ for the transform (FIPS 203, algorithm 9): entry i is ζ^BitRev7(i).
pub(crate) const FORWARD: [Twiddle; 128] = {
    let mut powers = [REDUCE; 128];
    let mut i = 0;
    while i < 128 {
        powers[i] = Twiddle::of(power(bit_reversed(i as u32)));
        i += 1;
    }
    powers
};

/// The same for the inverse (algorithm 10), which takes them backwards within each layer: group g of the layer with n groups takes entry n + g.
pub(crate) const INVERSE: [Twiddle; 128] = {
    let mut powers = [REDUCE; 128];
    let mut groups = 1;
    while groups < 128 {
        let mut g = 0;
        while g < groups {
            powers[groups + g] = FORWARD[2 * groups - 1 - g];
            g += 1;
        }
        groups *= 2;
    }
    powers
};

/// The inverse's last power of ζ, times 1/128.
pub(crate) const LAST: Twiddle = Twiddle::of(INVERSE[1].factor as i32 * SCALE.factor as i32);

/// What makes a factor's `even` part: 2¹⁶ and γ·2¹⁶ in turn, γ = ζ^(2·BitRev7(i) + 1) for pair i (FIPS 203, algorithm 11).
pub(crate) const PRODUCT: [Twiddle; 256] = {
    let mut all = [MONTGOMERY; 256];
    let mut i = 0;
    while i < 128 {
        all[2 * i + 1] = Twiddle::of(power(2 * bit_reversed(i as u32) + 1) * MONTGOMERY.factor as i32);
        i += 1;
    }
    all
};

/// ζ to this power.
const fn power(exponent: u32) -> i32 {
    let mut product = 1;
    let mut i = 0;
    while i < exponent {
        product = product * 17 % Q as i32;
        i += 1;
    }
    product
}

/// Seven bits backwards.
const fn bit_reversed(i: u32) -> u32 {
    i.reverse_bits() >> 25
}
