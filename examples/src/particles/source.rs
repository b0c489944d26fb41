//! Sources of particles: a generator of clusters, a file, or a snapshot. Particles are independent, so that every rank makes or reads only its
//! share.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::PathBuf;

use super::gadget::Snapshot;
use super::particle::{Particle, RECORD_BYTES, wrapped};
use super::random::Random;

/// Maximum number of particles of a job: ranks count them in 32 bits, and their records take 48 GiB.
pub(crate) const PARTICLES_MAX: u64 = 1 << 30;

/// Maximum of the cube root of the number of particles.
pub(crate) const SIDE_MAX: u32 = 1 << 10;

/// Number of clusters in the box, some with more particles than others.
const CLUSTERS: f64 = 48.0;

/// Fraction of the particles that is distributed evenly over the box.
const BACKGROUND: f64 = 0.25;

/// Sizes of clusters, in edges of the box: the radius that contains a quarter of the mass.
const RADII: Range<f64> = 0.004..0.02;

/// Fraction of the mass of a cluster that is generated: particles beyond eight radii are left out.
const MASS_KEPT: f64 = 0.8;

/// Maximum speed of a cluster, and of a particle relative to its cluster, in edges per unit of time.
const CLUSTER_SPEED: f64 = 0.06;
const PARTICLE_SPEED: f64 = 0.02;

/// Plummer's clusters: number, radii a in edges of the box, the |b| beyond which there are no particles (r = 4.9a), and the maximum fraction of
/// its distance from the centre that a particle falls per unit of time.
const PLUMMER_CLUSTERS: f64 = 96.0;
const PLUMMER_RADII: Range<f64> = 0.01..0.04;
const PLUMMER_KEPT: f64 = 0.98;
const COLLAPSE_MAX: f64 = 0.8;

/// Kinds of random sequences.
const OF_PARTICLE: u64 = 0;
const OF_CLUSTER: u64 = 1;

/// Kind of clusters of a generator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Clusters {
    /// Expanding clusters with a central cusp.
    Hernquist,
    /// Collapsing spheres.
    Plummer,
}

/// Source of particles.
#[derive(Debug)]
pub(crate) enum Source {
    /// side³ particles, the same for the same seed.
    Generator { side: u32, clusters: Clusters, seed: u64 },
    /// A file of consecutive records.
    File(PathBuf),
    /// A snapshot of GADGET-2.
    Snapshot(PathBuf),
}

impl Source {
    /// Returns the number of particles.
    pub(crate) fn count(&self) -> Result<u64, String> {
        match self {
            Self::Generator { side, .. } => Ok(u64::from(*side).pow(3)),
            Self::Snapshot(path) => Snapshot::open(path).map(|snapshot| snapshot.count()),
            Self::File(path) => {
                let metadata = std::fs::metadata(path).map_err(|error| self.cannot(&error))?;
                let bytes = metadata.len();
                if !metadata.is_file() || bytes == 0 || !bytes.is_multiple_of(RECORD_BYTES as u64) {
                    return Err(format!("{} is not a file of records of {RECORD_BYTES} bytes", path.display()));
                }
                let count = bytes / RECORD_BYTES as u64;
                if count > PARTICLES_MAX {
                    return Err(format!("{} holds {count} particles; at most {PARTICLES_MAX} are moved", path.display()));
                }
                Ok(count)
            }
        }
    }

    /// Returns the particles with these numbers.
    pub(crate) fn particles(&self, numbers: Range<u64>) -> Result<Vec<Particle>, String> {
        match self {
            Self::Generator { seed, clusters, .. } => Ok(numbers.map(|id| generated(*seed, *clusters, id)).collect()),
            Self::Snapshot(path) => Snapshot::open(path)?.particles(numbers),
            Self::File(path) => {
                let mut bytes = vec![0; (numbers.end - numbers.start) as usize * RECORD_BYTES];
                let mut file = File::open(path).map_err(|error| self.cannot(&error))?;
                file.seek(SeekFrom::Start(numbers.start * RECORD_BYTES as u64)).map_err(|error| self.cannot(&error))?;
                file.read_exact(&mut bytes).map_err(|error| self.cannot(&error))?;
                let (records, _) = bytes.as_chunks();
                let particles: Vec<_> = records.iter().map(Particle::from_record).collect();
                match numbers.zip(&particles).find(|(_, particle)| !particle.is_sound()) {
                    Some((number, _)) => Err(format!("record {number} of {} is no particle of the unit box", path.display())),
                    None => Ok(particles),
                }
            }
        }
    }

    fn cannot(&self, error: &std::io::Error) -> String {
        match self {
            Self::Generator { .. } => error.to_string(),
            Self::File(path) | Self::Snapshot(path) => format!("cannot read {}: {error}", path.display()),
        }
    }
}

/// Generates a particle of a cluster, or of the even background.
fn generated(seed: u64, clusters: Clusters, id: u64) -> Particle {
    let random = &mut Random::new(seed, OF_PARTICLE, id);
    let mass = 1.0;
    if random.unit() < BACKGROUND {
        let position = [(); 3].map(|()| random.unit());
        return Particle { id, position, velocity: random.in_ball().map(|v| (v * PARTICLE_SPEED) as f32), mass };
    }
    let (count, radii) = match clusters {
        Clusters::Hernquist => (CLUSTERS, RADII),
        Clusters::Plummer => (PLUMMER_CLUSTERS, PLUMMER_RADII),
    };
    let skewed = random.unit();
    let of_cluster = &mut Random::new(seed, OF_CLUSTER, (count * skewed * skewed) as u64);
    let centre = [(); 3].map(|()| of_cluster.unit());
    let radius = radii.start + (radii.end - radii.start) * of_cluster.unit();
    let drift = of_cluster.in_ball();
    let (offset, own) = match clusters {
        Clusters::Hernquist => hernquist(radius, random),
        Clusters::Plummer => plummer(radius, of_cluster, random),
    };
    Particle {
        id,
        position: std::array::from_fn(|d| wrapped(centre[d] + offset[d])),
        velocity: std::array::from_fn(|d| (drift[d] * CLUSTER_SPEED + own[d]) as f32),
        mass,
    }
}

/// Returns the offset from the centre, and the velocity relative to the cluster, by the profile of Hernquist: the mass within r is (r / (r + a))².
fn hernquist(radius: f64, random: &mut Random) -> ([f64; 3], [f64; 3]) {
    let root = (MASS_KEPT * random.unit()).sqrt();
    let distance = radius * root / (1.0 - root);
    (random.direction().map(|x| distance * x), random.in_ball().map(|v| v * PARTICLE_SPEED))
}

/// Like [`hernquist`], by the profile of Plummer: the mass within r is (r² / (r² + a²))^3/2. Each cluster has its own rate of collapse: the
/// distance from the centre shrinks faster in some clusters than in others.
///
/// For a point b of the unit ball, |b|³ is the fraction of the mass within a·|b|/√(1 - |b|²).
fn plummer(radius: f64, of_cluster: &mut Random, random: &mut Random) -> ([f64; 3], [f64; 3]) {
    let collapse = COLLAPSE_MAX * of_cluster.unit();
    let ball = random.in_ball().map(|x| PLUMMER_KEPT * x);
    let root = (1.0 - ball.iter().map(|x| x * x).sum::<f64>()).sqrt();
    let offset = ball.map(|x| radius * x / root);
    (offset, offset.map(|x| -collapse * x))
}

const _: () = {
    assert!((SIDE_MAX as u64).pow(3) <= PARTICLES_MAX);
};
