import type { JsonObject, Sandbox, ShownItem, ToolHost, ToolOutcome, ToolSession } from '../../plugin-api/index.ts'
import { type Action, actionOf, outputOf, shownAction } from './action.ts'
import { type Environment, RequestContainer } from './environment.ts'
import { idFor } from './items.ts'

interface Form {
  /** True for the tool of the API, whose items are other ones than those of the gateway's own. */
  readonly provided: boolean
  readonly recalls: NonNullable<ToolSession['recalls']>
}

/** The commands of one request: one container, one call after the other. */
export class ShellSession implements ToolSession {
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
    const action = actionOf(args)
    const ran = this.last.then(() => this.commands(action, host, signal))
    this.last = ran.catch(() => {})
    return ran.then(
      (output) => this.outcome({ args, action, output }, host),
      (cause: unknown) => {
        const error = 'the sandbox could not run the commands'
        return { output: JSON.stringify({ error }), item: { status: 'incomplete', ...callOf(host, args), error }, status: 'failed', cause }
      },
    )
  }

  private async commands({ commands, time, output }: Action, host: ToolHost, signal: AbortSignal): Promise<JsonObject[]> {
    const outputs: JsonObject[] = []
    for (const command of commands) {
      const ran = await this.sandbox.run(command, this.container.of(host), { clock: host.clock, signal, time, output })
      signal.throwIfAborted()
      outputs.push(outputOf(ran))
    }
    return outputs
  }

  private outcome(done: { args: JsonObject; action: Action; output: JsonObject[] }, host: ToolHost): ToolOutcome {
    const { args, output } = done
    const action = shownAction(done.action)
    const environment = { type: 'container_reference', container_id: this.container.of(host).id }
    const item = { ...callOf(host, args), action, output, environment }
    return {
      output: JSON.stringify(output),
      item,
      status: 'completed',
      ...(this.provided && host.client === 'responses' ? { shown: pairOf(item, host.callId) } : {}),
    }
  }
}

function callOf({ callId }: ToolHost, args: JsonObject): JsonObject {
  return { call_id: callId, arguments: JSON.stringify(args) }
}

function pairOf({ output, ...call }: JsonObject, callId: string): ShownItem[] {
  const shown = (type: string, id: string, data: JsonObject): ShownItem => ({
    kind: 'opaque',
    of: { dialect: 'responses', type, data: { id: idFor(id, callId), status: 'completed', ...data } },
  })
  return [shown('shell_call', 'shc', call), shown('shell_call_output', 'sho', { call_id: callId, output })]
}
