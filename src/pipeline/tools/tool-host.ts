/** Objects that the gateway's own tools work with: per request, and per call. */

import { entryAt } from '../../core/entry-at.ts'
import { Fault } from '../../core/faults.ts'
import type { Host, ModelAnswer, ModelCall, ToolContext, ToolHost } from '../../plugin-api/index.ts'
import { allowsModel } from '../../routing/index.ts'
import type { ChainSettings } from '../dependencies.ts'
import type { Guarded, Step } from '../exchange.ts'
import type { FoundCall } from '../records.ts'
import { askModel, type InnerDependencies } from './inner-call.ts'

/** Facts of the request that every tool is shown. */
export type RequestContext = Omit<ToolContext, 'tools' | 'place' | 'runs' | 'checkTools'>

/** The part of a request that a tool is shown that offers it. */
export function toolContext(exchange: Guarded, { models }: ChainSettings['catalog'], plan: boolean): RequestContext {
  const {
    auth: { key },
    head: { brand, depth, clock, headers },
  } = exchange
  return {
    key,
    brand,
    depth,
    clock,
    headers,
    client: exchange.request.client.id,
    signal: exchange.head.cancel.signal,
    request: () => exchange.request.canonical(),
    plan,
    get models() {
      return models.filter(({ slug }) => allowsModel(key.allowedModels, slug))
    },
  }
}

export interface CallHost extends ToolHost {
  /** The call has ended: cancels its open calls of models, and waits for their end. */
  end(): Promise<void>
}

/** Makes the host of one call. @param called name of the function, as its tool calls it, and the step that notes the call. */
export type HostFinder = (call: FoundCall, called: { name: string; step: Step }, progress: ToolHost['progress']) => CallHost

export interface HostDependencies extends Omit<InnerDependencies, 'ended' | 'within'> {
  host: Host
}

export function createHosts(exchange: Guarded, context: RequestContext, dependencies: HostDependencies): HostFinder {
  return (call, { name, step }, progress) => {
    const end = new AbortController()
    const running = new Set<Promise<unknown>>()
    const { connection } = exchange.head
    let taken = 0
    const memory = (bytes: number): Promise<void> | undefined => {
      const count = (): void => {
        taken += bytes
      }
      const waiting = connection.reserve?.(bytes)
      if (waiting) return waiting.then(count)
      count()
      return undefined
    }
    const generate = async (wanted: ModelCall): Promise<ModelAnswer> => {
      if (end.signal.aborted) throw new Fault('internal', { cause: new Error('the call of the tool has ended') })
      const answer = askModel(exchange, wanted, { ...dependencies, ended: end.signal, within: step })
      running.add(answer)
      try {
        return await answer
      } finally {
        running.delete(answer)
      }
    }
    return {
      ...dependencies.host,
      key: context.key,
      client: context.client,
      brand: context.brand,
      depth: context.depth,
      callId: call.id,
      function: name,
      get models() {
        return context.models
      },
      get model() {
        return (exchange.run.lastTurn?.endpoint.model ?? entryAt(exchange.route.models, 0)).slug
      },
      request: () => exchange.request.canonical(),
      generate,
      progress,
      memory,
      end: async () => {
        end.abort(new Fault('client_gone'))
        await Promise.allSettled(running)
        connection.free?.(taken)
        taken = 0
      },
    }
  }
}
