//! Test that the committed files are those generated from the table.

use std::path::Path;

#[test]
fn generated_files_are_those_of_the_table() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let renew = std::env::var_os("PELAGO_RENEW_DOCUMENTS").is_some();
    for (path, text) in pelago_shmem_interface::files() {
        let file = root.join(&path);
        if renew {
            std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
            std::fs::write(&file, &text).expect("a file");
        }
        assert!(
            std::fs::read_to_string(&file).unwrap_or_default() == text,
            "{path} is out of date: renew it by PELAGO_RENEW_DOCUMENTS=1 cargo test -p pelago-shmem-interface"
        );
    }
}

#[test]
fn no_routine_is_there_twice() {
    let mut names: Vec<_> = pelago_shmem_interface::routines::all().into_iter().map(|routine| routine.name).collect();
    assert!(names.len() > 1800, "{} routines", names.len());
    names.sort();
    let doubled: Vec<_> = names.windows(2).filter(|pair| pair[0] == pair[1]).collect();
    assert_eq!(doubled, Vec::<&[String]>::new());
}
