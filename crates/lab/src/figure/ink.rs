//! Colours: Okabe and Ito's, which people with colour-blindness can tell apart, on white.

use super::Ink;

/// Red, green and blue.
pub(super) type Rgb = [u8; 3];

const WHITE: Rgb = [0xff, 0xff, 0xff];
const BLACK: Rgb = [0x1b, 0x1b, 0x1b];
const GREY: Rgb = [0x6b, 0x6b, 0x6b];
const BLUE: Rgb = [0x00, 0x72, 0xb2];
const VERMILION: Rgb = [0xd5, 0x5e, 0x00];
const GREEN: Rgb = [0x00, 0x9e, 0x73];

/// The background of a figure that stands alone.
pub(super) const PAPER: Rgb = WHITE;

/// The colours of a series, in order.
pub(super) const SERIES: [Rgb; 8] = [
    BLUE,
    [0xe6, 0x9f, 0x00],
    GREEN,
    [0xcc, 0x79, 0xa7],
    [0x56, 0xb4, 0xe9],
    VERMILION,
    [0xf0, 0xe4, 0x42],
    [0x7f, 0x7f, 0x7f],
];

/// The colour that fills a shape, and that text has.
pub(super) fn fill(ink: Ink) -> Rgb {
    match ink {
        Ink::Text => BLACK,
        Ink::Muted | Ink::Open => GREY,
        Ink::Band => [0xe6, 0xe6, 0xe6],
        Ink::Faster => BLUE,
        Ink::Slower => VERMILION,
        Ink::Same => GREEN,
        Ink::Series(n) => SERIES[n % SERIES.len()],
        Ink::OnSeries(n) if is_light(n) => BLACK,
        Ink::OnSeries(_) => WHITE,
    }
}

/// The colour of lines: paler than text for grid lines.
pub(super) fn stroke(ink: Ink) -> Rgb {
    match ink {
        Ink::Muted => [0xcf, 0xcf, 0xcf],
        ink => fill(ink),
    }
}

/// Orange, sky blue and yellow are too light for white text.
pub(super) fn is_light(series: usize) -> bool {
    matches!(series % SERIES.len(), 1 | 4 | 6)
}

/// `#0072b2`.
pub(super) fn hex([red, green, blue]: Rgb) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}
