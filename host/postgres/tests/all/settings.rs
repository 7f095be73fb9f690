//! Addresses of databases.

use bub_postgres::Settings;

fn refused(address: &str) -> String {
    match Settings::parse(address) {
        Ok(settings) => panic!("`{settings}` was accepted"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn over_a_network_the_connection_is_encrypted_and_on_this_machine_it_need_not_be() {
    for (address, is_encrypted) in [
        ("postgres://bub@db.example.com/bub", true),
        ("postgresql://bub@10.0.0.7:5433/bub", true),
        ("postgres://bub@a.example.com,b.example.com/bub?sslmode=prefer", true),
        ("postgres://bub@localhost,db.example.com/bub", true),
        ("postgres://bub@localhost/bub?hostaddr=10.0.0.7", true),
        ("postgres://bub@localhost/bub", false),
        ("postgres://bub@127.0.0.2/bub", false),
        ("postgres:///bub?host=::1", false),
        ("postgres:///bub?host=/run/postgresql", false),
        ("postgres://bub@localhost/bub?sslmode=require", true),
        ("postgres://bub@db.example.com/bub?hostaddr=127.0.0.1", false),
    ] {
        assert_eq!(Settings::parse(address).unwrap().is_encrypted(), is_encrypted, "{address}");
    }
    let disabled = refused("postgres://bub@db.example.com/bub?sslmode=disable");
    assert!(disabled.contains("`sslmode=disable`, which only a server on this machine may have"), "{disabled}");
}

#[test]
fn an_invalid_address_is_refused_in_one_line_that_does_not_repeat_a_password() {
    for (address, why) in [
        ("mysql://bub@localhost/bub", "begins with `postgres://`"),
        (
            "postgres://bub:hunter22@localhost/bub",
            "contains a password: store it with `bub-wasm secret set postgres --host HOST`",
        ),
        ("postgres:///bub?host=/run&password=hunter22", "contains a password"),
        ("postgres:///bub", "names no host"),
        ("postgres://localhost:hunter22/bub", "is invalid"),
        ("postgres://localhost/bub?connect_timeout=hunter22", "is invalid"),
        ("postgres://localhost/bub?colour=hunter22", "is invalid"),
    ] {
        let line = refused(address);
        assert!(line.contains(why) && !line.contains("hunter22") && line.lines().count() == 1, "{address}: {line}");
    }
}

#[test]
fn settings_show_no_password_and_name_the_hosts_that_get_it() {
    let settings = Settings::parse("postgres://bub@a.example.com,b.example.com/bub?sslrootcert=/etc/ca.pem").unwrap();
    let settings = settings.with_password("hunter22");
    assert_eq!(settings.hosts(), ["a.example.com", "b.example.com"]);
    let shown = format!("{settings} {settings:?}");
    assert!(shown.contains("a.example.com") && !shown.contains("hunter22"), "{shown}");
    for (address, hosts) in [
        ("postgres://bub@localhost/bub", ["localhost"]),
        ("postgres://bub@db.example.com/bub?hostaddr=127.0.0.1", ["127.0.0.1"]),
        ("postgres://bub@db.example.com/bub?hostaddr=10.0.0.7", ["db.example.com"]),
        ("postgres:///bub?hostaddr=10.0.0.7", ["10.0.0.7"]),
    ] {
        assert_eq!(Settings::parse(address).unwrap().hosts(), hosts, "{address}");
    }
    assert!(Settings::parse("postgres:///bub?host=/run/postgresql").unwrap().hosts().is_empty());
}
