# 1 GB, almost all of it holes between the lines.
python3 - <<'PY'
with open("server.log", "wb") as log:
    for n in range(1024):
        log.seek(n << 20)
        kind = b"E_TIMEOUT" if n % 8 == 3 else b"E_REFUSED" if n % 5 == 1 else b"ok"
        log.write(b"\n2026-01-02 request %d %s\n" % (n, kind))
    log.truncate(1 << 30)
PY
