//! Arithmetic in GF(2¹²) and GF(2¹³) on 64 and more elements at once, a word for each bit.
