// Written by `orchestra-mcp setup opencode`: it puts OpenCode's own tools under the intents of the workspace.
// Each call is asked about before it is made. On any failure the call is not made.
import { spawn } from "node:child_process"

const program = "{{program}}"
const limit = 20_000

const hook = (event) =>
  new Promise((resolve, reject) => {
    const fail = (why) => reject(new Error(`orchestra-mcp did not answer: ${why}`))
    const child = spawn(program, ["hook", "opencode"])
    const timer = setTimeout(() => {
      child.kill("SIGKILL")
      fail(`nothing in ${limit} ms`)
    }, limit)
    let out = ""
    let err = ""
    child.stdout.setEncoding("utf8").on("data", (text) => (out += text))
    child.stderr.setEncoding("utf8").on("data", (text) => (err += text))
    child.stdin.on("error", () => {}) // a program that does not read tells more by its end
    child.on("error", (error) => {
      clearTimeout(timer)
      fail(error.message)
    })
    child.on("close", (code, signal) => {
      clearTimeout(timer)
      if (code !== 0) return fail(err.trim() || `it ended with ${signal ?? code}`)
      try {
        resolve(out === "" ? {} : JSON.parse(out))
      } catch (error) {
        fail(error.message)
      }
    })
    child.stdin.end(JSON.stringify(event))
  })

export const Orchestra = async ({ directory }) => ({
  "tool.execute.before": async ({ tool, sessionID, callID }, output) => {
    const answer = await hook({ event: "before", session: sessionID, call: callID, tool, args: output.args, directory })
    if (answer?.decision !== "allow") throw new Error(answer?.reason ?? "orchestra-mcp did not allow this call")
    if (answer.command !== undefined) output.args.command = answer.command
  },
  "tool.execute.after": async ({ tool, sessionID, callID, args }, output) => {
    const event = { event: "after", session: sessionID, call: callID, tool, args, directory, output: { exit: output?.metadata?.exit } }
    const note = await hook(event).then((answer) => answer.note, (error) => `This call was not recorded: ${error.message}`)
    if (note && typeof output?.output === "string") output.output += `\n\n${note}`
  },
  event: async ({ event }) => {
    const phase = { "session.idle": "idle", "session.deleted": "end" }[event.type]
    const session = event.properties?.sessionID ?? event.properties?.info?.id
    if (phase) await hook({ event: phase, session, directory }).catch(() => {}) // nothing waits for it
  },
})
