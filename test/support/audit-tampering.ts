/** Ways to change an audit log behind the gateway's back, and the first entry that no longer fits. Of entries 1 to 6. */
export interface Tampering {
  readonly title: string
  readonly statements: readonly string[]
  /** Sequence of the first bad entry. */
  readonly sequence: number
  /** Only a receipt shows it. */
  readonly needsReceipt?: true
}

const COLUMNS = 'sequence, at, actor, action, subject, entry, hash'
/** A row in the place of another one, as it stands. */
const copy = (from: number, to: number): string =>
  `insert into audit_entry (${COLUMNS}) select ${to}, at, actor, action, subject, entry, hash from audit_entry where sequence = ${from}`
const swap = (one: number, other: number): string[] => [
  `update audit_entry set sequence = 1000 where sequence = ${one}`,
  `update audit_entry set sequence = ${one} where sequence = ${other}`,
  `update audit_entry set sequence = ${other} where sequence = 1000`,
]

/** Each column of the first entry, of one in the middle and of the last one. */
const EDITED_COLUMNS: readonly Tampering[] = [1, 4, 6].flatMap((sequence) =>
  COLUMNS.split(', ').flatMap((column) => {
    if (column === 'sequence') return []
    const value = column === 'at' ? 'at + 1' : `${column} || ' '`
    const statements = [`update audit_entry set ${column} = ${value} where sequence = ${sequence}`]
    return [{ title: `the column ${column} of entry ${sequence} is edited`, statements, sequence }]
  }),
)

export const TAMPERINGS: readonly Tampering[] = [
  ...EDITED_COLUMNS,
  {
    title: 'the end is set back, behind which entries stand',
    statements: ['update audit_head set sequence = 4, hash = (select hash from audit_entry where sequence = 4)'],
    sequence: 5,
  },
  {
    title: 'an entry is edited',
    statements: [`update audit_entry set entry = replace(entry, '"boss"', '"eve"') where sequence = 3`],
    sequence: 3,
  },
  { title: 'a column beside an entry is edited', statements: [`update audit_entry set actor = 'eve' where sequence = 3`], sequence: 3 },
  { title: 'the time beside an entry is edited', statements: ['update audit_entry set at = at - 1 where sequence = 6'], sequence: 6 },
  { title: 'a hash is edited', statements: [`update audit_entry set hash = '${'a'.repeat(64)}' where sequence = 2`], sequence: 2 },
  { title: 'an entry in the middle is removed', statements: ['delete from audit_entry where sequence = 4'], sequence: 4 },
  { title: 'the first entries are removed', statements: ['delete from audit_entry where sequence <= 2'], sequence: 3 },
  { title: 'two entries change places', statements: swap(2, 3), sequence: 2 },
  { title: 'an entry is put in twice', statements: [copy(6, 7)], sequence: 7 },
  { title: 'an entry is put before the first one', statements: [copy(1, 0)], sequence: 0 },
  {
    title: 'the last entries are removed',
    statements: ['delete from audit_entry where sequence >= 5'],
    sequence: 5,
  },
  {
    title: 'the end is cut, and the store states the new end',
    statements: [
      'delete from audit_entry where sequence >= 5',
      'update audit_head set sequence = 4, hash = (select hash from audit_entry where sequence = 4)',
    ],
    sequence: 5,
    needsReceipt: true,
  },
  {
    title: 'everything is removed, and the store states that there is nothing',
    statements: ['delete from audit_entry', `update audit_head set sequence = 0, hash = '${'0'.repeat(64)}'`],
    sequence: 1,
    needsReceipt: true,
  },
]
