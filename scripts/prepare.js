/**
 * Runs after `npm ci` in a clone (script `prepare`), and never where the package is installed from a registry or a tarball. Plain
 * JavaScript: without optional dependencies the Node of the machine runs it, which may be an old one.
 * Of the Node that an optional dependency brings, 67 of 189 MB are headers, which only compilers of native modules read: they go.
 * A first start then fills the compile cache, so that the next one is as quick as any other.
 */
import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
for (const processor of ['x64', 'arm64']) rmSync(`${root}node_modules/node-linux-${processor}/include`, { recursive: true, force: true })
// An install is none the worse where this fails: the start itself says what is missing.
spawnSync(process.execPath, [`${root}bin/headgate.js`, 'serve', '--version'], { stdio: 'ignore' })
