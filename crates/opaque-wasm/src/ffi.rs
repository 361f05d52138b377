//! The module's edge.

mod page;
