/** `/openapi.json` and, made from it, `/docs`: what the API is, for programs and for people. Both need no key. */
import { createHash } from 'node:crypto'
import { Fault } from '../core/faults.ts'
import { isObject, type Json, type JsonObject, objectsOf } from '../core/json.ts'
import { escaped, fieldTable, inline, schemaName } from './docs-fields.ts'
import type { OperationRequest } from './gateway.ts'

interface Written {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly html: string
}

/** @param document OpenAPI 3.1; asked for when somebody first wants to see one of the two. */
export function referencePages(
  document: () => Promise<JsonObject>,
): (asked: Pick<OperationRequest, 'path' | 'method'>) => Promise<Written> | undefined {
  const made = new Map<string, Promise<Written>>()
  const makers: Readonly<Record<string, (of: JsonObject) => Written>> = {
    '/openapi.json': (of) => written('application/json', JSON.stringify(of)),
    '/docs': (of) => written('text/html; charset=utf-8', docsHtml(of), { 'Content-Security-Policy': POLICY, 'X-Frame-Options': 'DENY' }),
  }
  return ({ path, method }) => {
    if (!Object.hasOwn(makers, path)) return undefined
    if (method !== 'GET' && method !== 'HEAD') return Promise.reject(new Fault('method_not_allowed', { headers: { Allow: 'GET' } }))
    const page = made.get(path) ?? document().then(makers[path])
    made.set(path, page)
    return page
  }
}

function written(type: string, html: string, more: Record<string, string> = {}): Written {
  const headers = {
    'Content-Type': type,
    'Cache-Control': 'no-cache',
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
  }
  return { status: 200, headers: { ...headers, ...more }, html }
}

const STYLE = `
:root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif }
body { margin: 0 auto; max-width: 60rem; padding: 1rem }
nav ul { columns: 16rem; padding-left: 1.2rem }
h1, h2, h3 { line-height: 1.25 }
h2 { margin-top: 3rem; border-bottom: 1px solid #8888 }
h3 { margin-top: 2.2rem; overflow-wrap: anywhere }
h3 b { text-transform: uppercase; font-size: .8em; padding: .1em .4em; border: 1px solid; border-radius: .3em }
code, pre { font: .9em/1.45 ui-monospace, monospace }
pre { overflow-x: auto; padding: .7rem; border: 1px solid #8885; border-radius: .3rem }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; vertical-align: top; padding: .25rem .6rem .25rem 0; border-top: 1px solid #8884 }
td:first-child { white-space: nowrap }
small { opacity: .75 }
summary { cursor: pointer; margin: .5rem 0 }
`
const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

interface Operation {
  readonly method: string
  readonly path: string
  readonly of: JsonObject
}

function docsHtml(document: JsonObject): string {
  const info = objectOf(document.info)
  const operations = Object.entries(objectOf(document.paths)).flatMap(([path, methods]) =>
    Object.entries(objectOf(methods)).map(([method, of]): Operation => ({ method, path, of: objectOf(of) })),
  )
  const tags = objectsOf(document.tags).map(({ name, description }) => ({ name: String(name), description: String(description) }))
  const byTag = (tag: string): Operation[] => operations.filter(({ of }) => Array.isArray(of.tags) && of.tags.includes(tag))
  const schemas = objectOf(objectOf(document.components).schemas)
  const base = String(objectsOf(document.servers)[0]?.url ?? '')
  const contents = tags.map(
    ({ name }) => `<li><a href="#${anchor(name)}">${escaped(name)}</a><ul>${byTag(name).map(entry).join('')}</ul></li>`,
  )
  const parts = tags.map(({ name, description }) => {
    const sections = byTag(name).map((operation) => operationHtml(operation, base))
    return `<h2 id="${anchor(name)}">${escaped(name)}</h2>\n<p>${inline(description)}</p>\n${sections.join('\n')}`
  })
  const shapes = Object.entries(schemas).map(
    ([name, schema]) => `<h3 id="schema-${escaped(name)}">${escaped(name)}</h3>\n${fieldTable(objectOf(schema))}`,
  )
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escaped(String(info.title))}</title>
<style>${STYLE}</style>
</head>
<body>
<h1>${escaped(String(info.title))}</h1>
<p>${inline(String(info.description))}</p>
<p>Send your key as <code>Authorization: Bearer …</code>. Paths stand under <code>${escaped(base)}</code>. The same for programs: <a href="/openapi.json">/openapi.json</a>.</p>
<nav><ul>${contents.join('\n')}</ul></nav>
${parts.join('\n')}
<h2 id="schemas">Shapes</h2>
${shapes.join('\n')}
</body>
</html>
`
}

function entry({ of, method, path }: Operation): string {
  return `<li><a href="#${escaped(String(of.operationId))}">${method.toUpperCase()} ${escaped(path)}</a></li>`
}

function operationHtml({ method, path, of }: Operation, base: string): string {
  const parameters = objectsOf(of.parameters)
  const [[type, given] = ['', {}]] = Object.entries(objectOf(objectOf(of.requestBody).content))
  const body = objectOf(given)
  const replies = Object.entries(objectOf(of.responses)).map(([status, reply]) => replyRow(status, objectOf(reply)))
  const parts = [
    `<h3 id="${escaped(String(of.operationId))}"><b>${method}</b> ${escaped(path)}</h3>`,
    `<p>${inline(String(of.summary))}.${of.description === undefined ? '' : ` ${inline(String(of.description))}`}</p>`,
  ]
  if (parameters.length > 0) parts.push(folded('Parameters', `<table>${parameters.map(parameterRow).join('')}</table>`))
  if (body.schema !== undefined) parts.push(folded('Body', fieldTable(objectOf(body.schema))))
  for (const { summary, value } of Object.values(objectOf(body.examples)).map(objectOf))
    parts.push(
      folded(
        String(summary),
        `<pre>${escaped(type === 'multipart/form-data' ? curlForm(base + path, objectOf(value)) : curl(method, base + path, value ?? null))}</pre>`,
      ),
    )
  parts.push(folded('Replies', `<table>${replies.join('')}</table>`))
  return parts.join('\n')
}

function parameterRow({ name, in: place, description, required, schema }: JsonObject): string {
  const choices = objectOf(schema).enum
  const values = Array.isArray(choices) ? ` One of ${choices.map((one) => `<code>${escaped(String(one))}</code>`).join(', ')}.` : ''
  const must = required === true ? ', required' : ''
  return `<tr><td><code>${escaped(String(name))}</code><br><small>${escaped(String(place))}${must}</small></td><td>${inline(String(description))}${values}</td></tr>`
}

/** A fault is told by its reference: its name says what it is. */
function replyRow(status: string, reply: JsonObject): string {
  const name = typeof reply.$ref === 'string' ? String(reply.$ref.split('/').pop()).replaceAll('_', ' ') : ''
  const schema = objectOf(objectOf(objectOf(reply.content)['application/json']).schema)
  const shape = name === '' ? (schemaName(schema) === undefined ? fieldTable(schema) : '') : ''
  return `<tr><td>${escaped(status)}</td><td>${name === '' ? inline(String(reply.description)) : escaped(name)}${shape}</td></tr>`
}

function curl(method: string, path: string, value: Json): string {
  const text = JSON.stringify(value, undefined, 2).replaceAll("'", "'\\''")
  return `curl -X ${method.toUpperCase()} "$GATEWAY${path}" -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" -d '${text}'`
}

/** What an example names as a file is one on disk. */
function curlForm(path: string, { file: _, ...fields }: JsonObject): string {
  const others = Object.entries(fields).map(([name, value]) => ` -F ${name}=${String(value)}`)
  return `curl "$GATEWAY${path}" -H "Authorization: Bearer $KEY"${others.join('')} -F file=@notes.txt`
}

function folded(title: string, html: string): string {
  return `<details><summary>${escaped(title)}</summary>${html}</details>`
}

const anchor = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]+/g, '-')

function objectOf(value: Json | undefined): JsonObject {
  return isObject(value) ? value : {}
}
