/** A copy of the tree as it stands, uncommitted changes included, in which additions are made and taken back. */
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import type { Edit } from './addition.ts'

/** The author of the copy's own commit, which nobody sees. */
const AUTHOR = ['-c', 'user.name=copy', '-c', 'user.email=copy@example.invalid', '-c', 'commit.gpgsign=false']

export class Copy {
  private readonly root: string
  private readonly folder: string
  private readonly tree: string

  constructor(root: string) {
    this.root = root
    this.folder = mkdtempSync(join(tmpdir(), 'headgate-add-one-'))
    this.tree = join(this.folder, 'tree')
    const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root, encoding: 'utf8' })
    for (const file of listed.split('\0').filter((name) => name !== '' && existsSync(join(root, name))))
      cpSync(join(root, file), join(this.tree, file))
    symlinkSync(join(root, 'node_modules'), join(this.tree, 'node_modules'))
    this.git('init', '--quiet')
    writeFileSync(join(this.tree, '.git', 'info', 'exclude'), 'node_modules\n')
    // A table that is out of date would be counted as written by each change.
    this.run(['scripts/generate.ts'])
    this.git('add', '--all')
    this.git(...AUTHOR, 'commit', '--quiet', '--no-verify', '--message', 'copy')
  }

  close(): void {
    rmSync(this.folder, { recursive: true, force: true })
  }

  /** @throws Error where the place of an edit is not there once. */
  apply(edit: Edit): void {
    const path = join(this.tree, edit.file)
    if ('text' in edit) {
      if (existsSync(path)) throw new Error(`${edit.file} is there already`)
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, edit.text)
      return
    }
    const text = readFileSync(path, 'utf8')
    const places = text.split(edit.find).length - 1
    if (places !== 1) throw new Error(`${edit.file} has ${places} places ${JSON.stringify(edit.find)}; expected one`)
    writeFileSync(
      path,
      text.replace(edit.find, () => edit.replace),
    )
  }

  /** Runs a script of the copy with Node. @throws Error with what it printed. */
  run(script: readonly string[], env: NodeJS.ProcessEnv = {}): void {
    const bin = join(this.root, 'node_modules', '.bin')
    const path = `${bin}${delimiter}${process.env.PATH ?? ''}`
    const { status, stdout, stderr } = spawnSync(process.execPath, script, {
      cwd: this.tree,
      env: { ...process.env, PATH: path, ...env },
      encoding: 'utf8',
      maxBuffer: 1 << 28,
    })
    if (status !== 0) throw new Error(`${script.join(' ')} failed\n${tail(stdout)}\n${tail(stderr)}`)
  }

  /** True if the path of a file contains this. */
  has(part: string): boolean {
    return this.git('ls-files', '--cached', '--others', '--exclude-standard').includes(part)
  }

  /** Files that differ from the copy's commit, sorted. */
  touched(): string[] {
    const status = this.git('status', '--porcelain', '--untracked-files=all', '--no-renames', '-z')
    return status
      .split('\0')
      .filter((line) => line !== '')
      .map((line) => line.slice(3))
      .sort()
  }

  /** Takes everything back. */
  restore(): void {
    this.git('reset', '--quiet', '--hard')
    this.git('clean', '--quiet', '-d', '--force')
  }

  private git(...args: string[]): string {
    return execFileSync('git', args, { cwd: this.tree, encoding: 'utf8', maxBuffer: 1 << 28 })
  }
}

/** The end of what a script has printed. */
const tail = (text: string): string => text.trimEnd().split('\n').slice(-60).join('\n')
