# 2,000 source files; copies of the same text in vendored folders, some of them ignored.
python3 - <<'PY'
import os
def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    open(path, "w").write(text)
for n in range(1200):
    write(f"services/area_{n % 24:02}/module_{n:04}.py", f"\"\"\"Module {n}.\"\"\"\n\n\ndef work_{n}(client):\n    return client.send({n})\n")
for n in range(300):
    write(f"vendor/http_{n % 6}/part_{n:03}.py", f"RETRY_LIMIT = {n % 9 + 1}\n\n\ndef part_{n}():\n    return RETRY_LIMIT\n")
for n in range(500):
    write(f"node_modules/pkg{n % 50:02}/file{n:03}.js", f"const RETRY_LIMIT = {n};\n")
write("services/core/settings.py", "\"\"\"Settings of all services.\"\"\"\n\nTIMEOUT = 20\n\n# How often a request is tried again.\nRETRY_LIMIT = 7\n")
write(".gitignore", "node_modules/\n")
PY
git init -q -b main && git add -A && git commit -qm "all services"
