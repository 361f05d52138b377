//! Binary polynomials and the fields GF(2^m).
#![cfg_attr(not(test), no_std)]
