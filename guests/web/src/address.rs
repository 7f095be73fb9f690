//! URLs of requests and redirects.

use bub_guest::Error;
use url::Url;

/// Parses a requested URL.
///
/// # Errors
///
/// `invalid-input` if it is not the URL of a page.
pub fn parse(text: &str) -> Result<Url, Error> {
    let text = text.trim();
    let mut url = Url::parse(text).map_err(|reason| {
        let help = if text.contains("://") { "" } else { "; write it whole, with `https://`" };
        Error::invalid(format!("`{text}` is no URL: {reason}{help}"))
    })?;
    check(&url)?;
    url.set_fragment(None);
    Ok(url)
}

/// Resolves a redirect.
///
/// # Errors
///
/// `invalid-input` if it does not lead to a page.
pub fn follow(from: &Url, location: &str) -> Result<Url, Error> {
    let mut url = from
        .join(location)
        .map_err(|reason| Error::invalid(format!("`{from}` redirects to `{location}`, which is no URL: {reason}")))?;
    check(&url)?;
    url.set_fragment(None);
    Ok(url)
}

fn check(url: &Url) -> Result<(), Error> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(Error::invalid(format!("`{url}` is neither http nor https, and nothing else can be fetched")));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Error::invalid("the URL has a name or a password in it; send them in `headers`"));
    }
    Ok(())
}

/// The grant that allows a request to that URL.
pub fn grant(url: &Url) -> String {
    let scheme = if url.scheme() == "http" { "http://" } else { "" };
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("http:{scheme}{}{port}", url.host_str().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pages_of_the_web_are_fetched() {
        assert_eq!(parse(" https://a.org/b#c ").unwrap().as_str(), "https://a.org/b");
        for (url, reason) in [
            ("a.org/b", "write it whole, with `https://`"),
            ("file:///etc/passwd", "neither http nor https"),
            ("ftp://a.org", "neither http nor https"),
            ("https://me:secret@a.org", "send them in `headers`"),
            ("", "is no URL"),
        ] {
            let message = parse(url).unwrap_err().message;
            assert!(message.contains(reason), "{message}");
            assert!(!message.contains("secret"), "{message}");
        }
    }

    #[test]
    fn redirects_are_relative_and_stay_on_the_web() {
        let from = parse("https://a.org/b/c?d").unwrap();
        assert_eq!(follow(&from, "e").unwrap().as_str(), "https://a.org/b/e");
        assert_eq!(follow(&from, "//x.org/#y").unwrap().as_str(), "https://x.org/");
        assert!(follow(&from, "file:///etc/passwd").is_err());
    }

    #[test]
    fn the_grant_of_a_url_is_its_host() {
        for (url, grant) in [
            ("https://a.org/b", "http:a.org"),
            ("https://a.org:8443/b", "http:a.org:8443"),
            ("http://a.org/b", "http:http://a.org"),
            ("http://127.0.0.1:80/", "http:http://127.0.0.1"),
            ("http://[::1]:81/", "http:http://[::1]:81"),
        ] {
            assert_eq!(super::grant(&parse(url).unwrap()), grant);
        }
    }
}
