/** Commands that serve, and that try a configuration out before it serves. */

import { PLAN_FORMATS } from '../../pipeline/plan/format.ts'
import { GATEWAY_TITLES } from '../other-gateways/titles.ts'
import { CONFIG_OPTION, type Command, command, JSON_OPTION } from './command.ts'

export const servingCommands: readonly Command[] = [
  command({
    usage: 'serve',
    summary: 'Serve; the verb that no verb stands for',
    details:
      'Without a file: the shipped configuration, with every provider whose key is in the environment.\n' +
      'SIGTERM and SIGINT drain, a second one hurries; SIGHUP reads the configuration again.',
    example: 'serve --config headgate.yaml --port 8080',
    page: 'docs/operations.md',
    options: {
      ...CONFIG_OPTION,
      '--host <HOST>': 'address of the gateway, in place of server.host',
      '--port <PORT>': 'port of the gateway, in place of server.port',
      '--admin-port <PORT>': 'port of the admin listener, in place of admin.port',
      '--workers <N>': 'processes that answer on the port: 1 to 63, or auto for one per processor',
    },
    run: async (_, flags) => (await import('../serve.ts')).serve(flags),
  }),
  command({
    usage: 'check [FILE]',
    summary: 'Say whether a configuration is good, or line by line what is wrong',
    example: 'check headgate.yaml',
    page: 'docs/configuration.md',
    options: { '--chain': 'show the layers that requests go through' },
    run: async ([file], { chain }) => {
      const { check, printChain } = await import('../check.ts')
      if (chain && file === undefined) return printChain()
      return file === undefined || chain ? refuse('check: expected FILE or --chain') : check(file)
    },
  }),
  command({
    usage: 'import <FILE>',
    summary: 'Make a configuration of one of another gateway, and say what does not carry over',
    details:
      `FILE: of ${Object.values(GATEWAY_TITLES).join(', ')}.\n` +
      'The configuration goes to standard output, the report to standard error. Secrets of the file become variables.',
    example: 'import litellm.yaml --output imported.yaml',
    page: 'docs/migration/README.md',
    options: {
      '--from <GATEWAY>': Object.keys(GATEWAY_TITLES).join(', '),
      '--output <FILE>': 'a new file for the configuration',
      '--force': 'replace that file',
      '--json': 'the report as JSON: the fate of each value',
    },
    run: async (words, flags) => (await import('../import.ts')).importFile(words, flags),
  }),
  command({
    usage: 'plan <FILE> <REQUEST>',
    summary: 'Say what would become of a request: endpoints, reasons, the money held',
    details: 'Nothing is called. REQUEST is a file with a generation body, - reads standard input. Exit code 1 if it would be refused.',
    example: 'plan headgate.yaml request.json',
    page: 'docs/plan.md',
    options: {
      '--format <FORMAT>': `of the request: ${PLAN_FORMATS.join(', ')}`,
      '--key <NAME>': 'the key of the configuration that sends it',
      ...JSON_OPTION,
    },
    run: async ([file = '', request = ''], flags) => (await import('../plan.ts')).plan([file, request], flags),
  }),
  command({
    usage: 'test <DIR>',
    summary: 'Run policy tests: requests, and what must become of them',
    details: 'Takes the YAML and JSON files below DIR, but none in node_modules or in folders that begin with a dot.',
    example: 'test policy-tests',
    page: 'docs/plan.md',
    run: async ([folder = '']) => (await import('../policy-tests.ts')).policyTests(folder),
  }),
  command({
    usage: 'health',
    summary: 'Say whether the gateway on this machine answers',
    example: 'health --url http://127.0.0.1:8081',
    page: 'docs/operations.md',
    options: { '--url <ADDRESS>': 'the admin listener; also HEADGATE_ADMIN_URL; without either http://127.0.0.1:8081' },
    run: async (_, { url }) => (await import('../health.ts')).health(url),
  }),
]

/** Says why words make no command. @returns the exit code. */
function refuse(message: string): number {
  process.stderr.write(`headgate: ${message}\n`)
  return 2
}
