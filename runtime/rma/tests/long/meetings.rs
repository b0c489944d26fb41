//! Barriers of every algorithm in any order, at many sizes.

use std::sync::atomic::AtomicU64;

use pelago_rma::BarrierAlgorithm;

use crate::jobs::barriers::{Random, meet};
use pelago_test_support::threads::{PLATFORMS, run};

/// Powers of two, and sizes next to and between them.
const SIZES: [u32; 11] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 17];

/// Words of one barrier may arrive after the next has begun, with another algorithm: none may be lost or mistaken for another.
#[test]
fn algorithms_are_mixed_in_any_order() {
    for platform in PLATFORMS {
        for size in SIZES {
            let come = AtomicU64::new(0);
            run(platform, size, |world| {
                let (mut order, mut random) = (Random(u64::from(size) << 8), Random(world.rank().into()));
                for number in 1..=40 {
                    let algorithm = BarrierAlgorithm::ALL[order.below(5) as usize];
                    if order.below(5) == 0 {
                        let mut sum = [1];
                        world.allreduce(&mut sum, |one, other| one + other).unwrap();
                        assert_eq!(sum, [size]);
                    }
                    random.dawdle();
                    meet(&come, number, size, || if order.below(5) == 0 { world.barrier() } else { world.barrier_by(algorithm) });
                }
            });
        }
    }
}
