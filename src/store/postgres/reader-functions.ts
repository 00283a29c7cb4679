/**
 * The positions of readers of the ledger, such as exports (`ledger/types.ts`). A reader raises its bound only while no generation is
 * being handed in: so each row is either below the bound and seen by the batch, or noted as late by the call that brings it.
 */
import { MAX_AHEAD } from '../../core/ids.ts'
import { LOCKS } from './locks.ts'

/** The `batch` of a generation that was read although it is dated ahead of now. */
export const EARLY = -1

/** As many as there are: without a limit the last one is found in the index, and those that hand generations in need not wait. */
const EVERY = Number.MAX_SAFE_INTEGER

/** Notes those of the late rows that readers have passed, once they are written, under `HOLD_WATERMARK`. */
export const NOTE_LATE = `
    INSERT INTO ledger_reader_late (reader, seq, tag, batch)
      SELECT p.name, r.seq, r.tag, 0 FROM unnest(late_seqs, late_tags) AS r (seq, tag) JOIN ledger_reader p ON r.seq < p.reaching
      ON CONFLICT DO NOTHING`

/**
 * Takes the reader for \`hold_for\` milliseconds, unless another holder has it, and returns its open batch; where none is open, begins
 * one of the next generations below \`bound\` and of late ones. \`begun_at\` is 0 where there is nothing to read.
 */
export const READER_CLAIM = `
CREATE OR REPLACE FUNCTION headgate_claim(the_name text, the_holder text, hold_for bigint, first_seq bigint, age bigint, most bigint,
  ahead boolean DEFAULT false)
  RETURNS TABLE (below bigint, reaching bigint, batch bigint, begun_at bigint, note text) LANGUAGE plpgsql AS $body$
#variable_conflict use_column
DECLARE
  moment bigint := headgate_now();
  r record;
  last_seq bigint;
  late bigint;
BEGIN
  INSERT INTO ledger_reader (name, below, reaching, batch, begun_at, holder, held_until, seen_at, note)
    VALUES (the_name, first_seq, first_seq, 0, 0, '', 0, moment, '') ON CONFLICT DO NOTHING;
  SELECT * INTO r FROM ledger_reader p WHERE p.name = the_name FOR UPDATE;
  IF r.holder <> the_holder AND r.held_until > moment THEN RETURN; END IF;
  UPDATE ledger_reader p SET holder = the_holder, held_until = moment + hold_for, seen_at = moment WHERE p.name = the_name;
  IF r.begun_at = 0 THEN
    PERFORM pg_advisory_xact_lock(${LOCKS.program}, ${LOCKS.watermark});
    IF most = ${EVERY} THEN
      SELECT max(g.seq) INTO last_seq FROM generation g WHERE g.seq >= r.below AND g.seq < (moment - age) * 4096;
    ELSE
      SELECT max(seq) INTO last_seq
        FROM (SELECT g.seq FROM generation g WHERE g.seq >= r.below AND g.seq < (moment - age) * 4096 ORDER BY g.seq LIMIT most) AS page;
    END IF;
    IF ahead THEN
      INSERT INTO ledger_reader_late (reader, seq, tag, batch)
        SELECT the_name, g.seq, g.tag, 0 FROM generation g
        WHERE g.seq >= greatest((moment + ${MAX_AHEAD}) * 4096 + 1, (SELECT max(o.seq) FROM ledger_reader_late o WHERE o.reader = the_name))
        ORDER BY g.seq, g.tag LIMIT least(most, ${Number.MAX_SAFE_INTEGER - 1}) + 1
        ON CONFLICT DO NOTHING;
    END IF;
    UPDATE ledger_reader_late l SET batch = r.batch + 1
      WHERE l.reader = the_name AND (l.seq, l.tag) IN
        (SELECT o.seq, o.tag FROM ledger_reader_late o WHERE o.reader = the_name AND o.batch >= 0 ORDER BY o.seq, o.tag LIMIT most);
    GET DIAGNOSTICS late = ROW_COUNT;
    IF last_seq IS NOT NULL OR late > 0 THEN
      UPDATE ledger_reader p SET batch = r.batch + 1, begun_at = moment, reaching = coalesce(last_seq + 1, r.below) WHERE p.name = the_name;
    END IF;
  END IF;
  RETURN QUERY SELECT p.below, p.reaching, p.batch, p.begun_at, p.note FROM ledger_reader p WHERE p.name = the_name;
END
$body$`

/** The open batch has been read. @returns false where it is no longer the open one. */
export const READER_ACCEPT = `
CREATE OR REPLACE FUNCTION headgate_accept(the_name text, the_batch bigint, the_note text) RETURNS boolean LANGUAGE plpgsql AS $body$
DECLARE
  now_below bigint;
BEGIN
  UPDATE ledger_reader SET below = reaching, begun_at = 0, note = the_note WHERE name = the_name AND batch = the_batch AND begun_at > 0;
  IF NOT FOUND THEN RETURN false; END IF;
  -- Those that were read although they are dated ahead stay noted until the bound has passed them.
  SELECT p.below INTO now_below FROM ledger_reader p WHERE p.name = the_name;
  UPDATE ledger_reader_late SET batch = ${EARLY} WHERE reader = the_name AND batch = the_batch AND seq >= now_below;
  DELETE FROM ledger_reader_late WHERE reader = the_name AND seq < now_below AND batch IN (the_batch, ${EARLY});
  RETURN true;
END
$body$`
