/** Lets the model run commands in the operator's sandbox, or hands them to a caller that runs them. */
import {
  badField,
  isObject,
  type JsonObject,
  type Opaque,
  openSandbox,
  type Recalled,
  type Sandbox,
  type SessionTool,
  type ShownItem,
  type ToolContext,
  type ToolHost,
  type ToolOutcome,
  type ToolSession,
} from '../../plugin-api/index.ts'
import {
  type Action,
  commandOutput,
  type Environment,
  neededSandbox,
  parseAction,
  parseEnvironment,
  RequestContainer,
  shownAction,
} from './commands.ts'

interface Form {
  /** True for the tool of the API, whose items are other ones than those of the gateway's own. */
  readonly provided: boolean
  readonly recalls: NonNullable<ToolSession['recalls']>
}

/** The commands of one request: one container, one call after the other. */
class ShellSession implements ToolSession {
  readonly bound = 0
  readonly recalls: Form['recalls']
  private readonly sandbox: Sandbox
  private readonly container: RequestContainer
  private readonly provided: boolean
  private last: Promise<unknown> = Promise.resolve()

  constructor(sandbox: Sandbox, environment: Environment, { provided, recalls }: Form) {
    this.sandbox = sandbox
    this.container = new RequestContainer(environment)
    this.provided = provided
    this.recalls = recalls
  }

  /** Calls of one turn share a folder: they do not run into each other. */
  run(args: JsonObject, host: ToolHost, signal: AbortSignal): Promise<ToolOutcome> {
    const action = parseAction(args)
    const ran = this.last.then(() => this.commands(action, host, signal))
    this.last = ran.catch(() => {})
    return ran.then(
      (output) => this.outcome({ args, action, output }, host),
      (cause: unknown) => {
        const error = 'the sandbox could not run the commands'
        return {
          output: JSON.stringify({ error }),
          item: { status: 'incomplete', ...shellCall(host, args), error },
          status: 'failed',
          cause,
        }
      },
    )
  }

  private async commands({ commands, time, output }: Action, host: ToolHost, signal: AbortSignal): Promise<JsonObject[]> {
    const outputs: JsonObject[] = []
    for (const command of commands) {
      const ran = await this.sandbox.run(command, this.container.of(host), { clock: host.clock, signal, time, output })
      signal.throwIfAborted()
      outputs.push(commandOutput(ran))
    }
    return outputs
  }

  private outcome(done: { args: JsonObject; action: Action; output: JsonObject[] }, host: ToolHost): ToolOutcome {
    const { args, output } = done
    const action = shownAction(done.action)
    const environment = { type: 'container_reference', container_id: this.container.of(host).id }
    const item = { ...shellCall(host, args), action, output, environment }
    return {
      output: JSON.stringify(output),
      item,
      status: 'completed',
      ...(this.provided && host.client === 'responses' ? { shown: shownPair(item, host.callId) } : {}),
    }
  }
}

function shellCall({ callId }: ToolHost, args: JsonObject): JsonObject {
  return { call_id: callId, arguments: JSON.stringify(args) }
}

function shownPair({ output, ...call }: JsonObject, callId: string): ShownItem[] {
  const shown = (type: string, id: string, data: JsonObject): ShownItem => ({
    kind: 'opaque',
    of: { dialect: 'responses', type, data: { id: idFor(id, callId), status: 'completed', ...data } },
  })
  return [shown('shell_call', 'shc', call), shown('shell_call_output', 'sho', { call_id: callId, output })]
}

const NAME = 'shell'

export const shell: SessionTool = {
  name: NAME,
  description:
    'Runs shell commands, one after the other, in a container without network. Files in its working folder stay until the next call, variables do not.',
  parameters: {
    type: 'object',
    properties: {
      commands: { type: 'array', items: { type: 'string' }, description: 'Each is run by a shell of its own.' },
      timeout_ms: { type: 'integer', description: 'Milliseconds that a command may take.' },
      max_output_length: { type: 'integer', description: 'Bytes of its output that are shown.' },
    },
    required: ['commands'],
    additionalProperties: false,
  },
  plugin: NAME,

  ready(settings: JsonObject): boolean {
    return openSandbox(settings) !== undefined
  },

  begin(parameters: JsonObject, at: string, settings: JsonObject, context: ToolContext): ToolSession {
    if (context.client === 'chat') throw badField(`${at}.type`, 'is not available on chat completions')
    const spec = context.tools[context.place]
    if (!spec) throw new RangeError(`no tool at place ${context.place}`)
    const provided = spec.kind === 'server' && spec.standsFor !== undefined
    const recalls = recallsShell(`${context.brand}:${NAME}`)
    if (provided && context.depth === 0 && isCallers(parameters, settings))
      return { bound: 0, run: (args, { callId }) => handOver(args, callId), recalls }
    const path = provided ? at : `${at}.parameters`
    const { engine = null } = parameters
    if (![null, 'auto', 'router', context.brand].includes(engine as string | null))
      throw badField(`${path}.engine`, 'expected auto or router')
    const environment = parseEnvironment(parameters, path)
    return new ShellSession(neededSandbox(settings, `${at}.type`), environment, { provided, recalls })
  },
}

/** The tool of the API, other than the gateway's own, may run at the caller's. */
function isCallers({ environment = null }: JsonObject, settings: JsonObject): boolean {
  if (isObject(environment)) return environment.type === 'local'
  return environment === null && !isObject(settings.sandbox)
}

function handOver(args: JsonObject, callId: string): ToolOutcome {
  const action = shownAction(parseAction(args))
  const data: JsonObject = { id: idFor('shc', callId), call_id: callId, action, arguments: JSON.stringify(args), status: 'completed' }
  return {
    output: JSON.stringify({ status: 'handed to the user' }),
    item: { call_id: callId, action },
    status: 'completed',
    shown: [{ kind: 'opaque', of: { dialect: 'responses', type: 'shell_call', data } }],
    handOver: true,
  }
}

function idFor(prefix: string, callId: string): string {
  return `${prefix}_${callId.replace(/[^A-Za-z0-9]/g, '')}`
}

/** @param own type of the gateway's own items: `router:shell`. */
function recallsShell(own: string): (item: Opaque) => readonly Recalled[] | undefined {
  return ({ dialect, type, data }) => {
    if (dialect !== 'responses') return undefined
    const callId = String(data.call_id)
    const call = (): Recalled => ({ kind: 'call', callId, function: 'shell', args: callArguments(data) })
    const result = (): Recalled => ({ kind: 'result', callId, text: JSON.stringify(data.output ?? []) })
    if (type === 'shell_call') return [call()]
    if (type === 'shell_call_output') return [result()]
    return type === own && typeof data.call_id === 'string' ? [call(), result()] : undefined
  }
}

/** As the model wrote them, where the caller has kept that. */
function callArguments({ arguments: written, action }: JsonObject): string {
  return typeof written === 'string' ? written : JSON.stringify(action ?? {})
}
