//! A figure's PDF inside a LaTeX document.

use super::{Figure, pdf};
use crate::latex::{escape, is_file_name, label};

/// Figure environments for a document with package graphicx: one for each sheet of the figure's PDF, which is `file`.
pub fn tex(figure: &Figure, file: &str) -> String {
    if !is_file_name(file) {
        return "\n% A figure is left out, since TeX can't read the name of its file: rename the run.\n".to_owned();
    }
    let sheets = pdf::sheets(figure).count();
    let environment = |sheet: usize| {
        let part = if sheets > 1 { format!(" (sheet {sheet} of {sheets})") } else { String::new() };
        let caption = escape(&format!("{}{part}. {}", figure.title, figure.caption));
        let place = label(&format!(
            "{}{}",
            file.trim_end_matches(".pdf"),
            if sheet > 1 { format!("-{sheet}") } else { String::new() }
        ));
        format!(
            "\n\\begin{{figure}}[tbp]\n  \\centering\n  \
             \\includegraphics[page={sheet},pagebox=artbox,width=\\linewidth,height=.8\\textheight,keepaspectratio]{{{file}}}\n  \
             \\caption{{{caption}}}\n  \\label{{fig:{place}}}\n\\end{{figure}}\n"
        )
    };
    (1..=sheets).map(environment).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sheet_is_shown() {
        let figure = |height: f64| Figure { height, ..Figure::titled("ratios", "50 % of them", "Read_it.") };
        let one = tex(&figure(900.0), "r-ratios.pdf");
        assert_eq!(one.matches("\\includegraphics").count(), 1);
        assert!(
            one.contains("\\caption{50 \\% of them. Read\\_it.}") && one.contains("\\label{fig:r-ratios}"),
            "{one}"
        );
        let many = tex(&figure(3000.0), "r-ratios.pdf");
        assert_eq!(many.matches("\\includegraphics").count(), 3);
        assert!(!tex(&figure(900.0), "r}-ratios.pdf").contains("includegraphics"));
        assert!(
            many.contains("page=3,") && many.contains("(sheet 3 of 3)") && many.contains("fig:r-ratios-3"),
            "{many}"
        );
    }
}
