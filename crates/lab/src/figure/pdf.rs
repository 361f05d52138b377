//! PDF 1.7: one page as large as the figure, text as text, in the glyphs of the font that the page needs.

use super::canvas::{Canvas, Point, Step, draw};
use super::font::{Font, Glyph, font};
use super::ink::{PAPER, Rgb};
use super::{Figure, failed};
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
    let [catalog, pages, leaf, stream, info] = [id(), id(), id(), id(), id()];
    let mut pdf = Pdf::new();
    pdf.catalog(catalog).pages(pages);
    pdf.pages(pages).kids([leaf]).count(1);
    pdf.document_info(info).title(TextStr(&figure.title)).creator(TextStr("candor"));

    let mut fonts = Vec::new();
    for (bold, subset) in [false, true].into_iter().zip(&subsets) {
        if !subset.used.is_empty() {
            let ids = [id(), id(), id(), id(), id()];
            embed(&mut pdf, ids, font(bold), subset).map_err(|why| failed(figure, why))?;
            fonts.push((FONTS[usize::from(bold)], ids[0]));
        }
    }
    let mut out = pdf.page(leaf);
    out.parent(pages).media_box(Rect::new(0.0, 0.0, figure.width as f32, figure.height.ceil() as f32)).contents(stream);
    let mut resources = out.resources();
    resources.fonts().pairs(fonts);
    if let Some(opacity) = opacity {
        let mut states = resources.ext_g_states();
        states.insert(TRANSLUCENT).start::<pdf_writer::writers::ExtGraphicsState>().non_stroking_alpha(opacity);
    }
    resources.finish();
    out.finish();
    let drawn = compress_to_vec_zlib(&content.finish(), LEVEL);
    pdf.stream(stream, &drawn).filter(Filter::FlateDecode);
    Ok(pdf.finish())
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
