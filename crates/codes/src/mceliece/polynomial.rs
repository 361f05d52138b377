//! The irreducible polynomial of a key (specification, section 2.4.1).
