/** Node's own HTTP client over connections of ours. */
import type { Agent, AgentOptions } from 'node:http'
import { Agent as SecureAgent } from 'node:https'
import { Agent as PlainAgent } from '../../core/node-http.ts'
import type { Connector } from './connector.ts'

/** @returns an agent for the connector's origin, whose connections serve one request each where `options` do not say otherwise. */
export function createAgent(connector: Connector, options?: AgentOptions): Agent {
  return agentFor(connector.target.isSecure, () => connector, options)
}

/** @param connectorTo for a host and port, as Node's client has them. */
export function agentFor(isSecure: boolean, connectorTo: (host: string, port: number) => Connector, options?: AgentOptions): Agent {
  const agent = isSecure ? new SecureAgent(options) : new PlainAgent(options)
  // Without a result the agent waits for the callback (`createSocket` in lib/_http_agent.js).
  agent.createConnection = ({ host, port }, callback) => {
    connectorTo(host ?? '', Number(port)).connect((error, socket) =>
      socket ? callback?.(null, socket) : callback?.(error ?? new Error('no socket'), undefined as never),
    )
    return undefined
  }
  return agent
}
