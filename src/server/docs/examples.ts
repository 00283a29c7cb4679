/** Requests as code that can be copied: curl, Python and TypeScript. They read `KEY` from the environment. */
import { entryAt } from '../../core/entry-at.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import type { Operation } from './reference.ts'

export const LANGUAGES = { curl: 'curl', python: 'Python', typescript: 'TypeScript' } as const
export type Language = keyof typeof LANGUAGES

/** Stands for the gateway in the examples; the page's script puts its own address in its place. */
export const ORIGIN = 'http://127.0.0.1:8080'

/** Methods of the SDKs for the operations that they know; all others go through `client.get` and its kin. */
const SDK_METHODS: Readonly<Record<string, readonly [python: string, typescript: string]>> = {
  createResponse: ['responses.create', 'responses.create'],
  createChatCompletion: ['chat.completions.create', 'chat.completions.create'],
  createCompletion: ['completions.create', 'completions.create'],
  createEmbeddings: ['embeddings.create', 'embeddings.create'],
  createMessage: ['messages.create', 'messages.create'],
  countTokens: ['messages.count_tokens', 'messages.countTokens'],
}
/** Operations of the messages format, which has an SDK of its own. */
const MESSAGES = new Set(['createMessage', 'countTokens'])
/** Files, by their id: what the SDK calls it, and what is printed of the result. */
const FILE_METHODS: Readonly<Record<string, string>> = { getFile: 'retrieve', deleteFile: 'delete', getFileContent: 'content' }
/** Fields of the gateway that no SDK has a type for. */
const OWN_FIELDS = new Set(['provider'])

/** One request of an operation, in every language. @param body undefined for operations without one. */
export function exampleCode(operation: Operation, body: JsonObject | undefined): Readonly<Record<Language, string>> {
  const path = filledPath(operation)
  return {
    curl: curl(operation, path, body),
    python: python(operation, path.slice('/v1'.length), body),
    typescript: typescript(operation, path.slice('/v1'.length), body),
  }
}

/** With the parameters of the path and those that the query must have. */
function filledPath({ path, parameters }: Operation): string {
  let filled = path
  const query = new URLSearchParams()
  for (const { name, in: place, required, example } of parameters) {
    if (place === 'path') filled = filled.replace(`{${name}}`, encodeURIComponent(String(example)))
    else if (place === 'query' && required === true) query.set(String(name), String(example))
  }
  return query.size === 0 ? filled : `${filled}?${query}`
}

function curl({ method, keyed, body: described }: Operation, path: string, body: JsonObject | undefined): string {
  const usual = method === (body === undefined ? 'get' : 'post')
  const address = `${ORIGIN}${path}`
  const lines = [
    ['curl', ...(body?.stream === true ? ['-N'] : []), ...(usual ? [] : ['-X', method.toUpperCase()]), `"${address}"`].join(' '),
    ...(keyed ? ['-H "Authorization: Bearer $KEY"'] : []),
  ]
  if (body !== undefined && described?.form === true) {
    const { file: _, ...fields } = body
    lines.push(...Object.entries(fields).map(([name, value]) => `-F ${name}=${String(value)}`), '-F file=@notes.txt')
  } else if (body !== undefined) {
    const text = JSON.stringify(body, undefined, 2).replaceAll("'", "'\\''").replaceAll('\n', '\n  ')
    lines.push('-H "Content-Type: application/json"', `-d '${text}'`)
  }
  return lines.join(' \\\n  ')
}

function python({ id, method, body: described }: Operation, path: string, body: JsonObject | undefined): string {
  const messages = MESSAGES.has(id)
  const name = messages ? 'Anthropic' : 'OpenAI'
  const head = [
    'import os',
    `from ${name.toLowerCase()} import ${name}`,
    '',
    `client = ${name}(`,
    `    base_url="${ORIGIN}${messages ? '' : '/v1'}",`,
    '    api_key=os.environ["KEY"],',
    ')',
  ]
  const file = FILE_METHODS[id]
  const known = SDK_METHODS[id]?.[0]
  if (described?.form === true) {
    head.push('file = client.files.create(', '    file=open("notes.txt", "rb"),', `    purpose="${body?.purpose}",`, ')', 'print(file)')
  } else if (file !== undefined) {
    head.push(`result = client.files.${file}("${finalFault(path)}")`, `print(result${file === 'content' ? '.text' : ''})`)
  } else if (known !== undefined && body !== undefined) {
    const own = Object.entries(body).filter(([field]) => OWN_FIELDS.has(field))
    const fields = Object.entries(body).filter(([field]) => !OWN_FIELDS.has(field))
    const all = own.length === 0 ? fields : [...fields, ['extra_body', Object.fromEntries(own)] as const]
    const call = `client.${known}(\n${all.map(([field, value]) => `    ${field}=${pythonValue(value ?? null, 1)},\n`).join('')})`
    head.push(...(body.stream === true ? [`for event in ${call}:`, '    print(event)'] : [`result = ${call}`, 'print(result)']))
  } else {
    const sent = body === undefined ? [] : [`    body=${pythonValue(body, 1)},`]
    head.push(`result = client.${method}(`, `    "${path}",`, ...sent, '    cast_to=object,', ')', 'print(result)')
  }
  return head.join('\n')
}

function typescript({ id, method, body: described }: Operation, path: string, body: JsonObject | undefined): string {
  const messages = MESSAGES.has(id)
  const [name, module] = messages ? ['Anthropic', '@anthropic-ai/sdk'] : ['OpenAI', 'openai']
  const head = [
    ...(described?.form === true ? ["import { createReadStream } from 'node:fs'"] : []),
    `import ${name} from '${module}'`,
    '',
    `const client = new ${name}({`,
    `  baseURL: '${ORIGIN}${messages ? '' : '/v1'}',`,
    '  apiKey: process.env.KEY,',
    '})',
  ]
  const file = FILE_METHODS[id]
  const known = SDK_METHODS[id]?.[1]
  if (described?.form === true) {
    head.push('const file = await client.files.create({', "  file: createReadStream('notes.txt'),", `  purpose: '${body?.purpose}',`, '})')
    head.push('console.log(file)')
  } else if (file !== undefined) {
    head.push(`const result = await client.files.${file}('${finalFault(path)}')`)
    head.push(file === 'content' ? 'console.log(await result.text())' : 'console.log(result)')
  } else if (known !== undefined && body !== undefined) {
    const fields = Object.entries(body).map(([field, value]) =>
      // A spread is not checked for fields that the SDK's types lack.
      OWN_FIELDS.has(field)
        ? `  ...{ ${field}: ${typescriptValue(value ?? null, 1)} },\n`
        : `  ${field}: ${typescriptValue(value ?? null, 1)},\n`,
    )
    head.push(`const ${body.stream === true ? 'stream' : 'result'} = await client.${known}({\n${fields.join('')}})`)
    head.push(body.stream === true ? 'for await (const event of stream) console.log(event)' : 'console.log(result)')
  } else {
    const sent = body === undefined ? '' : `, { body: ${typescriptValue(body, 0)} }`
    head.push(`const result = await client.${method}('${path}'${sent})`, 'console.log(result)')
  }
  return head.join('\n')
}

/** The id in `/files/{id}` and in `/files/{id}/content`. */
const finalFault = (path: string): string => entryAt(path.split('/'), 2)

/** Longest value that stays on one line. */
const LINE = 40

function pythonValue(value: Json, depth: number): string {
  if (value === null) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (typeof value !== 'object') return JSON.stringify(value)
  const isList = Array.isArray(value)
  const members = isList
    ? value.map((each) => pythonValue(each, depth + 1))
    : Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}: ${pythonValue(each ?? null, depth + 1)}`)
  return enclosed(members, isList ? '[]' : '{}', '    ', depth)
}

function typescriptValue(value: Json, depth: number): string {
  if (typeof value === 'string') return `'${JSON.stringify(value).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  const isList = Array.isArray(value)
  const members = isList
    ? value.map((each) => typescriptValue(each, depth + 1))
    : Object.entries(value).map(([name, each]) => `${fieldName(name)}: ${typescriptValue(each ?? null, depth + 1)}`)
  return enclosed(members, isList ? '[]' : '{ }', '  ', depth)
}

const fieldName = (name: string): string => (/^[a-z_]\w*$/i.test(name) ? name : `'${name}'`)

function enclosed(members: readonly string[], signs: string, indent: string, depth: number): string {
  const [open, close] = [signs.slice(0, 1), signs.slice(-1)]
  const gap = signs.slice(1, -1)
  const line = `${open}${gap}${members.join(', ')}${gap}${close}`
  if (members.length === 0) return open + close
  if (line.length <= LINE && !line.includes('\n')) return line
  const inner = indent.repeat(depth + 1)
  return `${open}\n${members.map((member) => `${inner}${member},\n`).join('')}${indent.repeat(depth)}${close}`
}
