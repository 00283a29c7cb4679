/**
 * Bundles the program: `src/` and `plugins/` into a few dozen files of JavaScript, which Node loads in half the time and with 25 MB less
 * than the thousand modules that they are made of ([decision 26](../docs/decisions/0026-program-in-chunks.md)). What is loaded at its first
 * use stays in files of its own. `npm run build` and the benches run it.
 */
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { build, type Plugin } from 'esbuild'

const ROOT = join(import.meta.dirname, '..')

/** The folder of the bundle below the built program. Its files stand side by side, so that one path leads from each to the others. */
const CHUNKS = 'program'

/** Modules that something outside of the bundle loads: the launcher, plugins, and threads, each a program of its own. */
const ENTRIES = [
  'src/cli/main',
  'src/plugin-api/index',
  'src/services/documents/worker',
  'src/services/pages/robots-worker',
  'src/app/configuration/worker',
  'src/app/store-check/thread',
]

const PAGES = 'src/server/docs'

/** Libraries of many small modules that every start loads. All others are installed beside the program and load from there. */
const BUNDLED = /^(?:typebox|yaml)(?:\/|$)/

/** @param folder gets the program with all files that it reads, and the entries where the sources have them. */
export async function buildProgram(folder: string): Promise<void> {
  await build({
    absWorkingDir: ROOT,
    entryPoints: ENTRIES.map((name) => ({ in: join(ROOT, `${name}.ts`), out: entryName(name) })),
    outdir: join(folder, CHUNKS),
    chunkNames: 'chunk-[hash]',
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    // Names stay: they stand in stack traces, and to restore them costs a call for each function that a request makes.
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: 'none',
    sourcemap: 'linked',
    sourcesContent: false,
    preserveSymlinks: true,
    logLevel: 'warning',
    // Of a library that requires modules of Node.
    banner: { js: `import{createRequire as requireFrom}from'node:module';const require=requireFrom(import.meta.url);` },
    plugins: [librariesBeside, ownAddresses],
  })
  escapeLetters(join(folder, CHUNKS))
  for (const name of ENTRIES) {
    const file = join(folder, `${name}.js`)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, `export * from '${'../'.repeat(name.split('/').length - 1)}${CHUNKS}/${entryName(name)}.js'\n`)
  }
  for (const file of ['page.css', 'page.js']) cpSync(join(ROOT, PAGES, file), join(folder, PAGES, file))
  cpSync(join(ROOT, 'config'), join(folder, 'config'), { recursive: true })
  // Beside `src`, as in a checkout: the program looks up its own version there.
  const { name, version, type } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Record<string, string>
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify({ name, version, type, private: true }, null, 2)}\n`)
}

/**
 * V8 keeps a text with one letter beyond Latin-1 in two bytes per letter. The bundler escapes such letters everywhere but in
 * regular expressions, where the same escapes mean the same.
 */
function escapeLetters(folder: string): void {
  for (const name of readdirSync(folder)) {
    if (!name.endsWith('.js')) continue
    const file = join(folder, name)
    const text = readFileSync(file, 'utf8')
    const escaped = text.replace(/(?<!\\)[^\0-\x7f]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`)
    if (escaped !== text) writeFileSync(file, escaped)
  }
}

const entryName = (entry: string): string => entry.replaceAll('/', '-')

const librariesBeside: Plugin = {
  name: 'libraries-beside',
  setup(build) {
    build.onResolve({ filter: /^[^./]/ }, ({ path, kind }) =>
      kind === 'entry-point' || BUNDLED.test(path) ? undefined : { path, external: true },
    )
  },
}

/** Each of our modules keeps its own address: files of the program are found by it. */
const ownAddresses: Plugin = {
  name: 'own-addresses',
  setup(build) {
    build.onLoad({ filter: /\.ts$/ }, ({ path }) => {
      const name = relative(ROOT, path).split(sep).join('/')
      if (name.startsWith('node_modules/')) return undefined
      const address = `new URL(${JSON.stringify(`../${name.replace(/\.ts$/, '.js')}`)}, import.meta.url).href`
      return { contents: readFileSync(path, 'utf8').replaceAll('import.meta.url', address), loader: 'ts' }
    })
  },
}
