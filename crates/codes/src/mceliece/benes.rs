//! The Beneš network of a secret key, applied to bits (specification, section 3.3).
