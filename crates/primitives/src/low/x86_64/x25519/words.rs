//! The field modulo p = 2^255 − 19 on general registers, with MULX, ADCX and ADOX.
//!
//! A number is four words, any representative below 2^256. `docs/x25519.md` says why no carry is lost.

use crate::x25519::field::{A24, Element};
use candor_cpu::HaveAdx;
use core::arch::asm;

pub(super) type Words = [u64; 4];

/// In limbs; bit 255 is brought down.
#[inline(always)]
pub(super) fn element(&[a, b, c, d]: &Words) -> Element {
    let mut element = Element::from_words([a, b, c, d & !(1 << 63)]);
    element.0[0] += 19 * (d >> 63);
    element
}

/// `other` where the mask is all ones, else `one`.
#[inline(always)]
pub(super) fn chosen(one: &Words, other: &Words, mask: u64) -> Words {
    let (r0, r1, r2, r3);
    // SAFETY: both are four words, and nothing is written to memory.
    unsafe {
        asm!(
            "mov {r0}, [{one}]
             mov {r1}, [{one} + 8]
             mov {r2}, [{one} + 16]
             mov {r3}, [{one} + 24]
             test {mask}, {mask}
             cmovnz {r0}, [{other}]
             cmovnz {r1}, [{other} + 8]
             cmovnz {r2}, [{other} + 16]
             cmovnz {r3}, [{other} + 24]",
            one = in(reg) one.as_ptr(), other = in(reg) other.as_ptr(), mask = in(reg) mask,
            r0 = out(reg) r0, r1 = out(reg) r1, r2 = out(reg) r2, r3 = out(reg) r3,
            options(pure, readonly, nostack),
        );
    }
    [r0, r1, r2, r3]
}

/// `plus` and `minus`: what is carried out of 2^256 comes back as 38, by the same operation.
macro_rules! sum {
    ($(#[$doc:meta])* $name:ident, $first:literal, $next:literal) => {
        $(#[$doc])*
        #[inline(always)]
        pub(super) fn $name(a: &Words, b: &Words) -> Words {
            let (r0, r1, r2, r3);
            // SAFETY: a and b are four words each, and nothing is written to memory.
            unsafe {
                asm!(
                    "mov {r0}, [{a}]
                     mov {r1}, [{a} + 8]
                     mov {r2}, [{a} + 16]
                     mov {r3}, [{a} + 24]",
                    concat!($first, " {r0}, [{b}]"),
                    concat!($next, " {r1}, [{b} + 8]"),
                    concat!($next, " {r2}, [{b} + 16]"),
                    concat!($next, " {r3}, [{b} + 24]"),
                    "sbb {carried}, {carried}
                     and {carried}, 38",
                    concat!($first, " {r0}, {carried}"),
                    concat!($next, " {r1}, 0"),
                    concat!($next, " {r2}, 0"),
                    concat!($next, " {r3}, 0"),
                    a = in(reg) a.as_ptr(), b = in(reg) b.as_ptr(), carried = out(reg) _,
                    r0 = out(reg) r0, r1 = out(reg) r1, r2 = out(reg) r2, r3 = out(reg) r3,
                    options(pure, readonly, nostack),
                );
            }
            [r0, r1, r2, r3]
        }
    };
}

sum! {
    /// a + b, for numbers of which one is a product.
    plus, "add", "adc"
}
sum! {
    /// a − b, where b is a product.
    minus, "sub", "sbb"
}

/// The lower 256 bits in r8 to r11 and 2^256·r12, r12 below 2^56, as a number below 2^255 + 2^62.
macro_rules! finish {
    () => {
        // Bits 255 and above, times 19.
        "shld r12, r11, 1
         btr r11, 63
         imul r12, r12, 19
         add r8, r12
         adc r9, 0
         adc r10, 0
         adc r11, 0"
    };
}

/// The 512 bits in r8 to r15 as a number: 2^256 ≡ 38. The flags CF and OF must be clear.
macro_rules! reduce {
    () => {
        concat!(
            "mov edx, 38
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
             adcx r12, rax
            ",
            finish!()
        )
    };
}

/// Adds the word of b at `$at` times a to the words `$r0` to `$r4`, of which the last is new.
macro_rules! row {
    ($at:literal, $r0:literal, $r1:literal, $r2:literal, $r3:literal, $r4:literal) => {
        concat!(
            "mov rdx, [{b} + ",
            $at,
            "]
             xor ",
            $r4,
            "d, ",
            $r4,
            "d
             mulx rcx, rax, [{a}]
             adcx ",
            $r0,
            ", rax
             adox ",
            $r1,
            ", rcx
             mulx rcx, rax, [{a} + 8]
             adcx ",
            $r1,
            ", rax
             adox ",
            $r2,
            ", rcx
             mulx rcx, rax, [{a} + 16]
             adcx ",
            $r2,
            ", rax
             adox ",
            $r3,
            ", rcx
             mulx rcx, rax, [{a} + 24]
             adcx ",
            $r3,
            ", rax
             adox ",
            $r4,
            ", rcx
             mov eax, 0
             adcx ",
            $r4,
            ", rax
            "
        )
    };
}

/// a·b. The result is below 2^255 + 2^62.
#[inline(always)]
pub(super) fn product(_: HaveAdx, a: &Words, b: &Words) -> Words {
    let (r0, r1, r2, r3);
    // SAFETY: the token proves BMI2 and ADX; a and b are four words each, and nothing is written to memory.
    unsafe {
        asm!(
            "mov rdx, [{b}]
             mulx r9, r8, [{a}]
             mulx r10, rax, [{a} + 8]
             add r9, rax
             mulx r11, rax, [{a} + 16]
             adc r10, rax
             mulx r12, rax, [{a} + 24]
             adc r11, rax
             adc r12, 0",
            row!("8", "r9", "r10", "r11", "r12", "r13"),
            row!("16", "r10", "r11", "r12", "r13", "r14"),
            row!("24", "r11", "r12", "r13", "r14", "r15"),
            reduce!(),
            a = in(reg) a.as_ptr(), b = in(reg) b.as_ptr(),
            out("rax") _, out("rcx") _, out("rdx") _,
            out("r8") r0, out("r9") r1, out("r10") r2, out("r11") r3,
            out("r12") _, out("r13") _, out("r14") _, out("r15") _,
            options(pure, readonly, nostack),
        );
    }
    [r0, r1, r2, r3]
}

/// a². The result is below 2^255 + 2^62.
#[inline(always)]
pub(super) fn square(_: HaveAdx, a: &Words) -> Words {
    let (r0, r1, r2, r3);
    // SAFETY: the token proves BMI2 and ADX; a is four words, and nothing is written to memory.
    unsafe {
        asm!(
            // The products of different words: a₀a₁, a₀a₂, a₀a₃, a₁a₃, a₂a₃, and a₁a₂ across.
            "mov rdx, [{a}]
             mulx r10, r9, [{a} + 8]
             mulx r11, rax, [{a} + 16]
             add r10, rax
             mulx r12, rax, [{a} + 24]
             adc r11, rax
             adc r12, 0
             mov rdx, [{a} + 8]
             xor r14d, r14d
             mulx rcx, rax, [{a} + 16]
             adcx r11, rax
             adox r12, rcx
             mulx r13, rax, [{a} + 24]
             adcx r12, rax
             adox r13, r14
             adcx r13, r14
             mov rdx, [{a} + 16]
             mulx r14, rax, [{a} + 24]
             add r13, rax
             adc r14, 0",
            // Twice they, and the squares of the words.
            "xor r15d, r15d
             mov rdx, [{a}]
             mulx rcx, r8, rdx
             adcx r9, r9
             adox r9, rcx
             mov rdx, [{a} + 8]
             mulx rcx, rax, rdx
             adcx r10, r10
             adox r10, rax
             adcx r11, r11
             adox r11, rcx
             mov rdx, [{a} + 16]
             mulx rcx, rax, rdx
             adcx r12, r12
             adox r12, rax
             adcx r13, r13
             adox r13, rcx
             mov rdx, [{a} + 24]
             mulx rcx, rax, rdx
             adcx r14, r14
             adox r14, rax
             adcx r15, r15
             adox r15, rcx",
            reduce!(),
            a = in(reg) a.as_ptr(),
            out("rax") _, out("rcx") _, out("rdx") _,
            out("r8") r0, out("r9") r1, out("r10") r2, out("r11") r3,
            out("r12") _, out("r13") _, out("r14") _, out("r15") _,
            options(pure, readonly, nostack),
        );
    }
    [r0, r1, r2, r3]
}

/// a + a24·b. The result is below 2^255 + 2^62.
#[inline(always)]
pub(super) fn plus_small(_: HaveAdx, a: &Words, b: &Words) -> Words {
    let (r0, r1, r2, r3);
    // SAFETY: the token proves BMI2 and ADX; a and b are four words each, and nothing is written to memory.
    unsafe {
        asm!(
            "mov r8, [{a}]
             mov r9, [{a} + 8]
             mov r10, [{a} + 16]
             mov r11, [{a} + 24]
             mov edx, {a24}
             xor eax, eax
             mulx rcx, rax, [{b}]
             adcx r8, rax
             adox r9, rcx
             mulx rcx, rax, [{b} + 8]
             adcx r9, rax
             adox r10, rcx
             mulx rcx, rax, [{b} + 16]
             adcx r10, rax
             adox r11, rcx
             mulx r12, rax, [{b} + 24]
             adcx r11, rax
             mov eax, 0
             adox r12, rax
             adcx r12, rax",
            finish!(),
            a = in(reg) a.as_ptr(), b = in(reg) b.as_ptr(), a24 = const A24,
            out("rax") _, out("rcx") _, out("rdx") _,
            out("r8") r0, out("r9") r1, out("r10") r2, out("r11") r3, out("r12") _,
            options(pure, readonly, nostack),
        );
    }
    [r0, r1, r2, r3]
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
            let squared = same(square(token, &a), element(&a).squared());
            for b in factors() {
                let product = same(product(token, &a, &b), element(&a).times(&element(&b)));
                same(plus_small(token, &a, &b), element(&a).plus(&element(&b).times_small(A24)));
                // With a product, and with any number, as 2Z is one in the comb.
                for other in [&squared, &a] {
                    let (sum, difference) = (plus(other, &product), minus(other, &product));
                    assert_eq!(element(&sum).to_bytes(), element(other).plus(&element(&product)).to_bytes());
                    assert_eq!(element(&difference).to_bytes(), element(other).minus(&element(&product)).to_bytes());
                }
            }
        }
    }
}
