//! Snapshots of GADGET-2 in format 1, in one file or several.
//!
//! A file is a sequence of records, each between two equal markers of four bytes that contain its length: the header (256 bytes), positions,
//! velocities, ids, and masses of the particles whose type has no mass in the header. Later records (energies and densities of gas) are ignored.
//! The first marker determines the byte order. The lengths of the records determine whether numbers have single or double precision, and ids four
//! or eight bytes. The source is the user's guide of GADGET-2 (Springel, 2005), section 6.
//!
//! Lengths are checked against the header before any allocation, so that a damaged file results in an error, and never takes more memory than an
//! intact file of its length. Positions and velocities are divided by the edge of the box.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::particle::{Particle, wrapped};
use super::source::PARTICLES_MAX;

const HEADER_BYTES: usize = 256;
const MARKER_BYTES: u64 = 4;

/// Number of particle types: gas, halo, disk, bulge, stars, boundary.
const TYPES: usize = 6;

/// Maximum number of files of a snapshot.
const FILES_MAX: u32 = 4096;

/// Byte order.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Order {
    Little,
    Big,
}

/// The relevant fields of the header.
#[derive(Clone, Debug, PartialEq)]
struct Header {
    counts: [u32; TYPES],
    /// Mass of a particle of each type; 0 if each particle has its own.
    masses: [f64; TYPES],
    totals: [u64; TYPES],
    files: u32,
    edge: f64,
}

/// Start of the numbers of a record, and bytes per number.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Block {
    start: u64,
    width: u64,
}

/// Contents and layout of a file of a snapshot.
#[derive(Clone, Debug, PartialEq)]
struct Layout {
    order: Order,
    header: Header,
    positions: Block,
    velocities: Block,
    ids: Block,
    masses: Block,
}

/// A snapshot with checked headers and lengths.
#[derive(Debug)]
pub(crate) struct Snapshot {
    files: Vec<(PathBuf, Layout)>,
}

impl Snapshot {
    /// Opens a snapshot: one file, or several whose names end in a number. `path` may also be the name of the first of these.
    ///
    /// # Errors
    /// A file cannot be read, is damaged, or does not belong to the others; the message is one line.
    pub(crate) fn open(path: &Path) -> Result<Self, String> {
        let first = if path.is_file() { path.to_owned() } else { numbered(path, 0) };
        let layout = of_file(&first, Layout::read)?;
        let count = layout.header.files;
        let mut files = vec![(first.clone(), layout)];
        if count > 1 {
            let stem = first.with_extension("");
            if first != numbered(&stem, 0) {
                return Err(format!("{} is one of {count} files: give the name without the number", first.display()));
            }
            for number in 1..count {
                let path = numbered(&stem, number);
                let layout = of_file(&path, Layout::read)?;
                files.push((path, layout));
            }
        }
        let snapshot = Self { files };
        snapshot.check().map_err(|wrong| format!("{}: {wrong}", first.display()))?;
        Ok(snapshot)
    }

    /// Returns the number of particles.
    pub(crate) fn count(&self) -> u64 {
        self.files.iter().map(|(_, layout)| layout.header.count()).sum()
    }

    /// Reads the particles with these numbers, counted over all files.
    ///
    /// # Errors
    /// A file cannot be read, or a particle is outside the box.
    pub(crate) fn particles(&self, numbers: Range<u64>) -> Result<Vec<Particle>, String> {
        let mut particles = Vec::with_capacity((numbers.end - numbers.start) as usize);
        let mut first = 0;
        for (path, layout) in &self.files {
            let end = first + layout.header.count();
            let here = numbers.start.max(first)..numbers.end.min(end);
            if here.start < here.end {
                let own = here.start - first..here.end - first;
                particles.extend(of_file(path, |file, _| layout.particles(file, own))?);
            }
            first = end;
        }
        Ok(particles)
    }

    /// Checks that the files belong together.
    fn check(&self) -> Result<(), String> {
        let first = &self.files[0].1.header;
        for (path, Layout { header, .. }) in &self.files[1..] {
            if (header.masses, header.totals, header.files) != (first.masses, first.totals, first.files)
                || header.edge.to_bits() != first.edge.to_bits()
            {
                return Err(format!("{} is of another snapshot", path.display()));
            }
        }
        let mut counts = [0; TYPES];
        for (_, Layout { header, .. }) in &self.files {
            counts.iter_mut().zip(header.counts).for_each(|(sum, count)| *sum += u64::from(count));
        }
        if self.files.len() > 1 && counts != first.totals {
            return Err(format!("the files hold {counts:?} particles, their headers say {:?}", first.totals));
        }
        let count = self.count();
        match count {
            0 => Err("a snapshot without particles".into()),
            1..=PARTICLES_MAX => Ok(()),
            _ => Err(format!("{count} particles; at most {PARTICLES_MAX} are moved")),
        }
    }
}

/// Returns the name of file `number` of a snapshot.
fn numbered(path: &Path, number: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    name.into()
}

/// Opens a file and calls `read` with it and its length.
fn of_file<T>(path: &Path, read: impl FnOnce(&mut File, u64) -> Result<T, String>) -> Result<T, String> {
    let opened = File::open(path).and_then(|file| Ok((file.metadata()?.len(), file)));
    let (length, mut file) = opened.map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    read(&mut file, length).map_err(|wrong| format!("{}: {wrong}", path.display()))
}

impl Layout {
    /// Reads the header and the lengths of records.
    fn read(file: &mut (impl Read + Seek), length: u64) -> Result<Self, String> {
        let mut marker = [0; MARKER_BYTES as usize];
        read_at(file, 0, &mut marker)?;
        let order = [Order::Little, Order::Big].into_iter().find(|order| order.u32(marker) as usize == HEADER_BYTES);
        let Some(order) = order else {
            let format_2 = [Order::Little, Order::Big].iter().any(|order| order.u32(marker) == 8);
            return Err(if format_2 {
                "a snapshot in format 2: only format 1 is read (SnapFormat 1)".into()
            } else {
                "not a snapshot of GADGET-2 in format 1: it does not begin with a header of 256 bytes".into()
            });
        };
        let mut records = Records { file, order, length, at: 0 };
        let header_at = records.next("the header", HEADER_BYTES as u64, &[1])?.start;
        let mut header = [0; HEADER_BYTES];
        read_at(records.file, header_at, &mut header)?;
        let header = Header::parse(order, &header)?;
        let (count, with_masses) = (header.count(), header.with_masses());
        Ok(Self {
            positions: records.next("positions", 3 * count, &[4, 8])?,
            velocities: records.next("velocities", 3 * count, &[4, 8])?,
            ids: records.next("ids", count, &[4, 8])?,
            masses: records.next("masses", with_masses, &[4, 8])?,
            order,
            header,
        })
    }

    /// Reads the particles with these numbers in the file.
    fn particles(&self, file: &mut (impl Read + Seek), numbers: Range<u64>) -> Result<Vec<Particle>, String> {
        let mut block = |block: &Block, each: u64, numbers: Range<u64>| {
            let bytes = (numbers.end - numbers.start) * each * block.width;
            let mut part = vec![0; bytes as usize];
            read_at(file, block.start + numbers.start * each * block.width, &mut part).map(|()| part)
        };
        let positions = block(&self.positions, 3, numbers.clone())?;
        let velocities = block(&self.velocities, 3, numbers.clone())?;
        let ids = block(&self.ids, 1, numbers.clone())?;
        let own_mass = self.header.own_masses_before(numbers.start)..self.header.own_masses_before(numbers.end);
        let masses = block(&self.masses, 1, own_mass.clone())?;
        let number =
            |bytes: &[u8], block: &Block, index: usize| self.order.float(&bytes[index * block.width as usize..], block.width);
        let particle = |number_in_file: u64| {
            let index = (number_in_file - numbers.start) as usize;
            let of_type = self.header.type_of(number_in_file);
            let mass = match self.header.masses[of_type] {
                0.0 => number(&masses, &self.masses, (self.header.own_masses_before(number_in_file) - own_mass.start) as usize),
                mass => mass,
            };
            let position = std::array::from_fn(|d| number(&positions, &self.positions, 3 * index + d) / self.header.edge);
            let velocity = std::array::from_fn(|d| number(&velocities, &self.velocities, 3 * index + d) / self.header.edge);
            let id = self.order.unsigned(&ids[index * self.ids.width as usize..], self.ids.width);
            sound(id, position, velocity, mass).ok_or_else(|| format!("particle {number_in_file} (id {id}) is not in the box"))
        };
        numbers.clone().map(particle).collect()
    }
}

/// Returns the particle if its position is at most one edge outside the box, and its other numbers are finite.
fn sound(id: u64, position: [f64; 3], velocity: [f64; 3], mass: f64) -> Option<Particle> {
    let near = position.iter().all(|x| (-1.0..2.0).contains(x));
    let particle = Particle { id, position: position.map(wrapped), velocity: velocity.map(|v| v as f32), mass: mass as f32 };
    (near && particle.is_sound() && particle.mass.is_finite()).then_some(particle)
}

impl Header {
    fn parse(order: Order, bytes: &[u8; HEADER_BYTES]) -> Result<Self, String> {
        let word = |at: usize| order.u32(std::array::from_fn(|i| bytes[at + i]));
        let double = |at: usize| order.float(&bytes[at..], 8);
        let header = Self {
            counts: std::array::from_fn(|of| word(4 * of)),
            masses: std::array::from_fn(|of| double(24 + 8 * of)),
            totals: std::array::from_fn(|of| u64::from(word(96 + 4 * of)) | u64::from(word(168 + 4 * of)) << 32),
            files: word(124).max(1),
            edge: double(128),
        };
        if !(header.edge.is_finite() && header.edge > 0.0) {
            return Err(format!("the box has an edge of {}: only periodic boxes are read", header.edge));
        }
        if header.files > FILES_MAX {
            return Err(format!("the header says {} files; at most {FILES_MAX} are read", header.files));
        }
        if header.masses.iter().any(|mass| !mass.is_finite()) {
            return Err(format!("the header has masses {:?}", header.masses));
        }
        Ok(header)
    }

    fn count(&self) -> u64 {
        self.counts.iter().copied().map(u64::from).sum()
    }

    /// Returns the number of particles with individual masses.
    fn with_masses(&self) -> u64 {
        self.own_masses_before(self.count())
    }

    /// Returns the number of particles before this one that have individual masses.
    fn own_masses_before(&self, number: u64) -> u64 {
        let (mut before, mut first) = (0, 0);
        for (count, mass) in self.counts.iter().zip(self.masses) {
            let here = u64::from(*count).min(number.saturating_sub(first));
            first += u64::from(*count);
            before += if mass == 0.0 { here } else { 0 };
        }
        before
    }

    /// Returns the type of a particle of the file.
    fn type_of(&self, number: u64) -> usize {
        let mut end = 0;
        let of_type = self.counts.iter().position(|&count| {
            end += u64::from(count);
            number < end
        });
        of_type.unwrap_or(TYPES - 1)
    }
}

/// Reader of the consecutive records of a file.
struct Records<'a, F> {
    file: &'a mut F,
    order: Order,
    length: u64,
    at: u64,
}

impl<F: Read + Seek> Records<'_, F> {
    /// Returns the next record, of `numbers` numbers of one of these widths. Without numbers there is no record.
    fn next(&mut self, what: &str, numbers: u64, widths: &[u64]) -> Result<Block, String> {
        if numbers == 0 {
            return Ok(Block { start: self.at, width: widths[0] });
        }
        let bytes = self.marker(what, self.at)?;
        let Some(&width) = widths.iter().find(|&&width| numbers * width == bytes) else {
            let expected: Vec<_> = widths.iter().map(|width| (numbers * width).to_string()).collect();
            return Err(format!("the record of {what} has {bytes} bytes instead of {}", expected.join(" or ")));
        };
        let start = self.at + MARKER_BYTES;
        let end = self.marker(what, start + bytes)?;
        if end != bytes {
            return Err(format!("the record of {what} begins with a length of {bytes} bytes and ends with one of {end}"));
        }
        self.at = start + bytes + MARKER_BYTES;
        Ok(Block { start, width })
    }

    fn marker(&mut self, what: &str, at: u64) -> Result<u64, String> {
        if at + MARKER_BYTES > self.length {
            return Err(format!("the file ends within the record of {what}, after {} bytes", self.length));
        }
        let mut marker = [0; MARKER_BYTES as usize];
        read_at(self.file, at, &mut marker)?;
        Ok(self.order.u32(marker).into())
    }
}

fn read_at(file: &mut (impl Read + Seek), at: u64, bytes: &mut [u8]) -> Result<(), String> {
    let read = file.seek(SeekFrom::Start(at)).and_then(|_| file.read_exact(bytes));
    read.map_err(|error| format!("cannot read {} bytes from byte {at} on: {error}", bytes.len()))
}

impl Order {
    fn u32(self, bytes: [u8; 4]) -> u32 {
        if self == Self::Little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) }
    }

    /// Reads the integer of `width` bytes, four or eight, at the start of `bytes`.
    fn unsigned(self, bytes: &[u8], width: u64) -> u64 {
        let wide = || std::array::from_fn(|i| bytes[i]);
        match (width, self) {
            (4, _) => self.u32(std::array::from_fn(|i| bytes[i])).into(),
            (_, Self::Little) => u64::from_le_bytes(wide()),
            (_, Self::Big) => u64::from_be_bytes(wide()),
        }
    }

    /// Reads the floating-point number of `width` bytes, in single or double precision, at the start of `bytes`.
    fn float(self, bytes: &[u8], width: u64) -> f64 {
        let bits = self.unsigned(bytes, width);
        if width == 4 { f32::from_bits(bits as u32).into() } else { f64::from_bits(bits) }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use proptest::prelude::*;

    use super::*;

    /// Format and contents of a file to be written.
    #[derive(Clone, Debug)]
    struct Written {
        big: bool,
        wide: bool,
        counts: [u32; TYPES],
        masses: [f64; TYPES],
        totals: [u64; TYPES],
        files: u32,
    }

    impl Written {
        fn new(counts: [u32; TYPES]) -> Self {
            let masses = [0.0, 2.5, 0.0, 0.0, 0.0, 0.0];
            Self { big: false, wide: false, counts, masses, totals: counts.map(u64::from), files: 1 }
        }

        fn count(&self) -> u32 {
            self.counts.iter().sum()
        }

        fn word(&self, value: u32) -> Vec<u8> {
            if self.big { value.to_be_bytes().to_vec() } else { value.to_le_bytes().to_vec() }
        }

        fn double(&self, value: f64) -> Vec<u8> {
            if self.big { value.to_be_bytes().to_vec() } else { value.to_le_bytes().to_vec() }
        }

        fn float(&self, value: f64) -> Vec<u8> {
            if self.wide { self.double(value) } else { self.word((value as f32).to_bits()) }
        }

        fn record(&self, bytes: Vec<u8>) -> Vec<u8> {
            let marker = self.word(bytes.len() as u32);
            if bytes.is_empty() { bytes } else { [&marker[..], &bytes, &marker].concat() }
        }

        fn header(&self) -> Vec<u8> {
            let mut header: Vec<u8> = self.counts.iter().flat_map(|&count| self.word(count)).collect();
            header.extend(self.masses.iter().flat_map(|&mass| self.double(mass)));
            header.extend([0.5, 1.0].iter().flat_map(|&time| self.double(time)));
            header.extend([0, 0].iter().flat_map(|&flag| self.word(flag)));
            header.extend(self.totals.iter().flat_map(|&total| self.word(total as u32)));
            header.extend([0, self.files].iter().flat_map(|&word| self.word(word)));
            header.extend([8.0, 0.3, 0.7, 0.7].iter().flat_map(|&number| self.double(number)));
            header.extend([0, 0].iter().flat_map(|&flag| self.word(flag)));
            header.extend(self.totals.iter().flat_map(|&total| self.word((total >> 32) as u32)));
            header.resize(HEADER_BYTES, 0);
            header
        }

        /// Particle number i is at (i mod 8 + 1/8) in all directions, and so on.
        fn bytes(&self) -> Vec<u8> {
            let numbers = || (0..self.count()).map(f64::from);
            let triples = |of: &dyn Fn(f64, f64) -> f64| -> Vec<u8> {
                numbers().flat_map(|i| (0..3).flat_map(move |d| self.float(of(i, f64::from(d)))).collect::<Vec<_>>()).collect()
            };
            let positions = triples(&|i, d| (i + d) % 8.0 + 0.125);
            let velocities = triples(&|i, d| i - 8.0 * d);
            let id = |i: f64| if self.wide { [self.word(0), self.word(0)].concat() } else { self.word(i as u32 + 100) };
            let own_masses = (0..TYPES).filter(|&of| self.masses[of] == 0.0).map(|of| self.counts[of]).sum();
            let masses: Vec<u8> = (0..own_masses).flat_map(|i: u32| self.float(f64::from(i) + 1.0)).collect();
            [self.header(), positions, velocities, numbers().flat_map(id).collect(), masses, vec![1; 40]]
                .map(|block| self.record(block))
                .concat()
        }
    }

    fn read(bytes: &[u8]) -> Result<Vec<Particle>, String> {
        let mut file = Cursor::new(bytes);
        let layout = Layout::read(&mut file, bytes.len() as u64)?;
        layout.particles(&mut file, 0..layout.header.count())
    }

    #[test]
    fn both_orders_of_bytes_and_both_precisions_are_read() {
        for (big, wide) in [(false, false), (true, false), (false, true), (true, true)] {
            let written = Written { big, wide, ..Written::new([2, 9, 0, 1, 0, 0]) };
            let particles = read(&written.bytes()).unwrap();
            assert_eq!(particles.len(), 12);
            assert_eq!(particles[9].position, [1.125 / 8.0, 2.125 / 8.0, 3.125 / 8.0]);
            assert_eq!(particles[9].velocity, [9.0 / 8.0, 1.0 / 8.0, -7.0 / 8.0]);
            assert_eq!(particles[9].id, if wide { 0 } else { 109 });
            let masses: Vec<_> = particles.iter().map(|particle| particle.mass).collect();
            assert_eq!(masses, [1.0, 2.0, 2.5, 2.5, 2.5, 2.5, 2.5, 2.5, 2.5, 2.5, 2.5, 3.0]);
        }
    }

    #[test]
    fn a_part_is_read_as_the_whole() {
        let bytes = Written { big: true, ..Written::new([3, 5, 4, 0, 2, 0]) }.bytes();
        let whole = read(&bytes).unwrap();
        let mut file = Cursor::new(&bytes);
        let layout = Layout::read(&mut file, bytes.len() as u64).unwrap();
        for (first, end) in [(0, 14), (2, 9), (7, 7), (13, 14), (4, 13)] {
            assert_eq!(layout.particles(&mut file, first..end).unwrap(), whole[first as usize..end as usize]);
        }
    }

    #[test]
    fn damaged_files_are_told_apart() {
        let good = Written::new([0, 4, 0, 0, 0, 0]);
        let altered = |at: usize, byte: u8| {
            let mut bytes = good.bytes();
            bytes[at] = byte;
            read(&bytes).unwrap_err()
        };
        let positions_at = 264;
        let mut format_2 = good.bytes();
        format_2[..4].copy_from_slice(&8u32.to_le_bytes());
        assert!(read(&format_2).unwrap_err().contains("format 2"));
        assert!(altered(0, 7).contains("not a snapshot"));
        assert!(altered(260, 1).contains("the record of the header begins with a length of 256 bytes and ends with one of 257"));
        assert_eq!(altered(positions_at, 47), "the record of positions has 47 bytes instead of 48 or 96");
        // The last byte of the edge of the box, and of the number of files.
        assert!(altered(4 + 128 + 7, 0xc0).contains("periodic"));
        assert!(altered(4 + 124 + 3, 1).contains("files"));
        // A position that is NaN.
        let mut bytes = good.bytes();
        bytes[positions_at + 4..positions_at + 8].copy_from_slice(&f32::NAN.to_le_bytes());
        assert_eq!(read(&bytes).unwrap_err(), "particle 0 (id 100) is not in the box");
        let bytes = good.bytes();
        for length in 0..bytes.len() - 48 {
            assert!(read(&bytes[..length]).is_err(), "{length} bytes");
        }
    }

    #[test]
    fn several_files_are_one_snapshot() {
        let folder = std::env::temp_dir().join(format!("pelago-gadget-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let write = |name: &str, written: &Written| std::fs::write(folder.join(name), written.bytes()).unwrap();
        let part = |count| Written { files: 3, totals: [0, 9, 0, 0, 0, 0], ..Written::new([0, count, 0, 0, 0, 0]) };
        [4, 0, 5].iter().enumerate().for_each(|(number, &count)| write(&format!("many.{number}"), &part(count)));
        write("one", &Written::new([0, 6, 0, 0, 0, 0]));
        for name in ["many", "many.0"] {
            let snapshot = Snapshot::open(&folder.join(name)).unwrap();
            assert_eq!(snapshot.count(), 9);
            let ids: Vec<_> = snapshot.particles(2..7).unwrap().iter().map(|particle| particle.id).collect();
            assert_eq!(ids, [102, 103, 100, 101, 102]);
        }
        assert_eq!(Snapshot::open(&folder.join("one")).unwrap().count(), 6);
        let says = |name: &str, part: &str| {
            let error = Snapshot::open(&folder.join(name)).unwrap_err();
            assert!(error.contains(part) && !error.contains('\n'), "{error}");
        };
        says("many.1", "give the name without the number");
        says("none", "cannot read");
        write("many.2", &Written { totals: [0, 8, 0, 0, 0, 0], ..part(5) });
        says("many", "is of another snapshot");
        write("many.2", &part(4));
        says("many", "the files hold [0, 8, 0, 0, 0, 0] particles, their headers say [0, 9, 0, 0, 0, 0]");
        std::fs::remove_file(folder.join("many.2")).unwrap();
        says("many", "cannot read");
        write("empty", &Written::new([0; TYPES]));
        says("empty", "without particles");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    proptest! {
        /// Any file is either read or refused in one line.
        #[test]
        fn damage_is_an_error_or_read(
            big: bool,
            wide: bool,
            counts in [0u32..4, 0u32..9, 0u32..4, 0u32..2, 0u32..2, 0u32..2],
            damage in proptest::collection::vec((0usize..1200, any::<u8>()), 0..6),
            kept in 0usize..1400,
        ) {
            let mut bytes = Written { big, wide, ..Written::new(counts) }.bytes();
            for (at, byte) in damage {
                if let Some(place) = bytes.get_mut(at) {
                    *place = byte;
                }
            }
            bytes.truncate(kept);
            match read(&bytes) {
                Ok(particles) => prop_assert!(particles.iter().all(Particle::is_sound)),
                Err(line) => prop_assert!(!line.is_empty() && !line.contains('\n')),
            }
        }

        /// Random bytes are refused.
        #[test]
        fn noise_is_refused(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
            let mut begun = Written::new([0, 1, 0, 0, 0, 0]).bytes();
            begun.truncate(268);
            begun.extend(&bytes);
            let _ = read(&begun);
            prop_assert!(read(&bytes).is_err());
        }
    }
}
