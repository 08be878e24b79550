// One scenario with the real TypeScript SDK: node typescript_sdk.mjs <scenario> <JSON with binary, cwd, env, model>.
// Prints what was seen as one JSON object.
import { readFileSync } from "node:fs";
import { createSdkMcpServer, query, tool } from "@anthropic-ai/claude-agent-sdk";
import { z } from "zod";

const [scenario, text] = process.argv.slice(2);
const { binary, cwd, env, model } = JSON.parse(text);
const stderr = [];
const base = {
  pathToClaudeCodeExecutable: binary,
  cwd,
  env,
  model,
  settingSources: [],
  stderr: (line) => stderr.push(line),
};

const user = (content, more = {}) => ({
  type: "user",
  message: { role: "user", content },
  parent_tool_use_id: null,
  session_id: "",
  ...more,
});

async function all(stream, seen = []) {
  for await (const message of stream) seen.push(message);
  return seen;
}

// A stream of prompts that the scenario feeds as it goes.
function feed() {
  const waiting = [];
  let wake = () => {};
  let ended = false;
  return {
    push: (message) => (waiting.push(message), wake()),
    end: () => ((ended = true), wake()),
    async *[Symbol.asyncIterator]() {
      for (;;) {
        while (waiting.length) yield waiting.shift();
        if (ended) return;
        await new Promise((resolve) => (wake = resolve));
      }
    },
  };
}

async function until(stream, seen, done) {
  for (;;) {
    const { value, done: over } = await stream.next();
    if (over) return undefined;
    seen.push(value);
    if (done(value)) return value;
  }
}

const isResult = (message) => message.type === "result";

const scenarios = {
  async string() {
    return { messages: await all(query({ prompt: "hi", options: base })) };
  },

  async prompts() {
    const input = feed();
    input.push(user("first"));
    input.push(user("second"));
    input.end();
    return { messages: await all(query({ prompt: input, options: base })) };
  },

  async control() {
    const input = feed();
    const run = query({ prompt: input, options: { ...base, permissionMode: "default" } });
    const info = await run.initializationResult();
    const messages = [];
    input.push(user("first"));
    await until(run, messages, isResult);
    await run.setPermissionMode("acceptEdits");
    await run.setModel("claude-haiku-4-5");
    await run.setMaxThinkingTokens(2048);
    await run.applyFlagSettings({ effortLevel: "high" });
    const usage = await run.getContextUsage();
    const servers = await run.mcpServerStatus();
    const commands = await run.supportedCommands();
    const models = await run.supportedModels();
    const account = await run.accountInfo();
    input.push(user("second"));
    await until(run, messages, isResult);
    input.end();
    await all(run, messages);
    return { messages, info, usage, servers, commands, models, account };
  },

  async rewind() {
    const input = feed();
    const uuid = "11111111-1111-4111-8111-111111111111";
    const run = query({ prompt: input, options: { ...base, allowedTools: ["Bash"], enableFileCheckpointing: true } });
    const messages = [];
    input.push(user("first", { uuid }));
    await until(run, messages, isResult);
    const unknown = await run.rewindFiles("22222222-2222-4222-8222-222222222222", { dryRun: true });
    const plan = await run.rewindFiles(uuid, { dryRun: true });
    const between = readFileSync(`${cwd}/a.txt`, "utf8");
    const done = await run.rewindFiles(uuid);
    input.end();
    await all(run, messages);
    return { messages, unknown, plan, between, done };
  },

  async interrupt() {
    const input = feed();
    const run = query({ prompt: input, options: { ...base, includePartialMessages: true } });
    const messages = [];
    input.push(user("count"));
    await until(run, messages, (m) => m.type === "stream_event" && m.event.type === "content_block_delta");
    const receipt = await run.interrupt();
    await until(run, messages, isResult);
    input.push(user("go on"));
    await until(run, messages, isResult);
    input.end();
    await all(run, messages);
    return { messages, receipt };
  },

  async permission(answer) {
    const asked = [];
    const canUseTool = async (name, input, context) => {
      asked.push({ name, input, suggestions: context.suggestions, id: context.toolUseID });
      if (answer === "allow") return { behavior: "allow", updatedInput: input };
      if (answer === "changed") return { behavior: "allow", updatedInput: { command: "touch changed" } };
      if (answer === "suggested") return { behavior: "allow", updatedInput: input, updatedPermissions: context.suggestions };
      if (answer === "denied") return { behavior: "deny", message: "use another name" };
      return { behavior: "deny", message: "no more", interrupt: true };
    };
    const messages = [];
    // An interrupted turn ends the process with code 1, which the SDK reports behind the result.
    await all(query({ prompt: "make files", options: { ...base, canUseTool } }), messages).catch((error) => {
      if (answer !== "stop" || !messages.length || !isResult(messages.at(-1))) throw error;
    });
    return { messages, asked };
  },

  async agents() {
    const agents = { scout: { description: "looks around", prompt: "SCOUT-PROMPT", tools: ["Read"] } };
    return { messages: await all(query({ prompt: "go", options: { ...base, agents } })) };
  },

  async structured() {
    const schema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };
    const options = { ...base, includePartialMessages: true, outputFormat: { type: "json_schema", schema } };
    return { messages: await all(query({ prompt: "a number", options })) };
  },

  async sessions() {
    const ask = async (prompt, more) => (await all(query({ prompt, options: { ...base, ...more } }))).at(-1);
    const first = await ask("first");
    const second = await ask("second", { resume: first.session_id });
    const forked = await ask("third", { resume: first.session_id, forkSession: true });
    const latest = await ask("fourth", { continue: true });
    return { ids: [first, second, forked, latest].map((result) => result.session_id) };
  },

  async hooks() {
    const heard = [];
    const hook = async (input) => {
      heard.push(input.hook_event_name);
      if (input.hook_event_name === "PreToolUse" && input.tool_input.command === "touch no") {
        const hookSpecificOutput = { hookEventName: "PreToolUse", permissionDecision: "deny", permissionDecisionReason: "not that" };
        return { hookSpecificOutput };
      }
      return {};
    };
    const hooks = { PreToolUse: [{ matcher: "Bash", hooks: [hook] }], PostToolUse: [{ hooks: [hook] }], Stop: [{ hooks: [hook] }] };
    const options = { ...base, hooks, allowedTools: ["Bash"] };
    return { messages: await all(query({ prompt: "go", options })), heard };
  },

  async tools() {
    const add = tool("add", "Adds", { a: z.number(), b: z.number() }, async ({ a, b }) => ({
      content: [{ type: "text", text: `sum ${a + b}` }],
    }));
    const calc = createSdkMcpServer({ name: "calc", version: "1.0.0", tools: [add] });
    const options = { ...base, mcpServers: { calc }, allowedTools: ["mcp__calc__add"] };
    return { messages: await all(query({ prompt: "add", options })) };
  },

  async missing() {
    const options = { ...base, resume: "11111111-2222-4333-8444-555555555555" };
    try {
      return { messages: await all(query({ prompt: "hi", options })) };
    } catch (error) {
      return { error: String(error) };
    }
  },
};

const [name, argument] = scenario.split(":");
const seen = await scenarios[name](argument);
process.stdout.write(JSON.stringify({ ...seen, stderr }));
