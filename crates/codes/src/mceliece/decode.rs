//! Decoding: the error of weight t in a word (specification, section 2.5.3).
