cat > server.py <<'PY'
"""A server with sixty tools on standard input and output; each call is noted."""
import json
import sys

about = "Works on one kind of record of the warehouse: finds it by its id and answers with all fields and their history."
schema = {"type": "object", "required": ["id"],
          "properties": {"id": {"type": "string", "description": "Id of the record"},
                         "fields": {"type": "array", "items": {"type": "string"}, "description": "Fields to show"}}}
names = ["shelf_status" if n == 37 else "record_%02d" % n for n in range(60)]
tools = [{"name": name, "description": "How full a shelf of the warehouse is." if name == "shelf_status" else about,
          "inputSchema": schema} for name in names]
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    method, result = message.get("method"), {}
    if method == "initialize":
        result = {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}},
                  "serverInfo": {"name": "warehouse", "version": "1"}}
    elif method == "tools/list":
        result = {"tools": tools}
    elif method == "tools/call":
        with open("calls.log", "a") as log:
            log.write(message["params"]["name"] + "\n")
        result = {"content": [{"type": "text", "text": "shelf A7 is 83 percent full"}]}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
PY
