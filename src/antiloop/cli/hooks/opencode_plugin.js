// antiloop hook opencode: notices when the agent is stuck in a tool-call loop.
// Written by `antiloop hook opencode --install`; taken out again by `--uninstall`.
import { spawn } from "node:child_process"

const COMMAND = ["antiloop", "hook", "opencode"]
const TIMEOUT_MS = 30_000

/** Ask the hook's process about an event; whatever goes wrong, there is nothing to do. */
function ask(event) {
  return new Promise((resolve) => {
    const chunks = []
    const answer = () => {
      try {
        resolve(JSON.parse(Buffer.concat(chunks).toString() || "{}") ?? {})
      } catch {
        resolve({})
      }
    }
    try {
      const hook = spawn(COMMAND[0], COMMAND.slice(1), { stdio: ["pipe", "pipe", "ignore"] })
      setTimeout(() => hook.kill(), TIMEOUT_MS).unref()
      hook.on("error", () => resolve({}))
      hook.stdin.on("error", () => {})
      hook.stdout.on("data", (chunk) => chunks.push(chunk))
      hook.on("close", answer)
      hook.stdin.end(JSON.stringify(event))
    } catch {
      resolve({})
    }
  })
}

export const Antiloop = async ({ client }) => {
  const report = (name, input, more) =>
    ask({ hook_event_name: name, session_id: input.sessionID, ...more })
  const call = (input, args) => ({ tool_name: input.tool, tool_use_id: input.callID, tool_input: args })
  const stop = (input, answer) =>
    answer.end && client?.session?.abort({ path: { id: input.sessionID } }).catch(() => {})
  return {
    "chat.message": async (input) => {
      await report("UserPromptSubmit", input)
    },
    "tool.execute.before": async (input, output) => {
      const answer = await report("PreToolUse", input, call(input, output.args))
      stop(input, answer)
      if (answer.refusal) throw new Error(answer.refusal)
    },
    "tool.execute.after": async (input, output) => {
      const text = output?.output ?? ""
      const answer = await report("PostToolUse", input, { ...call(input, input.args), tool_response: text })
      if (answer.notice && output) output.output = `${text}\n\n${answer.notice}`
      stop(input, answer)
    },
  }
}
