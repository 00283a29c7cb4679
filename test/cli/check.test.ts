/** `headgate check`: the layers of each operation, and programs that this machine lacks. */
import { join } from 'node:path'
import t from 'tap'
import { OPERATIONS } from '../../src/pipeline/chain.ts'
import { runProgram } from '../support/program.ts'

t.test('check --chain prints the layers of every operation', async (t) => {
  const program = runProgram(['check', '--chain'])
  t.same(await program.exited, { code: 0, signal: null })
  const out = program.out()
  t.same(
    [...out.matchAll(/^(\w+):$/gm)].map(([, operation]) => operation),
    [...OPERATIONS],
  )
  const [answers] = out.split('embed:')
  t.same(
    [...answers.matchAll(/^ +\d+\. (\w+) /gm)].map(([, layer]) => layer),
    [
      'receive',
      'authenticate',
      'admit',
      'read',
      'account',
      'policy',
      'resolve',
      'guard',
      'compact',
      'shape',
      'converse',
      'reread',
      'plan',
      'attempt',
    ],
  )
})

t.test('check warns where the program of the sandbox is not there', async (t) => {
  const checked = async (sandbox: string): Promise<string> => {
    const yaml = `providers: { local: { dialect: sim } }
models: { sim/echo: { endpoints: [ { provider: local, model: echo } ] } }
plugins: { defaults: { shell: { sandbox: ${sandbox} } } }
`
    const folder = t.testdir({ 'headgate.yaml': yaml })
    const program = runProgram(['check', join(folder, 'headgate.yaml')])
    t.same(await program.exited, { code: 0, signal: null })
    return program.out()
  }
  t.match(
    await checked('{ type: command, command: [/nowhere/docker, run] }'),
    /warning: plugins\.defaults\.shell\.sandbox: the program \/nowhere\/docker is not there, expected it at its path or in one of \/usr\//,
  )
  t.notMatch(await checked('{ type: command, command: [sh, -c] }'), /warning/)
})
