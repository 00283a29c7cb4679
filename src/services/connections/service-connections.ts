/**
 * Connections of the gateway's own clients to services that the operator names (identity services, engines, collectors, stores of exports,
 * receivers of events): as those to providers, with the shared look-ups of names and through the proxy of the environment. What is fetched
 * for a request has connections of its own, which take no proxy (src/services/outbound/guarded-connect.ts).
 */
import type { Agent, AgentOptions } from 'node:http'
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls'
import { names } from '../../core/name-lookups.ts'
import { agentFor } from './agent.ts'
import type { ConnectionSettings } from './connection-settings.ts'
import { type ConnectionReceiver, Connector } from './connector.ts'
import { type ProxyEnvironment, proxyFor } from './proxy.ts'

interface ServiceConnectionsOptions {
  /** Variables that may name a proxy; those of the process where absent. */
  readonly env?: ProxyEnvironment | undefined
  /** Of the provider that the service is called for. */
  readonly connection?: ConnectionSettings | undefined
  readonly agent?: AgentOptions
}

/** Milliseconds for one connection, with its tunnel and TLS. */
const TIMEOUT = 10_000
/** Origins whose connectors are kept: a connector has the last TLS session alone. */
const MOST = 50

export class ServiceConnections {
  private readonly options: ServiceConnectionsOptions
  private readonly connectors = new Map<string, Connector>()
  private readonly agents = new Map<boolean, Agent>()
  private context: SecureContext | undefined

  constructor(options: ServiceConnectionsOptions = {}) {
    this.options = options
  }

  /** @param protocol with its colon. */
  agent(protocol: string): Agent {
    const isSecure = protocol === 'https:'
    let agent = this.agents.get(isSecure)
    if (!agent) {
      const scheme = isSecure ? 'https' : 'http'
      agent = agentFor(
        isSecure,
        (host, port) => this.connector(`${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`),
        this.options.agent,
      )
      this.agents.set(isSecure, agent)
    }
    return agent
  }

  /** @returns connects to this address; undefined where no proxy stands in front of it. */
  throughProxy({ origin }: URL): ((receive: ConnectionReceiver) => void) | undefined {
    const connector = this.connector(origin)
    return connector.options.proxy() && ((receive) => void connector.connect(receive))
  }

  close(): void {
    for (const agent of this.agents.values()) agent.destroy()
  }

  private connector(origin: string): Connector {
    let connector = this.connectors.get(origin)
    if (!connector) {
      if (this.connectors.size >= MOST) this.connectors.clear()
      const { env = process.env, connection } = this.options
      const url = new URL(origin)
      connector = new Connector({
        origin,
        timeout: TIMEOUT,
        names,
        proxy: () => proxyFor(url, connection?.proxy, env),
        secureContext: () => this.secureContext(),
      })
      this.connectors.set(origin, connector)
    }
    return connector
  }

  /**
   * The provider's authorities beside those that the process trusts: the service may be the provider's neighbour, or a public one. The
   * provider's client certificate is shown to the provider alone.
   */
  private secureContext(): SecureContext | undefined {
    const ca = this.options.connection?.tls?.ca
    if (ca === undefined) return undefined
    this.context ??= createSecureContext({
      ca: [...getCACertificates('default'), ...(ca === 'system' ? getCACertificates('system') : [ca])],
    })
    return this.context
  }
}

/** As Node's own agent keeps them (`globalAgent` in lib/_http_agent.js). */
const KEPT: AgentOptions = { keepAlive: true, scheduling: 'lifo', timeout: 5_000 }

/** Those that no provider's settings say anything about. */
export const serviceConnections = new ServiceConnections({ agent: KEPT })
