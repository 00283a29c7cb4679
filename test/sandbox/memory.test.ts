/** Memory of a command, and its bound, and memory that no process has. */
import t from 'tap'
import { sandboxScene as scene, withoutIsolation as skip } from '../support/sandbox-scene.ts'

t.setTimeout(280_000)

t.test('what lies in memory is bounded, and counts with the memory of all processes', { skip }, async (t) => {
  const { run } = scene(t, { memory_mb: 256, disk_mb: 32 })
  const kept = await run(
    'for i in 1 2 3 4; do for d in /dev/shm /tmp / /dev; do head -c 100000000 /dev/zero > $d/f$i; done; done 2>/dev/null; du -cbs /dev/shm /tmp /dev | tail -1',
  )
  t.ok(Number.parseInt(kept.stdout, 10) <= 130 * 1024 * 1024, `files in memory: ${kept.stdout}`)
  for (const path of ['/x', '/dev/x', '/etc/x', '/usr/x', '/proc/x'])
    t.not((await run(`echo x > ${path}`)).exitCode, 0, `${path} cannot be written`)
  t.match(
    await run('echo x > /dev/null && echo y > /dev/shm/y && cat /dev/shm/y && : > /tmp/z && exec 3<> <(:); head -c 1 /dev/urandom | wc -c'),
    {
      stdout: 'y\n1\n',
    },
  )
  const holds = 'import time; b = bytearray(120 << 20); time.sleep(20)'
  const many = await run(`for i in 1 2 3 4 5; do python3 -c '${holds}' & done; wait`)
  t.match(many, { killed: 'memory' }, 'five processes that each stay within the limit')
  t.match(
    await run(
      `head -c 60000000 /dev/zero > /dev/shm/f; head -c 60000000 /dev/zero > /tmp/f; for i in 1 2; do python3 -c '${holds}' & done; wait`,
    ),
    {
      killed: 'memory',
    },
    'files and processes together',
  )
  const pairs = (count: number): string => `python3 -c '
import socket, time
pairs = [socket.socketpair() for _ in range(${count})]
for s in [each for pair in pairs for each in pair]:
    s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 64 << 20)
    s.setblocking(False)
    try:
        while True: s.send(b"x" * 65536)
    except BlockingIOError: pass
print(max(s.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) for s, _ in pairs) < 1 << 20)
time.sleep(5)'`
  t.match(await run(`for i in 1 2 3 4; do ${pairs(450)} & done; wait`), { killed: 'memory' }, 'what waits in sockets')
  t.match(
    await run(`timeout 1 ${pairs(40).replace('sleep(5)', 'sleep(0)')}`),
    { stdout: 'True\n', exitCode: 0 },
    'and a few are fine, at their first size',
  )
  t.match(await run('ulimit -n'), { stdout: '1024\n' }, 'open files')
  const empty = `python3 -c '
import os
for i in range(150_000): os.close(os.open(f"/tmp/{i}", os.O_CREAT | os.O_WRONLY))
print("kept")'`
  t.match(await scene(t, { memory_mb: 64 }).run(empty), { killed: 'memory', stdout: '' }, 'empty files have no page, but inodes')
  const forks = 'import os, time; b = bytearray(b"x" * (100 << 20)); [os.fork() for _ in range(2)]; time.sleep(1)'
  t.match(await run(`python3 -c '${forks}'`), { exitCode: 0 }, 'pages that processes share count once')
})

t.test('what waits in pipes and terminals counts, and a few are fine', { skip }, async (t) => {
  const { run } = scene(t, { memory_mb: 128 })
  const fill = `
import os, pty, time
held = []
def keep(open_one, many):
    for i in range(many):
        r, w = open_one(i)
        os.set_blocking(w, False)
        try:
            while True: os.write(w, b"x" * 4096)
        except BlockingIOError: pass
        os.close(w)
        held.append(r)
def fifo(i):
    os.mkfifo(f"/tmp/{os.getpid()}-{i}")
    return (os.open(f"/tmp/{os.getpid()}-{i}", os.O_RDONLY | os.O_NONBLOCK), os.open(f"/tmp/{os.getpid()}-{i}", os.O_WRONLY))
def terminal(i):
    ours, theirs = pty.openpty()
    held.append(theirs)
    return ours, os.dup(ours)
`
  const kept = (opens: string, many: number, processes: number): string => `python3 -c '${fill}
for _ in range(${processes}):
    if os.fork() == 0:
        keep(${opens}, ${many})
        time.sleep(10)
        os._exit(0)
time.sleep(10)'`
  t.match(await run(kept('lambda i: os.pipe()', 900, 6)), { killed: 'memory' }, 'pipes that nobody reads')
  t.match(await run(kept('fifo', 900, 6)), { killed: 'memory' }, 'pipes with a name')
  t.match(await run(kept('terminal', 300, 8)), { killed: 'memory' }, 'terminals')
  const stages = Array.from({ length: 20 }, () => 'cat').join(' | ')
  t.match(await run(`head -c 3000000 /dev/zero | ${stages} | wc -c`), { stdout: '3000000\n', exitCode: 0 }, 'a long line of commands')
  // The pipes of one process are those of its children, too.
  const inherited = `python3 -c '
import os, time
held = [os.pipe() for _ in range(50)]
for _ in range(30):
    if os.fork() == 0:
        time.sleep(1)
        os._exit(0)
time.sleep(1.5)
print("fine")'`
  t.match(await run(inherited), { stdout: 'fine\n', exitCode: 0 }, 'one pipe of many processes counts once')
})

t.test('memory that no process has cannot be had', { skip }, async (t) => {
  const { run } = scene(t, { memory_mb: 256 })
  const python = (script: string): string => `python3 -c '${script}'`
  const tried = (what: string): string => python(`import fcntl, mmap, os, socket\ntry: print(${what})\nexcept OSError as e: print(e.errno)`)
  const says = async (command: string, stdout: string): Promise<void> => void t.match(await run(command), { stdout }, command)
  await says(tried('mmap.mmap(-1, 4096)'), '1\n')
  await says(tried('mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)[0]'), '0\n')
  await says(tried('mmap.mmap(os.open("/dev/zero", os.O_RDWR), 4096)'), '19\n')
  await says('head -c 3 /dev/zero | od -An -tu1', '   0   0   0\n')
  await says(`echo shared > f; ${tried('mmap.mmap(os.open("f", os.O_RDWR), 7)[:6]')}`, "b'shared'\n")
  await says(tried('fcntl.fcntl(os.pipe()[0], 1031, 1 << 20)'), '1\n')
  await says(tried('fcntl.fcntl(os.pipe()[0], 1032)'), '65536\n')
  await says(tried('socket.socket().setsockopt(socket.SOL_SOCKET, 60, 1)'), '1\n')
  await says(tried('os.sendfile(os.open("g", os.O_CREAT | os.O_WRONLY), os.open("f", os.O_RDONLY), 0, 6)'), '22\n')
  await says(tried('os.splice(os.open("f", os.O_RDONLY), os.pipe()[1], 6)'), '22\n')
  await says(python('import shutil; shutil.copyfile("f", "h"); print(open("h").read())'), 'shared\n\n')
  await says('cp f i && cat f i', 'shared\nshared\n')
})
