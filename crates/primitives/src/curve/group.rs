//! Points, and their sums and doubles in Jacobian coordinates: (X, Y, Z) is (X/Z², Y/Z³), and the point at infinity if Z is 0.

use super::words::{Words, is_zero};
use super::{A, Arithmetic, Curve, Modulus, Ring};
use core::marker::PhantomData;

/// A point that is not at infinity, in Montgomery's form.
#[derive(Clone, Copy)]
pub(crate) struct Affine<W> {
    pub(crate) x: W,
    pub(crate) y: W,
}

/// Any point, in Montgomery's form.
#[derive(Clone, Copy)]
pub(crate) struct Point<W> {
    pub(crate) x: W,
    pub(crate) y: W,
    pub(crate) z: W,
}

impl<W: Words> Point<W> {
    pub(crate) const INFINITY: Self = Self { x: W::ZERO, y: W::ZERO, z: W::ZERO };
}

/// The differences in which the sum of two points is computed: zero if they have the same x, and the same y.
struct Differences<W> {
    x: W,
    y: W,
}

/// The group of a curve on one arm.
#[derive(Clone, Copy)]
pub(crate) struct Group<C: Curve, R> {
    pub(crate) field: Ring<C::Field, R>,
    pub(crate) order: Ring<C::Order, R>,
    curve: PhantomData<C>,
}

impl<C: Curve, R: Arithmetic> Group<C, R> {
    pub(crate) const fn new(arm: R) -> Self {
        Self { field: Ring::new(arm), order: Ring::new(arm), curve: PhantomData }
    }

    /// 2P. Infinity gives infinity.
    #[inline(always)]
    pub(crate) fn double(self, point: &Point<C::W>) -> Point<C::W> {
        let mut double = *point;
        self.double_times(&mut double, 1);
        double
    }

    /// 2^times·P in place of P: a copy would load as vectors what was just stored as words, and wait for it.
    #[inline(never)]
    pub(crate) fn double_times(self, point: &mut Point<C::W>, times: usize) {
        for _ in 0..times {
            self.double_once(point);
        }
    }

    #[inline(always)]
    fn double_once(self, point: &mut Point<C::W>) {
        let f = self.field;
        // The tangent's slope times YZ is 3/2 of this.
        let third = match C::A {
            A::MinusThree => {
                let zz = f.square(&point.z);
                f.product(&f.difference(&point.x, &zz), &f.sum(&point.x, &zz))
            }
            A::Zero => f.square(&point.x),
        };
        let slope = f.sum(&third, &f.half(&third));
        let yy = f.square(&point.y);
        point.z = f.product(&point.y, &point.z);
        let s = f.product(&yy, &point.x);
        point.x = f.difference(&f.square(&slope), &f.twice(&s));
        point.y = f.difference(&f.product(&slope, &f.difference(&s, &point.x)), &f.square(&yy));
    }

    /// P + Q, where Q is not at infinity. Not for P = Q. If P is at infinity, so is the result.
    #[inline(never)]
    fn sum_affine(self, p: &Point<C::W>, q: &Affine<C::W>) -> (Point<C::W>, Differences<C::W>) {
        let f = self.field;
        let zz = f.square(&p.z);
        let u = f.product(&q.x, &zz);
        let s = f.product(&q.y, &f.product(&zz, &p.z));
        let h = f.difference(&u, &p.x);
        let r = f.difference(&s, &p.y);
        (self.finish(&h, &r, &p.x, &p.y, &f.product(&p.z, &h)), Differences { x: h, y: r })
    }

    /// P + Q. Not for P = Q. If one of them is at infinity, so is the result.
    #[inline(never)]
    fn sum_any(self, p: &Point<C::W>, q: &Point<C::W>) -> (Point<C::W>, Differences<C::W>) {
        let f = self.field;
        let (pp, qq) = (f.square(&p.z), f.square(&q.z));
        let (u1, u2) = (f.product(&p.x, &qq), f.product(&q.x, &pp));
        let s1 = f.product(&p.y, &f.product(&qq, &q.z));
        let s2 = f.product(&q.y, &f.product(&pp, &p.z));
        let (h, r) = (f.difference(&u2, &u1), f.difference(&s2, &s1));
        let z = f.product(&f.product(&p.z, &q.z), &h);
        (self.finish(&h, &r, &u1, &s1, &z), Differences { x: h, y: r })
    }

    /// The sum, from the differences h and r and the first point's coordinates over the common denominator.
    #[inline(always)]
    fn finish(self, h: &C::W, r: &C::W, u: &C::W, s: &C::W, z: &C::W) -> Point<C::W> {
        let f = self.field;
        let hh = f.square(h);
        let hhh = f.product(&hh, h);
        let v = f.product(u, &hh);
        let x = f.difference(&f.difference(&f.square(r), &hhh), &f.twice(&v));
        let y = f.difference(&f.product(r, &f.difference(&v, &x)), &f.product(s, &hhh));
        Point { x, y, z: *z }
    }

    /// P + Q where the mask is zero, and P where it is all ones. P may be at infinity, and must not be Q.
    #[inline(always)]
    pub(crate) fn plus_affine_unless(self, p: &Point<C::W>, q: &Affine<C::W>, skip: u64) -> Point<C::W> {
        let (sum, _) = self.sum_affine(p, q);
        let sum = self.chosen(&sum, &self.with_z(q), is_zero(&p.z));
        self.chosen(&sum, p, skip)
    }

    /// P + Q, each of which may be at infinity. Not for P = Q.
    #[inline(always)]
    pub(crate) fn plus(self, p: &Point<C::W>, q: &Point<C::W>) -> Point<C::W> {
        self.with_infinity(self.sum_any(p, q).0, p, q)
    }

    /// P + Q for any two points, in constant time.
    #[inline(always)]
    pub(crate) fn plus_complete(self, p: &Point<C::W>, q: &Point<C::W>) -> Point<C::W> {
        let (sum, differences) = self.sum_any(p, q);
        let same = is_zero(&differences.x) & is_zero(&differences.y);
        self.with_infinity(self.chosen(&sum, &self.double(p), same), p, q)
    }

    #[inline(always)]
    fn with_infinity(self, sum: Point<C::W>, p: &Point<C::W>, q: &Point<C::W>) -> Point<C::W> {
        let sum = self.chosen(&sum, q, is_zero(&p.z));
        self.chosen(&sum, p, is_zero(&q.z))
    }

    /// P + Q for any two points, of which Q is not at infinity. For public points.
    #[inline(always)]
    pub(crate) fn plus_affine_vartime(self, p: &Point<C::W>, q: &Affine<C::W>) -> Point<C::W> {
        if p.z == C::W::ZERO {
            return self.with_z(q);
        }
        let (sum, differences) = self.sum_affine(p, q);
        if differences.x == C::W::ZERO && differences.y == C::W::ZERO { self.double(p) } else { sum }
    }

    /// P + Q for any two points. For public points.
    #[inline(always)]
    pub(crate) fn plus_vartime(self, p: &Point<C::W>, q: &Point<C::W>) -> Point<C::W> {
        if p.z == C::W::ZERO {
            return *q;
        }
        if q.z == C::W::ZERO {
            return *p;
        }
        let (sum, differences) = self.sum_any(p, q);
        if differences.x == C::W::ZERO && differences.y == C::W::ZERO { self.double(p) } else { sum }
    }

    /// `other` where the mask is all ones, else `one`.
    #[inline(always)]
    pub(crate) fn chosen(self, one: &Point<C::W>, other: &Point<C::W>, mask: u64) -> Point<C::W> {
        let f = self.field;
        Point {
            x: f.chosen(&one.x, &other.x, mask),
            y: f.chosen(&one.y, &other.y, mask),
            z: f.chosen(&one.z, &other.z, mask),
        }
    }

    #[inline(always)]
    pub(crate) fn with_z(self, point: &Affine<C::W>) -> Point<C::W> {
        Point { x: point.x, y: point.y, z: C::Field::ONE }
    }

    /// The point as (x, y); (0, 0) for infinity.
    #[inline(always)]
    pub(crate) fn affine(self, point: &Point<C::W>) -> Affine<C::W> {
        self.affine_by(point, &self.field.inverse(&point.z))
    }

    /// x of the point; 0 for infinity.
    #[inline(always)]
    pub(crate) fn x_of(self, point: &Point<C::W>) -> C::W {
        let f = self.field;
        f.product(&point.x, &f.square(&f.inverse(&point.z)))
    }

    /// Two points, by one inversion. If one is at infinity, both become (0, 0).
    #[inline(always)]
    pub(crate) fn affine_both(self, p: &Point<C::W>, q: &Point<C::W>) -> [Affine<C::W>; 2] {
        let f = self.field;
        let inverse = f.inverse(&f.product(&p.z, &q.z));
        [self.affine_by(p, &f.product(&inverse, &q.z)), self.affine_by(q, &f.product(&inverse, &p.z))]
    }

    #[inline(always)]
    fn affine_by(self, point: &Point<C::W>, inverse: &C::W) -> Affine<C::W> {
        let f = self.field;
        let square = f.square(inverse);
        Affine { x: f.product(&point.x, &square), y: f.product(&point.y, &f.product(&square, inverse)) }
    }

    /// Whether y² = x³ + ax + b.
    #[inline(always)]
    pub(crate) fn is_on_curve(self, point: &Affine<C::W>) -> bool {
        let f = self.field;
        f.square(&point.y) == self.right_side(&point.x)
    }

    /// The y of one of two points with this x, or any number if there is none. For public points; p is 3 modulo 4.
    pub(crate) fn y_of_vartime(self, x: &C::W) -> C::W {
        let f = self.field;
        let square = self.right_side(x);
        // The power (p + 1)/4 = ⌊p/4⌋ + 1.
        let power = (2..64 * C::W::COUNT).rev().fold(C::Field::ONE, |power, bit| {
            let power = f.square(&power);
            if C::Field::P[bit / 64] >> (bit % 64) & 1 == 1 { f.product(&power, &square) } else { power }
        });
        f.product(&power, &square)
    }

    /// x³ + ax + b.
    fn right_side(self, x: &C::W) -> C::W {
        let f = self.field;
        let cube = f.product(&f.square(x), x);
        let sum = match C::A {
            A::MinusThree => f.difference(&cube, &f.sum(&f.twice(x), x)),
            A::Zero => cube,
        };
        f.sum(&sum, &f.enter(&C::B))
    }

    pub(crate) fn generator(self) -> Affine<C::W> {
        let [x, y] = C::GENERATOR;
        Affine { x: self.field.enter(&x), y: self.field.enter(&y) }
    }
}
