//! Programs that another launcher starts: they end with one line instead of running as separate jobs of one rank each.

use std::process::Command;

use crate::{Ended, PROGRAM, end, pelago, run};

/// Runs a program that does nothing, without a launcher, with these variables.
fn alone(variables: &[(&str, &str)]) -> Ended {
    let mut command = Command::new(PROGRAM);
    command.arg("nothing").envs(variables.iter().copied());
    end(command)
}

#[test]
fn a_program_of_another_launcher_is_refused() {
    for (name, value) in
        [("OMPI_COMM_WORLD_SIZE", "4"), ("PMI_SIZE", "2"), ("SLURM_NTASKS", "3"), ("WORLD_SIZE", "8"), ("PMIX_RANK", "0")]
    {
        let ended = alone(&[(name, value)]);
        assert_eq!((ended.code, ended.output.as_str(), ended.error.lines().count()), (Some(2), "", 1), "{ended:?}");
        assert!(ended.error.starts_with(&format!("pelago: {name} is ")) && ended.error.contains("PELAGO_SINGLE=1"), "{ended:?}");
        alone(&[(name, value), ("PELAGO_SINGLE", "1")]).expect(0, "");
    }
    alone(&[("OMPI_COMM_WORLD_SIZE", "1"), ("PMIX_RANK", "0")]).expect(0, "");
}

#[test]
fn the_command_runs_in_an_allocation_and_under_other_launchers() {
    let variables = [("SLURM_NTASKS", "4"), ("SLURM_PROCID", "0"), ("PMI_SIZE", "4")];
    let shell = "env PELAGO_TEST_HOST={host}";
    let export = ["--export", "SLURM_NTASKS"];
    for options in
        [&["run", "-n", "2"][..], &[&["run", "-n", "2", "--hosts", "a,b", "--remote-shell", shell][..], &export].concat()]
    {
        let mut command = pelago(&[options, &[PROGRAM, "everything"]].concat()).0;
        end_with(&mut command, &variables).expect(0, "");
    }
    let mut simulated = pelago(&["sim", "-n", "2", "--machine", "rx200-qdr", "--quiet", PROGRAM, "everything"]).0;
    end_with(&mut simulated, &variables).expect(0, "");
    assert_eq!(run(&["run", "--list"]).code, Some(0));
}

fn end_with(command: &mut Command, variables: &[(&str, &str)]) -> Ended {
    let mut with = std::mem::replace(command, Command::new("true"));
    with.envs(variables.iter().copied());
    end(with)
}
