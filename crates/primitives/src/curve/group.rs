//! Points, and their sums and doubles in Jacobian coordinates: (X, Y, Z) is (X/Z², Y/Z³), and the point at infinity if Z is 0.

use super::words::{Words, is_zero};
use super::{A, Arithmetic, Curve, Modulus, Ring};
use core::marker::PhantomData;

/// A point that is not at infinity, as its coordinates stand in the field.
#[derive(Clone, Copy)]
pub struct Affine<W> {
    pub(crate) x: W,
    pub(crate) y: W,
}

/// Any point, likewise.
#[derive(Clone, Copy)]
pub struct Point<W> {
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

/// Some points, and the step between them, each as (x·z², y·z³).
pub(crate) struct Progression<W, const N: usize> {
    pub(crate) points: [Affine<W>; N],
    pub(crate) step: Affine<W>,
    pub(crate) z: W,
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

    /// 2^times·P in place of P: a copy would load as vectors what was just stored as words, and wait for it. The order of the products lets those
    /// that don't depend on each other overlap.
    #[inline(never)]
    pub(crate) fn double_times(self, point: &mut Point<C::W>, times: usize) {
        let f = self.field;
        for _ in 0..times {
            // Two thirds of the tangent's slope times YZ.
            let part = match C::A {
                A::MinusThree => {
                    let zz = f.square(&point.z);
                    f.product(&f.difference(&point.x, &zz), &f.sum(&point.x, &zz))
                }
                A::Zero => f.square(&point.x),
            };
            let yy = f.square(&point.y);
            let slope = f.sum(&part, &f.half(&part));
            let s = f.product(&yy, &point.x);
            let slope_square = f.square(&slope);
            point.z = f.product(&point.y, &point.z);
            point.x = f.difference(&slope_square, &f.twice(&s));
            let rest = f.difference(&s, &point.x);
            let y4 = f.square(&yy);
            point.y = f.difference(&f.product(&slope, &rest), &y4);
        }
    }

    /// What the sum P + Q is computed from, with steps of `beside` between the products, which don't wait for them.
    #[inline(always)]
    fn differences(self, p: &Point<C::W>, q: &Affine<C::W>, mut beside: impl FnMut()) -> Differences<C::W> {
        let f = self.field;
        let zz = f.square(&p.z);
        beside();
        let u = f.product(&q.x, &zz);
        beside();
        let zzz = f.product(&zz, &p.z);
        beside();
        let x = f.difference(&u, &p.x);
        let s = f.product(&q.y, &zzz);
        beside();
        Differences { x, y: f.difference(&s, &p.y) }
    }

    /// P + Q in place of P. Not for P = Q. If P is at infinity, so is the result.
    #[inline(always)]
    fn finish(self, p: &mut Point<C::W>, Differences { x: h, y: r }: &Differences<C::W>, mut beside: impl FnMut()) {
        let f = self.field;
        let hh = f.square(h);
        beside();
        p.z = f.product(&p.z, h);
        beside();
        let hhh = f.product(&hh, h);
        beside();
        let v = f.product(&p.x, &hh);
        beside();
        let rr = f.square(r);
        beside();
        p.x = f.difference(&f.difference(&rr, &hhh), &f.twice(&v));
        let rest = f.difference(&v, &p.x);
        let behind = f.product(&p.y, &hhh);
        beside();
        p.y = f.difference(&f.product(r, &rest), &behind);
    }

    /// P + Q in place of P. Neither is at infinity, nor are they the same.
    #[inline(always)]
    pub(crate) fn add(self, p: &mut Point<C::W>, q: &Affine<C::W>, mut beside: impl FnMut()) {
        let differences = self.differences(p, q, &mut beside);
        self.finish(p, &differences, beside);
    }

    /// The same where P may be Q.
    #[inline(always)]
    pub(crate) fn add_complete(self, p: &mut Point<C::W>, q: &Affine<C::W>) {
        let (f, double) = (self.field, self.double(p));
        let differences = self.differences(p, q, || ());
        self.finish(p, &differences, || ());
        let same = is_zero(&differences.x) & is_zero(&differences.y);
        p.x = f.chosen(&p.x, &double.x, same);
        p.y = f.chosen(&p.y, &double.y, same);
        p.z = f.chosen(&p.z, &double.z, same);
    }

    /// P + Q in place of P where the mask is zero. P may be at infinity, and must not be Q, which is not at infinity.
    #[inline(never)]
    pub(crate) fn add_unless(self, p: &mut Point<C::W>, q: &Affine<C::W>, skip: u64) {
        let before = *p;
        self.add(p, q, || ());
        self.put_back(p, &before, q, skip);
    }

    /// The same where P may be Q.
    #[inline(never)]
    pub(crate) fn add_complete_unless(self, p: &mut Point<C::W>, q: &Affine<C::W>, skip: u64) {
        let before = *p;
        self.add_complete(p, q);
        self.put_back(p, &before, q, skip);
    }

    /// In place of a sum puts Q if P was at infinity, and P where the mask is all ones.
    #[inline(always)]
    fn put_back(self, sum: &mut Point<C::W>, p: &Point<C::W>, q: &Affine<C::W>, skip: u64) {
        let f = self.field;
        let infinite = is_zero(&p.z);
        sum.x = f.chosen(&f.chosen(&sum.x, &q.x, infinite), &p.x, skip);
        sum.y = f.chosen(&f.chosen(&sum.y, &q.y, infinite), &p.y, skip);
        sum.z = f.chosen(&f.chosen(&sum.z, &C::Field::ONE, infinite), &p.z, skip);
    }

    /// P + Q in place of P for any two points, of which Q is not at infinity. For public points.
    #[inline(never)]
    pub(crate) fn add_vartime(self, p: &mut Point<C::W>, q: &Affine<C::W>) {
        if p.z == C::W::ZERO {
            *p = self.with_z(q);
            return;
        }
        let differences = self.differences(p, q, || ());
        if differences.x == C::W::ZERO && differences.y == C::W::ZERO {
            self.double_times(p, 1);
        } else {
            self.finish(p, &differences, || ());
        }
    }

    /// [`add_vartime`](Self::add_vartime) to a copy of P.
    #[inline(always)]
    pub(crate) fn plus_affine_vartime(self, p: &Point<C::W>, q: &Affine<C::W>) -> Point<C::W> {
        let mut sum = *p;
        self.add_vartime(&mut sum, q);
        sum
    }

    /// P + iQ for each i below N, and Q. On curves with a = 0 the z of all of them is any number: their sums and
    /// doubles don't need to know by which z all points are off. On others it is 1. The given P and Q are off by `z`, and no P + iQ is Q, −Q or infinity.
    #[inline(always)]
    pub(crate) fn progression<const N: usize>(
        self,
        first: &Affine<C::W>,
        step: &Affine<C::W>,
        z: &C::W,
    ) -> Progression<C::W, N> {
        let f = self.field;
        let mut points = [*first; N];
        // The denominator of each point, over that of the one before it.
        let mut factors = [C::Field::ONE; N];
        let mut last = self.with_z(first);
        for at in 1..N {
            let differences = self.differences(&last, step, || ());
            self.finish(&mut last, &differences, || ());
            points[at] = Affine { x: last.x, y: last.y };
            factors[at] = differences.x;
        }
        let whole = f.product(&last.z, z);
        let (mut scale, z) = match C::A {
            A::Zero => (C::Field::ONE, whole),
            A::MinusThree => (f.inverse(&whole), C::Field::ONE),
        };
        for (point, factor) in points.iter_mut().zip(&factors).rev() {
            *point = self.scaled(point, &scale);
            scale = f.product(&scale, factor);
        }
        Progression { points, step: self.scaled(step, &scale), z }
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
    fn affine_by(self, &Point { x, y, .. }: &Point<C::W>, inverse: &C::W) -> Affine<C::W> {
        self.scaled(&Affine { x, y }, inverse)
    }

    /// (x·z², y·z³).
    #[inline(always)]
    pub(crate) fn scaled(self, point: &Affine<C::W>, z: &C::W) -> Affine<C::W> {
        let f = self.field;
        let square = f.square(z);
        Affine { x: f.product(&point.x, &square), y: f.product(&point.y, &f.product(&square, z)) }
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
