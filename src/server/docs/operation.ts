/** The section of one operation: what it does, what it takes, what it returns, and examples. */
import type { JsonObject } from '../../core/json.ts'
import { examplePanel } from './example-panel.ts'
import { fieldList, fieldRow, type Showing, typeText } from './fields.ts'
import { type Addresses, escaped, inline } from './html.ts'
import { type Operation, objectOf, type Reply, type RequestBody, schemaName } from './reference.ts'

/** @param schemas by name, for bodies that refer to one. */
export function operationSection(operation: Operation, schemas: Readonly<Record<string, JsonObject>>, addresses: Addresses): string {
  const { id, method, path, summary, description, parameters, body, replies } = operation
  const [good, ...errors] = replies
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
    type: where + typeText(objectOf(schema), addresses),
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
  return `<p class="type">${typeText(schema, showing.addresses)}</p>${fieldList(objectOf(schemas[name]), showing)}`
}

function errorList(errors: readonly Reply[]): string {
  const rows = errors.map(({ status, description }) => `<li><span class="status bad">${status}</span> ${inline(description)}</li>`)
  return `<details class="errors"><summary>${rows.length} errors</summary><ul>${rows.join('')}</ul></details>`
}
