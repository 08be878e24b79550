//! Certificates for tests, created by every run, so that nothing expires and no key is in the repository. X.509 in DER,
//! with only the parts that a verifier needs: P-256 keys, one name, one extension.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

const INTEGER: u8 = 0x02;
const BOOLEAN: u8 = 0x01;
const BIT_STRING: u8 = 0x03;
const OCTET_STRING: u8 = 0x04;
const OBJECT_ID: u8 = 0x06;
const UTF8_STRING: u8 = 0x0C;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
/// Tag of an IP address among the alternative names.
const IP_ADDRESS: u8 = 0x87;

const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
const SUBJECT_ALT_NAME: &[u8] = &[0x55, 0x1D, 0x11];
const BASIC_CONSTRAINTS: &[u8] = &[0x55, 0x1D, 0x13];
const EC_PUBLIC_KEY: &[u8] = &[0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01];
const PRIME256V1: &[u8] = &[0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07];
const ECDSA_WITH_SHA256: &[u8] = &[0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, 0x02];

/// A key with its PKCS#8 form.
pub(crate) struct TestKey {
    pair: EcdsaKeyPair,
    pkcs8: Vec<u8>,
}

impl TestKey {
    pub(crate) fn generate() -> Self {
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &SystemRandom::new()).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, pkcs8.as_ref()).unwrap();
        Self { pair, pkcs8: pkcs8.as_ref().to_vec() }
    }

    pub(crate) fn pem(&self) -> String {
        pem("PRIVATE KEY", &self.pkcs8)
    }
}

/// The self-signed certificate of an authority.
pub(crate) fn authority(key: &TestKey) -> String {
    let is_authority = sequence(&[&der(BOOLEAN, &[0xFF])]);
    let extension =
        sequence(&[&der(OBJECT_ID, BASIC_CONSTRAINTS), &der(BOOLEAN, &[0xFF]), &der(OCTET_STRING, &is_authority)]);
    certificate("gimlet test authority", key, key, 1, &extension)
}

/// A certificate for 127.0.0.1.
pub(crate) fn leaf(key: &TestKey, authority: &TestKey, serial: u8) -> String {
    let names = sequence(&[&der(IP_ADDRESS, &[127, 0, 0, 1])]);
    let extension = sequence(&[&der(OBJECT_ID, SUBJECT_ALT_NAME), &der(OCTET_STRING, &names)]);
    certificate("gimlet test", key, authority, serial, &extension)
}

fn certificate(subject: &str, key: &TestKey, issuer: &TestKey, serial: u8, extension: &[u8]) -> String {
    let algorithm = sequence(&[&der(OBJECT_ID, ECDSA_WITH_SHA256)]);
    let validity = sequence(&[&der(UTC_TIME, b"200101000000Z"), &der(GENERALIZED_TIME, b"99991231235959Z")]);
    let key_kind = sequence(&[&der(OBJECT_ID, EC_PUBLIC_KEY), &der(OBJECT_ID, PRIME256V1)]);
    let public_key = sequence(&[&key_kind, &bits(key.pair.public_key().as_ref())]);
    let version = der(0xA0, &der(INTEGER, &[2]));
    let extensions = der(0xA3, &sequence(&[extension]));
    let body = sequence(&[
        &version,
        &der(INTEGER, &[serial]),
        &algorithm,
        &name("gimlet test authority"),
        &validity,
        &name(subject),
        &public_key,
        &extensions,
    ]);
    let signature = issuer.pair.sign(&SystemRandom::new(), &body).unwrap();
    pem("CERTIFICATE", &sequence(&[&body, &algorithm, &bits(signature.as_ref())]))
}

fn name(common: &str) -> Vec<u8> {
    let pair = sequence(&[&der(OBJECT_ID, COMMON_NAME), &der(UTF8_STRING, common.as_bytes())]);
    sequence(&[&der(SET, &pair)])
}

fn bits(bytes: &[u8]) -> Vec<u8> {
    der(BIT_STRING, &[&[0], bytes].concat())
}

fn sequence(parts: &[&[u8]]) -> Vec<u8> {
    der(SEQUENCE, &parts.concat())
}

/// One DER value: tag, length, content.
fn der(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = u16::try_from(content.len()).unwrap().to_be_bytes();
    let mut bytes = vec![tag];
    match content.len() {
        0..=127 => bytes.push(length[1]),
        128..=255 => bytes.extend([0x81, length[1]]),
        _ => bytes.extend([0x82, length[0], length[1]]),
    }
    bytes.extend(content);
    bytes
}

fn pem(kind: &str, der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    let lines: Vec<&str> = text.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
    format!("-----BEGIN {kind}-----\n{}\n-----END {kind}-----\n", lines.join("\n"))
}
