//! The cache of compiled code: private, intact, and of limited size. It is native code, so writing to it would be an
//! escape from the sandbox.

use crate::home;
use bub_tests::{Finished, Home, Run, programs};
use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// A home with one plugin, and a cache of its own.
fn with_plugin() -> Home {
    let home = home().bare();
    home.plugin("upper", programs::PROMPT_UPPER);
    home
}

fn cache(home: &Home) -> PathBuf {
    home.bub_home().join("cache")
}

fn run(home: &Home) -> Run<'_> {
    home.run(["hi"]).env("BUB_CACHE", cache(home))
}

#[track_caller]
fn works(home: &Home) -> Finished {
    run(home).finish().says("[cli:local]\nHI\n")
}

/// The compiled files, by name.
fn compiled(home: &Home) -> Vec<PathBuf> {
    let files = fs::read_dir(cache(home)).into_iter().flatten().flatten().map(|file| file.path());
    let mut files: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|end| end == "cwasm")).collect();
    files.sort();
    files
}

/// The one compiled file.
#[track_caller]
fn only(home: &Home) -> PathBuf {
    let mut files = compiled(home);
    assert_eq!(files.len(), 1, "{files:?}");
    files.remove(0)
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
}

#[test]
fn compiled_code_is_kept_for_us_alone_and_used_again() {
    let home = with_plugin();
    works(&home);
    let file = only(&home);
    let rights = |path: &Path| fs::metadata(path).expect("it is there").mode() & 0o777;
    assert_eq!((rights(&cache(&home)), rights(&file)), (0o700, 0o600));
    let made = fs::metadata(&file).expect("it is there").ino();
    works(&home);
    assert_eq!(fs::metadata(only(&home)).expect("it is there").ino(), made, "it was compiled again");
}

/// A damaged file is replaced by compiling again.
#[track_caller]
fn is_a_miss(spoil: impl FnOnce(&Path)) {
    let home = with_plugin();
    works(&home);
    let file = only(&home);
    let (whole, made) = (fs::read(&file).expect("it can be read"), fs::metadata(&file).expect("it is there").ino());
    spoil(&file);
    works(&home);
    assert_ne!(fs::symlink_metadata(only(&home)).expect("it is there").ino(), made, "it was not compiled again");
    assert_eq!(fs::read(&file).expect("it can be read"), whole);
    assert_eq!(fs::metadata(&file).expect("it is there").mode() & 0o777, 0o600);
}

#[test]
fn a_damaged_file_is_a_miss() {
    is_a_miss(|file| {
        let mut bytes = fs::read(file).expect("it can be read");
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(file, bytes).expect("it is ours");
    });
}

#[test]
fn a_file_that_is_cut_off_is_a_miss() {
    for left in [0, 16, 32, 5_000] {
        is_a_miss(|file| {
            File::options().write(true).open(file).and_then(|file| file.set_len(left)).expect("it is ours")
        });
    }
}

#[test]
fn code_that_is_whole_and_does_not_fit_the_engine_is_a_miss() {
    is_a_miss(|file| {
        let mut code = fs::read(file).expect("it can be read");
        code.truncate(code.len() - 4);
        code[..64].fill(0);
        fs::write(file, [code.as_slice(), &crc32fast::hash(&code).to_le_bytes()].concat()).expect("it is ours");
    });
}

#[test]
fn a_file_that_others_could_have_written_is_a_miss() {
    for rights in [0o602, 0o620, 0o604, 0o666] {
        is_a_miss(|file| mode(file, rights));
    }
}

#[test]
fn a_link_is_a_miss() {
    is_a_miss(|file| {
        let elsewhere = file.with_extension("elsewhere");
        fs::rename(file, &elsewhere).expect("it is ours");
        symlink(&elsewhere, file).expect("a link can be made");
    });
}

/// The cache is not used, a line says why, `doctor` too, and the turn runs.
#[track_caller]
fn is_refused(home: &Home, dir: &Path, why: &str) {
    let why = format!("compiled code is not kept: `{}` {why}", dir.display());
    // Besides compiled code, the directory holds the index of tapes.
    let files = || {
        let names = fs::read_dir(dir).into_iter().flatten().flatten().map(|file| file.file_name());
        names.filter(|name| name != "index").collect::<Vec<_>>()
    };
    let before = files();
    home.run(["hi"]).env("BUB_CACHE", dir).finish().says("[cli:local]\nHI\n").mentions(&why);
    assert_eq!(before, files(), "something was written there");
    let doctor = home.bub(["doctor"]).env("BUB_CACHE", dir).finish();
    assert!(doctor.stdout.contains(&format!("note  cache: {why}")), "{doctor}");
}

#[test]
fn a_folder_that_is_open_to_others_is_refused() {
    for rights in [0o777, 0o755, 0o770, 0o701] {
        let home = with_plugin();
        works(&home);
        mode(&cache(&home), rights);
        is_refused(&home, &cache(&home), "is open to other users: `chmod 700 ");
        mode(&cache(&home), 0o700);
        works(&home);
    }
}

#[test]
fn a_folder_of_another_user_is_rejected() {
    let home = with_plugin();
    let theirs = home.bub_home().join("theirs");
    fs::create_dir(&theirs).expect("it can be made");
    mode(&theirs, 0o700);
    // Root can give the directory away; without that right, `/` is another user's directory.
    match chown(&theirs, Some(12_345), None) {
        Ok(()) => is_refused(&home, &theirs, "belongs to another user (uid "),
        Err(_) => is_refused(&home, Path::new("/"), "belongs to another user (uid "),
    }
}

#[test]
fn a_link_to_a_folder_is_refused() {
    let home = with_plugin();
    let real = home.bub_home().join("real");
    fs::create_dir(&real).expect("it can be made");
    mode(&real, 0o700);
    symlink(&real, cache(&home)).expect("a link can be made");
    is_refused(&home, &cache(&home), "is no folder, or a link to one");
}

#[test]
fn the_least_recently_used_file_is_evicted_first() {
    let home = with_plugin();
    works(&home);
    let used = only(&home);
    age(&used, 10_000);
    let fillers: Vec<PathBuf> = (0..560).map(|number| filler(&home, number, 64)).collect();
    // Use renews a file's age; another plugin needs space.
    works(&home);
    // It declares no tools, so it is asked for them at once.
    home.plugin("another", programs::DEEDS);
    works(&home);
    assert!(used.exists(), "the file used last is gone");
    assert!(fillers[..40].iter().all(|file| !file.exists()), "the oldest are still there");
    assert!(fillers[60..].iter().all(|file| file.exists()), "younger ones went before older ones");
    assert!(compiled(&home).len() <= 512, "there are {} files", compiled(&home).len());
}

#[test]
fn a_few_files_that_are_large_make_room_as_well() {
    let home = with_plugin();
    works(&home);
    // Holes take no space on this machine, and are counted as what they would be read as.
    let fillers: Vec<PathBuf> = (0..4).map(|number| filler(&home, number, 600 << 20)).collect();
    home.plugin("another", programs::DEEDS);
    works(&home);
    let left: Vec<bool> = fillers.iter().map(|file| file.exists()).collect();
    assert_eq!(left, [false, true, true, true]);
}

/// A file as the cache has them, of that size; the lower its number, the longer ago it was used.
fn filler(home: &Home, number: u64, bytes: u64) -> PathBuf {
    let path = cache(home).join(format!("filler-{number:03}.cwasm"));
    File::create(&path).and_then(|file| file.set_len(bytes)).expect("the cache is ours");
    mode(&path, 0o600);
    age(&path, 9_000 - number);
    path
}

/// Was used so many seconds ago.
fn age(path: &Path, seconds: u64) {
    let file = File::options().append(true).open(path).expect("it is ours");
    file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).expect("it is ours");
}
