//! The field modulo p = 2^255 − 19 on general registers, with MULX, ADCX and ADOX.
//!
//! A number is four words, any representative below 2^256. `docs/x25519.md` says why no carry is lost. Numbers stay in memory, each
//! at a place that is known when this is compiled: what LLVM does to bring operands to a block of assembly would cost a step of the ladder
//! as much as a product.

use crate::x25519::field::{A24, Element};
use candor_cpu::HaveAdx;
use core::arch::asm;

pub(super) type Words = [u64; 4];

/// Numbers, each at its place.
pub(super) struct Numbers<const N: usize>(pub(super) [Words; N]);

/// In limbs; bit 255 is brought down.
#[inline(always)]
pub(super) fn element(&[a, b, c, d]: &Words) -> Element {
    let mut element = Element::from_words([a, b, c, d & !(1 << 63)]);
    element.0[0] += 19 * (d >> 63);
    element
}

/// The four words of the number at a place in r8 to r11.
macro_rules! load {
    () => {
        "mov r8, [{n} + {a}]
         mov r9, [{n} + {a} + 8]
         mov r10, [{n} + {a} + 16]
         mov r11, [{n} + {a} + 24]"
    };
}

/// What is in r8 to r11 to its place.
macro_rules! store {
    () => {
        "mov [{n} + {to}], r8
         mov [{n} + {to} + 8], r9
         mov [{n} + {to} + 16], r10
         mov [{n} + {to} + 24], r11"
    };
}

/// Sums and differences: what is carried out of 2^256 comes back as 38, by the same operation, and is carried on by `$last`.
macro_rules! sum {
    ($(#[$doc:meta])* $name:ident, $first:literal, $next:literal, [$($last:literal),*]) => {
        $(#[$doc])*
        #[inline(always)]
        pub(super) fn $name<const A: usize, const B: usize, const TO: usize>(&mut self) {
            const { assert!(A < N && B < N && TO < N) };
            // SAFETY: the places are within the numbers, as has been asserted, and what is written is such a place.
            unsafe {
                asm!(
                    load!(),
                    concat!($first, " r8, [{n} + {b}]"),
                    concat!($next, " r9, [{n} + {b} + 8]"),
                    concat!($next, " r10, [{n} + {b} + 16]"),
                    concat!($next, " r11, [{n} + {b} + 24]"),
                    "sbb eax, eax
                     and eax, 38",
                    concat!($first, " r8, rax"),
                    $($last,)*
                    store!(),
                    n = in(reg) self.0.as_mut_ptr(), a = const A * PLACE, b = const B * PLACE, to = const TO * PLACE,
                    out("rax") _, out("r8") _, out("r9") _, out("r10") _, out("r11") _,
                    options(nostack),
                );
            }
        }
    };
}

/// The lower 256 bits in r8 to r11 and 2^256·r12, r12 below 2^56, as a number below 2^255 + 2^62.
macro_rules! finish {
    () => {
        // Bits 255 and above, times 19.
        "add r11, r11
         adc r12, r12
         shr r11, 1
         lea rax, [r12 + 8*r12]
         lea r12, [r12 + 2*rax]
         add r8, r12
         adc r9, 0
         adc r10, 0
         adc r11, 0"
    };
}

/// The 512 bits in r8 to r15 as a number: 2^256 ≡ 38.
macro_rules! reduce {
    () => {
        concat!(
            "mov edx, 38
             xor eax, eax
             mulx rcx, rax, r12
             adcx r8, rax
             adox r9, rcx
             mulx rcx, rax, r13
             adcx r9, rax
             adox r10, rcx
             mulx rcx, rax, r14
             adcx r10, rax
             adox r11, rcx
             mulx r12, rax, r15
             adcx r11, rax
             mov eax, 0
             adox r12, rax
             adc r12, 0
            ",
            finish!()
        )
    };
}

/// Adds the word of b at `$at` times a to the words `$r0` to `$r4`, of which the last is new.
macro_rules! row {
    ($at:literal, $r0:literal, $r1:literal, $r2:literal, $r3:literal, $r4:literal) => {
        concat!(
            "mov rdx, [{n} + {b} + ",
            $at,
            "]
             xor ",
            $r4,
            "d, ",
            $r4,
            "d
             mulx rcx, rax, [{n} + {a}]
             adcx ",
            $r0,
            ", rax
             adox ",
            $r1,
            ", rcx
             mulx rcx, rax, [{n} + {a} + 8]
             adcx ",
            $r1,
            ", rax
             adox ",
            $r2,
            ", rcx
             mulx rcx, rax, [{n} + {a} + 16]
             adcx ",
            $r2,
            ", rax
             adox ",
            $r3,
            ", rcx
             mulx rcx, rax, [{n} + {a} + 24]
             adcx ",
            $r3,
            ", rax
             adox ",
            $r4,
            ", rcx
             adc ",
            $r4,
            ", 0
            "
        )
    };
}

/// The bytes of a place.
const PLACE: usize = size_of::<Words>();

impl<const N: usize> Numbers<N> {
    sum! {
        /// A + B, for two products: where that reaches 2^256, so little is left that 38 more carries nothing.
        plus, "add", "adc", []
    }
    sum! {
        /// A + B, where B is a product.
        plus_any, "add", "adc", ["adc r9, 0", "adc r10, 0", "adc r11, 0"]
    }
    sum! {
        /// A − B, where B is a product.
        minus, "sub", "sbb", ["sbb r9, 0", "sbb r10, 0", "sbb r11, 0"]
    }

    /// B where the mask is all ones, else A.
    #[inline(always)]
    pub(super) fn choose<const A: usize, const B: usize, const TO: usize>(&mut self, mask: u64) {
        const { assert!(A < N && B < N && TO < N) };
        // SAFETY: the places are within the numbers, as has been asserted, and what is written is such a place.
        unsafe {
            asm!(
                load!(),
                "test {mask}, {mask}
                 cmovnz r8, [{n} + {b}]
                 cmovnz r9, [{n} + {b} + 8]
                 cmovnz r10, [{n} + {b} + 16]
                 cmovnz r11, [{n} + {b} + 24]",
                store!(),
                n = in(reg) self.0.as_mut_ptr(), a = const A * PLACE, b = const B * PLACE, to = const TO * PLACE,
                mask = in(reg) mask,
                out("r8") _, out("r9") _, out("r10") _, out("r11") _,
                options(nostack),
            );
        }
    }

    /// A·B. The result is below 2^255 + 2^23.
    #[inline(always)]
    pub(super) fn product<const A: usize, const B: usize, const TO: usize>(&mut self, _: HaveAdx) {
        const { assert!(A < N && B < N && TO < N) };
        // SAFETY: the token proves the instructions; the places are within the numbers, as has been asserted, and what is written is
        // such a place.
        unsafe {
            asm!(
                "mov rdx, [{n} + {b}]
                 mulx r9, r8, [{n} + {a}]
                 mulx r10, rax, [{n} + {a} + 8]
                 add r9, rax
                 mulx r11, rax, [{n} + {a} + 16]
                 adc r10, rax
                 mulx r12, rax, [{n} + {a} + 24]
                 adc r11, rax
                 adc r12, 0",
                row!("8", "r9", "r10", "r11", "r12", "r13"),
                row!("16", "r10", "r11", "r12", "r13", "r14"),
                row!("24", "r11", "r12", "r13", "r14", "r15"),
                reduce!(),
                store!(),
                n = in(reg) self.0.as_mut_ptr(), a = const A * PLACE, b = const B * PLACE, to = const TO * PLACE,
                out("rax") _, out("rcx") _, out("rdx") _, out("r8") _, out("r9") _, out("r10") _,
                out("r11") _, out("r12") _, out("r13") _, out("r14") _, out("r15") _,
                options(nostack),
            );
        }
    }

    /// A². The result is below 2^255 + 2^23.
    #[inline(always)]
    pub(super) fn square<const A: usize, const TO: usize>(&mut self, _: HaveAdx) {
        const { assert!(A < N && TO < N) };
        // SAFETY: the token proves the instructions; the places are within the numbers, as has been asserted, and what is written is
        // such a place.
        unsafe {
            asm!(
                // The products of different words: a₀a₁, a₀a₂, a₀a₃, a₁a₃, a₂a₃, and a₁a₂ across.
                "mov rdx, [{n} + {a}]
                 mulx r10, r9, [{n} + {a} + 8]
                 mulx r11, rax, [{n} + {a} + 16]
                 add r10, rax
                 mulx r12, rax, [{n} + {a} + 24]
                 adc r11, rax
                 adc r12, 0
                 mov rdx, [{n} + {a} + 8]
                 xor r14d, r14d
                 mulx rcx, rax, [{n} + {a} + 16]
                 adcx r11, rax
                 adox r12, rcx
                 mulx r13, rax, [{n} + {a} + 24]
                 adcx r12, rax
                 adox r13, r14
                 adcx r13, r14
                 mov rdx, [{n} + {a} + 16]
                 mulx r14, rax, [{n} + {a} + 24]
                 add r13, rax
                 adc r14, 0",
                // Twice they, and the squares of the words.
                "xor r15d, r15d
                 mov rdx, [{n} + {a}]
                 mulx rcx, r8, rdx
                 adcx r9, r9
                 adox r9, rcx
                 mov rdx, [{n} + {a} + 8]
                 mulx rcx, rax, rdx
                 adcx r10, r10
                 adox r10, rax
                 adcx r11, r11
                 adox r11, rcx
                 mov rdx, [{n} + {a} + 16]
                 mulx rcx, rax, rdx
                 adcx r12, r12
                 adox r12, rax
                 adcx r13, r13
                 adox r13, rcx
                 mov rdx, [{n} + {a} + 24]
                 mulx rcx, rax, rdx
                 adcx r14, r14
                 adox r14, rax
                 adcx r15, r15
                 adox r15, rcx",
                reduce!(),
                store!(),
                n = in(reg) self.0.as_mut_ptr(), a = const A * PLACE, to = const TO * PLACE,
                out("rax") _, out("rcx") _, out("rdx") _, out("r8") _, out("r9") _, out("r10") _,
                out("r11") _, out("r12") _, out("r13") _, out("r14") _, out("r15") _,
                options(nostack),
            );
        }
    }

    /// A + a24·B. The result is below 2^255 + 2^23.
    #[inline(always)]
    pub(super) fn plus_small<const A: usize, const B: usize, const TO: usize>(&mut self, _: HaveAdx) {
        const { assert!(A < N && B < N && TO < N) };
        // SAFETY: the token proves the instructions; the places are within the numbers, as has been asserted, and what is written is
        // such a place.
        unsafe {
            asm!(
                load!(),
                "mov edx, {a24}
                 xor eax, eax
                 mulx rcx, rax, [{n} + {b}]
                 adcx r8, rax
                 adox r9, rcx
                 mulx rcx, rax, [{n} + {b} + 8]
                 adcx r9, rax
                 adox r10, rcx
                 mulx rcx, rax, [{n} + {b} + 16]
                 adcx r10, rax
                 adox r11, rcx
                 mulx r12, rax, [{n} + {b} + 24]
                 adcx r11, rax
                 mov eax, 0
                 adox r12, rax
                 adc r12, 0",
                finish!(),
                store!(),
                n = in(reg) self.0.as_mut_ptr(), a = const A * PLACE, b = const B * PLACE, a24 = const A24, to = const TO * PLACE,
                out("rax") _, out("rcx") _, out("rdx") _, out("r8") _, out("r9") _, out("r10") _,
                out("r11") _, out("r12") _, options(nostack),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_cpu::Cpu;
    use std::vec::Vec;

    /// Words at their bounds, and ones that look random.
    fn factors() -> Vec<Words> {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut random = move || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            state ^ state << 32
        };
        let extreme = [0, 1, 37, 38, !0, !0 - 37, !0 - 18, 1 << 63, (1 << 63) - 19];
        let mut factors = Vec::new();
        for low in extreme {
            factors.extend(extreme.map(|high| [low, high, high, high]));
            factors.extend(extreme.map(|high| [low, low, low, high]));
        }
        factors.extend((0..60).map(|_| core::array::from_fn(|_| random())));
        factors
    }

    #[test]
    fn products_in_words_are_those_of_the_portable_field() {
        let Some(token) = HaveAdx::check(Cpu::default()) else {
            return std::eprintln!("skipped: this CPU lacks ADX");
        };
        let below =
            |words: &Words| assert!(words[3] < (1 << 63) + (words[0] < 1 << 23 && words[1] | words[2] == 0) as u64);
        let same = |found: Words, expected: Element| {
            below(&found);
            assert_eq!(element(&found).to_bytes(), expected.to_bytes());
            found
        };
        for a in factors() {
            let mut numbers = Numbers([a, [0; 4], [0; 4]]);
            numbers.square::<0, 2>(token);
            let squared = same(numbers.0[2], element(&a).squared());
            for b in factors() {
                let of = |a: &Words, b: &Words, operation: fn(&mut Numbers<3>, HaveAdx)| {
                    let mut numbers = Numbers([*a, *b, [0; 4]]);
                    operation(&mut numbers, token);
                    assert_eq!([numbers.0[0], numbers.0[1]], [*a, *b], "operands are left");
                    numbers.0[2]
                };
                let product = same(of(&a, &b, Numbers::product::<0, 1, 2>), element(&a).times(&element(&b)));
                let small = of(&a, &b, Numbers::plus_small::<0, 1, 2>);
                same(small, element(&a).plus(&element(&b).times_small(A24)));
                let sum = of(&squared, &product, |numbers, _| numbers.plus::<0, 1, 2>());
                assert_eq!(element(&sum).to_bytes(), element(&squared).plus(&element(&product)).to_bytes());
                // With a product, and with any number, as 2Z is one in the comb.
                for other in [&squared, &a] {
                    let sum = of(other, &product, |numbers, _| numbers.plus_any::<0, 1, 2>());
                    let difference = of(other, &product, |numbers, _| numbers.minus::<0, 1, 2>());
                    assert_eq!(element(&sum).to_bytes(), element(other).plus(&element(&product)).to_bytes());
                    assert_eq!(element(&difference).to_bytes(), element(other).minus(&element(&product)).to_bytes());
                }
                assert_eq!(of(&a, &b, |numbers, _| numbers.choose::<0, 1, 2>(0)), a);
                assert_eq!(of(&a, &b, |numbers, _| numbers.choose::<0, 1, 2>(!0)), b);
            }
        }
    }
}
