//! What the products of long numbers have in common on MULX, ADCX and ADOX.

/// Adds rdx times the word at `$at` to the words `$r0` and `$r1`, with carries in CF and OF.
macro_rules! row_word {
    ($at:literal, $r0:literal, $r1:literal) => {
        concat!("mulx rcx, rax, [rsi + ", $at, "]\n adcx ", $r0, ", rax\n adox ", $r1, ", rcx\n")
    };
}

pub(super) use row_word;
