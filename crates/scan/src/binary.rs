//! Functions and constants of an ELF executable for x86-64.

use object::{Object, ObjectSection, ObjectSymbol, ObjectSymbolTable, RelocationTarget, SymbolKind};
use std::collections::BTreeMap;

/// An executable in memory.
pub struct Binary {
    /// Address and bytes of each section that has any.
    sections: Vec<(u64, Vec<u8>)>,
    /// By address.
    functions: BTreeMap<u64, Symbol>,
    /// What the loader puts at an address: the name of a function of another file, or of this one and where it stands.
    imports: BTreeMap<u64, (String, Option<u64>)>,
}

struct Symbol {
    name: String,
    size: u64,
}

/// A function: its name without the compiler's hash, where it stands, and its machine code.
#[derive(Clone, Copy)]
pub struct Function<'a> {
    /// As in the source.
    pub name: &'a str,
    /// Of its first byte.
    pub address: u64,
    /// All of it.
    pub code: &'a [u8],
}

impl Binary {
    /// Parses an executable.
    ///
    /// # Errors
    /// What is wrong with the file, or that it has no symbols.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let file = object::File::parse(bytes).map_err(|error| format!("cannot read the executable: {error}"))?;
        let content = |section: object::Section<'_, '_>| Some((section.address(), section.data().ok()?.to_vec()));
        let sections = file.sections().filter_map(content).filter(|(at, data)| *at != 0 && !data.is_empty()).collect();
        let functions: BTreeMap<u64, Symbol> = file
            .symbols()
            .filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.size() > 0)
            .filter_map(|symbol| {
                // `{:#}` leaves the hash out.
                let name = format!("{:#}", rustc_demangle::demangle(symbol.name().ok()?));
                Some((symbol.address(), Symbol { name, size: symbol.size() }))
            })
            .collect();
        if functions.is_empty() {
            return Err("the executable has no symbols: build it without `strip`".to_owned());
        }
        let mut imports = BTreeMap::new();
        for (at, relocation) in file.dynamic_relocations().into_iter().flatten() {
            let import = match relocation.target() {
                RelocationTarget::Symbol(index) => file
                    .dynamic_symbol_table()
                    .and_then(|table| table.symbol_by_index(index).ok())
                    .and_then(|symbol| Some((symbol.name().ok()?.to_owned(), symbol.address())))
                    .map(|(name, address)| (name, functions.contains_key(&address).then_some(address))),
                _ => {
                    let address = relocation.addend().cast_unsigned();
                    functions.get(&address).map(|symbol| (symbol.name.clone(), Some(address)))
                }
            };
            imports.extend(import.map(|import| (at, import)));
        }
        Ok(Self { sections, functions, imports })
    }

    /// All functions, by address.
    pub fn functions(&self) -> impl Iterator<Item = Function<'_>> {
        self.functions.keys().filter_map(|&address| self.function(address))
    }

    /// The function that begins at `address`.
    pub fn function(&self, address: u64) -> Option<Function<'_>> {
        let symbol = self.functions.get(&address)?;
        let code = self.bytes(address, usize::try_from(symbol.size).ok()?)?;
        Some(Function { name: &symbol.name, address, code })
    }

    /// The name of the function that begins at `address`.
    pub fn name(&self, address: u64) -> Option<&str> {
        self.functions.get(&address).map(|symbol| symbol.name.as_str())
    }

    /// The function whose address the loader puts at `address`.
    pub fn import(&self, address: u64) -> Option<&str> {
        self.imports.get(&address).map(|(name, _)| name.as_str())
    }

    /// Where that function stands, if it is in this file.
    pub fn imported(&self, address: u64) -> Option<u64> {
        self.imports.get(&address).and_then(|(_, address)| *address)
    }

    /// What the file holds at an address.
    pub fn bytes(&self, address: u64, length: usize) -> Option<&[u8]> {
        self.sections.iter().find_map(|(start, data)| {
            let at = usize::try_from(address.checked_sub(*start)?).ok()?;
            data.get(at..at.checked_add(length)?)
        })
    }
}
