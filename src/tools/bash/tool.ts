/** Hands the model's commands to the caller, or runs them in the operator's sandbox where the caller requests that. */
import {
  badField,
  type JsonObject,
  type Opaque,
  type Recalled,
  type Sandbox,
  type SessionTool,
  type ToolContext,
  type ToolHost,
  type ToolOutcome,
  type ToolSession,
} from '../../plugin-api/index.ts'
import { type Environment, neededSandbox, parseCommand, parseEnvironment, RequestContainer, withReason } from '../shell/commands.ts'

/** The commands of one request: one container, one command after the other. */
class BashSession implements ToolSession {
  readonly bound = 0
  readonly recalls: NonNullable<ToolSession['recalls']>
  private readonly sandbox: Sandbox
  private readonly container: RequestContainer
  private last: Promise<unknown> = Promise.resolve()

  constructor(sandbox: Sandbox, environment: Environment, recalls: NonNullable<ToolSession['recalls']>) {
    this.sandbox = sandbox
    this.container = new RequestContainer(environment)
    this.recalls = recalls
  }

  run(args: JsonObject, host: ToolHost, signal: AbortSignal): Promise<ToolOutcome> {
    const command = parseCommand(args.command)
    const container = this.container.of(host)
    const call: JsonObject = { call_id: host.callId, arguments: JSON.stringify(args), command }
    const ran = this.last.then(() => this.sandbox.run(command, container, { clock: host.clock, signal }))
    this.last = ran.catch(() => {})
    return ran.then(
      (found): ToolOutcome => {
        const { stdout, exitCode } = found
        const result = { command, stdout, stderr: withReason(found), exitCode }
        const environment = { type: 'container_reference', container_id: container.id }
        return { output: JSON.stringify(result), item: { ...call, ...result, environment }, status: 'completed' }
      },
      (cause: unknown): ToolOutcome => {
        const error = 'the sandbox could not run the command'
        return { output: JSON.stringify({ error }), item: { status: 'incomplete', ...call, error }, status: 'failed', cause }
      },
    )
  }
}

const NAME = 'bash'
const TO_CALLER: readonly unknown[] = [null, 'auto', 'native']

export const bash: SessionTool = {
  name: NAME,
  description: 'Runs a command with bash. Files stay until the next call, variables do not.',
  parameters: {
    type: 'object',
    properties: { command: { type: 'string' } },
    required: ['command'],
    additionalProperties: false,
  },
  plugin: 'shell',

  begin(parameters: JsonObject, at: string, settings: JsonObject, { brand, depth }: ToolContext): ToolSession {
    const { engine = null } = parameters
    const path = `${at}.parameters`
    if (TO_CALLER.includes(engine) && depth > 0) throw badField(`${path}.engine`, 'expected router within a call of another tool')
    if (TO_CALLER.includes(engine)) return { bound: 0, run: handOver }
    if (engine !== 'router' && engine !== brand) throw badField(`${path}.engine`, 'expected auto, native or router')
    const environment = parseEnvironment(parameters, path)
    return new BashSession(neededSandbox(settings, `${path}.engine`), environment, recallsBash(`${brand}:${NAME}`))
  },
}

/** The name that clients of the tool know it by. */
function handOver(args: JsonObject, { callId }: ToolHost): ToolOutcome {
  const command = parseCommand(args.command)
  return {
    output: JSON.stringify({ status: 'handed to the user' }),
    item: { call_id: callId, command },
    status: 'completed',
    shown: [{ kind: 'call', call: { id: callId, name: NAME }, args: JSON.stringify({ command }) }],
    handOver: true,
  }
}

function recallsBash(own: string): (item: Opaque) => readonly Recalled[] | undefined {
  return ({ dialect, type, data }) => {
    if (dialect !== 'responses' || type !== own || typeof data.call_id !== 'string') return undefined
    const { call_id: callId, command = '', stdout = '', stderr = '', exitCode = 0 } = data
    return [
      { kind: 'call', callId, function: NAME, args: JSON.stringify({ command }) },
      { kind: 'result', callId, text: JSON.stringify({ command, stdout, stderr, exitCode }) },
    ]
  }
}
