//! OMMs as XML (CCSDS 505.0-B-3): each an element `omm`, with a leaf for each keyword.

use super::Message;
use crate::orbit::elements::Elements;
use crate::orbit::error::{Error, Problem};
use roxmltree::{Document, Node};

pub(in crate::orbit) fn read(text: &str) -> Result<Vec<Elements>, Error> {
    let document =
        Document::parse(text).map_err(|error| Problem::Syntax(format!("XML: {error}")).at(error.pos().row as usize))?;
    let line = |node: Node<'_, '_>| document.text_pos_at(node.range().start).row as usize;
    let mut found = Vec::new();
    for omm in document.descendants().filter(|node| node.has_tag_name("omm")) {
        let mut message = Message::new(line(omm));
        for leaf in
            omm.descendants().filter(|node| node.is_element() && !node.children().any(|child| child.is_element()))
        {
            message.add(leaf.tag_name().name(), leaf.text().unwrap_or(""), line(leaf))?;
        }
        found.push(message.elements()?);
    }
    match found.is_empty() {
        true => Err(Problem::Nothing.at(1)),
        false => Ok(found),
    }
}
