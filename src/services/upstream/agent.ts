/** Node's own HTTP client over connections to a provider. */
import type { Agent } from 'node:http'
import { Agent as SecureAgent } from 'node:https'
import { Agent as PlainAgent } from '../../core/node-http.ts'
import type { Connector } from './connector.ts'

/** @returns an agent whose connections serve one request each. */
export function agentOf(connector: Connector): Agent {
  const agent = connector.target.isSecure ? new SecureAgent() : new PlainAgent()
  // Without a result the agent waits for the callback (`createSocket` in lib/_http_agent.js).
  agent.createConnection = (_options, callback) => {
    connector.connect((error, socket) =>
      socket ? callback?.(null, socket) : callback?.(error ?? new Error('no socket'), undefined as never),
    )
    return undefined
  }
  return agent
}
