/** The sources and their libraries as one text per entry, for `scripts/build-single-file.ts`. */
import { readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { join, relative, sep } from 'node:path'
import { build, type Metafile, type Plugin } from 'esbuild'

/** Modules that libraries look for and that nobody installs: pg's and ws's optional native parts, and a socket of another runtime. */
const ABSENT = ['pg-native', 'bufferutil', 'utf-8-validate', 'cloudflare:sockets']

export interface Bundle {
  readonly text: string
  readonly inputs: Metafile['inputs']
}

/**
 * Bundles an entry to a script for Node's single executable, whose main program is CommonJS (Node 24 has no other,
 * nodejs.org/docs/latest-v24.x/api/single-executable-applications.html). Modules here wait at their top level, which esbuild allows
 * in its ES format alone: so that is written, with Node's modules required, and put into one asynchronous function.
 */
export async function bundle(root: string, entry: string): Promise<Bundle> {
  const built = await build({
    entryPoints: [join(root, entry)],
    absWorkingDir: root,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    minify: true,
    keepNames: true,
    legalComments: 'none',
    metafile: true,
    write: false,
    external: ABSENT,
    // Of libraries; those of our own modules are their addresses. Where it stands in a script, Node takes that for a module.
    // unpdf looks for a package of fonts, and does without where that fails.
    define: { 'import.meta.url': 'programAddress.library', 'import.meta.resolve': 'programAddress.unknown' },
    plugins: [requiredBuiltins, ownAddresses(root)],
  })
  const [file] = built.outputFiles
  if (!file) throw new Error(`${entry}: nothing was built`)
  const imported = /(?:^|[;\n}])(?:import|export)[{ *"]|\bimport\.meta\b/.exec(file.text)
  if (imported) throw new Error(`${entry}: the bundle still imports: ${file.text.slice(imported.index, imported.index + 80)}`)
  return { text: `${ADDRESS}(async () => {\n${file.text}\n})()\n`, inputs: built.metafile.inputs }
}

/** Place of a source: below the executable (src/core/program-files.ts). */
const ADDRESS = `const programAddress = (path) => require('node:url').pathToFileURL(process.execPath + '/' + path).href;\nprogramAddress.library = programAddress('library.js');\n`

/** Node's own modules are required, also where they are imported: a script cannot import. */
const requiredBuiltins: Plugin = {
  name: 'required-builtins',
  setup(build) {
    build.onResolve({ filter: /./ }, ({ path, namespace }) => {
      if (!isBuiltin(path)) return undefined
      return namespace === 'builtin' ? { path, external: true } : { path, namespace: 'builtin' }
    })
    build.onLoad({ filter: /./, namespace: 'builtin' }, ({ path }) => ({ contents: `module.exports = require(${JSON.stringify(path)})` }))
  },
}

/** Gives each of our modules its address, and has libraries bundled that are required only when they are needed. */
function ownAddresses(root: string): Plugin {
  return {
    name: 'own-addresses',
    setup(build) {
      build.onLoad({ filter: /\.ts$/ }, ({ path }) => {
        const name = relative(root, path).split(sep).join('/')
        if (name.startsWith('node_modules/')) return undefined
        const text = readFileSync(path, 'utf8')
          .replaceAll('createRequire(import.meta.url)(', 'require(')
          .replaceAll('import.meta.url', `programAddress(${JSON.stringify(name.replace(/\.ts$/, '.js'))})`)
        return { contents: text, loader: 'ts' }
      })
    },
  }
}
