//! PDF 1.7: the figure on sheets of A4, as many as it needs, text as text, in the glyphs of the font that it needs.

use super::canvas::{Canvas, Point, Step, draw};
use super::font::{Font, Glyph, font};
use super::ink::{PAPER, Rgb};
use super::{Figure, Shape, failed};
use crate::LabError;
use miniz_oxide::deflate::compress_to_vec_zlib;
use pdf_writer::types::{CidFontType, FontFlags, SystemInfo, UnicodeCmap};
use pdf_writer::{Content, Filter, Finish, Name, Pdf, Rect, Ref, Str, TextStr};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use subsetter::GlyphRemapper;

/// The resources of the page by name.
const FONTS: [Name; 2] = [Name(b"F0"), Name(b"F1")];
const TRANSLUCENT: Name = Name(b"G0");

/// How hard the streams are compressed, of 10.
const LEVEL: u8 = 8;

/// A sheet of A4 (ISO 216), in points of 1/72 inch.
const A4: (f64, f64) = (595.276, 841.89);

/// What stays white around a figure, half an inch.
const MARGIN: f64 = 36.0;

/// Any collection of characters: glyphs are numbered by the font itself.
const IDENTITY: SystemInfo = SystemInfo { registry: Str(b"Adobe"), ordering: Str(b"Identity"), supplement: 0 };

/// The figure as PDF. The same figure gives the same bytes: there is no date in it.
///
/// # Errors
///
/// [`LabError::Figure`] if the font can't be cut down to the glyphs of the figure.
pub fn pdf(figure: &Figure) -> Result<Vec<u8>, LabError> {
    let mut page = Page::new(figure);
    draw(figure, &mut page);
    let Page { content, subsets, opacity, .. } = page;

    let mut next = 0;
    let mut id = || {
        next += 1;
        Ref::new(next)
    };
    let [catalog, pages, stream, end, info] = [id(), id(), id(), id(), id()];
    let sheets: Vec<Sheet> =
        sheets(figure).map(|(top, bottom)| Sheet { leaf: id(), begin: id(), top, bottom }).collect();
    let mut pdf = Pdf::new();
    pdf.catalog(catalog).pages(pages);
    pdf.pages(pages).kids(sheets.iter().map(|sheet| sheet.leaf)).count(i32::try_from(sheets.len()).unwrap_or(i32::MAX));
    pdf.document_info(info).title(TextStr(&figure.title)).creator(TextStr("candor"));

    let mut fonts = Vec::new();
    for (bold, subset) in [false, true].into_iter().zip(&subsets) {
        if !subset.used.is_empty() {
            let ids = [id(), id(), id(), id(), id()];
            embed(&mut pdf, ids, font(bold), subset).map_err(|why| failed(figure, why))?;
            fonts.push((FONTS[usize::from(bold)], ids[0]));
        }
    }
    for sheet in &sheets {
        let mut out = pdf.page(sheet.leaf);
        out.parent(pages).media_box(Rect::new(0.0, 0.0, A4.0 as f32, A4.1 as f32));
        out.art_box(sheet.drawn(figure));
        out.contents_array([sheet.begin, stream, end]);
        let mut resources = out.resources();
        resources.fonts().pairs(fonts.iter().copied());
        if let Some(opacity) = opacity {
            let mut states = resources.ext_g_states();
            states.insert(TRANSLUCENT).start::<pdf_writer::writers::ExtGraphicsState>().non_stroking_alpha(opacity);
        }
        resources.finish();
        out.finish();
        pdf.stream(sheet.begin, &sheet.begun(figure));
    }
    pdf.stream(end, b"Q\n");
    let drawn = compress_to_vec_zlib(&content.finish(), LEVEL);
    pdf.stream(stream, &drawn).filter(Filter::FlateDecode);
    Ok(pdf.finish())
}

/// A page, and the part of the figure that it shows.
struct Sheet {
    leaf: Ref,
    /// What its content begins with.
    begin: Ref,
    top: f64,
    bottom: f64,
}

impl Sheet {
    /// Where on the paper the drawing is: what a paper that includes the page shows of it.
    fn drawn(&self, figure: &Figure) -> Rect {
        let (scale, top) = (scale(figure), A4.1 - MARGIN);
        let [left, bottom, right, top] =
            [MARGIN, top - scale * (self.bottom - self.top), MARGIN + scale * figure.width, top];
        Rect::new(left as f32, bottom as f32, right as f32, top as f32)
    }

    /// Puts its part of the drawing, which is the same for all, below the upper margin, and hides the rest.
    fn begun(&self, figure: &Figure) -> Vec<u8> {
        let (scale, height) = (scale(figure), figure.height.ceil());
        let down = A4.1 - MARGIN - scale * (height - self.top);
        let mut content = Content::new();
        content.save_state().transform([scale as f32, 0.0, 0.0, scale as f32, MARGIN as f32, down as f32]);
        let (width, shown) = (figure.width as f32, (self.bottom - self.top) as f32);
        content.rect(0.0, (height - self.bottom) as f32, width, shown).clip_nonzero().end_path();
        content.finish().into_vec()
    }
}

/// Points for a unit of the figure: as wide as the paper allows, and no larger than drawn.
fn scale(figure: &Figure) -> f64 {
    ((A4.0 - 2.0 * MARGIN) / figure.width).min(1.0)
}

/// Where the parts of a figure begin and end that fit on a page each: above a heading, or at least not within a line of text.
pub(super) fn sheets(figure: &Figure) -> impl Iterator<Item = (f64, f64)> {
    let (room, end) = ((A4.1 - 2.0 * MARGIN) / scale(figure), figure.height.ceil());
    let cuts_text = |y: f64| {
        figure.shapes.iter().any(|shape| match shape {
            Shape::Text { at, size, .. } => at.1 - size < y && y < at.1 + size / 2.0,
            _ => false,
        })
    };
    let above_heading = |shape: &Shape| match shape {
        Shape::Text { at, size, bold: true, .. } => Some((at.1 - size - 2.0).floor()),
        _ => None,
    };
    let headings: Vec<f64> = figure.shapes.iter().filter_map(above_heading).collect();
    let mut next = Some(0.0);
    std::iter::from_fn(move || {
        let top = next?;
        if end - top <= room {
            next = None;
            return Some((top, end));
        }
        let lowest = (top + room).floor();
        let fits = |y: &f64| *y <= lowest && *y > top + room / 2.0;
        let heading = headings.iter().copied().filter(fits).reduce(f64::max);
        let mut between = std::iter::successors(Some(lowest), |y| Some(y - 1.0)).take_while(fits);
        let bottom = heading.or_else(|| between.find(|y| !cuts_text(*y))).unwrap_or(lowest);
        next = Some(bottom);
        Some((top, bottom))
    })
}

/// The glyphs of a face that a page uses, numbered anew.
#[derive(Default)]
struct Subset {
    numbers: GlyphRemapper,
    /// New number, to the glyph and the first character that it was used for.
    used: BTreeMap<u16, Glyph>,
}

impl Subset {
    fn number(&mut self, glyph: Glyph) -> u16 {
        let number = self.numbers.remap(glyph.id.0);
        self.used.entry(number).or_insert(glyph);
        number
    }
}

/// A page's operators. PDF counts upwards from the bottom, figures downwards from the top.
struct Page {
    content: Content,
    height: f64,
    subsets: [Subset; 2],
    /// The opacity of translucent shapes, if there are any.
    opacity: Option<f32>,
}

impl Page {
    fn new(figure: &Figure) -> Self {
        let (width, height) = (figure.width, figure.height.ceil());
        let mut page = Self { content: Content::new(), height, subsets: Default::default(), opacity: None };
        page.fill_colour(PAPER);
        page.content.rect(0.0, 0.0, width as f32, height as f32).fill_nonzero();
        page
    }

    fn at(&self, (x, y): Point) -> (f32, f32) {
        (x as f32, (self.height - y) as f32)
    }

    fn fill_colour(&mut self, colour: Rgb) {
        let [red, green, blue] = colour.map(share);
        self.content.set_fill_rgb(red, green, blue);
    }

    fn outline(&mut self, outline: &[Step]) {
        for step in outline {
            match *step {
                Step::Move(to) => {
                    let (x, y) = self.at(to);
                    self.content.move_to(x, y)
                }
                Step::Line(to) => {
                    let (x, y) = self.at(to);
                    self.content.line_to(x, y)
                }
                Step::Curve(a, b, to) => {
                    let (a, b, to) = (self.at(a), self.at(b), self.at(to));
                    self.content.cubic_to(a.0, a.1, b.0, b.1, to.0, to.1)
                }
                Step::Close => self.content.close_path(),
            };
        }
    }
}

impl Canvas for Page {
    fn fill(&mut self, outline: &[Step], colour: Rgb, opacity: f64) {
        self.fill_colour(colour);
        let solid = opacity >= 1.0;
        if !solid {
            self.opacity = Some(opacity as f32);
            self.content.save_state().set_parameters(TRANSLUCENT);
        }
        self.outline(outline);
        self.content.fill_nonzero();
        if !solid {
            self.content.restore_state();
        }
    }

    fn stroke(&mut self, outline: &[Step], colour: Rgb, width: f64) {
        let [red, green, blue] = colour.map(share);
        self.content.set_stroke_rgb(red, green, blue).set_line_width(width as f32);
        self.outline(outline);
        self.content.stroke();
    }

    fn text(&mut self, from: Point, text: &str, font: &'static Font, size: f64, colour: Rgb) {
        let bold = usize::from(std::ptr::eq(font, super::font::font(true)));
        self.fill_colour(colour);
        let (x, y) = self.at(from);
        self.content.begin_text().set_font(FONTS[bold], size as f32).next_line(x, y);
        // Adjustments are in thousandths of the font's size, to the left.
        let thousandth = f64::from(font.face.units_per_em()) / 1000.0;
        let mut line = self.content.show_positioned();
        let mut items = line.items();
        let (mut run, mut here) = (Vec::new(), 0);
        for glyph in font.set(text) {
            if glyph.at != here {
                items.show(Str(&run)).adjust((f64::from(here - glyph.at) / thousandth) as f32);
                run.clear();
            }
            run.extend(self.subsets[bold].number(glyph).to_be_bytes());
            here = glyph.at + glyph.advance;
        }
        items.show(Str(&run));
        items.finish();
        line.finish();
        self.content.end_text();
    }
}

/// A byte of a colour as a share of 1.
fn share(byte: u8) -> f32 {
    f32::from(byte) / 255.0
}

/// Embeds what a page uses of a face: a composite font, its glyphs by number, their widths, the font file, and, for
/// copying and searching, the characters.
fn embed(pdf: &mut Pdf, ids: [Ref; 5], font: &Font, subset: &Subset) -> Result<(), String> {
    let [composite, glyphs, descriptor, characters, file] = ids;
    let cut = subsetter::subset(font.data, 0, &subset.numbers).map_err(|error| error.to_string())?;
    let name = format!("{}+{}", tag(&cut), font.name);
    let name = Name(name.as_bytes());
    let thousandths = |units: i32| f64::from(units) as f32 * 1000.0 / f32::from(font.face.units_per_em());

    pdf.type0_font(composite)
        .base_font(name)
        .encoding_predefined(Name(b"Identity-H"))
        .descendant_font(glyphs)
        .to_unicode(characters);
    let mut cid = pdf.cid_font(glyphs);
    cid.subtype(CidFontType::Type2).base_font(name).system_info(IDENTITY).font_descriptor(descriptor);
    cid.cid_to_gid_map_predefined(Name(b"Identity")).default_width(0.0);
    let mut widths = cid.widths();
    for (&number, glyph) in &subset.used {
        widths.consecutive(number, [thousandths(glyph.advance)]);
    }
    widths.finish();
    cid.finish();

    let bounds = font.face.global_bounding_box();
    let [left, bottom, right, top] =
        [bounds.x_min, bounds.y_min, bounds.x_max, bounds.y_max].map(|units| thousandths(units.into()));
    pdf.font_descriptor(descriptor)
        .name(name)
        .flags(FontFlags::SYMBOLIC)
        .bbox(Rect::new(left, bottom, right, top))
        .italic_angle(0.0)
        .ascent(thousandths(font.face.ascender().into()))
        .descent(thousandths(font.face.descender().into()))
        .cap_height(thousandths(font.face.capital_height().unwrap_or_default().into()))
        // The usual widths of a vertical stem; nothing is drawn by it.
        .stem_v(if font.face.is_bold() { 140.0 } else { 80.0 })
        .font_file2(file);

    let mut unicode = UnicodeCmap::<u16>::new(Name(b"Characters"), IDENTITY);
    for (&number, glyph) in &subset.used {
        unicode.pair(number, glyph.character);
    }
    let unicode = compress_to_vec_zlib(&unicode.finish(), LEVEL);
    pdf.cmap(characters, &unicode).filter(Filter::FlateDecode);
    let small = compress_to_vec_zlib(&cut, LEVEL);
    pdf.stream(file, &small).filter(Filter::FlateDecode).pair(Name(b"Length1"), i32::try_from(cut.len()).unwrap_or(0));
    Ok(())
}

/// Six capitals that tell subsets of a font apart when documents are joined (ISO 32000-1, 9.6.4).
fn tag(subset: &[u8]) -> String {
    Sha256::digest(subset).iter().take(6).map(|byte| char::from(b'A' + byte % 26)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{Anchor, Ink};

    /// A figure with a line of text every 19 units.
    fn figure(height: f64) -> Figure {
        let mut figure = Figure {
            name: "lines".into(),
            title: "Lines".into(),
            caption: String::new(),
            width: 860.0,
            height,
            shapes: Vec::new(),
        };
        for line in 1..(height / 19.0) as usize {
            figure.text((16.0, line as f64 * 19.0), "a line", Anchor::Start, Ink::Text);
        }
        figure
    }

    #[test]
    fn a_figure_is_cut_into_pages_between_its_lines() {
        assert_eq!(sheets(&figure(900.0)).collect::<Vec<_>>(), [(0.0, 900.0)]);
        let parts: Vec<_> = sheets(&figure(5000.0)).collect();
        assert_eq!((parts.len(), parts[0].0, parts[3].1), (4, 0.0, 5000.0));
        assert!(parts.windows(2).all(|pair| pair[0].1 == pair[1].0), "{parts:?}");
        for (_, bottom) in &parts[..3] {
            let from_baseline = bottom % 19.0;
            assert!((6.0..=7.0).contains(&from_baseline), "{bottom}: 12 units above a baseline, 6 below");
        }
    }

    #[test]
    fn what_stands_below_a_heading_stays_with_it() {
        let mut figure = figure(2000.0);
        figure.heading((16.0, 1100.0), "a panel");
        assert_eq!(sheets(&figure).collect::<Vec<_>>(), [(0.0, 1086.0), (1086.0, 2000.0)]);
    }

    #[test]
    fn pages_are_of_paper_size() {
        let count = |height: f64| {
            let bytes = pdf(&figure(height)).unwrap();
            let text = String::from_utf8_lossy(&bytes).into_owned();
            assert_eq!(text.matches("/MediaBox [0 0 595.276 841.89]").count(), text.matches("/Type /Page\n").count());
            text.matches("/MediaBox").count()
        };
        assert_eq!((count(900.0), count(5000.0)), (1, 4));
    }
}
