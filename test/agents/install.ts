/** Installs of the agents at their pinned versions, kept between runs. */
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { AGENTS } from '../../src/config/agents/index.ts'
import type { CertifiedAgent } from './agent-run.ts'

const ROOT = process.env.HEADGATE_AGENTS ?? join(dirname(dirname(import.meta.dirname)), 'node_modules', '.cache', 'agents')
const MARK = '.installed'
/** Milliseconds for one install, of a few hundred megabytes; fewer in the gate, which may take 20 minutes in all. */
const TIMEOUT_MS = process.env.HEADGATE_LONG === '1' ? 600_000 : 150_000

const execute = promisify(execFile)

export interface Package {
  readonly manager: 'npm' | 'pip'
  readonly name: string
  readonly version: string
}

/** The package that `src/config/agents/` names: a new version is one line there. */
export function agentPackage(agent: string): Package {
  const [manager, name, version] = AGENTS.find((each) => each.name === agent)?.package.split(' ') ?? []
  if ((manager !== 'npm' && manager !== 'pip') || version === undefined) throw new Error(`no agent ${agent} in src/config/agents`)
  return { manager, name, version }
}

async function withNpm(folder: string, packages: readonly string[], scripts: boolean): Promise<void> {
  writeFileSync(join(folder, 'package.json'), '{"private":true}')
  const flags = ['--no-save', '--no-package-lock', '--no-audit', '--no-fund', ...(scripts ? [] : ['--ignore-scripts'])]
  await execute('npm', ['install', ...flags, ...packages], { cwd: folder, timeout: TIMEOUT_MS })
}

async function withPip(folder: string, packages: readonly string[]): Promise<void> {
  await execute('python3', ['-m', 'venv', folder], { timeout: TIMEOUT_MS })
  const flags = ['-q', '--no-compile', '--disable-pip-version-check', '--only-binary', ':all:']
  await execute(join(folder, 'bin', 'pip'), ['install', ...flags, ...packages], { timeout: TIMEOUT_MS })
}

/** @returns the folder of the install. @throws where the package cannot be had. */
export async function installed(agent: CertifiedAgent): Promise<string> {
  const { manager, name, version } = agentPackage(agent.name)
  const folder = join(ROOT, `${agent.name}-${version}`)
  if (existsSync(join(folder, MARK))) return folder
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  if (manager === 'npm') await withNpm(folder, [`${name}@${version}`], agent.installScripts === true)
  else await withPip(folder, [`${name}==${version}`])
  writeFileSync(join(folder, MARK), '')
  return folder
}
