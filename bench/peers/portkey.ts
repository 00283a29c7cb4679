/** Portkey's gateway from npm; see README.md. */
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '../processes.ts'
import { install, type Peer, peerFolder, startPeer } from './peer.ts'

export const portkey: Peer = {
  targets: ['portkey'],
  install() {
    const { folder, remove } = peerFolder('portkey')
    copyFileSync(fileURLToPath(new URL('portkey/package.json', import.meta.url)), join(folder, 'package.json'))
    install('npm', ['install', '--ignore-scripts', '--omit=dev', '--no-audit', '--no-fund', '--no-package-lock'], folder)
    const script = join(folder, 'node_modules', '@portkey-ai', 'gateway', 'build', 'start-server.js')
    return {
      version: '1.15.2',
      remove,
      async start(name, upstream) {
        const port = await freePort()
        const headers = { 'x-portkey-provider': 'openai', 'x-portkey-custom-host': `http://127.0.0.1:${upstream}/v1` }
        const args = [script, `--port=${port}`, '--headless']
        return startPeer({ name, command: process.execPath, args, folder, port, env: { NODE_ENV: 'production' }, headers, path: '/' })
      },
    }
  },
}
