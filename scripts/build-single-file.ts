/**
 * Builds the single file: `node scripts/build-single-file.ts`, after `npm run build`, whose files it takes in. `dist/single-file/headgate` is
 * the Node that runs this script with the whole program inside, and `licences.txt` beside it has the licences of what was bundled;
 * `--node FILE` takes another Node of the same version, also one for another processor, and `--strip` takes Node's symbols out with the
 * tool `strip`, or that which the variable STRIP names, such as `aarch64-linux-gnu-strip` ([decision 23](../docs/decisions/0023-single-file.md)).
 */
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { bundle } from './single-file/bundle.ts'
import { targetProcessor } from './single-file/executable.ts'
import { collectLicences } from './single-file/licences.ts'

const ROOT = join(import.meta.dirname, '..')
const DIST = join(ROOT, 'dist')
const OUT = join(DIST, 'single-file')
/** Modules that run in threads; each is a program of its own. */
const THREADS = [
  'src/services/documents/worker',
  'src/services/pages/robots-worker',
  'src/app/configuration/worker',
  'src/app/store-check/thread',
]
/** Folders of `dist` whose files the program reads. */
const FOLDERS = ['config', 'web']
/** The documents, which `headgate manual` prints. */
const PAGES = 'docs'
const FILES = ['package.json', 'src/server/docs/page.css', 'src/server/docs/page.js']
/** Place at which Node looks for injected data (nodejs.org, single-executable-applications.html). */
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2'
const { values } = parseArgs({
  options: { node: { type: 'string', default: process.execPath }, strip: { type: 'boolean', default: false } },
})

async function build(): Promise<void> {
  rmSync(OUT, { recursive: true, force: true })
  mkdirSync(OUT, { recursive: true })
  const built = [...FILES, ...FOLDERS.flatMap((folder) => filesBelow(DIST, folder))]
  const pages = filesBelow(ROOT, PAGES).filter((name) => name.endsWith('.md'))
  const assets = Object.fromEntries([...built.map((name) => [name, join(DIST, name)]), ...pages.map((name) => [name, join(ROOT, name)])])
  const main = await bundle(ROOT, 'scripts/single-file/main.ts')
  writeFileSync(join(OUT, 'main.js'), main.text)
  let inputs = Object.keys(main.inputs)
  for (const [index, name] of THREADS.entries()) {
    const thread = await bundle(ROOT, `${name}.ts`)
    inputs = [...inputs, ...Object.keys(thread.inputs)]
    const file = join(OUT, `thread-${index}.js`)
    writeFileSync(file, thread.text)
    assets[`${name}.js`] = file
  }
  const licences = join(OUT, 'licences.txt')
  writeFileSync(licences, collectLicences(ROOT, inputs))
  inject({ ...assets, 'licences.txt': licences })
}

/** Writes the executable; what was made on the way goes. */
function inject(assets: Readonly<Record<string, string>>): void {
  const [config, blob, executable] = [join(OUT, 'sea.json'), join(OUT, 'blob'), join(OUT, 'headgate')]
  const isOwn = values.node === process.execPath || targetProcessor(readFileSync(values.node)) === process.arch
  // Compiled code is of this processor (nodejs.org, single-executable-applications.html, "Startup snapshot support" and "V8 code cache").
  const settings = { main: join(OUT, 'main.js'), output: blob, disableExperimentalSEAWarning: true, useCodeCache: isOwn, assets }
  writeFileSync(config, JSON.stringify(settings))
  execFileSync(process.execPath, ['--experimental-sea-config', config], { stdio: ['ignore', 'ignore', 'inherit'] })
  copyFileSync(values.node, executable)
  // Before the injection: strip would take what was injected for unknown data. Of the 127 MB of Node 18 are symbols.
  if (values.strip) execFileSync(process.env.STRIP ?? 'strip', ['--strip-all', executable])
  const postject = createRequire(import.meta.url).resolve('postject/dist/cli.js')
  execFileSync(process.execPath, [postject, executable, 'NODE_SEA_BLOB', blob, '--sentinel-fuse', FUSE], { stdio: 'ignore' })
  for (const name of readdirSync(OUT)) if (!['headgate', 'licences.txt'].includes(name)) rmSync(join(OUT, name))
}

/** Names of the files in a folder, from the one above it. */
function filesBelow(above: string, folder: string): string[] {
  try {
    const entries = readdirSync(join(above, folder), { recursive: true, withFileTypes: true })
    return entries
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(above.length + 1))
      .sort()
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw thrown
  }
}

await build()
