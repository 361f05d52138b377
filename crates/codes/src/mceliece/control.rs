//! Control bits of the Beneš network that a permutation is.
