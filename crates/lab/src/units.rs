//! Numbers as people read them: three significant digits and the unit that fits.

/// Nanoseconds as `13.9 ns`, `15.1 µs`, `2.50 ms` or `3.00 s`.
pub(crate) fn time(ns: f64) -> String {
    let (value, unit) = match ns {
        ns if ns < 1e3 => (ns, "ns"),
        ns if ns < 1e6 => (ns / 1e3, "µs"),
        ns if ns < 1e9 => (ns / 1e6, "ms"),
        ns => (ns / 1e9, "s"),
    };
    format!("{} {unit}", three_digits(value))
}

/// Bytes per second as `437 MB/s` or `1.58 GB/s`.
pub(crate) fn rate(bytes_per_second: f64) -> String {
    match bytes_per_second {
        rate if rate < 1e9 => format!("{} MB/s", three_digits(rate / 1e6)),
        rate => format!("{} GB/s", three_digits(rate / 1e9)),
    }
}

/// Three significant digits, more before the point where the number has them.
pub(crate) fn three_digits(value: f64) -> String {
    match value.abs() {
        size if size < 9.995 => format!("{value:.2}"),
        size if size < 99.95 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_a_fitting_unit() {
        assert_eq!(time(13.92), "13.9 ns");
        assert_eq!(time(999.7), "1000 ns");
        assert_eq!(time(15_104.0), "15.1 µs");
        assert_eq!(time(2.5e6), "2.50 ms");
        assert_eq!(time(3e9), "3.00 s");
        assert_eq!(rate(1.583e9), "1.58 GB/s");
        assert_eq!(rate(437e6), "437 MB/s");
        assert_eq!(three_digits(-12.345), "-12.3");
    }
}
