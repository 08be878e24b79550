//! The parts of HTTP handlers that need no network: allowed addresses and header values.

use crate::declaration::HttpHandler;
use sys::Env;

/// The longest response body that is read, in bytes.
pub const MAX_BODY: usize = 1 << 20;

/// Limits that settings set for HTTP handlers. `None` means no limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HttpHookLimits {
    /// `allowedHttpHookUrls`
    pub urls: Option<Vec<String>>,
    /// `httpHookAllowedEnvVars`
    pub variables: Option<Vec<String>>,
}

impl HttpHookLimits {
    pub fn admits(&self, url: &str) -> bool {
        let Some(patterns) = &self.urls else { return true };
        let url = normal(url);
        patterns.iter().any(|pattern| wildcard(&normal(pattern), &url))
    }

    /// Headers with variables replaced by their values; a variable that may not be sent is empty.
    pub fn headers(&self, http: &HttpHandler, env: &Env) -> Vec<(String, String)> {
        let may = |name: &str| {
            let listed = |list: &[String]| list.iter().any(|allowed| allowed == name);
            listed(&http.allowed_variables) && self.variables.as_deref().is_none_or(listed)
        };
        let fill = |(name, value): (&String, &String)| (name.clone(), interpolate(value, &may, env));
        http.headers.iter().map(fill).collect()
    }
}

/// Converts scheme and host to lower case and removes a trailing dot of the host.
fn normal(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let authority = authority.to_ascii_lowercase();
    let authority = match authority.split_once(':') {
        Some((host, port)) => format!("{}:{port}", host.trim_end_matches('.')),
        None => authority.trim_end_matches('.').to_owned(),
    };
    format!("{}://{authority}{path}", scheme.to_ascii_lowercase())
}

/// Matches a pattern in which `*` matches any text.
fn wildcard(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = text.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

fn interpolate(text: &str, may: &impl Fn(&str) -> bool, env: &Env) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let (name, tail) = match after.strip_prefix('{').and_then(|inner| inner.split_once('}')) {
            Some((name, tail)) => (name, tail),
            None => {
                after.split_at(after.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(after.len()))
            }
        };
        if name.is_empty() {
            out.push('$');
        } else if may(name) {
            out.push_str(env.get(name).unwrap_or_default());
        }
        rest = tail;
    }
    out.push_str(rest);
    // A line break in a value must not start another header.
    out.replace(['\r', '\n', '\0'], "")
}

#[cfg(test)]
mod tests {
    use super::*;

    // [EXT-24]
    #[test]
    fn a_list_of_addresses_is_a_list_of_all() {
        let limits =
            |urls: &[&str]| HttpHookLimits { urls: Some(urls.iter().map(|u| (*u).into()).collect()), variables: None };
        assert!(HttpHookLimits::default().admits("http://x/"));
        assert!(!limits(&[]).admits("http://x/"));
        let some = limits(&["https://hooks.example.com/*", "http://127.0.0.1:*/x"]);
        assert!(some.admits("https://HOOKS.example.com./a/b") && some.admits("http://127.0.0.1:80/x"));
        assert!(!some.admits("https://hooks.example.com.evil/a") && !some.admits("http://127.0.0.1:80/xy"));
    }

    // [EXT-25]
    #[test]
    fn headers_carry_listed_variables_only() {
        let env = Env::default().with([("TOKEN", "t\r\nX: y"), ("OTHER", "o")]);
        let headers = [("A".to_owned(), "Bearer $TOKEN ${OTHER}$".to_owned())].into();
        let http = HttpHandler { url: String::new(), headers, allowed_variables: vec!["TOKEN".into(), "OTHER".into()] };
        assert_eq!(HttpHookLimits::default().headers(&http, &env)[0].1, "Bearer tX: y o$");
        let limits = HttpHookLimits { variables: Some(vec!["OTHER".into()]), ..HttpHookLimits::default() };
        assert_eq!(limits.headers(&http, &env)[0].1, "Bearer  o$");
    }
}
