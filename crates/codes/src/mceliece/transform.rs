//! The additive Fourier transform: a polynomial at all elements of the field, and its transpose.
