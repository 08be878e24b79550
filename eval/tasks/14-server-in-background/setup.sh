cat > server.py <<'PY'
"""Answers requests with a greeting; writes its port to the file `port`."""
import http.server
import os


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"greetings from the server")

    def log_message(self, *words):
        print("request", self.path, flush=True)


server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
with open("port.new", "w") as file:
    file.write(str(server.server_port))
os.rename("port.new", "port")
print("serving", flush=True)
server.serve_forever()
PY
cat > probe.py <<'PY'
"""Asks the server and prints the answer; waits for its start."""
import time
import urllib.request

for _ in range(100):
    try:
        port = open("port").read()
        print(urllib.request.urlopen("http://127.0.0.1:%s/" % port).read().decode())
        break
    except OSError:
        time.sleep(0.05)
PY
