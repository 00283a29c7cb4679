/** `docs/clients.md`: what the suite runs, with the versions that are pinned. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { markdownTable } from '../../../scripts/markdown-table.ts'
import { CERTIFIED, type Certified, type Language } from './certified.ts'
import type { Ability } from './client.ts'

const FOLDER = join(import.meta.dirname, '..')
export const PAGE = join(FOLDER, '..', '..', 'docs', 'clients.md')

/** File and form in which each language pins its packages: the name stands for NAME. */
const PINS: Readonly<Record<Language, readonly [path: string, pattern: string]>> = {
  JavaScript: ['package.json', '"NAME": "([^"]+)"'],
  Python: ['python/requirements.txt', '^NAME==(\\S+)$'],
  Go: ['go/go.mod', '^\\tNAME v(\\S+)'],
  Java: ['java/pom.xml', '<artifactId>NAME</artifactId>\\s*<version>([^<]+)</version>'],
  Rust: ['rust/Cargo.toml', '^NAME = \\{ version = "=([^"]+)"'],
}

function certifiedVersion({ language, package: name }: Certified): string {
  const [path, pattern] = PINS[language]
  const pinned = new RegExp(pattern.replace('NAME', name.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')), 'm').exec(readFileSync(join(FOLDER, path), 'utf8'))
  if (!pinned) throw new Error(`test/clients/${path} does not pin ${name}`)
  return pinned[1]
}

const hasFeatures = ({ suite, features }: Certified): boolean => suite === 'exercise' || features === true

function clientAbility(client: Certified, ability: Ability): string {
  const { lacks = [] } = client
  if (!hasFeatures(client)) return 'not tried'
  const missing = lacks.filter((each) => each.ability === ability)
  if (missing.length === 0) return 'yes'
  const from = missing.flatMap(({ from, streamed }) => (from ?? []).map((wire) => (streamed ? `${wire} in streams` : wire)))
  return from.length === 0 ? 'no' : `not from ${from.join(', ')}`
}

function clientFeatures(client: Certified): string {
  if (!hasFeatures(client)) return 'not tried'
  const hasSchemas = client.lacks?.every(({ ability }) => ability !== 'schema') ?? true
  const isStreamed = client.modes.includes('streamed')
  if (hasSchemas && isStreamed) return 'yes'
  return [...(hasSchemas ? ['schemas'] : []), 'images', ...(isStreamed ? ['abort'] : [])].join(', ')
}

function afterLimit({ repeats }: Certified): string {
  if (repeats === undefined) return 'not tried'
  return repeats ? 'comes back' : 'raises'
}

const tried = (isTried: boolean): string => (isTried ? 'yes' : 'not tried')

function row(client: Certified): string[] {
  const { name, package: pinned, format, suite, modes, repeats, setting = '' } = client
  const isStreamed = modes.includes('streamed')
  return [
    `${name} (\`${pinned}\`)`,
    certifiedVersion(client),
    format,
    modes.join(', '),
    clientFeatures(client),
    clientAbility(client, 'reasoning'),
    clientAbility(client, 'replay'),
    afterLimit(client),
    isStreamed ? tried(suite === 'exercise' || repeats !== undefined) : '',
    setting,
  ]
}

const HEAD = ['Client', 'Version', 'Format', 'Modes', 'Schemas, images, abort', 'Shows reasoning', 'Sends it back', 'After a 429', 'Raises broken streams', 'To set']

const TEXT = `# Clients

The suite (\`npm run test:clients\`) runs these clients through the gateway, each at its pinned version and with its defaults: only the settings in the last column differ. This page is made of the list that the tests run, \`test/clients/support/certified.ts\`.

All of them hold a conversation with tools: two calls at once, a third after their results, an answer, and a second question; those in JavaScript against providers of four formats, all others against strict stand-ins of seven providers, which refuse whatever the provider would refuse. "Not tried" means that no test looks at it, not that it fails.

Ends of answers, right and wrong, whole and cut, have tests of their own for most of them, langchain4j among them, and for Mistral's clients, haystack and the tool loops of the official SDKs (\`test/clients/ends*.test.ts\`). Coding agents stand in [agents](agents/README.md).
`

const NOTES = `
## Notes

- A base address may end with \`/v1\`, with \`/v1/\`, or have none: paths of the formats are found all the same. Keys may stand in \`Authorization: Bearer\`, \`x-api-key\` or \`x-goog-api-key\`.
- Clients that wait for a 429 read \`Retry-After\`. async-openai reads an error only where \`code\` is a text, and gets one by its \`User-Agent\` (\`errors.code\`).
- Clients of the Responses format that refer to earlier items by their ids: [decision 52](decisions/0052-references-to-items.md).
- Reasoning of Anthropic's models goes back where the request asks for thinking: its SDKs run the conversation with and without. pydantic-ai asks for encrypted reasoning, and for structured output over Messages, of models only whose names it knows.
- Mistral's clients demand a name in every piece of a streamed tool call, and get an empty one by their \`User-Agent\`.
- go-openai, langchaingo and Spring AI read reasoning of a reply in the field \`reasoning_content\` alone, which headgate does not write; eino shows it as JSON text, with its quotation marks. langchain4j shows it where \`returnThinking\` is set.
- async-openai's types have no field for reasoning. genai's streams keep signed thinking of the Messages format where \`capture_reasoning_content\` is set, those of the Chat Completions format never. Signatures of Gemini's calls stand in fields that it drops: they go back from whole replies of Chat Completions alone, in \`reasoning_details\`.
- agent-framework's client of the Chat Completions format shows no reasoning: it keeps \`reasoning_details\` without reading the text in them (microsoft/agent-framework#6979), of a stream the last piece alone. That piece has the signature of Claude's thinking, not its text. Where a provider refuses the rest, headgate repeats the request without it.
- Spring AI shows each piece of a stream when the next one has come.
- langchaingo's parts of bytes (\`llms.BinaryPart\`) have a type of its own, which no provider takes: headgate makes images, audio or files of them.
- openai-go shows the sentence of an error in the field \`Message\` alone, Spring AI none for streams.
`

export function clientsPage(): string {
  const languages = [...new Set(CERTIFIED.map(({ language }) => language))]
  const sections = languages.map((language) => {
    const clients = CERTIFIED.filter((each) => each.language === language)
    return `\n## ${language}\n\n${markdownTable(HEAD, clients.map(row))}\n`
  })
  return `${TEXT}${sections.join('')}${NOTES}`
}
