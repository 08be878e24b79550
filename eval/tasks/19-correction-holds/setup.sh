mkdir -p themes
python3 - <<'PY'
for n in range(1, 8):
    lines = [f"# Theme {n}", "name = theme-%d" % n, "base = dark"]
    lines += ["shade_%03d = #%06x" % (m, n * m * 977 % 0xffffff) for m in range(330)]
    open(f"themes/theme_{n}.conf", "w").write("\n".join(lines) + "\n")
PY
