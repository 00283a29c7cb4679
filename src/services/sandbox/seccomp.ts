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

/** AUDIT_ARCH_X86_64 and AUDIT_ARCH_AARCH64 of linux/audit.h, and the numbers of `clone` and `setsockopt`. */
const MACHINES: Readonly<Record<string, readonly [column: 0 | 1, audit: number, clone: number, setOption: number]>> = {
  x64: [0, 0xc000_003e, 56, 54],
  arm64: [1, 0xc000_00b7, 220, 208],
}

/** SOL_SOCKET, and SO_SNDBUF and SO_SNDBUFFORCE of asm-generic/socket.h: what waits in a socket is counted by the size that each has at first. */
const SOCKET_LEVEL = 1
const BUFFER_SIZES = [7, 32] as const

/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET of linux/sched.h. */
const NEW_NAMESPACE = 0x7e02_0000

/** Offsets in `struct seccomp_data`: the number of the call, the machine, and the lower halves of its arguments. */
const NUMBER = 0
const MACHINE = 4
const FIRST_ARGUMENT = 16
const SECOND_ARGUMENT = 24
const THIRD_ARGUMENT = 32

/** Codes of linux/bpf_common.h: load a word, jump if equal, if at least, if a bit is set, return. */
const LOAD = 0x20
const IF_EQUAL = 0x15
const IF_AT_LEAST = 0x35
const IF_ANY_BIT = 0x45
const RETURN = 0x06

/** SECCOMP_RET_ALLOW, and SECCOMP_RET_ERRNO with ENOSYS, EPERM or none. */
const ALLOW = 0x7fff_0000
const NO_SUCH_CALL = 0x0005_0000 | 38
const NOT_PERMITTED = 0x0005_0000 | 1
/** The call does nothing, and says that all is well: programs that only wish for another size go on. */
const DONE = 0x0005_0000

/** From here on x64 has the calls of its second interface (x32), which would go past the numbers above. */
const X32 = 0x4000_0000

/** Code, jump if true, jump if false, value: eight bytes (`struct sock_filter`). Both machines are little-endian. */
type Instruction = readonly [code: number, isTrue: number, isFalse: number, value: number]

/** @returns undefined for a machine whose calls are not known here. */
export function systemCallFilter(machine: string = process.arch): Buffer | undefined {
  const known = MACHINES[machine]
  if (!known) return undefined
  const [column, audit, clone, setOption] = known
  const numbers = Object.values(REFUSED).map((row) => row[column])
  // Four instructions before the numbers, seven behind them for `setsockopt`, three for `clone`, and four results.
  const length = 4 + numbers.length + 7 + 3 + 4
  const [allow, missing, denied, done] = [length - 4, length - 3, length - 2, length - 1]
  const program: Instruction[] = []
  /** Where not, the next instruction follows. */
  const jump = (code: number, value: number, target: number): void => {
    program.push([code, target - program.length - 1, 0, value])
  }
  program.push([LOAD, 0, 0, MACHINE])
  program.push([IF_EQUAL, 0, missing - program.length - 1, audit])
  program.push([LOAD, 0, 0, NUMBER])
  jump(IF_AT_LEAST, X32, missing)
  for (const number of numbers) jump(IF_EQUAL, number, missing)
  const optionsEnd = program.length + 7
  program.push([IF_EQUAL, 0, optionsEnd - program.length - 1, setOption])
  program.push([LOAD, 0, 0, SECOND_ARGUMENT])
  program.push([IF_EQUAL, 0, allow - program.length - 1, SOCKET_LEVEL])
  program.push([LOAD, 0, 0, THIRD_ARGUMENT])
  for (const size of BUFFER_SIZES) jump(IF_EQUAL, size, done)
  jump(IF_AT_LEAST, 0, allow)
  program.push([IF_EQUAL, 0, allow - program.length - 1, clone])
  program.push([LOAD, 0, 0, FIRST_ARGUMENT])
  // Falls through to the first result.
  jump(IF_ANY_BIT, NEW_NAMESPACE, denied)
  for (const result of [ALLOW, NO_SUCH_CALL, NOT_PERMITTED, DONE]) program.push([RETURN, 0, 0, result])
  const bytes = Buffer.alloc(program.length * 8)
  for (const [i, [code, isTrue, isFalse, value]] of program.entries()) {
    bytes.writeUInt16LE(code, i * 8)
    bytes.writeUInt8(isTrue, i * 8 + 2)
    bytes.writeUInt8(isFalse, i * 8 + 3)
    bytes.writeUInt32LE(value, i * 8 + 4)
  }
  return bytes
}
