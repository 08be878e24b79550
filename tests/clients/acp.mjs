// Drives an ACP agent through the official client library: acp.mjs <scenario> <program> [arguments...]
// Prints one JSON object: the updates of the session and what the requests came to.
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";

const [scenario, program, ...args] = process.argv.slice(2);
const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
const seen = { updates: [], questions: [], stops: [] };
const choice = { prompt: "allow_once", permission: "allow_once", always: "allow_always", refuse: "reject_once" };
let asked = () => {};

const client = acp
  .client({ name: "test" })
  .onNotification(acp.methods.client.session.update, ({ params }) => {
    seen.updates.push(params.update);
  })
  .onRequest(acp.methods.client.session.requestPermission, async ({ params }) => {
    seen.questions.push(params);
    asked();
    if (scenario === "cancel") {
      await new Promise((resolve) => setTimeout(resolve, 60_000).unref());
    }
    const option = params.options.find((o) => o.kind === (choice[scenario] ?? "allow_once"));
    return { outcome: { outcome: "selected", optionId: option.optionId } };
  });

const text = (words) => [{ type: "text", text: words }];
const place = { cwd: process.cwd(), mcpServers: [] };

await client.connectWith(
  acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)),
  async (agent) => {
    const call = (method, params) => agent.request(method, params);
    seen.hello = await call(acp.methods.agent.initialize, {
      protocolVersion: acp.PROTOCOL_VERSION,
      clientCapabilities: {},
    });
    if (scenario === "load") {
      const sessionId = process.env.ACP_SESSION;
      seen.loaded = await call(acp.methods.agent.session.load, { sessionId, ...place });
      seen.past = seen.updates.splice(0);
      const turn = await call(acp.methods.agent.session.prompt, { sessionId, prompt: text("go on") });
      seen.stops.push(turn.stopReason);
      return;
    }
    const session = await call(acp.methods.agent.session.new, place);
    seen.session = session;
    const { sessionId } = session;
    if (scenario === "mode") {
      await call(acp.methods.agent.session.setMode, { sessionId, modeId: "acceptEdits" });
    }
    const isAsked = new Promise((resolve) => {
      asked = resolve;
    });
    const turn = call(acp.methods.agent.session.prompt, { sessionId, prompt: text("go") });
    if (scenario === "cancel") {
      await isAsked;
      await agent.notify(acp.methods.agent.session.cancel, { sessionId });
    }
    seen.stops.push((await turn).stopReason);
  },
);
child.kill();
process.stdout.write(JSON.stringify(seen), () => process.exit(0));
