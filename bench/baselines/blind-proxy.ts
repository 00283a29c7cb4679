/** http-proxy-3 passing bytes blind over kept-alive connections: what most Node proxies are built on. */
import { Agent, createServer } from 'node:http'
import { createProxyServer } from 'http-proxy-3'
import { serveToParent, upstreamPort } from '../child.ts'

const proxy = createProxyServer({
  target: { host: '127.0.0.1', port: upstreamPort() },
  agent: new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY }),
})
proxy.on('error', (_error, _request, response) => {
  response.destroy()
})
serveToParent(createServer((request, response) => proxy.web(request, response)))
