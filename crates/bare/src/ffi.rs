//! The module's edge: what it takes from the page that loads it, and what it gives.

mod page;
