//! On general registers, with MULX, ADCX and ADOX, in tiles of eight words by eight.
//!
//! A tile is eight rows: a word of one factor times eight of the other. Eight words of the sum are in registers; each row adds one that is
//! in memory at the lower end, gives out the lowest, and adds a new one above. With all that is ones, (2^512 − 1) + (2^64 − 1) + (2^512 − 1)(2^64 − 1) = 2^576 − 1: nine words
//! are enough for each row. Tiles that lie side by side hand the registers on.

use crate::low::x86_64::mulx::row_word;
use crate::words::add_word;
use candor_cpu::{HaveAdx, HaveAvx2};
use core::arch::asm;

/// Words of a tile's side.
const SIDE: usize = 8;
/// Words of the longest number.
const MOST: usize = 64;

/// Adds rdx times the eight words at rsi to the words `$r0` to `$r8`; CF and OF are clear.
macro_rules! add_row {
    ($r0:literal, $r1:literal, $r2:literal, $r3:literal, $r4:literal, $r5:literal, $r6:literal, $r7:literal, $r8:literal) => {
        concat!(
            row_word!("0", $r0, $r1),
            row_word!("8", $r1, $r2),
            row_word!("16", $r2, $r3),
            row_word!("24", $r3, $r4),
            row_word!("32", $r4, $r5),
            row_word!("40", $r5, $r6),
            row_word!("48", $r6, $r7),
            row_word!("56", $r7, $r8),
            "mov eax, 0\n adcx ",
            $r8,
            ", rax\n",
        )
    };
}

/// Rows 1 to 7 by `$row`, which gets a row's offset, the register that the row before has finished and its offset, and the others; nine take turns.
macro_rules! seven_rows {
    ($row:ident) => {
        concat!(
            $row!("8", "0", "r8", "r8d", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "rbp"),
            $row!("16", "8", "r9", "r9d", "r10", "r11", "r12", "r13", "r14", "r15", "rbp", "r8"),
            $row!("24", "16", "r10", "r10d", "r11", "r12", "r13", "r14", "r15", "rbp", "r8", "r9"),
            $row!("32", "24", "r11", "r11d", "r12", "r13", "r14", "r15", "rbp", "r8", "r9", "r10"),
            $row!("40", "32", "r12", "r12d", "r13", "r14", "r15", "rbp", "r8", "r9", "r10", "r11"),
            $row!("48", "40", "r13", "r13d", "r14", "r15", "rbp", "r8", "r9", "r10", "r11", "r12"),
            $row!("56", "48", "r14", "r14d", "r15", "rbp", "r8", "r9", "r10", "r11", "r12", "r13"),
        )
    };
}

/// A row of a product: its word of the factor is at rbx, what is there of the sum at rdi, and there goes what the row before has finished.
macro_rules! product_row {
    ($at:literal, $before:literal, $r0:literal, $low:literal, $r1:literal, $r2:literal, $r3:literal, $r4:literal, $r5:literal, $r6:literal, $r7:literal, $r8:literal) => {
        concat!(
            "mov [rdi + ",
            $before,
            "], ",
            $r0,
            "\n mov rdx, [rbx + ",
            $at,
            "]\n xor ",
            $low,
            ", ",
            $low,
            "\n adox ",
            $r1,
            ", [rdi + ",
            $at,
            "]\n",
            add_row!($r1, $r2, $r3, $r4, $r5, $r6, $r7, $r8, $r0),
        )
    };
}

/// A row of a reduction's first tile: its word is what makes the lowest word zero, and goes to rdi; the inverse is at rsp.
macro_rules! factor_row {
    ($at:literal, $before:literal, $r0:literal, $low:literal, $r1:literal, $r2:literal, $r3:literal, $r4:literal, $r5:literal, $r6:literal, $r7:literal, $r8:literal) => {
        concat!(
            "mov rdx, ",
            $r1,
            "\n imul rdx, [rsp]\n mov [rdi + ",
            $at,
            "], rdx\n xor ",
            $low,
            ", ",
            $low,
            "\n",
            add_row!($r1, $r2, $r3, $r4, $r5, $r6, $r7, $r8, $r0),
        )
    };
}

/// The eight upper words of a tile, from where its rows leave them to r8 and the following.
macro_rules! turn {
    () => {
        "mov r15, r14
         mov r14, r13
         mov r13, r12
         mov r12, r11
         mov r11, r10
         mov r10, r9
         mov r9, r8
         mov r8, rbp\n"
    };
}

/// Tiles from rsi to the address at rsp + `$end`, with the words at rbx, added to rdi and what follows, and to r8 and the following.
macro_rules! tiles {
    ($end:literal) => {
        concat!(
            "2:
             mov rdx, [rbx]
             xor ebp, ebp
             adox r8, [rdi]\n",
            add_row!("r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "rbp"),
            seven_rows!(product_row),
            "mov [rdi + 56], r15\n",
            turn!(),
            "add rsi, 64
             add rdi, 64
             cmp rsi, [rsp + ",
            $end,
            "]\n jne 2b\n"
        )
    };
}

/// Adds the eight words at r8 and the following and the carry in rcx to rdi; the new carry.
macro_rules! add_upper {
    () => {
        "neg rcx
         adc [rdi], r8
         adc [rdi + 8], r9
         adc [rdi + 16], r10
         adc [rdi + 24], r11
         adc [rdi + 32], r12
         adc [rdi + 40], r13
         adc [rdi + 48], r14
         adc [rdi + 56], r15
         mov ecx, 0
         adc rcx, 0\n"
    };
}

/// Adds a times eight words of b to a sum that has eight words more than a, to which a carry from before is added; the new one.
#[inline(always)]
fn add_product(_: HaveAdx, a: &[u64], b: &[u64; SIDE], sum: &mut [u64], carry: u64) -> u64 {
    assert!(!a.is_empty() && a.len().is_multiple_of(SIDE) && sum.len() == a.len() + SIDE);
    let mut carry = carry;
    // SAFETY: the token proves MULX and ADX; rsi goes through all of a, whose length is whole tiles, rdi through as many words of the sum and eight more,
    // and rbx stays at b. What the stack had is taken off again, with rbx and rbp.
    unsafe {
        asm!(
            "push rbx
             push rbp
             push rcx
             push rax
             mov rbx, rdx
             xor r8d, r8d
             xor r9d, r9d
             xor r10d, r10d
             xor r11d, r11d
             xor r12d, r12d
             xor r13d, r13d
             xor r14d, r14d
             xor r15d, r15d",
            tiles!("0"),
            "pop rax
             pop rcx",
            add_upper!(),
            "pop rbp
             pop rbx",
            inout("rsi") a.as_ptr() => _,
            inout("rdi") sum.as_mut_ptr() => _,
            inout("rdx") b.as_ptr() => _,
            inout("rax") a.as_ptr_range().end => _,
            inout("rcx") carry,
            out("r8") _, out("r9") _, out("r10") _, out("r11") _, out("r12") _, out("r13") _, out("r14") _, out("r15") _,
        );
    }
    carry
}

/// The products of each two different words of eight, once, in sixteen words.
#[inline(always)]
fn triangle(_: HaveAdx, a: &[u64; SIDE], to: &mut [u64; 2 * SIDE]) {
    /// Row after the first: puts the two words that are finished away, and adds the products of the next word; `$new` is the new word.
    macro_rules! row {
        ($at:literal, $low:literal, $r0:literal, $high:literal, $r1:literal, $new:literal, $new_low:literal; $(($word:literal, $low_sum:literal, $high_sum:literal)),+) => {
            concat!(
                "mov [rdi + ", $low, "], ", $r0, "\n mov [rdi + ", $high, "], ", $r1,
                "\n mov rdx, [rsi + ", $at, "]\n xor ", $new_low, ", ", $new_low, "\n",
                $(row_word!($word, $low_sum, $high_sum),)+
                "mov eax, 0\n adcx ", $new, ", rax\n",
            )
        };
    }
    // SAFETY: the token proves MULX and ADX; all addresses are within the eight words at rsi and the sixteen at rdi.
    unsafe {
        asm!(
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
             mulx r14, rax, [rsi + 48]
             adc r13, rax
             mulx r15, rax, [rsi + 56]
             adc r14, rax
             adc r15, 0",
            row!("8", "8", "r8", "16", "r9", "r8", "r8d";
                ("16", "r10", "r11"), ("24", "r11", "r12"), ("32", "r12", "r13"),
                ("40", "r13", "r14"), ("48", "r14", "r15"), ("56", "r15", "r8")),
            row!("16", "24", "r10", "32", "r11", "r9", "r9d";
                ("24", "r12", "r13"), ("32", "r13", "r14"), ("40", "r14", "r15"),
                ("48", "r15", "r8"), ("56", "r8", "r9")),
            row!("24", "40", "r12", "48", "r13", "r10", "r10d";
                ("32", "r14", "r15"), ("40", "r15", "r8"), ("48", "r8", "r9"),
                ("56", "r9", "r10")),
            row!("32", "56", "r14", "64", "r15", "r11", "r11d";
                ("40", "r8", "r9"), ("48", "r9", "r10"), ("56", "r10", "r11")),
            row!("40", "72", "r8", "80", "r9", "r12", "r12d";
                ("48", "r10", "r11"), ("56", "r11", "r12")),
            row!("48", "88", "r10", "96", "r11", "r13", "r13d"; ("56", "r12", "r13")),
            "xor eax, eax
             mov [rdi], rax
             mov [rdi + 104], r12
             mov [rdi + 112], r13
             mov [rdi + 120], rax",
            in("rsi") a.as_ptr(), in("rdi") to.as_mut_ptr(), out("rax") _, out("rcx") _, out("rdx") _,
            out("r8") _, out("r9") _, out("r10") _, out("r11") _, out("r12") _, out("r13") _, out("r14") _, out("r15") _,
            options(nostack),
        );
    }
}

/// Doubles a sum of twice as many words as a has, and adds the squares of a's words.
#[inline(always)]
fn double_and_add_squares(_: HaveAdx, a: &[u64], sum: &mut [u64]) {
    /// The square of the word at `$at`, to the two words from there on.
    macro_rules! square {
        ($at:literal, $low:literal, $high:literal) => {
            concat!(
                "mov rdx, [rsi + ",
                $at,
                "]\n mulx r9, r8, rdx\n mov rax, [rdi + ",
                $low,
                "]\n adcx rax, rax\n adox rax, r8\n mov [rdi + ",
                $low,
                "], rax\n mov rax, [rdi + ",
                $high,
                "]\n adcx rax, rax\n adox rax, r9\n mov [rdi + ",
                $high,
                "], rax\n",
            )
        };
    }
    assert!(!a.is_empty() && a.len().is_multiple_of(SIDE) && sum.len() == 2 * a.len());
    // SAFETY: the token proves MULX and ADX; rcx counts the groups of eight words of a, and of sixteen of the sum.
    unsafe {
        asm!(
            "xor eax, eax
             2:",
            square!("0", "0", "8"),
            square!("8", "16", "24"),
            square!("16", "32", "40"),
            square!("24", "48", "56"),
            square!("32", "64", "72"),
            square!("40", "80", "88"),
            square!("48", "96", "104"),
            square!("56", "112", "120"),
            "lea rsi, [rsi + 64]
             lea rdi, [rdi + 128]
             lea rcx, [rcx - 1]
             jrcxz 3f
             jmp 2b
             3:",
            inout("rsi") a.as_ptr() => _, inout("rdi") sum.as_mut_ptr() => _, inout("rcx") a.len() / SIDE => _,
            out("rax") _, out("rdx") _, out("r8") _, out("r9") _,
            options(nostack),
        );
    }
}

/// Adds the multiple of m to a sum that makes its lowest eight words zero; they get the factors. The sum has eight words more than m, to which a carry from
/// before is added; the new one.
#[inline(always)]
fn reduce(_: HaveAdx, m: &[u64], inverse: u64, sum: &mut [u64], carry: u64) -> u64 {
    assert!(m.len() > SIDE && m.len().is_multiple_of(SIDE) && sum.len() == m.len() + SIDE);
    let mut carry = carry;
    // SAFETY: as above; rbx is at the factors, which are at the beginning of the sum.
    unsafe {
        asm!(
            "push rbx
             push rbp
             push rcx
             push rax
             push rdx
             mov rbx, rdi
             mov r8, [rdi]
             mov r9, [rdi + 8]
             mov r10, [rdi + 16]
             mov r11, [rdi + 24]
             mov r12, [rdi + 32]
             mov r13, [rdi + 40]
             mov r14, [rdi + 48]
             mov r15, [rdi + 56]
             mov rdx, r8
             imul rdx, [rsp]
             mov [rdi], rdx
             xor ebp, ebp",
            add_row!("r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "rbp"),
            seven_rows!(factor_row),
            turn!(),
            "add rsi, 64
             add rdi, 64",
            tiles!("8"),
            "pop rdx
             pop rax
             pop rcx",
            add_upper!(),
            "pop rbp
             pop rbx",
            inout("rsi") m.as_ptr() => _,
            inout("rdi") sum.as_mut_ptr() => _,
            inout("rdx") inverse => _,
            inout("rax") m.as_ptr_range().end => _,
            inout("rcx") carry,
            out("r8") _, out("r9") _, out("r10") _, out("r11") _, out("r12") _, out("r13") _, out("r14") _, out("r15") _,
        );
    }
    carry
}

/// a − m into `to`; all ones if a is below m.
#[inline(always)]
fn difference(a: &[u64], m: &[u64], to: &mut [u64]) -> u64 {
    assert!(!a.is_empty() && a.len() == m.len() && a.len() == to.len());
    let borrow: u64;
    // SAFETY: the addresses go through as many words of the three slices as each has.
    unsafe {
        asm!(
            "xor {borrow:e}, {borrow:e}
             2:
             mov {borrow}, [{a}]
             sbb {borrow}, [{m}]
             mov [{to}], {borrow}
             lea {a}, [{a} + 8]
             lea {m}, [{m} + 8]
             lea {to}, [{to} + 8]
             dec {count}
             jnz 2b
             sbb {borrow}, {borrow}",
            a = inout(reg) a.as_ptr() => _, m = inout(reg) m.as_ptr() => _, to = inout(reg) to.as_mut_ptr() => _,
            count = inout(reg) a.len() => _, borrow = out(reg) borrow,
            options(nostack),
        );
    }
    borrow
}

/// a·b/2^(64n) modulo m, for any a below 2^(64n) and b below m, all of n words: a multiple of eight, and at least sixteen.
#[inline]
pub(crate) fn product(token: HaveAdx, m: &[u64], inverse: u64, a: &[u64], b: &[u64], to: &mut [u64]) {
    let length = m.len();
    assert!(length <= MOST && a.len() == length && b.len() == length && to.len() == length);
    let mut room = [0; 2 * MOST];
    let wide = &mut room[..2 * length];
    for (b, at) in b.as_chunks().0.iter().zip((0..).step_by(SIDE)) {
        // The product of so many words has no carry.
        add_product(token, a, b, &mut wide[at..at + length + SIDE], 0);
    }
    reduce_all(token, m, inverse, wide, to);
}

/// a²/2^(64n) modulo m, likewise.
#[inline]
pub(crate) fn square(token: HaveAdx, m: &[u64], inverse: u64, a: &[u64], to: &mut [u64]) {
    let length = m.len();
    assert!(length <= MOST && a.len() == length && to.len() == length);
    let mut room = [0; 2 * MOST];
    let wide = &mut room[..2 * length];
    let (pieces, _) = a.as_chunks::<SIDE>();
    for (piece, to) in pieces.iter().zip(wide.as_chunks_mut().0) {
        triangle(token, piece, to);
    }
    let carry = pieces[1..].iter().zip(pieces).zip((SIDE..).step_by(SIDE)).fold(0, |carry, ((_, piece), at)| {
        let sum = &mut wide[2 * at - SIDE..length + at];
        add_product(token, &a[at..], piece, sum, carry)
    });
    add_word(&mut wide[2 * length - SIDE..], carry);
    double_and_add_squares(token, a, wide);
    reduce_all(token, m, inverse, wide, to);
}

/// A number of twice as many words as m over 2^(64n), modulo m.
#[inline(always)]
fn reduce_all(token: HaveAdx, m: &[u64], inverse: u64, wide: &mut [u64], to: &mut [u64]) {
    let length = m.len();
    let carry = (0..length)
        .step_by(SIDE)
        .fold(0, |carry, at| reduce(token, m, inverse, &mut wide[at..at + length + SIDE], carry));
    let upper = &wide[length..];
    let is_below = difference(upper, m, to);
    let keep = candor_cpu::barrier::opaque_u64(is_below & carry.wrapping_sub(1));
    for (to, upper) in to.iter_mut().zip(upper) {
        *to ^= (*to ^ upper) & keep;
    }
}

/// [`select`](crate::words::select) on vectors.
#[inline]
pub(crate) fn select(_: HaveAvx2, table: &[u64], number: u64, to: &mut [u64]) {
    // SAFETY: the token proves AVX2.
    unsafe { select_on_vectors(table, number, to) }
}

#[target_feature(enable = "avx2")]
fn select_on_vectors(table: &[u64], number: u64, to: &mut [u64]) {
    crate::words::select(table, number, to);
}
