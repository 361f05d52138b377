//! Sorting in constant time.
