//! The order of the field's elements in a key (specification, section 2.4.2).
