/** `headgate providers …`: the shipped provider presets, and what each of them sets. */
import { stringify } from 'yaml'
import { type ProviderPreset, presetNames, providerPreset } from '../config/provider-presets.ts'
import { hint } from '../config/suggest.ts'
import { CONSOLE, type Streams } from './console.ts'
import { table } from './plan-table.ts'

/**
 * @param words behind `providers`: nothing or `list`, or `show PRESET`.
 * @param env where the variables of a preset are looked up: only whether they are set is shown.
 * @returns the exit code: 1 where there is no such preset, 2 where the words make no command.
 */
export function providers(
  words: readonly string[],
  { json = false }: { json?: boolean },
  streams: Streams = CONSOLE,
  env: Readonly<Record<string, string | undefined>> = process.env,
): number {
  const [verb = 'list', name, ...rest] = words
  if (rest.length > 0 || (verb === 'list') !== (name === undefined) || (verb !== 'list' && verb !== 'show')) {
    streams.error('headgate: providers: expected list or show PRESET')
    return 2
  }
  const names = presetNames()
  if (name === undefined) {
    const presets = names.map(providerPreset)
    streams.out(json ? asJson({ data: presets, total_count: presets.length }) : listed(presets, env))
    return 0
  }
  if (!names.includes(name)) {
    streams.error(`headgate: there is no preset ${name}${hint(name, names)}`)
    return 1
  }
  const preset = providerPreset(name)
  streams.out(json ? asJson(preset) : shown(preset, env))
  return 0
}

const asJson = (value: object): string => JSON.stringify(value, undefined, 2)

type Variables = Readonly<Record<string, string | undefined>>

const isSet = (name: string, env: Variables): boolean => (env[name] ?? '') !== ''

function listed(presets: readonly ProviderPreset[], env: Variables): string {
  const rows = presets.map(({ name, title, provider, evidence, variables }) => {
    const unset = Object.keys(variables).filter((variable) => !isSet(variable, env))
    return [name, title, String(provider.dialect), evidence, unset.length === 0 ? 'all set' : unset.join(' ')]
  })
  return `${table(['preset', 'provider', 'dialect', 'evidence', 'variables that are not set'], rows)}\n\n${presets.length} presets. Use one with \`preset: NAME\` in an entry of \`providers\`.`
}

function shown(
  { name, title, evidence, sources, variables, example_model, provider, rules, losses }: ProviderPreset,
  env: Variables,
): string {
  const section = (head: string, lines: readonly string[]): string[] =>
    lines.length === 0 ? [] : ['', head, ...lines.map((line) => `  ${line}`)]
  return [
    `${title} (preset: ${name})`,
    ...section(`evidence: ${evidence}`, sources),
    ...section(
      'variables',
      Object.entries(variables).map(([variable, text]) => `${variable}: ${text}${isSet(variable, env) ? '' : ' (not set)'}`),
    ),
    ...section('example model', [example_model]),
    ...section('settings', stringify(provider, { lineWidth: 0 }).trimEnd().split('\n')),
    ...section(
      'rules',
      rules.flatMap(({ field, why, source }) => [`${field}: ${why}`, `  ${source}`]),
    ),
    ...section('losses', losses),
  ].join('\n')
}
