//! The variables by which programs find a proxy.

/// Names of this machine, which programs reach without the proxy: their own servers, and the ports that a relay forwards.
const DIRECT: &str = "localhost,127.0.0.1,::1";

/// The variables for a proxy at that port of the loopback. `ALL_PROXY` names HTTP too: many programs fail at once when it
/// names SOCKS and they lack the library.
pub fn variables(port: u16) -> Vec<(&'static str, String)> {
    let proxy = format!("http://127.0.0.1:{port}");
    let named = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
    let direct = ["NO_PROXY", "no_proxy"].map(|name| (name, DIRECT.to_owned()));
    named.into_iter().map(|name| (name, proxy.clone())).chain(direct).collect()
}
