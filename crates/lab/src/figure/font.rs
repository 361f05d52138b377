//! The font of PNG and PDF: DejaVu Sans, as bytes in the program, so that a figure looks the same everywhere.

use std::sync::OnceLock;
use ttf_parser::{Face, GlyphId};

/// A face of the font.
pub(super) struct Font {
    /// The font file.
    pub(super) data: &'static [u8],
    /// The file, parsed.
    pub(super) face: Face<'static>,
    /// The name without spaces, as PDF wants it.
    pub(super) name: &'static str,
}

/// A character's place in a line of text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Glyph {
    pub(super) id: GlyphId,
    pub(super) character: char,
    /// Distance from the start of the line to the glyph's origin, in font units.
    pub(super) at: i32,
    /// Distance to the next glyph's origin without kerning, in font units.
    pub(super) advance: i32,
}

/// The regular or the bold face.
pub(super) fn font(bold: bool) -> &'static Font {
    static FONTS: OnceLock<[Font; 2]> = OnceLock::new();
    let fonts = FONTS.get_or_init(|| {
        let font = |data, name| Font { data, face: Face::parse(data, 0).expect("the bundled font is sound"), name };
        [font(dejavu::sans::regular(), "DejaVuSans"), font(dejavu::sans::bold(), "DejaVuSans-Bold")]
    });
    &fonts[usize::from(bold)]
}

impl Font {
    /// Sets a line of text with the font's kerning. A character that the font lacks becomes its empty box.
    pub(super) fn set(&self, text: &str) -> Vec<Glyph> {
        let mut glyphs: Vec<Glyph> = Vec::new();
        for character in text.chars() {
            let id = self.face.glyph_index(character).unwrap_or_default();
            let at = glyphs.last().map_or(0, |left| left.at + left.advance + self.kerning(left.id, id));
            glyphs.push(Glyph { id, character, at, advance: self.face.glyph_hor_advance(id).unwrap_or(0).into() });
        }
        glyphs
    }

    /// By how much the right glyph of a pair moves, in font units.
    fn kerning(&self, left: GlyphId, right: GlyphId) -> i32 {
        let tables = self.face.tables().kern.into_iter().flat_map(|kern| kern.subtables);
        let pairs = tables.filter(|table| table.horizontal && !table.variable && !table.has_cross_stream);
        pairs.filter_map(|table| table.glyphs_kerning(left, right)).map(i32::from).sum()
    }

    /// Size of a font unit when the text is `size` high.
    pub(super) fn scale(&self, size: f64) -> f64 {
        size / f64::from(self.face.units_per_em())
    }
}

/// Where a line ends, in font units from its start.
pub(super) fn end(glyphs: &[Glyph]) -> i32 {
    glyphs.last().map_or(0, |last| last.at + last.advance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_as_long_as_its_glyphs_and_pairs_are_kerned() {
        let font = font(false);
        let alone = end(&font.set("A")) + end(&font.set("V"));
        let pair = end(&font.set("AV"));
        assert!(pair < alone, "{pair} and {alone}");
        assert_eq!(end(&font.set("mm")), 2 * end(&font.set("m")), "nothing to kern");
        assert_eq!(end(&[]), 0);
    }

    #[test]
    fn every_character_of_the_reports_has_a_glyph_in_both_faces() {
        for bold in [false, true] {
            let missing = |glyph: &Glyph| glyph.id == GlyphId(0);
            assert!(!font(bold).set("0123456789 aZ@#.:–%µ/()’…").iter().any(missing));
            assert!(font(bold).set("\u{10ffff}").iter().any(missing), "and one that no font has has none");
        }
    }
}
