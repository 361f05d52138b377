//! The public key's matrix in systematic and semi-systematic form (specification, section 2.3).
