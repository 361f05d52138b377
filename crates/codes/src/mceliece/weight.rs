//! Error vectors of fixed weight (specification, section 2.4.4).
