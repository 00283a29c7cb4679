/** `headgate check --chain`: the layers of each operation, in order. */
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
