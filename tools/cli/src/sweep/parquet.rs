//! The table of a sweep as a Parquet file: flat columns, plain encoding, no compression, one row group.
//!
//! Source: the Parquet format specification (`parquet.thrift`, "Encodings") and the compact protocol of Thrift. A file is the magic number, for
//! each column pages of a header and data, the metadata, its length, and the magic number again. The data of a page are definition levels
//! (1 for a value, 0 for null), in runs, and the values that are not null.

use serde_json::Value;

use super::table::{Kind, Table};

const MAGIC: &[u8; 4] = b"PAR1";

/// Maximum number of rows of a page: its length has 31 bits. The texts of all runs together have at most `SWEEP_TEXT_BYTES_MAX` bytes, and a
/// message has `SWEEP_MESSAGE_CHARS_MAX` characters.
const PAGE_ROWS_MAX: usize = 10_000;

/// Numbers that `parquet.thrift` gives to variants.
mod variant {
    pub(super) const TYPE_INT64: i64 = 2;
    pub(super) const TYPE_DOUBLE: i64 = 5;
    pub(super) const TYPE_BYTE_ARRAY: i64 = 6;
    pub(super) const CONVERTED_UTF8: i64 = 0;
    pub(super) const CONVERTED_UINT_64: i64 = 14;
    pub(super) const ENCODING_PLAIN: i64 = 0;
    pub(super) const ENCODING_RLE: i64 = 3;
    pub(super) const REPETITION_OPTIONAL: i64 = 1;
    pub(super) const PAGE_DATA: i64 = 0;
    pub(super) const CODEC_NONE: i64 = 0;
    pub(super) const VERSION: i64 = 1;
}

/// Returns the table as the bytes of a Parquet file.
pub(crate) fn to_parquet(table: &Table) -> Vec<u8> {
    let mut file = MAGIC.to_vec();
    let kinds = table.kinds();
    let columns: Vec<Column> = (0..).zip(&kinds).map(|(place, kind)| Column::write(table, place, *kind, &mut file)).collect();
    let metadata = metadata(table, &columns);
    file.extend(&metadata);
    file.extend((metadata.len() as u32).to_le_bytes());
    file.extend(MAGIC);
    file
}

/// The kind of a column, and its place in the file.
struct Column {
    kind: Kind,
    offset: usize,
    bytes: usize,
}

impl Column {
    /// Appends the pages of a column.
    fn write(table: &Table, place: usize, kind: Kind, file: &mut Vec<u8>) -> Self {
        let offset = file.len();
        for rows in table.rows.chunks(PAGE_ROWS_MAX) {
            let cells: Vec<Option<Vec<u8>>> = rows.iter().map(|row| plain(kind, &row[place])).collect();
            let levels = levels(cells.iter().map(Option::is_some));
            let mut data = (levels.len() as u32).to_le_bytes().to_vec();
            data.extend(levels);
            cells.iter().flatten().for_each(|cell| data.extend(cell));
            let mut header = Struct::default();
            header.number(1, I32, variant::PAGE_DATA);
            header.number(2, I32, data.len() as i64);
            header.number(3, I32, data.len() as i64);
            let mut page = Struct::default();
            page.number(1, I32, rows.len() as i64);
            page.number(2, I32, variant::ENCODING_PLAIN);
            page.number(3, I32, variant::ENCODING_RLE);
            page.number(4, I32, variant::ENCODING_RLE);
            header.nested(5, page);
            file.extend(header.end());
            file.extend(data);
        }
        Self { kind, offset, bytes: file.len() - offset }
    }
}

/// Returns a cell in plain encoding; `None` for null, and for a cell that is not of the kind of its column.
fn plain(kind: Kind, cell: &Value) -> Option<Vec<u8>> {
    match kind {
        Kind::Text => cell.as_str().map(|text| [&(text.len() as u32).to_le_bytes(), text.as_bytes()].concat()),
        Kind::Signed => cell.as_i64().map(|number| number.to_le_bytes().to_vec()),
        Kind::Unsigned => cell.as_u64().map(|number| number.to_le_bytes().to_vec()),
        Kind::Real => cell.as_f64().map(|number| number.to_le_bytes().to_vec()),
    }
}

/// Encodes definition levels of one bit as runs of equal levels.
fn levels(are_values: impl Iterator<Item = bool>) -> Vec<u8> {
    let mut runs: Vec<(u64, bool)> = Vec::new();
    for is_value in are_values {
        match runs.last_mut() {
            Some((length, level)) if *level == is_value => *length += 1,
            _ => runs.push((1, is_value)),
        }
    }
    let mut bytes = Vec::new();
    for (length, level) in runs {
        varint(length << 1, &mut bytes);
        bytes.push(level.into());
    }
    bytes
}

fn metadata(table: &Table, columns: &[Column]) -> Vec<u8> {
    let rows = table.rows.len() as i64;
    let mut root = Struct::default();
    root.text(4, "schema");
    root.number(5, I32, columns.len() as i64);
    let named = || table.columns.iter().zip(columns);
    let schema: Vec<Vec<u8>> = [root.end()].into_iter().chain(named().map(|(name, column)| element(name, column.kind))).collect();
    let chunks: Vec<Vec<u8>> = named().map(|(name, column)| chunk(name, rows, column)).collect();
    let mut group = Struct::default();
    group.list(1, STRUCT, &chunks);
    group.number(2, I64, columns.iter().map(|column| column.bytes as i64).sum());
    group.number(3, I64, rows);
    let mut metadata = Struct::default();
    metadata.number(1, I32, variant::VERSION);
    metadata.list(2, STRUCT, &schema);
    metadata.number(3, I64, rows);
    metadata.list(4, STRUCT, &[group.end()]);
    metadata.text(6, concat!("pelago ", env!("CARGO_PKG_VERSION")));
    metadata.end()
}

/// Returns the element of the schema for a column.
fn element(name: &str, kind: Kind) -> Vec<u8> {
    let mut element = Struct::default();
    element.number(1, I32, physical(kind));
    element.number(3, I32, variant::REPETITION_OPTIONAL);
    element.text(4, name);
    match kind {
        Kind::Text => element.number(6, I32, variant::CONVERTED_UTF8),
        Kind::Unsigned => element.number(6, I32, variant::CONVERTED_UINT_64),
        Kind::Signed | Kind::Real => {}
    }
    element.end()
}

fn physical(kind: Kind) -> i64 {
    match kind {
        Kind::Text => variant::TYPE_BYTE_ARRAY,
        Kind::Signed | Kind::Unsigned => variant::TYPE_INT64,
        Kind::Real => variant::TYPE_DOUBLE,
    }
}

/// Returns the description of the pages of a column.
fn chunk(name: &str, rows: i64, column: &Column) -> Vec<u8> {
    let encodings = [variant::ENCODING_PLAIN, variant::ENCODING_RLE].map(zigzag);
    let mut about = Struct::default();
    about.number(1, I32, physical(column.kind));
    about.list(2, I32, &encodings);
    about.list(3, BINARY, &[binary(name)]);
    about.number(4, I32, variant::CODEC_NONE);
    about.number(5, I64, rows);
    about.number(6, I64, column.bytes as i64);
    about.number(7, I64, column.bytes as i64);
    about.number(9, I64, column.offset as i64);
    let mut chunk = Struct::default();
    chunk.number(2, I64, column.offset as i64);
    chunk.nested(3, about);
    chunk.end()
}

/// Types of the compact protocol.
const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// A structure in the compact protocol, under construction. Fields follow in ascending order; a field header holds the step from the previous
/// one, at most 15, and the type.
#[derive(Default)]
struct Struct {
    bytes: Vec<u8>,
    last: u8,
}

impl Struct {
    fn field(&mut self, number: u8, kind: u8) {
        self.bytes.push((number - self.last) << 4 | kind);
        self.last = number;
    }

    fn number(&mut self, field: u8, kind: u8, number: i64) {
        self.field(field, kind);
        self.bytes.extend(zigzag(number));
    }

    fn text(&mut self, field: u8, text: &str) {
        self.field(field, BINARY);
        self.bytes.extend(binary(text));
    }

    fn nested(&mut self, field: u8, inner: Struct) {
        self.field(field, STRUCT);
        self.bytes.extend(inner.end());
    }

    fn list(&mut self, field: u8, kind: u8, elements: &[Vec<u8>]) {
        self.field(field, LIST);
        if elements.len() < 15 {
            self.bytes.push((elements.len() as u8) << 4 | kind);
        } else {
            self.bytes.push(0xf0 | kind);
            varint(elements.len() as u64, &mut self.bytes);
        }
        elements.iter().for_each(|element| self.bytes.extend(element));
    }

    fn end(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }
}

fn binary(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    varint(text.len() as u64, &mut bytes);
    bytes.extend(text.as_bytes());
    bytes
}

/// Encodes a signed number: small absolute values take few bytes.
fn zigzag(number: i64) -> Vec<u8> {
    let mut bytes = Vec::new();
    varint(((number << 1) ^ (number >> 63)) as u64, &mut bytes);
    bytes
}

/// Appends seven bits in each byte, the lowest first; the top bit says that more follow.
fn varint(mut number: u64, bytes: &mut Vec<u8>) {
    while number > 0x7f {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn numbers_have_the_bytes_of_the_compact_protocol() {
        let of = |number: u64| {
            let mut bytes = Vec::new();
            varint(number, &mut bytes);
            bytes
        };
        assert_eq!([of(0), of(127)], [[0], [127]]);
        assert_eq!(of(300), [0xac, 2]);
        assert_eq!(of(u64::MAX), [255, 255, 255, 255, 255, 255, 255, 255, 255, 1]);
        assert_eq!([zigzag(0), zigzag(-1), zigzag(1), zigzag(-64)], [[0], [1], [2], [127]]);
        assert_eq!(zigzag(i64::MIN).len(), 10);
    }

    /// A table whose columns have several pages, read by another implementation.
    #[test]
    fn a_long_table_is_read_again() {
        let rows = 2 * PAGE_ROWS_MAX + 5;
        let columns = ["run", "program", "machine", "ranks", "per_node", "seed", "exit"].map(str::to_owned).to_vec();
        let text = |row: usize| if row.is_multiple_of(3) { Value::Null } else { "é,".repeat(row % 7).into() };
        let row = |row: usize| vec![row.into(), text(row), text(row), 2.into(), 1.into(), u64::MAX.into(), (-1).into()];
        let table = Table { columns, rows: (0..rows).map(row).collect() };
        let file = std::env::temp_dir().join(format!("pelago-{}.parquet", std::process::id()));
        std::fs::write(&file, to_parquet(&table)).unwrap();
        let python = |script: &str| Command::new("python3").args(["-c", script]).arg(&file).output();
        if python("import pyarrow.parquet").is_ok_and(|output| output.status.success()) {
            let script = "import sys, pyarrow.parquet\n\
                          table = pyarrow.parquet.read_table(sys.argv[1])\n\
                          text = lambda row: None if row % 3 == 0 else 'é,' * (row % 7)\n\
                          assert table['run'].to_pylist() == list(range(table.num_rows))\n\
                          assert table['program'].to_pylist() == [text(row) for row in range(table.num_rows)]\n\
                          print(table.num_rows, set(table['seed'].to_pylist()), set(table['exit'].to_pylist()))";
            let output = python(script).unwrap();
            let (said, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            assert_eq!((said.trim(), &*error), ("20005 {18446744073709551615} {-1}", ""));
        } else {
            println!("not tested: python3 with pyarrow is not installed");
        }
        std::fs::remove_file(file).unwrap();
    }

    #[test]
    fn levels_are_runs() {
        assert_eq!(levels([true, true, false, true].into_iter()), [4, 1, 2, 0, 2, 1]);
        assert_eq!(levels([true; 100].into_iter()), [0xc8, 1, 1]);
        assert!(levels(std::iter::empty()).is_empty());
    }
}
