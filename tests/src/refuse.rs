//! Executes another program, for which the system refuses a system call: `NUMBER ERRNO PROGRAM ARGUMENTS…`.

use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::process::Command;

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};

fn main() {
    let mut arguments = std::env::args_os().skip(1);
    let mut number = || arguments.next()?.to_str()?.parse::<u32>().ok();
    let (Some(call), Some(errno)) = (number(), number()) else { panic!("a call and an error, as numbers") };
    let rules = BTreeMap::from([(i64::from(call), Vec::new())]);
    let machine = std::env::consts::ARCH.try_into().expect("a core that filters know");
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(errno), machine);
    let filter: BpfProgram = filter.and_then(TryInto::try_into).expect("a filter");
    apply_filter(&filter).expect("the system filters calls");
    let error = Command::new(arguments.next().expect("a program")).args(arguments).exec();
    panic!("{error}");
}
