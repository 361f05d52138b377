//! Syndromes of words (specification, section 2.5).
