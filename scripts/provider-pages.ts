/** docs/providers: a page for each preset, and the table of all of them. */
import { stringify } from 'yaml'
import { type ProviderPreset, presetNames, providerPreset } from '../src/config/provider-presets.ts'
import { markdownTable } from './markdown-table.ts'

const presets = presetNames().map(providerPreset)

/** The table in docs/providers.md. */
export function providersMarkdown(): string {
  return markdownTable(
    ['Preset', 'Provider', 'Dialect', 'Evidence', 'Variables'],
    presets.map(({ name, title, provider, evidence, variables }) => [
      `[\`${name}\`](providers/${name}.md)`,
      title,
      `\`${provider.dialect}\``,
      evidence,
      code(Object.keys(variables)).join(', '),
    ]),
  )
}

/** @throws Error where the page does not say how many presets there are. */
export function withPresetCount(page: string): string {
  const counted = /\b\d+ presets\b/
  if (!counted.test(page)) throw new Error('the page does not say "… presets"')
  return page.replace(counted, `${presetNames().length} presets`)
}

/** File and text of each page. */
export function providerPages(): [file: string, text: string][] {
  return presets.map((preset) => [`docs/providers/${preset.name}.md`, page(preset)])
}

const code = (names: readonly string[]): string[] => names.map((name) => `\`${name}\``)

const EVIDENCE: Readonly<Record<ProviderPreset['evidence'], string>> = {
  recorded: 'This preset follows recorded traffic that the provider accepted.',
  published: 'This preset follows what the provider publishes of its requests.',
  unverified: 'This preset is unverified: it follows documents and reports of users, and no recorded traffic.',
}

function page({ name, title, evidence, sources, variables, example_model, provider, rules, losses }: ProviderPreset): string {
  const optional = Object.keys(variables).filter((variable) => JSON.stringify(provider).includes(`\${${variable}:-`))
  const list = (lines: readonly string[]): string => lines.map((line) => `- ${line}`).join('\n')
  const variable = ([key, text]: [string, string]): string => `\`${key}\`${optional.includes(key) ? ' (optional)' : ''}: ${text}`
  return `${[
    `# ${title}`,
    '<!-- Generated from the preset by `npm run generate`. -->',
    `${EVIDENCE[evidence]} [Providers](../providers.md) explains presets and how to change one.`,
    '## Set up',
    `Set ${Object.keys(variables).length === 0 ? 'nothing' : 'the variables'}, and add the provider with a model:`,
    list(Object.entries(variables).map(variable)),
    `\`\`\`yaml\n${stringify(example(name, example_model, provider), { lineWidth: 0 })}\`\`\``,
    'Add `price` to the endpoint, so that keys with a limit can use it: [Prices](../catalogue.md).',
    '## Settings',
    'The preset stands for this entry of `providers`:',
    `\`\`\`yaml\n${stringify({ providers: { [name]: provider }, models: modelSettings(name, example_model, provider) }, { lineWidth: 0 })}\`\`\``,
    '## Rules of the provider',
    markdownTable(
      ['Field', 'Rule', 'Source'],
      rules.map(({ field, why, source }) => [`\`${field}\``, cell(why), cell(source)]),
    ),
    '## Losses',
    losses.length === 0 ? 'Nothing is known to be lost.' : list(losses),
    '## Sources',
    list(sources),
  ]
    .filter((part) => part !== '')
    .join('\n\n')}\n`
}

const cell = (text: string): string => text.replaceAll('|', '\\|')

function modelSettings(name: string, model: string, { dialect }: ProviderPreset['provider']): object {
  const kind = dialect === 'cohere' || dialect === 'voyage' ? { kind: 'embedding' } : {}
  return { [`${name}/example`]: { ...kind, endpoints: [{ provider: name, model }] } }
}

function example(name: string, model: string, provider: ProviderPreset['provider']): object {
  return { providers: { [name]: { preset: name } }, models: modelSettings(name, model, provider) }
}
