//! k-mers of sequences: the same counts for every number of ranks, every transport and every kind of file.

use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use crate::{Ended, run};

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Returns the counts of the output, without the number of ranks and the time.
fn counts(ended: &Ended) -> Vec<String> {
    ended.expect(0, "");
    let (first, rest) = ended.output.split_once('\n').unwrap();
    let words: Vec<&str> = first.split_whitespace().collect();
    let kept = ["total", "different"].map(|name| words[words.iter().position(|word| *word == name).unwrap() + 1]);
    kept.into_iter().chain(rest.lines()).map(str::to_owned).collect()
}

fn kmers(ranks: u32, transport: &str, file: &str, options: &[&str]) -> Ended {
    let ranks = ranks.to_string();
    run(&[&["run", "-n", &ranks, "--transport", transport, "kmers", file, "--expect", "20000"], options].concat())
}

#[test]
fn every_number_of_ranks_counts_the_same() {
    let file = path("kmers.fa");
    let file = file.to_str().unwrap();
    let alone = counts(&kmers(1, "shm", file, &["--generate", "150000", "--verify"]));
    assert_eq!(alone.last().unwrap(), "kmers counts equal to those of one rank alone");
    // A thousand reads of 150 bases, each with 130 k-mers of 21 bases; every base of the genome is read ten times.
    assert_eq!(alone[0], "130000");
    let different: u64 = alone[1].parse().unwrap();
    assert!((14_000..15_000).contains(&different), "{different}");
    assert_eq!(alone.iter().filter(|line| line.starts_with("kmer ")).count(), 10);
    for (ranks, transport) in [(2, "shm"), (3, "shm"), (7, "shm"), (2, "udp")] {
        assert_eq!(counts(&kmers(ranks, transport, file, &["--verify"])), alone, "{ranks} ranks, {transport}");
    }
    // The same reads, compressed, and with qualities.
    let text = std::fs::read(file).unwrap();
    let compressed = path("kmers.fa.gz");
    let packed = Command::new("gzip").arg("-c").arg(file).output().expect("gzip").stdout;
    std::fs::write(&compressed, packed).unwrap();
    let mut fastq = std::fs::File::create(path("kmers.fq")).unwrap();
    let text = String::from_utf8(text).unwrap();
    for record in text.split('>').skip(1) {
        let (name, bases) = record.split_once('\n').unwrap();
        writeln!(fastq, "@{name}\n{}\n+\n{}", bases.trim_end(), "@".repeat(bases.trim_end().len())).unwrap();
    }
    for other in [compressed, path("kmers.fq")] {
        assert_eq!(counts(&kmers(2, "shm", other.to_str().unwrap(), &["--verify"])), alone, "{}", other.display());
    }
}

#[test]
fn files_that_cannot_be_read_are_told_by_every_rank() {
    let broken = path("kmers-broken");
    std::fs::write(&broken, "no sequences").unwrap();
    for (file, says) in [("/nowhere.fa", "No such file"), (broken.to_str().unwrap(), "neither FASTA nor FASTQ")] {
        let ended = kmers(2, "shm", file, &[]);
        assert_eq!(ended.code, Some(1));
        assert!(ended.error.lines().filter(|line| line.starts_with("kmers: ") && line.contains(says)).count() == 2, "{ended:?}");
    }
}
