//! A ciphertext from an error vector and a public key (specification, section 2.4.1).
