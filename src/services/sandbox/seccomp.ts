/**
 * The filter of system calls that bubblewrap loads before it starts a command (seccomp(2), a program of classic BPF): calls that reach
 * parts of the kernel that a command of a model has no use for, or that hold memory which no limit of the sandbox counts.
 * Everything else is allowed.
 */

/** Numbers of asm/unistd.h (Linux 6.1): of x64, then of arm64; calls since Linux 5.1 have one number everywhere. */
const REFUSED: Readonly<Record<string, readonly [x64: number, arm64: number]>> = {
  // Namespaces and mounts.
  unshare: [272, 97],
  setns: [308, 268],
  mount: [165, 40],
  umount2: [166, 39],
  pivot_root: [155, 41],
  open_tree: [428, 428],
  move_mount: [429, 429],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  mount_setattr: [442, 442],
  // Its flags lie in memory, which a filter cannot read; the C library takes `clone` where it is missing.
  clone3: [435, 435],
  // Memory that lies in no file system of the sandbox and outlives the process that filled it, or belongs to none.
  memfd_create: [319, 279],
  memfd_secret: [447, 447],
  // A pipe that holds a byte of a large page keeps the page, of which no process has anything any more.
  vmsplice: [278, 75],
  shmget: [29, 194],
  msgget: [68, 186],
  semget: [64, 190],
  // The keyring of the kernel, programs for the kernel, and interfaces with many flaws.
  add_key: [248, 217],
  request_key: [249, 218],
  keyctl: [250, 219],
  bpf: [321, 280],
  perf_event_open: [298, 241],
  userfaultfd: [323, 282],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  open_by_handle_at: [304, 265],
  // The machine as a whole.
  kexec_load: [246, 104],
  kexec_file_load: [320, 294],
  init_module: [175, 105],
  finit_module: [313, 273],
  delete_module: [176, 106],
  swapon: [167, 224],
  swapoff: [168, 225],
  reboot: [169, 142],
  acct: [163, 89],
  syslog: [103, 116],
}

/**
 * Calls that put pages of files into pipes and sockets, where a byte keeps a large page even of a file that is gone. EINVAL is how a file
 * system says that it has none of this, and programs read and write instead (sendfile(2), "Notes"; splice(2), "Errors").
 */
const UNSUPPORTED: Readonly<Record<string, readonly [x64: number, arm64: number]>> = { splice: [275, 76], sendfile: [40, 71] }

/** Calls that are refused by what they are given. */
const JUDGED = { setsockopt: [54, 208], fcntl: [72, 25], mmap: [9, 222], clone: [56, 220] } as const

/** AUDIT_ARCH_X86_64 and AUDIT_ARCH_AARCH64 of linux/audit.h. */
const MACHINES: Readonly<Record<string, readonly [column: 0 | 1, audit: number]>> = { x64: [0, 0xc000_003e], arm64: [1, 0xc000_00b7] }

/** SOL_SOCKET, and SO_SNDBUF and SO_SNDBUFFORCE of asm-generic/socket.h: what waits in a socket is counted by the size that each has at first. */
const SOCKET_LEVEL = 1
const BUFFER_SIZES = [7, 32] as const
/** SO_ZEROCOPY of the same: what was sent so is kept by its socket, of large pages as a whole. */
const KEEPS_PAGES = 60

/** F_SETPIPE_SZ of linux/fcntl.h: pipes are counted by the size that each has at first. */
const PIPE_SIZE = 1031

/** MAP_SHARED and MAP_ANONYMOUS of asm-generic/mman.h: such memory belongs to no process, and stays whole while one page of it is mapped. */
const SHARED_WITHOUT_FILE = 0x21

/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET of linux/sched.h. */
const NEW_NAMESPACE = 0x7e02_0000

/** Offsets in `struct seccomp_data`: the number of the call, the machine, and the lower halves of its arguments. */
const NUMBER = 0
const MACHINE = 4
const ARGUMENTS = [16, 24, 32, 40] as const

/** Codes of linux/bpf_common.h: load a word, keep some of its bits, jump if equal, if at least, if a bit is set, return. */
const LOAD = 0x20
const AND = 0x54
const IF_EQUAL = 0x15
const IF_AT_LEAST = 0x35
const IF_ANY_BIT = 0x45
const RETURN = 0x06

/** SECCOMP_RET_ALLOW, and SECCOMP_RET_ERRNO with ENOSYS, EINVAL, EPERM or none. */
const ALLOW = 0x7fff_0000
const NO_SUCH_CALL = 0x0005_0000 | 38
const NOT_SUPPORTED = 0x0005_0000 | 22
const NOT_PERMITTED = 0x0005_0000 | 1
/** The call does nothing, and says that all is well: programs that only want another size go on. */
const DONE = 0x0005_0000

/** From here on x64 has the calls of its second interface (x32), which would go past the numbers above. */
const X32 = 0x4000_0000

/** Code, jump if true, jump if false, value: eight bytes (`struct sock_filter`). Both machines are little-endian. */
type Instruction = readonly [code: number, isTrue: number, isFalse: number, value: number]

const load = (offset: number): Instruction => [LOAD, 0, 0, offset]
const end = (result: number): Instruction => [RETURN, 0, 0, result]
/** Ends with the result if the test holds; otherwise the next instruction follows. */
const when = (code: number, value: number, result: number): Instruction[] => [[code, 0, 1, value], end(result)]
/** Instructions for one call, which end with a result; for others they are skipped. */
const judge = (number: number, steps: readonly Instruction[]): Instruction[] => [[IF_EQUAL, 0, steps.length, number], ...steps]

/** @returns undefined for a machine whose calls are not known here. */
export function systemCallFilter(machine: string = process.arch): Buffer | undefined {
  const known = MACHINES[machine]
  if (!known) return undefined
  const [column, audit] = known
  const each = (calls: typeof REFUSED, result: number): Instruction[] =>
    Object.values(calls).flatMap((row) => when(IF_EQUAL, row[column], result))
  return programBytes([
    load(MACHINE),
    [IF_EQUAL, 1, 0, audit],
    end(NO_SUCH_CALL),
    load(NUMBER),
    ...when(IF_AT_LEAST, X32, NO_SUCH_CALL),
    ...each(REFUSED, NO_SUCH_CALL),
    ...each(UNSUPPORTED, NOT_SUPPORTED),
    ...judge(JUDGED.setsockopt[column], [
      load(ARGUMENTS[1]),
      [IF_EQUAL, 1, 0, SOCKET_LEVEL],
      end(ALLOW),
      load(ARGUMENTS[2]),
      ...BUFFER_SIZES.flatMap((size) => when(IF_EQUAL, size, DONE)),
      ...when(IF_EQUAL, KEEPS_PAGES, NOT_PERMITTED),
      end(ALLOW),
    ]),
    ...judge(JUDGED.fcntl[column], [load(ARGUMENTS[1]), ...when(IF_EQUAL, PIPE_SIZE, NOT_PERMITTED), end(ALLOW)]),
    ...judge(JUDGED.mmap[column], [
      load(ARGUMENTS[3]),
      [AND, 0, 0, SHARED_WITHOUT_FILE],
      ...when(IF_EQUAL, SHARED_WITHOUT_FILE, NOT_PERMITTED),
      end(ALLOW),
    ]),
    ...judge(JUDGED.clone[column], [load(ARGUMENTS[0]), ...when(IF_ANY_BIT, NEW_NAMESPACE, NOT_PERMITTED), end(ALLOW)]),
    end(ALLOW),
  ])
}

function programBytes(program: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(program.length * 8)
  for (const [i, [code, isTrue, isFalse, value]] of program.entries()) {
    bytes.writeUInt16LE(code, i * 8)
    bytes.writeUInt8(isTrue, i * 8 + 2)
    bytes.writeUInt8(isFalse, i * 8 + 3)
    bytes.writeUInt32LE(value, i * 8 + 4)
  }
  return bytes
}
