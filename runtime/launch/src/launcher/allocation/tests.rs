//! Searches for allocations, and reasons to refuse them.

use super::*;

const SLURM: [(&str, &str); 2] = [("SLURM_JOB_NODELIST", "n[1-2],m"), ("SLURM_TASKS_PER_NODE", "4(x2),3")];

/// Searches with these variables on the host `n1`; the file `/nodes` contains `text`.
fn search(variables: &[(&str, &str)], text: &str) -> Result<AllocationSearch, AllocationError> {
    let value = |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| value.to_string());
    let read = |path: &str| match path {
        "/nodes" => Ok(text.to_owned()),
        _ => Err(io::Error::from(io::ErrorKind::NotFound)),
    };
    Allocation::find_by(value, read, "n1")
}

fn found(variables: &[(&str, &str)], text: &str) -> String {
    match search(variables, text) {
        Ok(AllocationSearch::Found(allocation)) => allocation.to_string(),
        other => panic!("{other:?}"),
    }
}

fn refusal(variables: &[(&str, &str)], text: &str) -> String {
    search(variables, text).expect_err("refused").to_string()
}

#[test]
fn each_scheduler_names_its_hosts() {
    assert_eq!(found(&SLURM, ""), "Slurm (SLURM_JOB_NODELIST): n1:4, n2:4, m:3");
    assert_eq!(found(&[("PBS_NODEFILE", "/nodes")], "a\na\nb\n"), "PBS (PBS_NODEFILE): a:2, b:1");
    assert_eq!(found(&[("LSB_DJOB_HOSTFILE", "/nodes"), ("LSB_MCPU_HOSTS", "c 1")], "a\n"), "LSF (LSB_DJOB_HOSTFILE): a:1");
    assert_eq!(found(&[("LSB_MCPU_HOSTS", "a 4 b 2")], ""), "LSF (LSB_MCPU_HOSTS): a:4, b:2");
    assert_eq!(found(&[("PE_HOSTFILE", "/nodes")], "a 4 all.q@a <NULL>\n"), "Grid Engine (PE_HOSTFILE): a:4");
    assert!(matches!(search(&[("SLURM_NTASKS", "4")], ""), Ok(AllocationSearch::None)));
    let many = [("SLURM_NODELIST", "n[1-20]"), ("SLURM_TASKS_PER_NODE", "1(x20)")];
    assert!(found(&many, "").ends_with("n7:1, n8:1 and 12 more"));
}

#[test]
fn slots_are_cores_where_slurm_names_no_tasks() {
    let cores = [SLURM[0], ("SLURM_JOB_CPUS_PER_NODE", "16(x2),2")];
    assert!(found(&cores, "").ends_with("n1:16, n2:16, m:2"));
    let threads = [&cores[..], &[("SLURM_CPUS_PER_TASK", "4")]].concat();
    assert!(found(&threads, "").ends_with("n1:4, n2:4, m:1"), "a host of few cores has a slot");
}

#[test]
fn a_process_of_a_launcher_is_no_job_script() {
    for name in ["PELAGO_RANK", "PMI_FD", "PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_ID"] {
        let nested = search(&[&SLURM[..], &[(name, "0")]].concat(), "").unwrap();
        assert_eq!(nested, AllocationSearch::Nested(name));
    }
    // The shell of salloc is a step too.
    assert!(matches!(search(&[SLURM[0], SLURM[1], ("SLURM_STEP_ID", "4294967290")], ""), Ok(AllocationSearch::Found(_))));
}

#[test]
fn what_cannot_be_read_is_one_line() {
    let file = [("PBS_NODEFILE", "/nodes")];
    for (line, says) in [
        (refusal(&[SLURM[0]], ""), "SLURM_JOB_CPUS_PER_NODE is \"\""),
        (refusal(&[("SLURM_JOB_NODELIST", "n[1-"), SLURM[1]], ""), "SLURM_JOB_NODELIST is \"n[1-\""),
        (refusal(&[("SLURM_JOB_NODELIST", "-x,n[1-2]"), SLURM[1]], ""), "SLURM_JOB_NODELIST is \"-x"),
        (refusal(&[("SLURM_JOB_NODELIST", ""), SLURM[1]], ""), "SLURM_JOB_NODELIST is \"\""),
        (refusal(&[SLURM[0], ("SLURM_TASKS_PER_NODE", "4")], ""), "SLURM_TASKS_PER_NODE is \"4\""),
        (refusal(&[SLURM[0], ("SLURM_TASKS_PER_NODE", "5000(x3)")], ""), "SLURM_TASKS_PER_NODE is \"5000(x3)\""),
        (refusal(&[("SLURM_JOB_NODELIST", "n[0-99999999999]"), SLURM[1]], ""), "one launcher manages at most 1024"),
        (refusal(&file, ""), "cannot be used (PBS_NODEFILE): no host is named"),
        (refusal(&file, "a\nb 7\n"), "from /nodes (PBS_NODEFILE): line 2 is \"b 7\""),
        (refusal(&[("PE_HOSTFILE", "/nodes")], "a x\n"), "from /nodes (PE_HOSTFILE): line 1 is \"a x\""),
        (refusal(&[("PBS_NODEFILE", "/gone")], ""), "from /gone (PBS_NODEFILE): entity not found"),
        (refusal(&[("PBS_NODEFILE", "")], ""), "cannot be read from  (PBS_NODEFILE)"),
        (refusal(&[("LSB_MCPU_HOSTS", "a")], ""), "LSB_MCPU_HOSTS is \"a\""),
        (refusal(&file, &format!("{}\n", "é b".repeat(1000))), "…\""),
    ] {
        assert!(line.contains(says) && line.contains("--no-allocation") && line.lines().count() == 1, "{line}");
        assert!(line.len() < 300, "{line}");
    }
}

#[test]
fn this_host_is_known_by_its_names() {
    let Ok(AllocationSearch::Found(allocation)) = search(&[&SLURM[..], &[("SLURMD_NODENAME", "node7")]].concat(), "") else {
        panic!("found");
    };
    for (host, expected) in
        [("n1", true), ("N1.cluster.example", true), ("node7", true), ("n10", false), ("n2", false), ("n1x.cluster", false)]
    {
        assert_eq!(allocation.is_here(host), expected, "{host}");
    }
    assert!(!is_same("n1.a", "n1.b") && !is_same("10", "10.0.0.1") && !is_same("10.0.0.2", "10.0.0.1"));
}
