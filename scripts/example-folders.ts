/** `examples/`: a folder for each recipe, with the files that its page has its reader save, and the list of all folders. */
import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { parse } from 'yaml'
import { presetNames, providerPreset } from '../src/config/provider-presets.ts'
import { isObject, type Json } from '../src/core/json.ts'
import { markdownTable } from './markdown-table.ts'

const ROOT = join(import.meta.dirname, '..')
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
const RECIPES = globSync('docs/recipes/*.md', { cwd: ROOT })
  .map((page) => basename(page, '.md'))
  .filter((name) => name !== 'README')
  .sort()

/** Files that a page tells its reader to save: the configuration, and those of programs beside the gateway. */
function pageFiles(page: string): [name: string, text: string][] {
  return [...page.matchAll(/(?:Save this as|Put this into) `([^`]+)`[\s\S]*?^```\w+\n([\s\S]*?)^```$/gm)].map(
    ([, path = '', text = '']) => [basename(path), text],
  )
}

/** Providers of a configuration that have presets, as its own settings leave those. */
function presetProviders(value: Json | undefined): [preset: string, text: string][] {
  if (!isObject(value) || !isObject(value.providers)) return []
  const known = new Set(presetNames())
  return Object.values(value.providers).flatMap((own): [string, string][] => {
    if (!isObject(own) || typeof own.preset !== 'string' || !known.has(own.preset)) return []
    return [[own.preset, JSON.stringify({ ...providerPreset(own.preset).provider, ...own })]]
  })
}

/** Variables that a configuration needs: its own without a default, and those of its presets. */
function configurationVariables(configuration: string): string[] {
  const own = [...configuration.matchAll(/\$\{([A-Z][A-Z0-9_]*)\??\}/g)].map(([, name = '']) => name)
  const ofPresets = presetProviders(parse(configuration) as Json).flatMap(([name, text]) =>
    Object.keys(providerPreset(name).variables).filter((variable) => text.includes(`\${${variable}?}`) || text.includes(`\${${variable}}`)),
  )
  return [...new Set([...own, ...ofPresets])]
}

function writeReadme(name: string, page: string, files: readonly string[], configuration: string): string {
  const [, title = name, about = ''] = /^# (.+)\n\n(.+)$/m.exec(page) ?? []
  // A sentence that leads to a block of the page leads nowhere here.
  const lead = about.replace(/(?<=\.) (?:(?!\. ).)+:$/, '')
  const secrets = [...new Set([...configuration.matchAll(/\$\{file:([^}]+)\}/g)].map(([, path = '']) => path))]
  const variables = configurationVariables(configuration).map((variable) => `\`${variable}\``)
  return `# ${title}

<!-- Generated from docs/recipes/${name}.md by \`npm run generate\`. -->

${lead.replace(/\]\((?!https?:)/g, '](../../docs/recipes/')}

Files: ${files.map((file) => `[${file}](${file})`).join(', ')}. Variables: ${variables.length === 0 ? 'none' : variables.join(', ')}.${secrets.length === 0 ? '' : ` Secrets to put beside it: ${secrets.map((path) => `\`${path}\``).join(', ')}.`}

\`\`\`sh no-test: keeps running
headgate check headgate.yaml
headgate serve --config headgate.yaml
\`\`\`

[The recipe](../../docs/recipes/${name}.md) explains each line, and has the commands that show that it works. A test follows it.
`
}

/** Path and text of each file of the folders that are made from recipes. */
export function exampleFiles(): [file: string, text: string][] {
  return RECIPES.flatMap((name) => {
    const page = read(`docs/recipes/${name}.md`)
    const files = pageFiles(page)
    const configuration = files.find(([file]) => file === 'headgate.yaml')?.[1]
    if (configuration === undefined) throw new Error(`docs/recipes/${name}.md has no headgate.yaml to save`)
    const folder = `examples/${name}`
    return [
      ...files.map(([file, text]): [string, string] => [`${folder}/${file}`, text]),
      [
        `${folder}/README.md`,
        writeReadme(
          name,
          page,
          files.map(([file]) => file),
          configuration,
        ),
      ],
    ]
  })
}

/** The list of all folders, in examples/README.md. @param titles of those that are made. */
export function exampleList(): string {
  const made = new Map(exampleFiles().filter(([file]) => file.endsWith('README.md')))
  const folders = new Set([...globSync('examples/*/README.md', { cwd: ROOT }), ...made.keys()])
  const rows = [...folders].sort().map((file) => {
    const [, title = ''] = /^# (.+)$/m.exec(made.get(file) ?? read(file)) ?? []
    const name = file.split('/')[1] ?? ''
    return [`[${name}](${name}/README.md)`, title]
  })
  return markdownTable(['Folder', 'Shows'], rows)
}
