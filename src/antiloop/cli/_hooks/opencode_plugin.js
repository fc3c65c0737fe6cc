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
  const known = new Set() // calls whose end is reported, or that were refused
  const report = (name, sessionID, more) => ask({ hook_event_name: name, session_id: sessionID, ...more })
  const call = (tool, id, args) => ({ tool_name: tool, tool_use_id: id, tool_input: args })
  return {
    "chat.message": async (input, output) => {
      const said = output?.parts?.find((part) => part.type === "text")?.text
      await report("UserPromptSubmit", input.sessionID, { prompt: said ?? "" })
    },
    "tool.execute.before": async (input, output) => {
      const answer = await report("PreToolUse", input.sessionID, call(input.tool, input.callID, output.args))
      if (!answer.refusal) return
      known.add(input.callID)
      if (answer.end) await client?.session?.abort({ path: { id: input.sessionID } }).catch(() => {})
      throw new Error(answer.refusal)
    },
    "tool.execute.after": async (input, output) => {
      known.add(input.callID)
      const given = output?.output ?? output?.content ?? "" // an MCP server gives content
      const told = { ...call(input.tool, input.callID, input.args), tool_response: given }
      const answer = await report("PostToolUse", input.sessionID, told)
      if (!answer.notice || !output) return
      if (Array.isArray(given)) given.push({ type: "text", text: answer.notice })
      else output.output = `${given}\n\n${answer.notice}`
    },
    event: async ({ event }) => {
      const { type, properties: { part, sessionID } = {} } = event
      if (type === "session.compacted") await report(type, sessionID)
      if (type !== "message.part.updated" || part?.type !== "tool" || part.state?.status !== "error") return
      if (known.has(part.callID)) return
      known.add(part.callID)
      const told = { ...call(part.tool, part.callID, part.state.input), error: part.state.error }
      await report("PostToolUseFailure", part.sessionID, told)
    },
  }
}
