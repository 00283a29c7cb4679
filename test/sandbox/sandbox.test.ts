/** The sandbox by itself: what a hostile command cannot do. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import t from 'tap'
import { systemClock } from '../../src/core/clock.ts'
import type { Json } from '../../src/core/json.ts'
import { bubblewrapFeatures } from '../../src/services/sandbox/bubblewrap.ts'
import { holdsMore } from '../../src/services/sandbox/folders.ts'
import { Sandbox, sandboxSettings } from '../../src/services/sandbox/index.ts'
import { bubblewrap, bubblewrapDemanded, bubblewrapState } from '../support/bubblewrap.ts'
import { eventually } from '../support/eventually.ts'
import { every } from '../support/every.ts'
import { processesWith } from '../support/processes.ts'
import { sandboxScene as scene, withoutIsolation as skip } from '../support/sandbox-scene.ts'

t.setTimeout(280_000)

/** From 0.8.0 on it takes `--disable-userns`. */
const bubblewrapIsNew = bubblewrap !== undefined && execFileSync(bubblewrap, ['--help'], { encoding: 'utf8' }).includes('--disable-userns')

t.test('bubblewrap is there where a full run is demanded', { skip: !bubblewrapDemanded && skip }, async (t) => {
  t.not(bubblewrapState, 'absent', 'bwrap has to be installed')
})

t.test('a command: output, errors, exit code, and a folder that stays', async (t) => {
  const { run } = scene(t)
  t.same(await run('echo out; echo err >&2; exit 3'), { stdout: 'out\n', stderr: 'err\n', exitCode: 3 })
  t.match(await run('echo kept > file'), { exitCode: 0 })
  t.match(await run('cat file'), { stdout: 'kept\n' })
  t.match(await run('ls', { id: 'two' }), { stdout: '', exitCode: 0 }, 'each container has a folder of its own')
  t.match(await run('ls', { key: 'other' }), { stdout: '' }, 'and each key')
  t.match(await run('cat'), { stdout: '', exitCode: 0 }, 'nothing is to be read')
  t.not((await run('if then')).exitCode, 0)
  t.match(await run('echo "$1" \'a"b\' $((1+1)) `echo x`'), { stdout: ' a"b 2 x\n' })
})

t.test('nothing of the environment gets in', async (t) => {
  process.env.HEADGATE_CANARY = 'secret-of-the-gateway'
  const { run } = scene(t)
  const { stdout } = await run('env; set')
  t.notMatch(stdout, /secret-of-the-gateway|HEADGATE|OLDPWD=\/work\/|npm_/)
  t.match(stdout, /PATH=/)
})

t.test('a command that goes on for ever is ended, with all that it has started', async (t) => {
  const { run, folder } = scene(t)
  const mark = `6.${process.pid}`
  t.match(await run(`sleep 1000${mark}`, { time: 300 }), { killed: 'time' })
  const leaves = bubblewrap ? 'setsid' : ''
  t.match(await run(`(sleep 1000${mark} &) ; (${leaves} sleep 1000${mark} &) ; sleep 1000${mark}`, { time: 300 }), { killed: 'time' })
  t.match(await run('trap "" TERM INT HUP; while :; do :; done', { time: 300 }), { killed: 'time' })
  t.match(await run(`sleep 1000${mark} & echo started`), { stdout: 'started\n', exitCode: 0 }, 'the end is not waited for')
  const gone = new AbortController()
  await eventually('the end of all processes', () => processesWith(mark) === 0)
  const waiting = run(`sleep 1000${mark}`, { signal: gone.signal })
  await eventually('the command runs', () => processesWith(mark) > 0)
  gone.abort(new Error('gone'))
  t.match(await waiting, { killed: 'gone' })
  await eventually('the end of all processes', () => processesWith(mark) === 0)
  t.ok(existsSync(folder))
})

t.test('a command that is ended while it starts leaves no process behind', async (t) => {
  const { run } = scene(t)
  const mark = `7.${process.pid}`
  await every(t, 'every moment', async (t) => {
    for (let ms = 0; ms < 60; ms += 4) {
      const ends = await Promise.all(Array.from({ length: 4 }, (_, at) => run(`sleep 1000${mark}`, { id: `c${at}`, time: ms + at })))
      for (const end of ends) t.match(end, { killed: 'time' })
    }
  })
  await eventually('the end of all processes', () => processesWith(mark) === 0)
})

t.test('endless output is cut off and ended', async (t) => {
  const { run } = scene(t, { output_kb: 1 })
  const flood = await run('yes')
  t.equal(flood.killed, 'output')
  t.ok(flood.stdout.length < 1100)
  t.match(flood.stdout, /cut off after 1024 bytes/)
  t.match(await run('yes >&2'), { killed: 'output', stdout: '' })
  const long = await run('head -c 2000 /dev/zero | tr "\\0" x')
  t.match(long, { exitCode: 0, stdout: /^x{1024}\n\[cut off/ })
  t.match(await run('printf 123456789', { output: 4 }), { stdout: /^1234\n/ })
})

t.test('memory, disk and processes have limits', async (t) => {
  const { run, folder } = scene(t, { memory_mb: 64, disk_mb: 2, processes: 24 })
  const memory = await run('tail /dev/zero', { time: 5_000 })
  t.not(memory.exitCode, 0, 'a process that takes more and more')
  t.match(await run('for i in 1 2 3 4; do head -c 1500000 /dev/urandom > f$i; done'), { killed: 'disk' }, 'more than a container may keep')
  t.match(await run('ls'), { stdout: '' }, 'it has been emptied')
  const big = await run('head -c 100000000 /dev/zero > big; stat -c %s big')
  t.ok(big.killed === 'disk' || Number(big.stdout) <= 4_000_000, 'a single file')
  const deep = await run('n=$(printf %0200d); i=0; while [ $i -lt 30 ]; do mkdir $n && cd $n || exit; i=$((i+1)); done', { id: 'deep' })
  t.match(deep, { killed: 'disk' }, 'paths that are longer than a call takes')
  t.match(await run('ls', { id: 'deep' }), { stdout: '' })
  const entries = join(t.testdir({ a: { b: '', c: '' }, d: '' }))
  t.equal(await holdsMore(entries, 1e6, 4), false)
  t.equal(await holdsMore(entries, 1e6, 3), true, 'too many files')
  t.equal(await holdsMore(join(entries, 'nowhere'), 1), false)
  t.match(
    await run('mkdir locked && chmod 000 locked', { id: 'locked' }),
    { exitCode: 0, killed: undefined },
    'a folder that may not be read',
  )
  if (bubblewrap) {
    await run(':(){ :|:& };:', { time: 2_000 })
    t.match(await run('echo alive'), { stdout: 'alive\n' }, 'after a fork bomb')
    const forks = await run('for i in $(seq 1 60); do sleep 5 & done; jobs -r | wc -l', { time: 1_500 })
    t.match(forks.stderr, /fork/i, 'no more than 24 processes at once')
  }
  t.ok(existsSync(folder))
})

t.test('no namespaces of its own, and no calls for them', { skip }, async (t) => {
  const { run } = scene(t)
  for (const command of ['unshare -Urn true', 'unshare -r cat /proc/self/status', 'unshare -Um mount -t tmpfs x /tmp'])
    t.not((await run(command)).exitCode, 0, command)
  t.equal((await bubblewrapFeatures(`${bubblewrap}`)).disablesUserNamespaces, bubblewrapIsNew, 'bubblewrap 0.8 is kept from making more')
  t.match(await run('grep -E "^(Seccomp|NoNewPrivs|CapEff):" /proc/self/status'), {
    stdout: /CapEff:\s+0+\nNoNewPrivs:\s+1\nSeccomp:\s+2\n/,
  })
  const call = (number: number, ...words: number[]): string =>
    `python3 -c 'import ctypes; l = ctypes.CDLL(None, use_errno=True); r = l.syscall(${[number, ...words].join(', ')}); print(r, ctypes.get_errno())'`
  if (process.arch === 'x64') {
    const numbers = {
      unshare: 272,
      mount: 165,
      memfd_create: 319,
      shmget: 29,
      semget: 64,
      bpf: 321,
      keyctl: 250,
      io_uring_setup: 425,
      clone3: 435,
      vmsplice: 278,
      x32: 0x4000_0027,
    }
    for (const [name, number] of Object.entries(numbers)) t.match(await run(call(number, 0, 0, 0)), { stdout: '-1 38\n' }, name)
    t.match(await run(call(56, 0x1000_0011, 0, 0)), { stdout: '-1 1\n' }, 'clone with a new user namespace')
  }
  t.match(
    await run(
      "python3 -c \"import threading, subprocess; t = threading.Thread(target=lambda: print(subprocess.run(['echo', 'fine'], capture_output=True).stdout)); t.start(); t.join()\"",
    ),
    {
      stdout: "b'fine\\n'\n",
      exitCode: 0,
    },
    'threads and children are made as ever',
  )
})

t.test('the machine cannot be seen or reached', { skip }, async (t) => {
  const { run, folder } = scene(t)
  const secret = join(t.testdir(), 'headgate.yaml')
  writeFileSync(secret, 'key: sk-secret-of-the-config')
  const server = createServer((socket) => socket.end('canary-answers'))
  t.teardown(() => server.close())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  const refused = async (command: string): Promise<void> => {
    const ran = await run(command, { time: 5_000 })
    t.not(ran.exitCode, 0, command)
    t.notMatch(`${ran.stdout}${ran.stderr}`, /sk-secret|canary-answers|root:/, command)
  }
  await refused(`cat ${secret}`)
  await refused(`cat ${process.execPath.startsWith('/usr') ? '/etc/shadow' : process.execPath}`)
  await refused(`cat /proc/${process.pid}/environ`)
  await refused(`kill -9 ${process.pid}`)
  await refused('cat /etc/passwd')
  await refused('ls /root /home /var')
  await refused('echo x > /usr/owned')
  await refused(`exec 3<>/dev/tcp/127.0.0.1/${port} && cat <&3`)
  await refused('exec 3<>/dev/tcp/169.254.169.254/80 && cat <&3')
  await refused('mount -t tmpfs none /mnt')
  await refused(`ls ${folder}`)
  t.match(await run('ls -d /proc/[0-9]* | wc -l'), { exitCode: 0 })
  t.ok(Number((await run('ls -d /proc/[0-9]* | wc -l')).stdout) < 10, 'only its own processes are there')
  t.match(await run('grep -c . /proc/net/dev'), { stdout: '3\n' }, 'no network but its own loopback')
  await run('ln -s / out; ln -s /etc/passwd link', { id: 'links' })
  t.ok(statSync('/etc/passwd').isFile(), 'what links lead to is not removed')
})

t.test('containers: so many of a key, kept for so long', async (t) => {
  const { run, folder, sandbox } = scene(t, { containers: 2 })
  await run('echo 1 > f', { id: 'a' })
  await run('echo 2 > f', { id: 'b' })
  await run('echo 3 > f', { id: 'b' })
  await run('true', { id: 'c' })
  t.match(await run('cat f', { id: 'b' }), { stdout: '3\n' })
  const homes = readdirSync(folder)
  t.equal(homes.length, 1)
  t.equal(readdirSync(join(folder, homes[0])).filter((name) => !name.endsWith('.until')).length, 2)
  t.match(await run('cat f', { id: 'a' }), { stdout: '' }, 'the one that was used longest ago is gone')
  let at = systemClock.now()
  let due: (() => void) | undefined
  const clock = {
    ...systemClock,
    now: () => at,
    after: (ms: number, fn: () => void) => {
      if (ms === 60_000) due = fn
      return systemClock.after(ms, fn)
    },
  }
  const other = new Sandbox(sandbox.settings)
  await other.run('echo x > f', { key: 'key', id: 'brief', sleepAfter: 1000 }, { clock, signal: new AbortController().signal })
  at += 2000
  t.ok(due, 'somebody looks at what has slept for long enough')
  due?.()
  const left = (): string[] => readdirSync(join(folder, homes[0]))
  await eventually('its folder is removed', () => left().length <= 2)
  t.equal(left().length, 2, 'the one that is still to be kept')
})

t.test('runs at most at_once commands at a time, in turn by key', async (t) => {
  const { run } = scene(t, { at_once: 1 })
  const gone = new AbortController()
  const first = run('sleep 0.3; echo first')
  const second = run('echo second')
  const third = run('echo third', { signal: gone.signal })
  gone.abort(new Error('gone'))
  await t.rejects(third, /gone/)
  t.match(await first, { stdout: 'first\n' })
  t.match(await second, { stdout: 'second\n' })
  const wide = scene(t, { at_once: 2 })
  const order: string[] = []
  const named = (key: string, command: string): Promise<unknown> => wide.run(command, { key }).then(() => order.push(key))
  // Each ends once there is a file that the test writes when the other key has had its turn.
  const lasting = 'echo > begun; until [ -e go ]; do sleep 0.05; done'
  const greedy = [named('greedy', lasting), named('greedy', lasting)]
  await named('other', 'true')
  const files = (): string[] => readdirSync(wide.folder, { recursive: true, encoding: 'utf8' })
  const begun = await eventually('the lasting command runs', () => files().find((name) => name.endsWith('/begun')))
  writeFileSync(join(wide.folder, dirname(begun), 'go'), '')
  await Promise.all(greedy)
  t.same(order, ['other', 'greedy', 'greedy'], 'one key does not take all places')
})

t.test('settings', async (t) => {
  const bad: [Json, RegExp][] = [
    ['bwrap', /^s: expected an object/],
    [{}, /^s\.type: /],
    [{ type: 'docker' }, /^s\.type: expected bubblewrap or command/],
    [{ type: 'command' }, /^s\.command: /],
    [{ type: 'command', command: [1] }, /^s\.command: expected a list of words/],
    [{ type: 'bubblewrap', program: 'bwrap' }, /^s\.program: /],
    [{ type: 'bubblewrap', seconds: 0 }, /^s\.seconds: expected a whole number from 1 to 3600/],
    [{ type: 'bubblewrap', memory_mb: 1.5 }, /^s\.memory_mb: /],
    [{ type: 'bubblewrap', folder: 'here' }, /^s\.folder: /],
  ]
  await every(t, 'every case', async (t) => {
    for (const [given, message] of bad) t.throws(() => sandboxSettings(given, 's'), { message })
  })
  t.equal(sandboxSettings(undefined, 's'), undefined)
  const folder = join(t.testdir(), 'f')
  mkdirSync(folder)
  const settings = sandboxSettings({ type: 'command', command: ['/nowhere/at/all'], folder }, 's')
  if (!settings) throw new Error('no settings')
  const signal = new AbortController().signal
  await t.rejects(new Sandbox(settings).run('x', { key: 'k', id: 'i', sleepAfter: 1 }, { clock: systemClock, signal }), /ENOENT/)
})
