use super::*;
use std::vec::Vec;

/// How large a number can be.
#[derive(Clone, Copy, Debug)]
struct Bound(i64);

impl Bound {
    fn of_16_bits(self) -> Self {
        assert!(self.0 <= i64::from(i16::MAX), "{self:?} overflows a lane");
        self
    }
}

/// The rules of intervals around zero; each result must fit into its lane.
impl Number for Bound {
    type Sum = Bound;

    fn plus(self, other: Self) -> Self {
        Self(self.0 + other.0).of_16_bits()
    }

    fn minus(self, other: Self) -> Self {
        self.plus(other)
    }

    /// Half of q by rounding the quotient, and what the rounded ratio adds: |x| · |ratio/2¹⁵ − constant/q| · q.
    fn times(self, constant: Twiddle) -> Self {
        let off = (i64::from(constant.ratio) * i64::from(Q) - (i64::from(constant.factor) << 15)).abs();
        assert!(2 * off <= i64::from(Q), "the ratio is not the nearest");
        Self((i64::from(Q) * (1 << 14) + self.0 * off) >> 15).of_16_bits()
    }

    fn product(self, other: Self) -> Self {
        Self(self.0 * other.0)
    }

    fn sum(a: Self, b: Self) -> Self {
        let sum = Self(a.0 + b.0);
        assert!(sum.0 <= i64::from(i32::MAX), "{sum:?} overflows a sum");
        sum
    }

    fn montgomery(sum: Self) -> Self {
        Self(((sum.0 + i64::from(Q) * (1 << 15)) >> 16) + 1).of_16_bits()
    }
}

fn greatest(bounds: &[Bound; 256]) -> i64 {
    bounds.iter().map(|bound| bound.0).max().unwrap_or(0)
}

/// The bounds of docs/ml-kem.md, which hold for the kernels as well, since they give the same representatives.
#[test]
fn no_lane_overflows() {
    // Coefficients that are decoded from twelve bits are the largest that come in.
    let mut values = [Bound(4095); 256];
    transform(&mut values);
    assert_eq!(greatest(&values), 1956);

    let (mut even, mut odd) = ([Bound(0); 256], [Bound(0); 256]);
    factor(&[Bound(4095); 256], &mut even, &mut odd);
    assert_eq!((greatest(&even), greatest(&odd)), (1871, 1787));

    let mut products = [Bound(0); 256];
    inner_product([(&[Bound(4095); 256], &even, &odd); 4].into_iter(), &mut products);
    assert_eq!(greatest(&products), 2579);

    inverse(&mut products);
    assert_eq!(greatest(&products), 1700);
}

#[test]
fn products_with_constants_are_exact_for_every_16_bits() {
    let constants = FORWARD.iter().chain(&INVERSE[1..]).chain(&PRODUCT).chain([&LAST, &SCALE, &REDUCE, &MONTGOMERY]);
    for constant in constants {
        let bound = |x: i16| Bound(i64::from(x).abs()).times(*constant).0;
        for x in i16::MIN..=i16::MAX {
            let product = x.times(*constant);
            let exact = i32::from(x) * i32::from(constant.factor);
            assert_eq!((i32::from(product) - exact) % i32::from(Q), 0, "{x} · {}", constant.factor);
            assert!(i64::from(product).abs() <= bound(x), "{x} · {}", constant.factor);
        }
    }
}

#[test]
fn constants_are_those_of_the_standard() {
    // FIPS 203, appendix A: the beginning and the end of the list, and of that for products.
    let least = |twiddle: &Twiddle| i32::from(twiddle.factor).rem_euclid(i32::from(Q));
    assert_eq!(FORWARD[..6].iter().map(least).collect::<Vec<_>>(), [1, 1729, 2580, 3289, 2642, 630]);
    assert_eq!(FORWARD[124..].iter().map(least).collect::<Vec<_>>(), [2110, 2935, 885, 2154]);
    for (i, gamma) in [(0, 17), (1, -17), (2, 2761), (127, -2154)] {
        assert_eq!((least(&PRODUCT[2 * i + 1]) - (gamma << 16)) % i32::from(Q), 0, "pair {i}");
    }
}

/// The product modulo X²⁵⁶ + 1, coefficient by coefficient.
fn schoolbook(a: &[i16; 256], b: &[i16; 256]) -> [i16; 256] {
    let mut product = [0_i64; 256];
    for (i, a) in a.iter().enumerate() {
        for (j, b) in b.iter().enumerate() {
            let term = i64::from(*a) * i64::from(*b);
            product[(i + j) % 256] += if i + j < 256 { term } else { -term };
        }
    }
    product.map(|value| value.rem_euclid(i64::from(Q)) as i16)
}

/// Both factors transformed, multiplied `terms` times and added, and transformed back.
fn by_transform(a: &[i16; 256], b: &[i16; 256], terms: usize) -> [i16; 256] {
    let (mut a, mut b, mut product) = (*a, *b, [0; 256]);
    transform(&mut a);
    transform(&mut b);
    let (mut even, mut odd) = ([0; 256], [0; 256]);
    factor(&b, &mut even, &mut odd);
    inner_product(core::iter::repeat_n((&a, &even, &odd), terms), &mut product);
    inverse(&mut product);
    product.map(|value| value.rem_euclid(Q))
}

/// Numbers that look random.
fn scrambled(seed: u32) -> impl FnMut() -> u32 {
    let mut state = seed | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state
    }
}

#[test]
fn products_are_those_of_the_schoolbook() {
    let mut random = scrambled(0x5eed);
    for bound in [4, 3329, 4096] {
        for _ in 0..20 {
            let [a, b] = [(); 2].map(|()| core::array::from_fn(|_| (random() % bound) as i16));
            assert_eq!(by_transform(&a, &b, 1), schoolbook(&a, &b));
        }
    }
}

#[test]
fn products_at_the_bounds_are_those_of_the_schoolbook() {
    let mut random = scrambled(77);
    for extreme in [1664, 3328, 4095] {
        for _ in 0..8 {
            let [a, b] =
                [(); 2].map(|()| core::array::from_fn(|_| if random() & 64 == 0 { extreme } else { -extreme }));
            let once = schoolbook(&a, &b);
            assert_eq!(by_transform(&a, &b, 4), once.map(|value| (i32::from(value) * 4 % i32::from(Q)) as i16));
        }
    }
}

#[test]
fn each_power_of_x_times_each_is_a_power_of_x() {
    let power = |at: usize, value: i16| core::array::from_fn(|i| if i == at { value } else { 0 });
    for i in 0..256 {
        for j in [0, 1, 2, 3, 127, 128, 254, 255, (i * 37) % 256] {
            let expected = if i + j < 256 { power(i + j, 1) } else { power(i + j - 256, Q - 1) };
            assert_eq!(by_transform(&power(i, 1), &power(j, 1), 1), expected, "X^{i} · X^{j}");
        }
    }
}

#[test]
fn every_coefficient_comes_back_from_the_transform() {
    for at in (0..256).step_by(5) {
        for value in (-4095..=4095).step_by(9) {
            let mut poly = [0; 256];
            poly[at] = value;
            transform(&mut poly);
            inverse(&mut poly);
            assert!(
                poly.iter()
                    .enumerate()
                    .all(|(i, found)| { found.rem_euclid(Q) == if i == at { value.rem_euclid(Q) } else { 0 } })
            );
        }
    }
}
