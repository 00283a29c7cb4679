/** A gateway in a process of its own, in front of the provider at the given address: its first line is its addresses, then comes its log. */
import { oneModel, startGateway } from './gateway.ts'

const gateway = await startGateway(oneModel(process.argv[2] ?? '', 'openai-chat'))
process.stdout.write(`${JSON.stringify({ url: gateway.url, admin: gateway.admin, key: gateway.key })}\n`)
process.stdin.resume().on('end', () => process.stdout.write(gateway.logs.map((line) => `${line.trim()}\n`).join(''), () => process.exit(0)))
