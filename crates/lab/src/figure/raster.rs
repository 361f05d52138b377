//! PNG and PDF of a figure's SVG, with a font that travels with the program: the bytes are the same everywhere.

use super::Figure;
use std::sync::{Arc, OnceLock};
use svg2pdf::usvg;

/// Pixels per unit of the drawing: sharp on paper and on screens.
const SCALE: f32 = 2.0;

/// The figure as PNG.
pub fn png(figure: &Figure) -> Result<Vec<u8>, String> {
    let tree = tree(figure)?;
    let size = tree.size().to_int_size().scale_by(SCALE).ok_or("the figure has no size")?;
    let mut pixels = resvg::tiny_skia::Pixmap::new(size.width(), size.height()).ok_or("the figure is too large")?;
    resvg::render(&tree, resvg::tiny_skia::Transform::from_scale(SCALE, SCALE), &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| format!("PNG: {error}"))
}

/// The figure as PDF, text as text.
pub fn pdf(figure: &Figure) -> Result<Vec<u8>, String> {
    let tree = tree(figure)?;
    svg2pdf::to_pdf(&tree, svg2pdf::ConversionOptions::default(), svg2pdf::PageOptions::default())
        .map_err(|error| format!("PDF: {error}"))
}

fn tree(figure: &Figure) -> Result<usvg::Tree, String> {
    static FONTS: OnceLock<Arc<usvg::fontdb::Database>> = OnceLock::new();
    let fonts = FONTS.get_or_init(|| {
        let mut fonts = usvg::fontdb::Database::new();
        fonts.load_font_data(dejavu::sans::regular().to_vec());
        fonts.load_font_data(dejavu::sans::bold().to_vec());
        fonts.set_sans_serif_family("DejaVu Sans");
        Arc::new(fonts)
    });
    let options = usvg::Options { fontdb: Arc::clone(fonts), font_family: "DejaVu Sans".into(), ..Default::default() };
    usvg::Tree::from_str(&figure.svg(), &options).map_err(|error| format!("SVG: {error}"))
}
