/** Real nginx and Caddy in front of a gateway, with a file of the documents: on free ports, gone when the test is. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import type { Test } from 'tap'
import { certificate } from './certificates.ts'
import { freePorts } from './crash/configuration.ts'
import { eventually } from './eventually.ts'

export type ProxyName = 'nginx' | 'caddy'

export interface FrontProxy {
  readonly url: string
  readonly port: number
  /** PEM of the authority that signed its certificate. */
  readonly ca: string
  /** File of the same. */
  readonly caFile: string
  /** Its configuration. */
  readonly file: string
  readonly pid: number
  /** Resolves once the processes from before the last reload take no new connections. For nginx. */
  reloaded(): Promise<void>
}

export interface ProxyParts {
  name: ProxyName
  folder: string
  /** The file for this port and these files of a certificate. */
  file: (place: { port: number; cert: string; key: string }) => string
}

/** @returns undefined where the machine has none; nginx may be demanded. */
export async function startFrontProxy(t: Test, { name, folder, file }: ProxyParts): Promise<FrontProxy | undefined> {
  if (!(await isInstalled(name))) {
    if (name === 'nginx' && process.env.HEADGATE_TEST_SERVERS === 'required')
      throw new Error('nginx is not installed, and HEADGATE_TEST_SERVERS says that it must be')
    console.error(`!!! SKIPPED: ${name} is not installed; what docs/recipes says of it is NOT tested`)
    t.pass(`skipped: ${name} is not installed`)
    return undefined
  }
  const [port] = await freePorts(1)
  const authority = certificate({ name: 'authority of the test' })
  const own = certificate({ name: 'localhost', by: authority, hosts: ['localhost', 'api.example.com'], addresses: ['127.0.0.1'] })
  const place = { port, cert: join(folder, 'tls.pem'), key: join(folder, 'tls.key') }
  writeFileSync(place.cert, own.cert)
  writeFileSync(place.key, own.key.export({ type: 'pkcs8', format: 'pem' }))
  const caFile = join(folder, 'ca.pem')
  writeFileSync(caFile, authority.cert)
  const program = PROGRAMS[name]
  const path = join(folder, `${name}.conf`)
  writeFileSync(path, program.whole(file(place), folder))
  const child = spawn('sh', ['-c', GUARD, 'sh', name, ...program.args(path, folder)], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, HOME: folder },
  })
  child.stdin.on('error', () => undefined)
  let utterance = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      utterance += chunk.toString()
    })
  const gone = once(child, 'exit')
  t.teardown(async () => {
    child.stdin.end()
    await gone
  })
  await eventually(`${name} listens`, () => child.exitCode === null && answers(port), { found: () => utterance })
  let reloads = 0
  const pid = Number(/^pid (\d+)$/m.exec(utterance)?.[1])
  return {
    url: `https://localhost:${port}`,
    port,
    ca: authority.cert,
    caFile,
    file: path,
    pid,
    reloaded: async () => {
      const drained = (): number => utterance.split('gracefully shutting down').length - 1
      await eventually('the old workers take nothing new', () => drained() > reloads, { found: () => utterance })
      reloads++
    },
  }
}

/** The proxy as a shell's child: when the test's process goes, however it goes, its end of the pipe closes and the proxy ends. */
const GUARD = 'exec 3<&0; "$@" & pid=$!; echo "pid $pid"; { cat <&3; kill $pid; } >/dev/null 2>&1 & wait $pid'

interface Program {
  /** The whole configuration with the file of the documents in it. */
  whole(text: string, folder: string): string
  args(path: string, folder: string): string[]
}

const TEMPORARY = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']

const PROGRAMS: Readonly<Record<ProxyName, Program>> = {
  nginx: {
    whole: (text, folder) => `daemon off;
worker_processes 1;
pid ${folder}/nginx.pid;
error_log stderr notice;
events {}
http {
  access_log off;
${TEMPORARY.map((name) => `  ${name}_temp_path ${folder}/temp/${name};`).join('\n')}
${text}
}
`,
    args: (path, folder) => {
      mkdirSync(join(folder, 'temp'), { recursive: true })
      return ['-c', path, '-p', folder, '-e', 'stderr']
    },
  },
  caddy: {
    whole: (text) => `{\n\tadmin off\n\tauto_https disable_redirects\n}\n${text}`,
    args: (path) => ['run', '--config', path, '--adapter', 'caddyfile'],
  },
}

async function isInstalled(name: ProxyName): Promise<boolean> {
  const child = spawn(name, [name === 'nginx' ? '-v' : 'version'], { stdio: 'ignore' })
  return new Promise((resolve) => {
    child.once('error', () => resolve(false))
    child.once('exit', (code) => resolve(code === 0))
  })
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}
