//! A file server on 127.0.0.1 for testing the packages.

use anyhow::Result;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Component, Path, PathBuf};

/// Serves `folder` until the process ends; returns the address.
pub(super) fn serve(folder: &Path) -> Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("http://{}", listener.local_addr()?);
    let folder = folder.to_path_buf();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let folder = folder.clone();
            std::thread::spawn(move || answer(&stream, &folder).ok());
        }
    });
    Ok(url)
}

fn answer(stream: &TcpStream, folder: &Path) -> Result<()> {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let mut line = String::new();
    while reader.read_line(&mut line)? > 2 {
        line.clear();
    }
    let path = first.split(' ').nth(1).unwrap_or_default().trim_start_matches('/');
    let is_inside = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
    let found: Option<PathBuf> = is_inside.then(|| folder.join(path)).filter(|path| path.is_file());
    let (status, body) = match found {
        Some(path) => ("200 OK", std::fs::read(path)?),
        None => ("404 Not Found", Vec::new()),
    };
    let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
    let mut writer = stream;
    writer.write_all(head.as_bytes())?;
    writer.write_all(&body)?;
    Ok(())
}
