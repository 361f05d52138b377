//! Six words.

use crate::curve::Arithmetic;
use crate::curve::adx::{Adx, OnAdx};
use crate::curve::modulus::{Modulus, Reduction};
use crate::curve::portable::Portable;
use crate::low::x86_64::mulx::row_word;
use candor_cpu::HaveAdx;
use core::arch::asm;
use core::mem::MaybeUninit;

type Words = [u64; 6];
type Wide = [u64; 12];

/// Adds rdx times the six words at rsi to the words `$r0` to `$r6`, of which the last is zero or is `$r0` and becomes zero.
macro_rules! add_row {
    ($r0:literal, $r1:literal, $r2:literal, $r3:literal, $r4:literal, $r5:literal, $r6:literal) => {
        concat!(
            row_word!("0", $r0, $r1),
            row_word!("8", $r1, $r2),
            row_word!("16", $r2, $r3),
            row_word!("24", $r3, $r4),
            row_word!("32", $r4, $r5),
            row_word!("40", $r5, $r6),
            "mov eax, 0\n adcx ",
            $r6,
            ", rax\n",
        )
    };
}

/// Puts `$r0` away as the product's word at `$at`, and adds the row of the next word of b, of which `$r0` is the new word.
macro_rules! next_row {
    ($at:literal, $next:literal, $r0:literal, $r1:literal, $r2:literal, $r3:literal, $r4:literal, $r5:literal, $r6:literal) => {
        concat!(
            "mov [r15 + ",
            $at,
            "], ",
            $r0,
            "\n mov rdx, [rdi + ",
            $next,
            "]\n xor ",
            $r0,
            "d, ",
            $r0,
            "d\n",
            add_row!($r1, $r2, $r3, $r4, $r5, $r6, $r0),
        )
    };
}

/// The product of the words at rsi and at rdi, at r15.
macro_rules! multiply {
    () => {
        concat!(
            "mov rdx, [rdi]
             mulx r9, r8, [rsi]
             mulx r10, rax, [rsi + 8]
             add r9, rax
             mulx r11, rax, [rsi + 16]
             adc r10, rax
             mulx r12, rax, [rsi + 24]
             adc r11, rax
             mulx r13, rax, [rsi + 32]
             adc r12, rax
             mulx r14, rax, [rsi + 40]
             adc r13, rax
             adc r14, 0\n",
            next_row!("0", "8", "r8", "r9", "r10", "r11", "r12", "r13", "r14"),
            next_row!("8", "16", "r9", "r10", "r11", "r12", "r13", "r14", "r8"),
            next_row!("16", "24", "r10", "r11", "r12", "r13", "r14", "r8", "r9"),
            next_row!("24", "32", "r11", "r12", "r13", "r14", "r8", "r9", "r10"),
            next_row!("32", "40", "r12", "r13", "r14", "r8", "r9", "r10", "r11"),
            "mov [r15 + 40], r13
             mov [r15 + 48], r14
             mov [r15 + 56], r8
             mov [r15 + 64], r9
             mov [r15 + 72], r10
             mov [r15 + 80], r11
             mov [r15 + 88], r12",
        )
    };
}

/// Adds the square of the word at `$at` to twice the two words from there, of which the lower one is in memory, and puts both there.
macro_rules! add_square {
    ($at:literal, $low:literal, $high:literal, $r0:literal, $r1:literal) => {
        concat!(
            "mov rdx, [rsi + ",
            $at,
            "]\n mulx rcx, rax, rdx\n",
            "adcx ",
            $r0,
            ", ",
            $r0,
            "\n adox ",
            $r0,
            ", rax\n mov [rdi + ",
            $low,
            "], ",
            $r0,
            "\n adcx ",
            $r1,
            ", ",
            $r1,
            "\n adox ",
            $r1,
            ", rcx\n mov [rdi + ",
            $high,
            "], ",
            $r1,
            "\n",
        )
    };
}

/// The square of the words at rsi, at rdi.
macro_rules! multiply_by_itself {
    () => {
        concat!(
            // The fifteen products of different words: of the first word, in the words 1 to 6, two of which are put away,
            "mov rdx, [rsi]
             mulx r9, r8, [rsi + 8]
             mulx r10, rax, [rsi + 16]
             add r9, rax
             mulx r11, rax, [rsi + 24]
             adc r10, rax
             mulx r12, rax, [rsi + 32]
             adc r11, rax
             mulx r13, rax, [rsi + 40]
             adc r12, rax
             adc r13, 0
             mov [rdi + 8], r8
             mov [rdi + 16], r9
             mov rdx, [rsi + 8]
             xor r14d, r14d\n",
            // of the second, to the words 3 to 7,
            row_word!("16", "r10", "r11"),
            row_word!("24", "r11", "r12"),
            row_word!("32", "r12", "r13"),
            row_word!("40", "r13", "r14"),
            "mov eax, 0
             adcx r14, rax
             mov rdx, [rsi + 16]
             xor r15d, r15d\n",
            // of the third, to the words 5 to 8,
            row_word!("24", "r12", "r13"),
            row_word!("32", "r13", "r14"),
            row_word!("40", "r14", "r15"),
            "mov eax, 0
             adcx r15, rax
             mov rdx, [rsi + 32]
             mulx r9, r8, [rsi + 40]
             mov rdx, [rsi + 24]
             xor eax, eax\n",
            // and of the fourth and the fifth, to the words 7 to 10.
            row_word!("32", "r14", "r15"),
            row_word!("40", "r15", "r8"),
            "mov eax, 0
             adcx r8, rax
             adox r9, rax
             adcx r9, rax\n",
            // Twice their sum, and the six squares.
            "mov rdx, [rsi]
             xor eax, eax
             mulx rcx, rax, rdx
             mov [rdi], rax
             mov rax, [rdi + 8]
             adcx rax, rax
             adox rax, rcx
             mov [rdi + 8], rax
             mov rdx, [rsi + 8]
             mulx rcx, rdx, rdx
             mov rax, [rdi + 16]
             adcx rax, rax
             adox rax, rdx
             mov [rdi + 16], rax
             adcx r10, r10
             adox r10, rcx
             mov [rdi + 24], r10\n",
            add_square!("16", "32", "40", "r11", "r12"),
            add_square!("24", "48", "56", "r13", "r14"),
            add_square!("32", "64", "72", "r15", "r8"),
            "mov rdx, [rsi + 40]
             mulx rcx, rax, rdx
             adcx r9, r9
             adox r9, rax
             mov [rdi + 80], r9
             mov eax, 0
             adcx rcx, rax
             adox rcx, rax
             mov [rdi + 88], rcx",
        )
    };
}

/// Adds a multiple of P-384's p that makes the word w in `$r0` zero, and puts the seventh word into `$r0`. r14 is what is still to be subtracted
/// two words up, and then what is still to be subtracted three words up.
///
/// The multiplier is q = w + (w << 32) modulo 2^64, with the carry c. For s = w << 32 and h = q >> 32 what is to be added is h + c − s one word
/// up, −(q + h) two words up, and q six words up. The sum of w and of w with its halves exchanged has h + c in its upper half and h in its lower.
/// If h = 0 then h + c carries only where s has borrowed, so that h, the borrow less that carry, and r14 are never less than zero together.
macro_rules! clear_word_p384 {
    ($r0:literal, $r1:literal, $r2:literal) => {
        concat!(
            "rorx rax, ",
            $r0,
            ", 32\n add rax, ",
            $r0,
            "\n mov rdx, ",
            $r0,
            "\n shl rdx, 32\n add ",
            $r0,
            ", rdx\n",
            "mov ecx, eax\n sub ",
            $r1,
            ", rdx\n adc rcx, r14\n shr rax, 32\n add ",
            $r1,
            ", rax\n sbb rcx, 0\n",
            "mov r14d, 0\n add rcx, ",
            $r0,
            "\n adc r14d, 0\n sub ",
            $r2,
            ", rcx\n adc r14d, 0\n",
        )
    };
}

/// Adds a multiple of the modulus at rsi that makes `$r0` zero, and puts the seventh word into `$r0`.
macro_rules! clear_word {
    ($r0:literal, $r1:literal, $r2:literal, $r3:literal, $r4:literal, $r5:literal) => {
        concat!(
            "mov rdx, {inverse}\n imul rdx, ",
            $r0,
            "\n xor eax, eax\n",
            add_row!($r0, $r1, $r2, $r3, $r4, $r5, $r0),
        )
    };
}

/// The twelve words at rdi times 2^−384, for a p whose lower words `$clear` makes vanish: below 2p, in r8 to r13 and rax.
macro_rules! reduce_by {
    ($clear:expr) => {
        concat!(
            "mov r8, [rdi]
             mov r9, [rdi + 8]
             mov r10, [rdi + 16]
             mov r11, [rdi + 24]
             mov r12, [rdi + 32]
             mov r13, [rdi + 40]\n",
            $clear,
            "xor eax, eax
             add r8, [rdi + 48]
             adc r9, [rdi + 56]
             adc r10, [rdi + 64]
             adc r11, [rdi + 72]
             adc r12, [rdi + 80]
             adc r13, [rdi + 88]
             adc eax, 0\n",
        )
    };
}

macro_rules! reduce_p384 {
    () => {
        reduce_by!(concat!(
            "xor r14d, r14d\n",
            clear_word_p384!("r8", "r9", "r10"),
            clear_word_p384!("r9", "r10", "r11"),
            clear_word_p384!("r10", "r11", "r12"),
            clear_word_p384!("r11", "r12", "r13"),
            clear_word_p384!("r12", "r13", "r8"),
            clear_word_p384!("r13", "r8", "r9"),
            "sub r10, r14
             sbb r11, 0
             sbb r12, 0
             sbb r13, 0\n",
        ))
    };
}

macro_rules! reduce {
    () => {
        reduce_by!(concat!(
            clear_word!("r8", "r9", "r10", "r11", "r12", "r13"),
            clear_word!("r9", "r10", "r11", "r12", "r13", "r8"),
            clear_word!("r10", "r11", "r12", "r13", "r8", "r9"),
            clear_word!("r11", "r12", "r13", "r8", "r9", "r10"),
            clear_word!("r12", "r13", "r8", "r9", "r10", "r11"),
            clear_word!("r13", "r8", "r9", "r10", "r11", "r12"),
        ))
    };
}

/// The number in r8 to r13 and rax, below 2p, modulo p, in r14, r15, rcx, rdx, rsi and rdi. To subtract p is to add 2^384 − p and to drop 2^384.
macro_rules! subtract_once {
    () => {
        "mov r14, {c0}
         add r14, r8
         mov r15, {c1}
         adc r15, r9
         mov rcx, {c2}
         adc rcx, r10
         mov rdx, {c3}
         adc rdx, r11
         mov rsi, {c4}
         adc rsi, r12
         mov rdi, {c5}
         adc rdi, r13
         adc rax, -1
         cmovnc r14, r8
         cmovnc r15, r9
         cmovnc rcx, r10
         cmovnc rdx, r11
         cmovnc rsi, r12
         cmovnc rdi, r13"
    };
}

/// The sum of the words at rsi and at rdi, in r8 to r13 and rax.
macro_rules! add {
    () => {
        "mov r8, [rsi]
         mov r9, [rsi + 8]
         mov r10, [rsi + 16]
         mov r11, [rsi + 24]
         mov r12, [rsi + 32]
         mov r13, [rsi + 40]
         xor eax, eax
         add r8, [rdi]
         adc r9, [rdi + 8]
         adc r10, [rdi + 16]
         adc r11, [rdi + 24]
         adc r12, [rdi + 32]
         adc r13, [rdi + 40]
         adc eax, 0\n"
    };
}

/// 2^384 less a number that is not zero.
const fn complement(number: &Words) -> Words {
    let (mut words, mut carry, mut n) = ([0; 6], true, 0);
    while n < 6 {
        (words[n], carry) = (!number[n]).overflowing_add(carry as u64);
        n += 1;
    }
    words
}

/// Runs code that reads what lies at rsi and at rdi, and [`subtract_once`] behind it.
macro_rules! subtracting_once {
    ($modulus:ident, $code:expr, $at_rsi:expr, $at_rdi:expr $(, $inverse:expr)?) => {{
        let (r0, r1, r2, r3, r4, r5);
        asm!(
            $code, subtract_once!(),
            $(inverse = const $inverse,)?
            c0 = const complement(&$modulus::P)[0].cast_signed(), c1 = const complement(&$modulus::P)[1].cast_signed(),
            c2 = const complement(&$modulus::P)[2].cast_signed(), c3 = const complement(&$modulus::P)[3].cast_signed(),
            c4 = const complement(&$modulus::P)[4].cast_signed(), c5 = const complement(&$modulus::P)[5].cast_signed(),
            out("r14") r0, out("r15") r1, out("rcx") r2, out("rdx") r3,
            inout("rsi") $at_rsi.as_ptr() => r4, inout("rdi") $at_rdi.as_ptr() => r5,
            out("rax") _, out("r8") _, out("r9") _, out("r10") _, out("r11") _, out("r12") _, out("r13") _,
            options(pure, readonly, nostack),
        );
        [r0, r1, r2, r3, r4, r5]
    }};
}

#[inline(always)]
fn multiply<'w>(_: HaveAdx, wide: &'w mut MaybeUninit<Wide>, a: &Words, b: &Words) -> &'w Wide {
    // SAFETY: the token proves BMI2 and ADX; a and b are six words each, and all twelve words of the product are written.
    unsafe {
        asm!(
            multiply!(),
            in("rsi") a.as_ptr(), in("rdi") b.as_ptr(), in("r15") wide.as_mut_ptr(),
            out("rax") _, out("rcx") _, out("rdx") _,
            out("r8") _, out("r9") _, out("r10") _, out("r11") _, out("r12") _, out("r13") _, out("r14") _,
            options(nostack),
        );
        wide.assume_init_ref()
    }
}

#[inline(always)]
fn multiply_by_itself<'w>(_: HaveAdx, wide: &'w mut MaybeUninit<Wide>, a: &Words) -> &'w Wide {
    // SAFETY: the token proves BMI2 and ADX; a is six words, and all twelve words of the square are written.
    unsafe {
        asm!(
            multiply_by_itself!(),
            in("rsi") a.as_ptr(), in("rdi") wide.as_mut_ptr(),
            out("rax") _, out("rcx") _, out("rdx") _,
            out("r8") _, out("r9") _, out("r10") _, out("r11") _, out("r12") _, out("r13") _, out("r14") _, out("r15") _,
            options(nostack),
        );
        wide.assume_init_ref()
    }
}

/// The words times 2^−384, for numbers below p·2^384.
#[inline(always)]
fn reduced<M: Modulus<W = Words>>(_: HaveAdx, wide: &Wide) -> Words {
    // SAFETY: the token proves BMI2 and ADX; the number is twelve words and p is six, and nothing is written to memory.
    unsafe {
        match M::REDUCTION {
            Reduction::P384 => subtracting_once!(M, reduce_p384!(), M::P, wide),
            Reduction::Montgomery | Reduction::Sm2 | Reduction::P256 => {
                subtracting_once!(M, reduce!(), M::P, wide, M::NEGATIVE_INVERSE.cast_signed())
            }
            Reduction::Secp256k1 => unreachable!("a prime of four words"),
        }
    }
}

impl OnAdx for Words {
    #[inline(always)]
    fn product<M: Modulus<W = Self>>(arm: Adx, a: &Self, b: &Self) -> Self {
        reduced::<M>(arm.adx, multiply(arm.adx, &mut MaybeUninit::uninit(), a, b))
    }

    #[inline(always)]
    fn square<M: Modulus<W = Self>>(arm: Adx, a: &Self) -> Self {
        reduced::<M>(arm.adx, multiply_by_itself(arm.adx, &mut MaybeUninit::uninit(), a))
    }

    #[inline(always)]
    fn sum<M: Modulus<W = Self>>(_: Adx, a: &Self, b: &Self) -> Self {
        // SAFETY: a and b are six words each, and nothing is written to memory.
        unsafe { subtracting_once!(M, add!(), a, b) }
    }

    #[inline(always)]
    fn difference<M: Modulus<W = Self>>(_: Adx, a: &Self, b: &Self) -> Self {
        Portable.difference::<M>(a, b)
    }

    #[inline(always)]
    fn half<M: Modulus<W = Self>>(_: Adx, a: &Self) -> Self {
        Portable.half::<M>(a)
    }
}
