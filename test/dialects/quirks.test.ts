/** Quirks: a table is what its dialect reads, no less and no more. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { QUIRKS } from '../../src/dialects/quirks.ts'

const SOURCES = join(import.meta.dirname, '..', '..', 'src')

/** Folders of the readers of a dialect: of its requests, and of embeddings. */
const READERS: Readonly<Record<string, readonly string[]>> = {
  'openai-chat': ['chat', 'embeddings'],
  'openai-responses': ['responses', 'embeddings'],
  anthropic: ['messages'],
  gemini: ['gemini', 'embeddings'],
  'bedrock-converse': ['bedrock'],
  'bedrock-anthropic': ['messages', 'bedrock'],
  cohere: ['embeddings'],
  voyage: ['embeddings'],
  sim: ['sim'],
}

/** Quirks of the first of these folders that a dialect of another service has no use for. */
const UNUSED: Readonly<Record<string, readonly string[]>> = { 'bedrock-anthropic': ['raw_predict', 'web_search', 'web_search_tool'] }

/** Form of a schema without its descriptions: of quirks of one name in several dialects the configuration takes the values of each. */
const quirkForm = (quirk: object): string =>
  JSON.stringify({ ...quirk, description: undefined, enum: undefined, default: undefined }, (_, value: unknown) => value)

t.test('quirks of one name have one form in all dialects, but for the words that they take', async (t) => {
  const forms = new Map<string, { dialect: string; form: string }>()
  for (const [dialect, table] of QUIRKS)
    for (const [name, quirk] of Object.entries(table)) {
      const first = forms.get(name) ?? { dialect, form: quirkForm(quirk) }
      forms.set(name, first)
      t.equal(quirkForm(quirk), first.form, `${name} of ${dialect}, as of ${first.dialect}`)
    }
})

/** That every name which is read stands in some table is a matter of types. */
function readIn(folder: string): string[] {
  const names = readdirSync(join(SOURCES, folder), { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))
  const text = names.map((name) => readFileSync(join(SOURCES, folder, name), 'utf8')).join('\n')
  // Faults stand beside the quirks in the YAML file.
  return [...text.matchAll(/quirks\.([a-z_]+)\b/g)].map(([, quirk]) => quirk).filter((name) => name !== 'ts' && name !== 'faults')
}

t.test('every quirk of a table is read, and the folder of a dialect reads no other', async (t) => {
  const shared = [...readIn('pipeline'), ...readIn('dialects/canon')]
  t.ok(shared.includes('web_search') && shared.includes('body'), 'quirks were found')
  t.same([...QUIRKS.keys()].sort(), Object.keys(READERS).sort())
  for (const [dialect, table] of QUIRKS) {
    const [own, ...more] = READERS[dialect].map((folder) => readIn(`dialects/${folder}`))
    const read = new Set([...shared, ...own, ...more.flat()])
    t.same(
      Object.keys(table).filter((name) => !read.has(name)),
      [],
      `${dialect} has no quirk that nothing reads`,
    )
    if (READERS[dialect][0] === 'embeddings') continue
    t.same(
      own.filter((name) => !Object.hasOwn(table, name) && UNUSED[dialect]?.includes(name) !== true),
      [],
      `${dialect} reads its own quirks`,
    )
  }
})
