/** The pages of the reference: an overview, one page for each tag of the operations, and the named schemas. */
import type { JsonObject } from '../../core/json.ts'
import { exampleCode, LANGUAGES, type Language, ORIGIN } from './examples.ts'
import { type Addresses, escaped, fieldList, fieldRow, inline, SCHEMAS, type Showing, typeText } from './fields.ts'
import { asObject, type Operation, type Reference, type Reply, type RequestBody, readReference, schemaName } from './reference.ts'

export { FILE_ADDRESSES, GATEWAY_ADDRESSES } from './fields.ts'

/**
 * Every page by its slug, the overview by the empty one. A page is built when its function is called.
 * @param document OpenAPI 3.1, as `/openapi.json` returns it.
 */
export function docsPages(document: JsonObject, addresses: Addresses): ReadonlyMap<string, () => string> {
  const reference = readReference(document)
  const site: Site = { reference, addresses }
  const pages = new Map<string, () => string>([['', () => whole(site, { slug: '', title: '', main: overview(site) })]])
  for (const { slug, name, description, operations } of reference.sections)
    pages.set(slug, () => {
      const sections = operations.map((operation) => operationSection(operation, reference.schemas, addresses))
      return whole(site, {
        slug,
        title: name,
        main: `<h1>${escaped(name)}</h1>\n<p class="lead">${inline(description)}</p>\n${sections.join('\n')}`,
      })
    })
  pages.set(SCHEMAS, () => whole(site, { slug: SCHEMAS, title: 'Schemas', main: schemasMain(site) }))
  return pages
}

interface Site {
  readonly reference: Reference
  readonly addresses: Addresses
}

/** The operation of the first example. */
const FIRST = 'createChatCompletion'

function overview({ reference, addresses }: Site): string {
  const { title, description, version, sections, base } = reference
  const first = sections.flatMap(({ operations }) => operations).find(({ id }) => id === FIRST)
  const cards = sections.map(({ name, slug, description: about, operations }) => {
    const count = operations.length === 1 ? '1 operation' : `${operations.length} operations`
    return `<li><a href="${addresses.page(slug)}"><strong>${escaped(name)}</strong><span>${inline(about)}</span><small>${count}</small></a></li>`
  })
  return `<h1>${escaped(title)} <small>${escaped(version)}</small></h1>
<p class="lead">${inline(description)}</p>
<section class="operation" id="start" aria-label="Start">
<div class="facts">
<h2>Start</h2>
<p>All paths are below <code class="address"><span class="origin">http://127.0.0.1:8080</span>${escaped(base)}</code>. SDKs take this as their base URL; that of the Messages format takes it without <code>${escaped(base)}</code>.</p>
<p>Send your key with every request: <code>Authorization: Bearer KEY</code>. The examples read it from the environment:</p>
<pre tabindex="0"><code>export KEY=<span class="string">"your key"</span></code></pre>
<p>Errors have an HTTP status and one body, <a href="${addresses.page(SCHEMAS)}#Error">Error</a>. The same reference for programs: <a href="${addresses.document}">openapi.json</a>.</p>
</div>
${first ? examplePanel(first) : ''}
</section>
<h2>Operations</h2>
<ul class="cards">${cards.join('')}</ul>`
}

/** Endings of the names of bodies that callers send. */
const REQUEST = 'Request'

function schemasMain({ reference, addresses }: Site): string {
  const sections = Object.entries(reference.schemas).map(([name, schema]) => {
    const about = typeof schema.description === 'string' ? `<p>${inline(schema.description)}</p>` : ''
    return `<section class="schema" id="${escaped(name)}" aria-label="${escaped(name)}"><h2><a href="#${escaped(name)}">${escaped(name)}</a></h2>${about}${fieldList(schema, { addresses, sent: name.endsWith(REQUEST) })}</section>`
  })
  return `<h1>Schemas</h1>\n<p class="lead">Bodies that several operations take or return.</p>\n${sections.join('\n')}`
}

function whole({ reference, addresses }: Site, { slug, title, main }: { slug: string; title: string; main: string }): string {
  const full = title === '' ? reference.title : `${title} · ${reference.title}`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(full)}</title>
<link rel="stylesheet" href="${addresses.asset('page.css')}">
<script src="${addresses.asset('page.js')}"></script>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header>
<button type="button" class="icon menu" aria-controls="menu" aria-expanded="false" aria-label="Menu" hidden>${MENU_ICON}</button>
<a class="home" href="${addresses.page('')}">${escaped(reference.title)}</a>
<a class="document" href="${addresses.document}">openapi.json</a>
<button type="button" class="icon theme" aria-label="Dark or light" hidden>${THEME_ICON}</button>
</header>
<div class="frame">
<nav id="menu" aria-label="Operations">
<input type="search" placeholder="Search operations and fields" aria-label="Search operations and fields" autocomplete="off" hidden>
<p class="nothing" role="status" hidden>Nothing found.</p>
${reference.sections.map((section) => group(section, slug, { reference, addresses })).join('\n')}
<a class="${slug === SCHEMAS ? 'top current' : 'top'}" href="${addresses.page(SCHEMAS)}" data-words="${escaped(Object.keys(reference.schemas).join(' ').toLowerCase())}">Schemas</a>
</nav>
<main id="content">
${main}
</main>
</div>
</body>
</html>
`
}

function group({ name, slug, operations }: Reference['sections'][number], current: string, { reference, addresses }: Site): string {
  const entries = operations.map(
    (operation) =>
      `<li><a href="${addresses.page(slug)}#${escaped(operation.id)}" data-words="${escaped(searchWords(operation, reference))}"><span>${inline(operation.summary)}</span><span class="method ${operation.method}">${operation.method.toUpperCase()}</span></a></li>`,
  )
  return `<details${slug === current || current === '' ? ' open' : ''}><summary>${escaped(name)}</summary><ul>${entries.join('')}</ul></details>`
}

/** Words by which the search finds an operation, beside its summary: path, id, parameters and the fields of its body. */
function searchWords({ id, path, parameters, body }: Operation, { schemas }: Reference): string {
  const name = schemaName(body?.schema ?? {})
  const fields = Object.keys(asObject((name === undefined ? body?.schema : schemas[name])?.properties))
  return [path, id, ...parameters.map(({ name }) => String(name)), ...fields].join(' ').toLowerCase()
}

const icon = (shapes: string): string =>
  `<svg viewBox="0 0 24 24" width="20" height="20" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" aria-hidden="true">${shapes}</svg>`
const MENU_ICON = icon('<path d="M4 7h16M4 12h16M4 17h16"/>')
const THEME_ICON = icon('<circle cx="12" cy="12" r="8"/><path d="M12 4a8 8 0 0 1 0 16z" fill="currentColor" stroke="none"/>')

/**
 * The section of one operation: what it does, what it takes, what it returns, and examples.
 * @param schemas by name, for bodies that refer to one.
 */
function operationSection(operation: Operation, schemas: Readonly<Record<string, JsonObject>>, addresses: Addresses): string {
  const { id, method, path, summary, description, parameters, body, replies } = operation
  const [good, ...errors] = replies
  if (!good) throw new TypeError(`${id} has no reply`)
  const parts = [
    `<h2><a href="#${escaped(id)}">${inline(summary)}</a></h2>`,
    `<p class="address"><span class="method ${method}">${method.toUpperCase()}</span> <code>${breakable(path)}</code></p>`,
    ...description.split('\n\n').flatMap((text) => (text === '' ? [] : [`<p>${inline(text)}</p>`])),
  ]
  if (parameters.length > 0)
    parts.push(`<h3>Parameters</h3><ul class="fields">${parameters.map((one) => parameterRow(one, addresses)).join('')}</ul>`)
  if (body) parts.push(`<h3>Body</h3>${bodyFields(body, schemas, addresses)}`)
  parts.push(`<h3>Reply</h3>${goodReply(good, schemas, addresses)}`, errorList(errors))
  return `<section class="operation" id="${escaped(id)}" aria-label="${escaped(summary)}">
<div class="facts">${parts.join('\n')}</div>
${examplePanel(operation)}
</section>`
}

/** Long paths break behind their slashes. */
function breakable(path: string): string {
  return escaped(path).replace(/(?<=.)\//g, '/<wbr>')
}

function parameterRow({ name, in: place, description, required, schema }: JsonObject, addresses: Addresses): string {
  const where = place === 'query' ? '' : `<span class="place">${escaped(String(place))}</span> `
  return fieldRow(String(name), {
    type: where + typeText(asObject(schema), addresses),
    required: required === true,
    rest: `<p>${inline(String(description))}</p>`,
  })
}

function bodyFields({ schema, form, examples }: RequestBody, schemas: Readonly<Record<string, JsonObject>>, addresses: Addresses): string {
  const kind = form ? '<p>As <code>multipart/form-data</code>.</p>' : ''
  const main = new Set(examples.flatMap(({ value }) => Object.keys(value)))
  return kind + writtenOut(schema, schemas, { addresses, sent: true, main })
}

function goodReply({ status, description, schema }: Reply, schemas: Readonly<Record<string, JsonObject>>, addresses: Addresses): string {
  const fields = schema === undefined ? '' : writtenOut(schema, schemas, { addresses, sent: false, main: new Set() })
  return `<p><span class="status">${status}</span> ${inline(description)}</p>${fields}`
}

/** The fields of a schema, also where it is a reference. */
function writtenOut(schema: JsonObject, schemas: Readonly<Record<string, JsonObject>>, showing: Showing): string {
  const name = schemaName(schema)
  if (name === undefined) return fieldList(schema, showing)
  return `<p class="type">${typeText(schema, showing.addresses)}</p>${fieldList(asObject(schemas[name]), showing)}`
}

function errorList(errors: readonly Reply[]): string {
  const rows = errors.map(({ status, description }) => `<li><span class="status bad">${status}</span> ${inline(description)}</li>`)
  return `<details class="errors"><summary>${rows.length} errors</summary><ul>${rows.join('')}</ul></details>`
}

/** @returns HTML with every example in every language, so that the page is whole without its script. */
function examplePanel(operation: Operation): string {
  const { examples = [] } = operation.body ?? {}
  // A body without an example cannot be shown as a request that works.
  if (operation.body && examples.length === 0) return ''
  const shown = operation.body ? examples : [{ summary: '', value: undefined }]
  const figures = shown.map(({ summary, value }, index) => {
    const code = exampleCode(operation, value)
    const blocks = Object.keys(LANGUAGES).map((language) => codeBlock(code[language as Language], language as Language))
    return `<figure data-example="${index}">${summary === '' ? '' : `<figcaption>${escaped(summary)}</figcaption>`}${blocks.join('')}</figure>`
  })
  const choices = shown.map(({ summary }, index) => `<option value="${index}">${escaped(summary)}</option>`)
  const choice = shown.length > 1 ? `<select aria-label="Example">${choices.join('')}</select>` : ''
  const languages = Object.entries(LANGUAGES).map(
    ([language, name]) => `<button type="button" data-language="${language}">${name}</button>`,
  )
  return `<div class="example">
<div class="tools" hidden><div class="languages" role="group" aria-label="Language">${languages.join('')}</div><button type="button" class="copy">Copy</button>${choice}</div>
${figures.join('\n')}
</div>`
}

/** Code with its parts marked. The script puts the address of the page into the marked one. */
function codeBlock(code: string, language: Language): string {
  const origin = escaped(ORIGIN)
  const marked = highlighted(code, language).replaceAll(origin, `<span class="origin">${origin}</span>`)
  return `<pre data-language="${language}" tabindex="0"><code>${marked}</code></pre>`
}

const KEYWORDS: Readonly<Record<Language, string>> = {
  curl: '^curl|(?<=\\s)-\\w(?=\\s)|true|false|null',
  python: 'import|from|for|in|True|False|None',
  typescript: 'import|from|const|new|await|for|of|true|false|null',
}
/** Single quotes of a shell enclose whole bodies, whose own strings are marked. */
const STRINGS: Readonly<Record<Language, string>> = {
  curl: '"(?:[^"\\\\]|\\\\.)*"',
  python: '"(?:[^"\\\\]|\\\\.)*"',
  typescript: "'(?:[^'\\\\]|\\\\.)*'",
}

function highlighted(code: string, language: Language): string {
  const words = KEYWORDS[language].replace(/(?<=^|\|)(\w+)(?=\||$)/g, '\\b$1\\b')
  const parts = new RegExp(`(?<string>${STRINGS[language]})|(?<keyword>${words})|(?<number>\\b\\d+(?:\\.\\d+)?\\b)`, 'gm')
  let html = ''
  let end = 0
  for (const match of code.matchAll(parts)) {
    const [kind, text] = Object.entries(match.groups ?? {}).find(([, found]) => found !== undefined) ?? ['', '']
    // Names of members stand out from their values.
    const name = kind === 'string' && code[match.index + text.length] === ':' ? 'name' : kind
    html += `${escaped(code.slice(end, match.index))}<span class="${name}">${escaped(text)}</span>`
    end = match.index + text.length
  }
  return html + escaped(code.slice(end))
}
