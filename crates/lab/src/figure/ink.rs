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
pub(super) const SERIES: [Rgb; 9] = [
    BLUE,
    [0xe6, 0x9f, 0x00],
    GREEN,
    [0xcc, 0x79, 0xa7],
    [0x56, 0xb4, 0xe9],
    VERMILION,
    [0xf0, 0xe4, 0x42],
    [0x8c, 0x8c, 0x8c],
    // Wine of Paul Tol's muted scheme, for Okabe and Ito's black would be lost on a dark page.
    [0x88, 0x22, 0x55],
];

/// How many colours a heat map has.
pub(super) const HEATS: usize = HEAT.len();

/// From a pale to a dark blue.
const HEAT: [Rgb; 7] = [
    [0xf0, 0xf5, 0xfa],
    [0xd2, 0xe3, 0xf1],
    [0xa9, 0xcb, 0xe5],
    [0x74, 0xaa, 0xd2],
    [0x30, 0x73, 0xb0],
    [0x15, 0x55, 0x93],
    [0x08, 0x37, 0x6b],
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
        Ink::OnSeries(_) | Ink::OnHeat(_) if is_on_light(ink) => BLACK,
        Ink::OnSeries(_) | Ink::OnHeat(_) => WHITE,
        Ink::Heat(n) => HEAT[n.min(HEATS - 1)],
    }
}

/// The colour of lines: paler than text for grid lines.
pub(super) fn stroke(ink: Ink) -> Rgb {
    match ink {
        Ink::Muted => [0xcf, 0xcf, 0xcf],
        ink => fill(ink),
    }
}

/// Whether text on a colour can be read better in black than in white.
pub(super) fn is_on_light(ink: Ink) -> bool {
    let colour = match ink {
        Ink::OnSeries(n) => fill(Ink::Series(n)),
        Ink::OnHeat(n) => fill(Ink::Heat(n)),
        _ => PAPER,
    };
    contrast(colour, BLACK) > contrast(colour, WHITE)
}

/// The contrast of two colours, from 1 to 21, as WCAG 2.1 defines it ("contrast ratio").
fn contrast(one: Rgb, other: Rgb) -> f64 {
    let linear = |byte: u8| match f64::from(byte) / 255.0 {
        dark if dark <= 0.04045 => dark / 12.92,
        channel => ((channel + 0.055) / 1.055).powf(2.4),
    };
    let luminance = |[red, green, blue]: Rgb| 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
    let (one, other) = (luminance(one) + 0.05, luminance(other) + 0.05);
    one.max(other) / one.min(other)
}

/// `#0072b2`.
pub(super) fn hex([red, green, blue]: Rgb) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_on_every_colour_of_a_series_can_be_read() {
        assert!((contrast(WHITE, [0; 3]) - 21.0).abs() < 1e-9 && (contrast(BLUE, BLUE) - 1.0).abs() < 1e-9);
        for (series, colour) in SERIES.iter().enumerate() {
            let found = contrast(*colour, fill(Ink::OnSeries(series)));
            assert!(found > 4.4, "series {series}: {found}");
        }
        for heat in 0..HEATS {
            let found = contrast(fill(Ink::Heat(heat)), fill(Ink::OnHeat(heat)));
            assert!(found > 4.4, "heat {heat}: {found}");
        }
    }

    #[test]
    fn no_two_colours_of_a_series_are_the_same() {
        for (n, colour) in SERIES.iter().enumerate() {
            assert!(!SERIES[..n].contains(colour), "series {n}");
        }
    }
}
