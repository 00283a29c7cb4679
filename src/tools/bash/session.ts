import type { JsonObject, Sandbox, ToolHost, ToolOutcome, ToolSession } from '../../plugin-api/index.ts'
import { commandOf, withReason } from '../shell/action.ts'
import { type Environment, RequestContainer } from '../shell/environment.ts'

/** The commands of one request: one container, one command after the other. */
export class BashSession implements ToolSession {
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
    const command = commandOf(args.command)
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
