//! A backup by PostgreSQL's own programs, and turns that go on in what was restored.

use bub_tests::{Answer, Server};

use super::databased;

#[test]
fn a_dump_is_restored_into_another_database_and_the_conversation_goes_on_there() {
    let Some((home, postgres, address)) = databased("") else { return };
    let server = Server::new(["one", "two", "three"].map(Answer::text));
    home.run(["the number is 4711"]).model(&server).finish().says("[cli:local]\none\n");
    home.run(["archived", "--session-id", "cli:old"]).model(&server).finish();
    home.bub(["tape", "reset", "--session", "cli:old", "--yes"]).finish();
    let dump = postgres.dir().join("tapes.dump");
    let dumped =
        postgres.program("pg_dump").args(["--format=custom", "--file"]).arg(&dump).arg(&address).output().unwrap();
    assert!(dumped.status.success(), "{}", String::from_utf8_lossy(&dumped.stderr));
    let restored = postgres.database();
    let mut restore = postgres.program("pg_restore");
    let done = restore.args(["--no-owner", "--exit-on-error", "--dbname", &restored]).arg(&dump).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let compared = home.bub(["store", "copy", &address, &restored]).finish();
    assert!(compared.code == Some(0) && compared.stdout.starts_with("wrote 0 entries\n"), "{compared}");
    home.configure(&format!("tape_store = {restored:?}"));
    home.run(["which number?"]).model(&server).finish().says("[cli:local]\nthree\n");
    assert!(server.requests()[2].body.contains("the number is 4711"), "{}", server.requests()[2].body);
    let well = home.bub(["tape", "verify", "--all"]).finish();
    assert!(well.code == Some(0) && well.stdout.contains("all well"), "{well}");
}
