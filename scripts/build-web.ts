/**
 * Builds the control room: `web/` into `dist/web/`, in about a tenth of a second. `npm run build`, `npm start` and the tests run it.
 * Every file but the page has a hash in its name, so that browsers keep it; each is there compressed as well.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

const ROOT = join(import.meta.dirname, '..')

/**
 * @param folder gets the files one by one, the page after those that it names and the old ones removed at the end: a gateway that
 * runs always serves a whole version, and two builds at the same time do not disturb each other.
 */
export async function buildWeb(folder = join(ROOT, 'dist', 'web')): Promise<void> {
  const { build } = await import('esbuild')
  const draft = `${folder}.${process.pid}`
  rmSync(draft, { recursive: true, force: true })
  mkdirSync(draft, { recursive: true })
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: { room: 'web/main.tsx', style: 'web/style.css', icon: 'web/icon.svg' },
    outdir: draft,
    bundle: true,
    splitting: true,
    format: 'esm',
    target: ['es2022', 'chrome123', 'firefox120', 'safari17.5'],
    minify: true,
    metafile: true,
    legalComments: 'eof',
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    assetNames: '[name]-[hash]',
    loader: { '.svg': 'copy' },
    jsx: 'automatic',
    jsxImportSource: 'preact',
    logLevel: 'warning',
  })
  const names = Object.keys(metafile.outputs).map((path) => basename(path))
  const named = (start: string, end: string): string => {
    const found = names.find((name) => name.startsWith(start) && name.endsWith(end))
    if (found === undefined) throw new Error(`the build has no ${start}…${end}`)
    return found
  }
  const page = readFileSync(join(ROOT, 'web', 'index.html'), 'utf8')
    .replace('{{script}}', named('room-', '.js'))
    .replace('{{style}}', named('style-', '.css'))
    .replace('{{icon}}', named('icon-', '.svg'))
  writeFileSync(join(draft, 'index.html'), page)
  for (const name of [...names, 'index.html']) compress(join(draft, name))
  writeFileSync(join(draft, 'files.json'), JSON.stringify(names))
  mkdirSync(folder, { recursive: true })
  const built = readdirSync(draft)
  for (const name of built.toSorted((a, b) => Number(isEntry(a)) - Number(isEntry(b)))) renameSync(join(draft, name), join(folder, name))
  for (const name of readdirSync(folder)) if (!built.includes(name)) rmSync(join(folder, name), { force: true })
  rmSync(draft, { recursive: true, force: true })
}

/** Names of the other files. */
const isEntry = (name: string): boolean => name.startsWith('index.html') || name === 'files.json'

function compress(path: string): void {
  const bytes = readFileSync(path)
  writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }))
  const params = { [constants.BROTLI_PARAM_QUALITY]: 9 }
  writeFileSync(`${path}.br`, brotliCompressSync(bytes, { params }))
}

if (import.meta.main) {
  // An install without the packages for development cannot build; the gateway then says what to do.
  if (existsSync(join(ROOT, 'node_modules', 'esbuild'))) await buildWeb()
  else process.stderr.write('The control room is not built: esbuild is not installed.\n')
}
