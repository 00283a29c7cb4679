/**
 * An event as a receiver gets it: a CloudEvent 1.0 in structured JSON (cloudevents/spec, "JSON Event Format" and "HTTP
 * Protocol Binding" section 3.2), signed as Standard Webhooks 1.0.0 states it ("Signature scheme", "Webhook headers").
 */
import { createHmac } from 'node:crypto'
import type { JsonObject } from '../../core/json.ts'
import type { StoredEvent } from '../../store/events.ts'

/** @param source of the gateway: with the id it is unique. */
export function cloudEvent({ id, type, at, subject, data }: StoredEvent, source: string): JsonObject {
  return {
    specversion: '1.0',
    id,
    source,
    type,
    time: new Date(at).toISOString(),
    subject,
    datacontenttype: 'application/json',
    data,
  }
}

const PREFIX = 'whsec_'

/** Key bytes of a secret in its written form. */
function secretKey(secret: string): Buffer {
  return Buffer.from(secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret, 'base64')
}

/**
 * @param secrets the present one first; with more than one, a receiver that knows any of them accepts it.
 * @param now milliseconds since the epoch: of the attempt, not of the event.
 */
export function signedHeaders(id: string, body: Buffer, secrets: readonly string[], now: number): Record<string, string> {
  const timestamp = String(Math.floor(now / 1000))
  const signatures = secrets.map((secret) => {
    const signature = createHmac('sha256', secretKey(secret)).update(`${id}.${timestamp}.`).update(body).digest('base64')
    return `v1,${signature}`
  })
  return {
    'content-type': 'application/cloudevents+json; charset=utf-8',
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  }
}
