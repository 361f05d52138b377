//! Sections as text, Markdown, a web page and LaTeX.

use super::super::{markdown, page, tex as latex};
use super::{Piece, Section};
use crate::compare::Comparison;
use crate::figure::{self, escape};
use crate::latex::{escape as tex_escape, label};
use crate::table::{Align, Table, paragraph};
use std::fmt::Write;

pub(super) fn text(sections: &[Section], columns: Option<usize>) -> String {
    let mut out = String::new();
    for section in sections {
        out += &paragraph("", &section.title, columns);
        out += &section.what.iter().map(|text| paragraph("  ", text, columns)).collect::<String>();
        if let Some(head) = section.rows.first() {
            let mut aligned: Vec<Align> =
                head.iter().map(|piece| if piece.is_words { Align::Left } else { Align::Right }).collect();
            aligned[0] = Align::Left;
            let mut table = Table::new(&aligned);
            for row in &section.rows {
                let cells = row.iter().enumerate();
                table.row(
                    cells.map(|(at, piece)| if at == 0 { format!("  {}", piece.text) } else { piece.text.clone() }),
                );
            }
            match columns {
                Some(columns) if !table.fits(columns) => out += &stacked(&section.rows, columns),
                _ => out += &table.text(columns),
            }
        }
        out += &section.notes.iter().map(|note| paragraph("  ", note, columns)).collect::<String>();
        out.push('\n');
    }
    out
}

/// A table that is too wide for the terminal: below each row's first field the others, each with the head of its column.
fn stacked(rows: &[Vec<Piece>], columns: usize) -> String {
    let Some((head, rows)) = rows.split_first() else { return String::new() };
    let below =
        |(head, piece): (&Piece, &Piece)| paragraph("    ", &format!("{}: {}", head.text, piece.text), Some(columns));
    let stack = rows.iter().filter_map(|row| {
        let (first, others) = row.split_first()?;
        let told = head.iter().skip(1).zip(others).filter(|(_, piece)| !piece.text.is_empty());
        Some(paragraph("  ", &first.text, Some(columns)) + &told.map(below).collect::<String>())
    });
    stack.collect()
}

pub(super) fn markdown(sections: &[Section]) -> String {
    let mut out = String::new();
    for section in sections {
        let _ = writeln!(out, "### {}\n", markdown::escape(&section.title));
        for text in &section.what {
            let _ = writeln!(out, "{}\n", markdown::begin(text));
        }
        for (at, row) in section.rows.iter().enumerate() {
            let cells: Vec<String> = row.iter().map(emphasised).collect();
            let _ = writeln!(out, "| {} |", cells.join(" | "));
            if at == 0 {
                let aligned = row.iter().map(|piece| if piece.is_words { "---" } else { "--:" });
                let _ = writeln!(out, "|{}|", aligned.collect::<Vec<_>>().join("|"));
            }
        }
        if !section.rows.is_empty() {
            out.push('\n');
        }
        for note in &section.notes {
            let _ = writeln!(out, "- {}", markdown::begin(note));
        }
        if !section.notes.is_empty() {
            out.push('\n');
        }
    }
    out
}

/// What is slower, or flips, is what a reviewer looks for.
fn emphasised(piece: &Piece) -> String {
    let text = markdown::escape(&piece.text);
    if piece.class == "slower" { format!("**{text}**") } else { text }
}

pub(super) fn html(comparison: &Comparison, sections: &[Section]) -> String {
    let runs: Vec<String> = comparison.columns.iter().map(crate::compare::Column::runs).collect();
    let mut out = page::begin(&format!("candor: {}", runs.join(" and ")));
    out += &page::finder(comparison.tasks.iter().map(|task| task.task.as_str()), false);
    for (at, section) in sections.iter().enumerate() {
        let heading = if at == 0 { "h1" } else { "h2" };
        let (class, rows) = if section.is_task { (" class=\"task\"", " class=\"rows\"") } else { ("", "") };
        let _ = writeln!(out, "<section{class}><{heading}>{}</{heading}>", escape(&section.title));
        for text in &section.what {
            let _ = writeln!(out, "<p class=\"muted\">{}</p>", escape(text));
        }
        if !section.rows.is_empty() {
            let _ = writeln!(out, "<div class=\"scroll\" tabindex=\"0\"><table{rows}>");
        }
        for (row, pieces) in section.rows.iter().enumerate() {
            let (tag, before, behind) = match row {
                0 => ("th", "<thead>", "</thead><tbody>"),
                _ => ("td", "", ""),
            };
            let _ = write!(out, "{before}<tr>");
            for piece in pieces {
                let words = if piece.is_words { "words " } else { "" };
                let _ = write!(out, "<{tag} class=\"{words}{}\">{}</{tag}>", piece.class, escape(&piece.text));
            }
            let _ = writeln!(out, "</tr>{behind}");
        }
        if !section.rows.is_empty() {
            out.push_str("</tbody></table></div>\n");
        }
        for note in &section.notes {
            let _ = writeln!(out, "<p>{}</p>", escape(note));
        }
        out.push_str("</section>\n");
        figure::slopes(comparison).iter().filter(|_| at == 0).for_each(|figure| page::figure(&mut out, figure));
    }
    out + &page::end()
}

/// Each section's table is a float, or several where it is longer than a page; a section without one is a paragraph.
pub(super) fn tex(sections: &[Section]) -> String {
    let mut out = latex::HEAD.to_owned();
    for section in sections {
        let sentences = |texts: &[String]| texts.iter().map(|text| tex_escape(text)).collect::<Vec<_>>().join(" ");
        let what = sentences(&section.what);
        let Some((head, rows)) = section.rows.split_first().filter(|(_, rows)| !rows.is_empty()) else {
            let _ =
                writeln!(out, "\n\\paragraph{{{}}} {what} {}", tex_escape(&section.title), sentences(&section.notes));
            continue;
        };
        let cells = |row: &[Piece]| latex::line(&row.iter().map(|piece| tex_escape(&piece.text)).collect::<Vec<_>>());
        let columns = head.iter().enumerate().map(|(at, piece)| if at == 0 || piece.is_words { 'l' } else { 'r' });
        let columns = format!("@{{}}{}@{{}}", columns.collect::<String>());
        let parts = rows.chunks(latex::MOST_LINES).count();
        for (part, rows) in rows.chunks(latex::MOST_LINES).enumerate() {
            let (of, place) = match part {
                0 => (String::new(), String::new()),
                _ => (format!(" (part {})", part + 1), format!("-{}", part + 1)),
            };
            let caption = format!("{}{of}. {what}", tex_escape(&section.title));
            let body = cells(head) + "    \\midrule\n" + &rows.iter().map(|row| cells(row)).collect::<String>();
            let notes = if part + 1 == parts { sentences(&section.notes) } else { String::new() };
            out += &latex::float(&caption, &format!("tab:{}{place}", label(&section.title)), &columns, &body, &notes);
        }
    }
    out
}
