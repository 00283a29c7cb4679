/** The filter of system calls, run call by call as the kernel does it, for machines that the tests do not run on as well. */
import t from 'tap'
import { systemCallFilter } from '../../src/services/sandbox/seccomp.ts'
import { every } from '../support/every.ts'

const ALLOWED = 'allowed'
const ERRNO: Readonly<Record<number, string>> = { 0: 'done', 1: 'EPERM', 22: 'EINVAL', 38: 'ENOSYS' }

/** The lower half of an argument; the machine is that of linux/audit.h. */
interface Call {
  machine: number
  number: number
  args: readonly number[]
}

/** Result of a program of linux/bpf_common.h returns for a call. */
function judged(filter: Buffer, { machine, number, args }: Call): string {
  const data = new Map([[0, number], [4, machine], ...args.map((value, at): [number, number] => [16 + 8 * at, value])])
  let a = 0
  for (let at = 0; at * 8 < filter.length; at++) {
    const [code, isTrue, isFalse] = [filter.readUInt16LE(at * 8), filter.readUInt8(at * 8 + 2), filter.readUInt8(at * 8 + 3)]
    const value = filter.readUInt32LE(at * 8 + 4)
    if (code === 0x06) return value === 0x7fff_0000 ? ALLOWED : (ERRNO[value & 0xffff] ?? String(value))
    if (code === 0x20) a = data.get(value) ?? 0
    else if (code === 0x54) a = (a & value) >>> 0
    else {
      const holds = code === 0x15 ? a === value : code === 0x35 ? a >= value : code === 0x45 ? (a & value) !== 0 : undefined
      if (holds === undefined) throw new Error(`no such code: ${code}`)
      at += holds ? isTrue : isFalse
    }
  }
  throw new Error('the program has no end')
}

/** By asm/unistd.h of each machine. */
const MACHINES = {
  x64: {
    machine: 0xc000_003e,
    write: 1,
    read: 0,
    mmap: 9,
    fcntl: 72,
    setsockopt: 54,
    clone: 56,
    sendfile: 40,
    splice: 275,
    vmsplice: 278,
    tee: 276,
    unshare: 272,
  },
  arm64: {
    machine: 0xc000_00b7,
    write: 64,
    read: 63,
    mmap: 222,
    fcntl: 25,
    setsockopt: 208,
    clone: 220,
    sendfile: 71,
    splice: 76,
    vmsplice: 75,
    tee: 77,
    unshare: 97,
  },
}

t.test('each call, by number and by what it is given', async (t) => {
  await every(t, 'every machine and call', async (t) => {
    for (const [name, numbers] of Object.entries(MACHINES)) {
      const filter = systemCallFilter(name)
      if (!filter) throw new Error(`no filter for ${name}`)
      const { machine } = numbers
      const CASES: readonly (readonly [call: Exclude<keyof typeof numbers, 'machine'>, args: readonly number[], result: string])[] = [
        ['read', [], ALLOWED],
        ['write', [1], ALLOWED],
        ['tee', [], ALLOWED],
        ['unshare', [], 'ENOSYS'],
        ['vmsplice', [], 'ENOSYS'],
        ['splice', [], 'EINVAL'],
        ['sendfile', [], 'EINVAL'],
        ['setsockopt', [3, 1, 7], 'done'],
        ['setsockopt', [3, 1, 32], 'done'],
        ['setsockopt', [3, 1, 60], 'EPERM'],
        ['setsockopt', [3, 1, 2], ALLOWED],
        ['setsockopt', [3, 6, 7], ALLOWED],
        ['fcntl', [3, 1031], 'EPERM'],
        ['fcntl', [3, 1032], ALLOWED],
        ['mmap', [0, 4096, 3, 0x21], 'EPERM'],
        ['mmap', [0, 4096, 3, 0x4000_0023], 'EPERM'],
        ['mmap', [0, 4096, 3, 0x22], ALLOWED],
        ['mmap', [0, 4096, 3, 0x01], ALLOWED],
        ['clone', [0x1000_0011], 'EPERM'],
        ['clone', [0x0120_0011], ALLOWED],
      ]
      for (const [call, args, result] of CASES)
        t.equal(judged(filter, { machine, number: numbers[call], args }), result, `${name}: ${call} ${args}`)
      t.equal(judged(filter, { machine: machine ^ 1, number: numbers.read, args: [] }), 'ENOSYS', 'calls of another machine')
      t.equal(judged(filter, { machine, number: numbers.read + 0x4000_0000, args: [] }), 'ENOSYS', 'and of the other interface')
    }
  })
  t.equal(systemCallFilter('riscv64'), undefined)
})
