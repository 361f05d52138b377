//! Key pairs from seeds (specification, section 2.4.3).
