/** Scenarios of Codex beside the common scenarios: its own kinds of tools, sub-agents, its WebSocket, and compaction by the server. */
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { findScenario, type Outcome, runSteps, type Scenario } from './scenarios.ts'
import { openWorld, type Stage, type World } from './world.ts'

/** Names that Codex knows: it chooses its tools by them. The gateway has them as aliases. */
export const KNOWN = { patch: 'team/gpt-5.5', script: 'team/gpt-6.1-sol' } as const
export const SUBTASK = 'Say that you have begun.'

function changeSettings({ place }: Stage, from: string | RegExp, to: string): void {
  const path = join(place.home, '.codex/config.toml')
  const before = readFileSync(path, 'utf8')
  const after = before.replace(from, to)
  if (after === before) throw new Error(`config.toml has no ${from}`)
  writeFileSync(path, after)
}

const task = findScenario('task')
const compaction = findScenario('compaction')

const withModel = (name: string, model: string, text: string): Scenario => ({
  name,
  text,
  run(stage) {
    changeSettings(stage, 'model = "codex/main"', `model = "${model}"`)
    return task.run(stage)
  },
})

/** Passes connections on. @returns the request lines that began them, or came first after a refused handshake. */
async function listenBetween(url: string): Promise<{ url: string; lines: string[]; close(): void }> {
  const lines: string[] = []
  const { hostname, port } = new URL(url)
  const server = createServer((client) => {
    const gateway = connect({ host: hostname, port: Number(port) })
    client.on('data', (chunk) => lines.push(...(chunk.toString('latin1').match(/(?:GET|POST) \/v1\/responses (?=HTTP)/g) ?? [])))
    client.pipe(gateway).pipe(client)
    for (const socket of [client, gateway]) socket.on('error', () => {})
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, lines, close: () => server.close() }
}

/** The task with `supports_websockets`, in a world that may be another one than that of the settings. @param wanted kinds of requests. */
async function taskOverWebSocket(stage: Stage, world: World, wanted: string): Promise<Outcome> {
  const between = await listenBetween(world.account.url)
  changeSettings(stage, stage.world.account.url, between.url)
  changeSettings(stage, 'wire_api = "responses"', 'wire_api = "responses"\nsupports_websockets = true')
  try {
    const outcome = await task.run({ ...stage, world })
    const lines = [...new Set(between.lines.map((line) => line.split(' ')[0]))].join(', ')
    return lines === wanted ? outcome : { ...outcome, problems: [...outcome.problems, `requests: ${lines}`] }
  } finally {
    between.close()
  }
}

const webSocket: Scenario = {
  name: 'WebSocket',
  text: 'the task with `supports_websockets`: nothing goes over HTTP',
  run: (stage) => taskOverWebSocket(stage, stage.world, 'GET'),
}

const withoutWebSocket: Scenario = {
  name: 'WebSocket switched off',
  text: 'the task with `supports_websockets` at a gateway that has none: a 426, and all goes over HTTP',
  async run(stage) {
    const { agent } = stage
    const off = 'server: { host: 127.0.0.1, port: 0, responses_websocket: { enabled: false } }'
    const settings = (model: string): string => `${agent.settings?.(model) ?? ''}\n${off}`
    const world = await openWorld({ ...agent, settings }, stage.world.wire)
    try {
      return await taskOverWebSocket(stage, world, 'GET, POST')
    } finally {
      await world.close()
    }
  },
}

const serverCompaction: Scenario = {
  name: 'server compaction',
  text: 'with the provider named OpenAI the gateway writes the summary, which no other key can read',
  async run(stage) {
    changeSettings(stage, 'name = "headgate"', 'name = "OpenAI"')
    const outcome = await compaction.run(stage)
    const byGateway = JSON.stringify(stage.world.standIn.accepted).includes('Write a summary of the whole conversation')
    return { ...outcome, problems: [...outcome.problems, ...(byGateway ? [] : ['the summary is not requested by the gateway'])] }
  },
}

const subAgent: Scenario = {
  name: 'sub-agent',
  text: 'a sub-agent is started, and its words come back',
  async run(stage) {
    const { problems, model } = await runSteps(
      stage,
      [
        { name: 'spawn', action: { do: 'own', what: 'spawn' }, results: [/agent_id|task_name/] },
        { name: 'wait', action: { do: 'own', what: 'wait' }, results: [/I have begun|completed/] },
      ],
      ['Start a sub-agent, and wait for it.'],
    )
    return { problems, traffic: model.traffic }
  },
}

export const CODEX_SCENARIOS: readonly Scenario[] = [
  withModel('patch as free text', KNOWN.patch, 'the task with the tools of a name that Codex knows, `gpt-5.5`'),
  withModel('script', KNOWN.script, 'the task with commands in a script, as for `gpt-6.1-sol`'),
  subAgent,
  webSocket,
  withoutWebSocket,
  serverCompaction,
]
