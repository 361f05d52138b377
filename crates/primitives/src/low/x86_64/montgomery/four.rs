//! Four words.

use super::sums::{less_p, less_p_p256, less_p_sm2};
use super::{folded, sums};
use crate::curve::Arithmetic;
use crate::curve::adx::{Adx, OnAdx};
use crate::curve::modulus::{Modulus, Reduction};
use crate::curve::portable::Portable;
use candor_cpu::HaveAdx;
use core::arch::asm;

pub(super) type Words = [u64; 4];

/// Adds a·rdx to the words `$r0` to `$r4`, of which the last is new.
macro_rules! add_row {
    ($a:literal, $r0:literal, $r1:literal, $r2:literal, $r3:literal, $r4:literal) => {
        concat!(
            "xor ",
            $r4,
            "d, ",
            $r4,
            "d\n",
            "mulx rcx, rax, [",
            $a,
            "]\n",
            "adcx ",
            $r0,
            ", rax\n adox ",
            $r1,
            ", rcx\n",
            "mulx rcx, rax, [",
            $a,
            " + 8]\n",
            "adcx ",
            $r1,
            ", rax\n adox ",
            $r2,
            ", rcx\n",
            "mulx rcx, rax, [",
            $a,
            " + 16]\n",
            "adcx ",
            $r2,
            ", rax\n adox ",
            $r3,
            ", rcx\n",
            "mulx rcx, rax, [",
            $a,
            " + 24]\n",
            "adcx ",
            $r3,
            ", rax\n adox ",
            $r4,
            ", rcx\n",
            "adc ",
            $r4,
            ", 0\n",
        )
    };
}

/// a·b in r8 to r15.
macro_rules! multiply {
    () => {
        concat!(
            "mov rdx, [{b}]
             mulx r9, r8, [{a}]
             mulx r10, rax, [{a} + 8]
             add r9, rax
             mulx r11, rax, [{a} + 16]
             adc r10, rax
             mulx r12, rax, [{a} + 24]
             adc r11, rax
             adc r12, 0
             mov rdx, [{b} + 8]\n",
            add_row!("{a}", "r9", "r10", "r11", "r12", "r13"),
            "mov rdx, [{b} + 16]\n",
            add_row!("{a}", "r10", "r11", "r12", "r13", "r14"),
            "mov rdx, [{b} + 24]\n",
            add_row!("{a}", "r11", "r12", "r13", "r14", "r15"),
        )
    };
}

/// a² in r8 to r15.
macro_rules! multiply_by_itself {
    () => {
        // The six products of different words, then twice their sum, then the four squares.
        "mov rdx, [{a}]
         mulx r10, r9, [{a} + 8]
         mulx r11, rax, [{a} + 16]
         add r10, rax
         mulx r12, rax, [{a} + 24]
         adc r11, rax
         adc r12, 0
         mov rdx, [{a} + 16]
         mulx r14, r13, [{a} + 24]
         mov rdx, [{a} + 8]
         xor r15d, r15d
         mulx rcx, rax, [{a} + 16]
         adcx r11, rax
         adox r12, rcx
         mulx rcx, rax, [{a} + 24]
         adcx r12, rax
         adox r13, rcx
         adcx r13, r15
         adox r14, r15
         adcx r14, r15
         mov rdx, [{a}]
         xor r15d, r15d
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
         adox r15, rcx\n"
    };
}

pub(super) use {add_row, multiply, multiply_by_itself};

/// Adds `$r0`·p, which makes that word zero and is −`$r0` there for SM2's p, and puts the fifth word into `$r0`.
macro_rules! clear_word_sm2 {
    ($r0:literal, $r1:literal, $r2:literal, $r3:literal) => {
        concat!(
            "mov rax, ",
            $r0,
            "\n shl rax, 32\n",
            "mov rcx, ",
            $r0,
            "\n shr rcx, 32\n",
            "add ",
            $r1,
            ", ",
            $r0,
            "\n adc ",
            $r2,
            ", 0\n adc ",
            $r3,
            ", 0\n adc ",
            $r0,
            ", 0\n",
            "sub ",
            $r1,
            ", rax\n sbb ",
            $r2,
            ", rcx\n sbb ",
            $r3,
            ", rax\n sbb ",
            $r0,
            ", rcx\n",
        )
    };
}

/// The same for P-256's p. rdx holds its highest word, with which what follows q·2^96 is one product.
macro_rules! clear_word_p256 {
    ($r0:literal, $r1:literal, $r2:literal, $r3:literal) => {
        concat!(
            "mov rax, ",
            $r0,
            "\n shl rax, 32\n",
            "mov rcx, ",
            $r0,
            "\n shr rcx, 32\n",
            "add ",
            $r1,
            ", rax\n adc ",
            $r2,
            ", rcx\n",
            "mulx ",
            $r0,
            ", rax, ",
            $r0,
            "\n adc ",
            $r3,
            ", rax\n adc ",
            $r0,
            ", 0\n",
        )
    };
}

/// The words r8 to r15 times 2^−256, for a p whose lower words `$clear` makes vanish: below 2p, in r12 to r15 and rax.
macro_rules! reduce_by {
    ($clear:ident) => {
        concat!(
            $clear!("r8", "r9", "r10", "r11"),
            $clear!("r9", "r10", "r11", "r8"),
            $clear!("r10", "r11", "r8", "r9"),
            $clear!("r11", "r8", "r9", "r10"),
            "xor eax, eax
             add r12, r8
             adc r13, r9
             adc r14, r10
             adc r15, r11
             adc rax, 0\n",
        )
    };
}

macro_rules! reduce_sm2 {
    () => {
        reduce_by!(clear_word_sm2)
    };
}

macro_rules! reduce_p256 {
    () => {
        concat!("mov rdx, 0xffffffff00000001\n", reduce_by!(clear_word_p256))
    };
}

/// Adds a multiple of p that makes `$r0` zero, and adds the fifth word of that and what {b} carries to `$r4`. {b} carries on.
macro_rules! clear_word {
    ($r0:literal, $r1:literal, $r2:literal, $r3:literal, $r4:literal) => {
        concat!(
            "mov rdx, ",
            $r0,
            "\n mov rax, {inverse}\n imul rdx, rax\n",
            "xor ecx, ecx\n",
            "mulx rcx, rax, [{a}]\n",
            "adcx ",
            $r0,
            ", rax\n adox ",
            $r1,
            ", rcx\n",
            "mulx rcx, rax, [{a} + 8]\n",
            "adcx ",
            $r1,
            ", rax\n adox ",
            $r2,
            ", rcx\n",
            "mulx rcx, rax, [{a} + 16]\n",
            "adcx ",
            $r2,
            ", rax\n adox ",
            $r3,
            ", rcx\n",
            "mulx rcx, rax, [{a} + 24]\n",
            "adcx ",
            $r3,
            ", rax\n adox ",
            $r4,
            ", rcx\n",
            // OF is worth one of the word above; {r0}, which is zero now, takes it, and the carry of this word.
            "mov eax, 0\n adox ",
            $r0,
            ", rax\n",
            "adc ",
            $r4,
            ", {b}\n adc ",
            $r0,
            ", 0\n mov {b}, ",
            $r0,
            "\n",
        )
    };
}

/// The words r8 to r15 times 2^−256, for any modulus: below 2p, in r12 to r15 and rax.
macro_rules! reduce {
    () => {
        concat!(
            "xor {b:e}, {b:e}\n",
            clear_word!("r8", "r9", "r10", "r11", "r12"),
            clear_word!("r9", "r10", "r11", "r12", "r13"),
            clear_word!("r10", "r11", "r12", "r13", "r14"),
            clear_word!("r11", "r12", "r13", "r14", "r15"),
            "mov rax, {b}\n",
        )
    };
}

/// The number in r12 to r15 and rax, below 2p, modulo p, in r8 to r11.
macro_rules! subtract_once {
    ($less:ident) => {
        concat!(
            "mov r8, r12
             mov r9, r13
             mov r10, r14
             mov r11, r15\n",
            $less!("r8", "r9", "r10", "r11", "rcx"),
            "sbb rax, 0
             cmovc r8, r12
             cmovc r9, r13
             cmovc r10, r14
             cmovc r11, r15",
        )
    };
}

/// Products and squares for a p with a reduction of its own, all in one.
macro_rules! product_reduced {
    ($reduce:ident, $less:ident, $multiply:ident, $a:expr $(, $b:ident = $b_value:expr)?) => {{
        let (r0, r1, r2, r3);
        // SAFETY: the token proves BMI2 and ADX; a and b are four words each, and nothing is written to memory.
        unsafe {
            asm!(
                $multiply!(), $reduce!(), subtract_once!($less),
                a = in(reg) $a.as_ptr(), $($b = in(reg) $b_value.as_ptr(),)?
                out("rax") _, out("rcx") _, out("rdx") _,
                out("r8") r0, out("r9") r1, out("r10") r2, out("r11") r3,
                out("r12") _, out("r13") _, out("r14") _, out("r15") _,
                options(pure, readonly, nostack),
            );
        }
        [r0, r1, r2, r3]
    }};
}

/// Eight words of a product or a square.
macro_rules! wide {
    ($multiply:ident, $a:expr $(, $b:ident = $b_value:expr)?) => {{
        let (r0, r1, r2, r3, r4, r5, r6, r7);
        // SAFETY: the token proves BMI2 and ADX; a and b are four words each, and nothing is written to memory.
        unsafe {
            asm!(
                $multiply!(),
                a = in(reg) $a.as_ptr(), $($b = in(reg) $b_value.as_ptr(),)?
                out("rax") _, out("rcx") _, out("rdx") _,
                out("r8") r0, out("r9") r1, out("r10") r2, out("r11") r3,
                out("r12") r4, out("r13") r5, out("r14") r6, out("r15") r7,
                options(pure, readonly, nostack),
            );
        }
        [r0, r1, r2, r3, r4, r5, r6, r7]
    }};
}

/// The words times 2^−256, for numbers below p·2^256.
#[inline(always)]
fn reduced<M: Modulus<W = Words>>(_: HaveAdx, words: [u64; 8]) -> Words {
    let [w0, w1, w2, w3, w4, w5, w6, w7] = words;
    let (r0, r1, r2, r3);
    // SAFETY: the token proves BMI2 and ADX; p is four words, and nothing is written to memory.
    unsafe {
        asm!(
            reduce!(), subtract_once!(less_p),
            a = in(reg) M::P.as_ptr(), b = out(reg) _,
            inverse = const M::NEGATIVE_INVERSE.cast_signed(),
            p0 = const M::P[0].cast_signed(), p1 = const M::P[1].cast_signed(),
            p2 = const M::P[2].cast_signed(), p3 = const M::P[3].cast_signed(),
            out("rax") _, out("rcx") _, out("rdx") _,
            inout("r8") w0 => r0, inout("r9") w1 => r1, inout("r10") w2 => r2, inout("r11") w3 => r3,
            inout("r12") w4 => _, inout("r13") w5 => _, inout("r14") w6 => _, inout("r15") w7 => _,
            options(pure, readonly, nostack),
        );
    }
    [r0, r1, r2, r3]
}

impl OnAdx for Words {
    #[inline(always)]
    fn product<M: Modulus<W = Self>>(arm: Adx, a: &Self, b: &Self) -> Self {
        match M::REDUCTION {
            Reduction::Sm2 => product_reduced!(reduce_sm2, less_p_sm2, multiply, a, b = b),
            Reduction::P256 => product_reduced!(reduce_p256, less_p_p256, multiply, a, b = b),
            Reduction::Secp256k1 => folded::product::<M>(arm, a, b),
            Reduction::Montgomery | Reduction::P384 => reduced::<M>(arm.adx, wide!(multiply, a, b = b)),
        }
    }

    #[inline(always)]
    fn square<M: Modulus<W = Self>>(arm: Adx, a: &Self) -> Self {
        match M::REDUCTION {
            Reduction::Sm2 => product_reduced!(reduce_sm2, less_p_sm2, multiply_by_itself, a),
            Reduction::P256 => product_reduced!(reduce_p256, less_p_p256, multiply_by_itself, a),
            Reduction::Secp256k1 => folded::square::<M>(arm, a),
            Reduction::Montgomery | Reduction::P384 => reduced::<M>(arm.adx, wide!(multiply_by_itself, a)),
        }
    }

    #[inline(always)]
    fn half<M: Modulus<W = Self>>(arm: Adx, a: &Self) -> Self {
        if M::REDUCTION == Reduction::Secp256k1 { folded::half::<M>(arm, a) } else { Portable.half::<M>(a) }
    }

    #[inline(always)]
    fn sum<M: Modulus<W = Self>>(arm: Adx, a: &Self, b: &Self) -> Self {
        if M::REDUCTION == Reduction::Secp256k1 { folded::sum::<M>(arm, a, b) } else { sums::sum::<M>(a, b) }
    }

    #[inline(always)]
    fn difference<M: Modulus<W = Self>>(arm: Adx, a: &Self, b: &Self) -> Self {
        if M::REDUCTION == Reduction::Secp256k1 {
            folded::difference::<M>(arm, a, b)
        } else {
            sums::difference::<M>(a, b)
        }
    }
}
