use super::check;

#[path = "../../../../fuzz/checks/mutate.rs"]
mod mutate;

const SEEDS: [&[u8]; 5] = [
    b"CONNECT Example.com:443 HTTP/1.1\r\nHost: example.com\r\nProxy-Authorization: Basic eDp5\r\n\r\nrest",
    b"GET http://user:pw@a.test.:8080/x?y HTTP/1.1\r\nHost: other.test\r\nProxy-Connection: x\r\nAccept: *\r\n\r\n",
    b"POST http://[::1]/ HTTP/1.0\r\nHost : b\r\nContent-Length: 2\r\n\r\nhi",
    b"\x05\x01\x00\x05\x01\x00\x03\x0bexample.com\x01\xbb",
    b"\x05\x02\x00\x02\x05\x01\x00\x04\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\x00\x50",
];

// [CLI-196]
#[test]
fn requests_to_the_filter_survive_mutation() {
    mutate::kept(include_str!("../../../../fuzz/corpus/filter.txt"), check);
    mutate::smoke(&SEEDS, check, 41, 2_000);
}
