/**
 * Follows a page of docs/recipes or examples: a gateway with the file that the page has its reader save, stand-ins at the addresses that it names,
 * and a shell that runs the page's commands as they stand there.
 */
import { cpSync, existsSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Test } from 'tap'
import { ROOT, read } from '../repository/source-tree.ts'
import { ADMIN_TOKEN } from '../support/admin.ts'
import { type Block, bash, executable, pageBlocks, savedFiles } from '../support/command-blocks.ts'
import { type Gateway, type GatewayOptions, KEY, startGateway } from '../support/gateway.ts'
import { LAUNCHER } from '../support/launcher.ts'

export interface RecipeOptions extends Pick<GatewayOptions, 'clock' | 'watch'> {
  /** Variables of the page's file and commands; `HEADGATE_APP_KEY` is that of the gateway's requests. */
  env?: Record<string, string>
  /** Parts of the file, and what stands for them here, such as the address of a stand-in. */
  with?: Record<string, string>
  /** Prepares the folder before the gateway starts in it. */
  prepare?: (folder: string) => void
}

export interface Recipe {
  readonly gateway: Gateway
  readonly folder: string
  /** Runs the next block of commands of the page; the test fails where it fails. @returns what it wrote. */
  next(env?: Record<string, string>): Promise<string>
  /** The test fails where a block of the page has not run. */
  done(): void
}

const COMMAND = `#!/bin/sh\nexec "$NODE" "$HEADGATE" "$@"\n`

/** Blocks that run here. */
function runnable(page: string): Block[] {
  return pageBlocks(page).filter(({ excuse }) => excuse === undefined)
}

/** The file that lies beside the page, else the one that it has its reader save; with the stand-ins. @throws Error where the page has none, or not what a stand-in is for. */
export function pageConfig(page: string, replaced: Record<string, string> = {}): string {
  const beside = join(dirname(page), 'headgate.yaml')
  const saved = existsSync(join(ROOT, beside)) ? read(beside) : savedFiles(page).find(([name]) => name === 'headgate.yaml')?.[1]
  if (saved === undefined) throw new Error(`${page} has no file to save`)
  return replaceAll(saved, replaced)
}

/** @throws Error where the text lacks one of the parts: the page has changed, and the test does not fit it any more. */
export function replaceAll(text: string, parts: Record<string, string>): string {
  return Object.entries(parts).reduce((whole, [from, to]) => {
    if (!whole.includes(from)) throw new Error(`no ${from} in:\n${whole}`)
    return whole.replaceAll(from, to)
  }, text)
}

/** The first block of a page in this language. @throws Error where there is none. */
export function languageBlock(page: string, language: string): string {
  const [, text] = new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(read(page)) ?? []
  if (text === undefined) throw new Error(`${page} has no block of ${language}`)
  return text
}

/** @param name of the page, without its folder and ending. */
export async function followRecipe(t: Test, name: string, options: RecipeOptions = {}): Promise<Recipe> {
  return await followPage(t, `docs/recipes/${name}.md`, options)
}

export async function followPage(t: Test, page: string, options: RecipeOptions = {}): Promise<Recipe> {
  const folder = t.testdir({ bin: {} })
  executable(join(folder, 'bin', 'headgate'), COMMAND)
  executable(join(folder, 'bin', 'curl'), '#!/bin/sh\nPATH=$REAL_PATH\nexec curl -sS "$@"\n')
  mkdirSync(join(folder, 'secrets'))
  cpSync(join(ROOT, 'config', 'catalog'), join(folder, 'catalog'), { recursive: true })
  const { env: variables, with: replaced, prepare, ...more } = options
  prepare?.(folder)
  const env = { HEADGATE_APP_KEY: KEY, ...variables }
  // A reader stands in the folder; the gateway of the test has the working directory of all tests.
  const config = pageConfig(page, replaced).replaceAll('sqlite:./', `sqlite:${folder}/`)
  const gateway = await startGateway(config, { directory: folder, env, ...more })
  t.teardown(() => gateway.close())
  const waiting = runnable(page)
  return {
    gateway,
    folder,
    next: async (added = {}) => {
      const block = waiting.shift()
      if (!block) throw new Error(`${page} has no further commands`)
      const { failed, out, error } = await bash(block.code, folder, {
        PATH: `${join(folder, 'bin')}:${process.env.PATH}`,
        REAL_PATH: process.env.PATH ?? '',
        NODE: process.execPath,
        HEADGATE: LAUNCHER,
        HOME: folder,
        GATEWAY: gateway.url,
        HEADGATE_ADMIN_URL: gateway.admin,
        HEADGATE_ADMIN_TOKEN: ADMIN_TOKEN,
        ...env,
        ...added,
      })
      t.notOk(failed, `${block.at}:\n${block.code}\n${out}${error}`)
      return out
    },
    done: () =>
      t.same(
        waiting.map(({ at }) => at),
        [],
        'every block of the page has run',
      ),
  }
}
