import type { IncomingMessage } from 'node:http'

/** Address of the gateway as the caller has it, for that caller alone: the headers may say anything. */
export function addressIn({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const scheme = /^https\b/i.test(String(headers['x-forwarded-proto'] ?? '')) ? 'https' : 'http'
  return `${scheme}://${headers.host ?? ''}`
}
