/** The pages of the consent: plain HTML of our own, no script, nothing from elsewhere, every value escaped. */
import { hash } from 'node:crypto'
import { answerTo, isOwnMachine } from '../api/auth-callback.ts'
import type { KeyRequest } from '../api/auth-code.ts'

/** Reply to a browser. */
export interface Page {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly html: string
}

/** Fields of the form that the application has named and the user does not change. */
export type Carried = ReadonlyMap<string, string>

interface ConsentForm {
  readonly keyRequest: KeyRequest
  readonly carried: Carried
  /** As the application or the user wrote it. */
  readonly limit: string
  readonly state: string | undefined
  /** Why the last try failed. */
  readonly problem?: string
}

const STYLE = `
:root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif }
body { margin: 0 auto; max-width: 34rem; padding: 2rem 1rem }
h1 { font-size: 1.4rem; overflow-wrap: anywhere }
dl { display: grid; grid-template-columns: auto 1fr; gap: .3rem 1rem; margin: 1.5rem 0 }
dt { opacity: .75 }
dd { margin: 0; overflow-wrap: anywhere }
label { display: block; margin-top: 1rem; font-weight: 600 }
small { display: block; font-weight: 400 }
input { box-sizing: border-box; width: 100%; padding: .5rem; font: inherit }
button { margin: 1.5rem 1rem 0 0; padding: .5rem 1.2rem; font: inherit; font-weight: 600 }
[role=alert] { border-left: .3rem solid #c22; padding: .3rem .8rem }
`
const STYLE_SOURCE = `'sha256-${hash('sha256', STYLE, 'base64')}'`

/** @param brand the word of the white label. @param status of the answer. */
export function askPage({ keyRequest, carried, limit, state, problem }: ConsentForm, brand: string, status = 200): Page {
  const { callback, name, reset, expiresAt } = keyRequest
  const host = escaped(callback.host)
  const where = isOwnMachine(callback.hostname) ? ' (a program on your own machine)' : ''
  const facts: [string, string][] = [
    ['Site', `${host}${where}`],
    ['Sent back to', escaped(callback.href)],
    ['Name of the key', escaped(name)],
    ['Ends', expiresAt === undefined ? 'with your own key' : escaped(new Date(expiresAt).toISOString())],
  ]
  const hidden = [...carried].map(([field, value]) => `<input type="hidden" name="${escaped(field)}" value="${escaped(value)}">`)
  const cancel = answerTo(callback, { error: 'access_denied', ...(state === undefined ? {} : { state }) })
  const body = `<h1>${host} asks for a key</h1>
<p>If you agree, it gets an API key of its own for ${escaped(brand)}: with the models that your key may use, and no more rights than yours. It spends from the limit of your key, ends with your key, and can be disabled at any time by those who manage the keys.</p>
${problem === undefined ? '' : `<p role="alert">${escaped(problem)}</p>\n`}<dl>
${facts.map(([term, value]) => `<dt>${term}</dt><dd>${value}</dd>`).join('\n')}
</dl>
<form method="post" action="/auth">
${hidden.join('\n')}
<label>Limit in USD${reset ? ` per ${PER[reset]}` : ''}<small>What the new key spends counts for your own key as well. Empty: no limit of its own.</small>
<input name="limit" inputmode="decimal" autocomplete="off" maxlength="20" value="${escaped(limit)}"></label>
<label>Your API key<small>It stays here: the site never sees it.</small>
<input name="key" type="password" required autocomplete="off" maxlength="512"></label>
<button>Give ${host} a key</button> <a href="${escaped(cancel)}" rel="noreferrer">No, go back</a>
</form>`
  return page(status, { title: `${brand}: a key for ${callback.host}`, body, formTarget: formActionSource(callback) })
}

const PER = { daily: 'day', weekly: 'week', monthly: 'month' } as const

/** For links without a usable request: the browser is not redirected. */
export function refusalPage(status: number, message: string, brand: string): Page {
  const body = `<h1>${status < 500 ? 'This link cannot be used' : 'This cannot be done at the moment'}</h1>\n<p role="alert">${escaped(message)}</p>\n<p>Go back to the site that sent you here. Nothing was given to it.</p>`
  return page(status, { title: brand, body })
}

/** Redirects to the application with a code. No referrer is sent, so the site does not learn the address of this page. */
export function returnPage(address: string): Page {
  const { headers } = page(303, { title: '', body: '' })
  return { status: 303, headers: { ...headers, Location: address, 'Referrer-Policy': 'no-referrer' }, html: '' }
}

function page(status: number, { title, body, formTarget }: { title: string; body: string; formTarget?: string }): Page {
  const policy = [
    "default-src 'none'",
    `style-src ${STYLE_SOURCE}`,
    // Some browsers hold the redirect after a form to this list as well.
    `form-action ${formTarget === undefined ? "'none'" : `'self' ${formTarget}`}`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ]
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escaped(title)}</title>
<style>${STYLE}</style>
</head>
<body>
${body}
</body>
</html>
`
  const headers = {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': policy.join('; '),
    'X-Frame-Options': 'DENY',
    'X-Content-Type-Options': 'nosniff',
    // Without it the browser would not send the origin of our own page with the form.
    'Referrer-Policy': 'same-origin',
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Cache-Control': 'no-store',
  }
  return { status, headers, html }
}

/** An IPv6 address has no place in a list of sources. */
function formActionSource({ origin, hostname, protocol }: URL): string {
  return hostname.startsWith('[') ? protocol : origin
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

/** For text and for quoted attributes. What would turn the direction of writing is left out: it could disguise a host. */
function escaped(text: string): string {
  return text
    .replace(/[&<>"']/g, (sign) => ENTITIES[sign] ?? `&#${sign.charCodeAt(0)};`)
    .replace(/[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, '')
}
