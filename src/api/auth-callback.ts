/** Where the browser is sent with a code: an address of the application that asked for it. */
import { badField } from '../core/faults.ts'

/** Characters. */
export const LONGEST_CALLBACK = 2048

const SECURE = 'expected an address that begins with https://, or with http:// of this very machine (localhost, 127.0.0.1)'
/** A parser of addresses drops or turns some of these, so that people and programs would read different ones. */
const UNCLEAR = /[\s\\\p{C}]/u

/** @throws Fault 400 for an address that a code must not be sent to. */
export function callbackOf(text: string): URL {
  if (text.length > LONGEST_CALLBACK) throw badField('callback_url', `must be at most ${LONGEST_CALLBACK} characters`)
  const url = UNCLEAR.test(text) ? null : URL.parse(text)
  if (!url || !(url.protocol === 'https:' || (url.protocol === 'http:' && isOwnMachine(url.hostname))))
    throw badField('callback_url', SECURE)
  if (url.username !== '' || url.password !== '') throw badField('callback_url', 'must hold no user name and no password')
  if (text.includes('#')) throw badField('callback_url', 'must have no fragment')
  for (const name of ['code', 'error'])
    if (url.searchParams.has(name)) throw badField('callback_url', `must not hold the parameter ${name}, which the answer adds`)
  return url
}

/** Loopback: what is sent there leaves the machine of the browser in no way (RFC 8252 section 7.3). */
export function isOwnMachine(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname)
}

/** The callback with these parameters behind its own, which stay as they were written. @throws Fault 400 where a name is taken. */
export function answerTo(callback: URL, answer: Readonly<Record<string, string>>): string {
  for (const name of Object.keys(answer))
    if (callback.searchParams.has(name)) throw badField('callback_url', `must not hold the parameter ${name}, which the answer adds`)
  const added = new URLSearchParams(answer).toString()
  const between = callback.href.includes('?') ? (callback.search === '' ? '' : '&') : '?'
  return `${callback.href}${between}${added}`
}
