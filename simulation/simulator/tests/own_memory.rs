//! Atomics of a rank on its own memory, performed by the transport: the local column of table 3 of paper E (Nose et al., 2015).

use pelago_netsim::Machine;
use pelago_test_support::simulated;

/// Returns the time in microseconds of an atomic on registered memory of the rank itself, with these values of `node.software`.
fn own_atomic_us(values: &[(&str, &str)]) -> f64 {
    let mut text = Machine::bundled("tofu2").unwrap().to_owned();
    for (key, value) in values {
        let set: Vec<&str> = text.lines().filter(|line| !line.starts_with(&format!("{key} = "))).collect();
        text = set.join("\n").replace("[node.software]", &format!("[node.software]\n{key} = \"{value}\""));
    }
    let settings = simulated::settings_on(Machine::parse(&text).unwrap(), 2, 1);
    let outcome = simulated::run(&settings, |world| {
        let memory = world.register(vec![0_u64; 1])?;
        let start = world.now();
        for value in 0..10 {
            assert_eq!(world.fetch_add(memory.ptr(0), 1)?.wait()?, value);
        }
        Ok((world.now() - start).as_seconds() * 1e6 / 10.0)
    });
    assert!(outcome.stuck.is_empty());
    outcome.results[0].as_ref().unwrap().clone().unwrap()
}

/// Conditions 1 to 8 and Fujitsu's MPI. Only the call of condition 1 is fitted to them; the other values follow from the remote column.
#[test]
fn atomics_on_own_memory_take_what_the_paper_has_measured() {
    let (by_thread, bypass, direct) = (("submission", "progress-thread"), ("submission", "bypass"), ("submission", "direct"));
    let (software, built, many) = (("atomics", "progress-thread"), ("descriptors", "built"), ("threads", "many"));
    for (condition, paper_us, here_us, values) in [
        ("1", 1.43, 1.43, &[by_thread, software, built][..]),
        ("2", 2.17, 2.01, &[by_thread, software, built, many]),
        ("3", 3.36, 3.4298, &[by_thread, built]),
        ("4", 3.23, 3.2498, &[by_thread]),
        ("5", 3.64, 4.0098, &[by_thread, built, many]),
        ("6", 3.51, 3.8298, &[by_thread, many]),
        ("7", 3.87, 3.9598, &[bypass, built, many]),
        ("8", 3.77, 3.7798, &[bypass, many]),
        ("MPI", 1.74, 1.8298, &[direct]),
    ] {
        let took_us = own_atomic_us(values);
        assert!((took_us - here_us).abs() < 1e-3, "condition {condition}: {took_us} us instead of {here_us}");
        assert!((took_us / paper_us - 1.0).abs() < 0.11, "condition {condition}: {took_us} us, {paper_us} us in the paper");
    }
    // If the library takes no time, as on all other machines, the copy engine of the node performs it.
    assert!((own_atomic_us(&[]) - 0.1).abs() < 1e-3);
}
