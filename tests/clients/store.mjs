// Calls one session function of the TypeScript SDK: node store.mjs <function> <JSON argument>...
// Prints the answer as JSON; null when there is none.
import * as sdk from "@anthropic-ai/claude-agent-sdk";

const [name, ...args] = process.argv.slice(2);
const answer = await sdk[name](...args.map((arg) => JSON.parse(arg)));
process.stdout.write(JSON.stringify(answer ?? null));
