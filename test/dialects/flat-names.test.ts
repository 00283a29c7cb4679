/** The name of a function that stands for a tool of a namespace: a pure function, and no two tools have the same. */
import { createHash } from 'node:crypto'
import t from 'tap'
import { InputText } from '../../src/dialects/canon/input-text.ts'
import { flattenTool } from '../../src/dialects/canon/tool-names.ts'
import { every } from '../support/every.ts'

const digest = (namespace: string, tool: string): string =>
  createHash('sha256').update(namespace).update(Buffer.of(0)).update(tool).digest('hex').slice(0, 8)

await every(t, 'names of tools in namespaces', (t) => {
  t.equal(flattenTool('multi_agent_v1', 'spawn_agent'), 'multi_agent_v1__spawn_agent')
  t.equal(flattenTool('mcp__mail', 'send'), `mcp__mail__send_${digest('mcp__mail', 'send')}`, 'the joint could be elsewhere')
  t.equal(flattenTool('mail', 'send.now'), `mail__send_now_${digest('mail', 'send.now')}`, 'other characters')
  const long = 'x'.repeat(60)
  t.equal(flattenTool('mail', long), `${`mail__${long}`.slice(0, 55)}_${digest('mail', long)}`)
  t.equal(flattenTool('mail', long).length, 64)
  t.equal(flattenTool('mail', 'x'.repeat(58)), `mail__${'x'.repeat(58)}`, '64 characters are not shortened')
  const parts = ['a', 'a_', '_a', 'a__', '__a', 'a__a', '_', '__', 'ä', 'b']
  const names = new Set(parts.flatMap((namespace) => parts.map((tool) => flattenTool(namespace, tool))))
  t.equal(names.size, parts.length ** 2, 'all differ')
  for (const name of names) t.match(name, /^[A-Za-z0-9_-]{1,64}$/)
})

/** The text of arguments that come in pieces of one length. */
function read(args: string, length: number): string {
  const input = new InputText()
  let text = ''
  for (let at = 0; at < args.length; at += length) text += input.push(args.slice(at, at + length))
  return text + input.end()
}

const TEXT = 'a "quoted" \\ back\\slash\n\t/ é 😀 \u0000 \u2028 end'
const ascii = (text: string): string =>
  JSON.stringify(text).replaceAll(/[^\x20-\x7e]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
const CASES: readonly (readonly [args: string, text: string])[] = [
  [JSON.stringify({ input: TEXT }), TEXT],
  [`{"input":${ascii(TEXT)}}`, TEXT],
  [` {\n "input" : "x\\/y" , "more": 1}`, 'x/y'],
  ['{"input":""}', ''],
  ['', ''],
  ['{}', ''],
  ['{"input":"a\\d+ \\ud83d end"}', 'a\\d+ \ud83d end'],
  ['{"more":1,"input":"late"}', 'late'],
  ['{"patch":"other name"}', 'other name'],
  ['"only a string"', 'only a string'],
  ['*** Begin Patch\nno JSON at all', '*** Begin Patch\nno JSON at all'],
  [`{"${'k'.repeat(100)}":1,"input":"far"}`, 'far'],
  ['{"input":"cut off \\u00', 'cut off '],
]

await every(t, 'free text in arguments, cut anywhere', (t) => {
  for (const [args, text] of CASES) for (let length = 1; length <= args.length + 1; length++) t.equal(read(args, length), text, args)
  const input = new InputText()
  t.equal(input.push('{"input":"abc'), 'abc', 'what has come is there at once')
  t.equal(input.push('\\'), '')
  t.equal(input.push('nd"'), '\nd')
})
