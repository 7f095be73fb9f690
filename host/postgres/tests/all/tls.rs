//! Encrypted connections, with passwords.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use bub_postgres::{Database, PostgresStore, Settings};
use bub_store_tests::{NAME, contents, message};
use bub_tape::Store;
use bub_test_support::postgres::Postgres;

/// Over TCP only with TLS and a password.
const RULES: &str = "local all all trust\nhostssl all all all scram-sha-256\n";

/// A server on a port of this machine, and that port.
fn server() -> Option<(Postgres, u16)> {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let key = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let files =
        [("rules", RULES.to_owned()), ("cert.pem", key.cert.pem()), ("key.pem", key.signing_key.serialize_pem())];
    let settings = ["ssl=on", "ssl_cert_file=../cert.pem", "ssl_key_file=../key.pem", "hba_file=rules"];
    let (listen, port_is) = ("listen_addresses=127.0.0.1".to_owned(), format!("port={port}"));
    let settings: Vec<&str> = settings.into_iter().chain([listen.as_str(), port_is.as_str()]).collect();
    let server = Postgres::start_in(&settings, |dir| {
        for (name, text) in files {
            fs::write(dir.join(name), text).unwrap();
            fs::set_permissions(dir.join(name), PermissionsExt::from_mode(0o600)).unwrap();
        }
    })?;
    for statement in ["CREATE USER worker PASSWORD 'hunter22'", "CREATE DATABASE tapes OWNER worker"] {
        server.sql("postgres", statement);
    }
    Some((server, port))
}

async fn connect(address: &str, password: Option<&str>) -> bub_tape::Result<Database> {
    let settings = Settings::parse(address)?;
    Database::connect(match password {
        Some(password) => settings.with_password(password),
        None => settings,
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_is_trusted_by_the_certificate_that_the_address_names() {
    let Some((server, port)) = server() else { return };
    let roots = server.dir().join("cert.pem");
    let address = |host: &str, more: &str| format!("postgres://worker@{host}:{port}/tapes?sslmode=require{more}");
    let known = address("localhost", &format!("&hostaddr=127.0.0.1&sslrootcert={}", roots.display()));
    let store = PostgresStore::new(connect(&known, Some("hunter22")).await.unwrap());
    store.append(NAME, vec![message("user", "x")], None).await.unwrap();
    assert_eq!(contents(&store.read(NAME, 0, 9).await.unwrap()), ["x"]);
    let encrypted = "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE usename = 'worker'";
    assert_eq!(server.sql("tapes", encrypted), "t");

    let refused = async |address: &str, password| match connect(address, password).await {
        Ok(_) => panic!("`{address}` was opened"),
        Err(error) => error.to_string(),
    };
    let unknown = refused(&address("localhost", "&hostaddr=127.0.0.1"), Some("hunter22")).await;
    assert!(unknown.contains("invalid peer certificate"), "{unknown}");
    let encoded = roots.display().to_string().replace('/', "%2F");
    let other_name = format!("&hostaddr=127.0.0.1&sslrootcert={encoded}");
    let other = refused(&address("db.example.com", &other_name), Some("hunter22")).await;
    assert!(other.contains("certificate not valid for name"), "{other}");
    let wrong = refused(&known, Some("another")).await;
    assert!(
        wrong.contains("password authentication failed")
            && wrong.contains("`bub-wasm secret set postgres --host HOST`"),
        "{wrong}"
    );
    let missing = refused(&known, None).await;
    assert!(missing.contains("asks for a password: `bub-wasm secret set postgres --host HOST`"), "{missing}");
    let plain = refused(&format!("postgres://worker@127.0.0.1:{port}/tapes"), Some("hunter22")).await;
    assert!(plain.contains("no encryption"), "{plain}");
    let nowhere = refused(&address("localhost", "&sslrootcert=/nowhere.pem"), None).await;
    assert!(nowhere.starts_with("read the certificates for the database: `/nowhere.pem`: "), "{nowhere}");
    for line in [unknown, other, wrong, missing, plain, nowhere] {
        assert!(line.lines().count() == 1 && !line.contains("hunter22"), "{line}");
    }
}
