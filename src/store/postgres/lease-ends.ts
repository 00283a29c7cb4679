/**
 * Ends of leases whose process is gone, page by page, so that no call locks the balances of thousands of keys: see `functions.ts` for the
 * order of the locks. Each function is called until it returns no row.
 */
import { payersColumn } from '../../core/payers.ts'

/**
 * Ends those of the leases named that are not among the newer ones: their nodes and keys come from the caller, which has locked what was used
 * of them and shard 0 of their accounts. @returns what was freed.
 */
export const END_LISTED = `
CREATE OR REPLACE FUNCTION headgate_end_listed(the_keys text[], the_payers text[], the_nodes text[], until bigint)
  RETURNS TABLE (lost text, freed numeric) LANGUAGE plpgsql AS $body$
BEGIN
  RETURN QUERY WITH listed AS (
    SELECT r.key, r.payer, r.node FROM unnest(the_keys, the_payers, the_nodes) AS r (key, payer, node)
  ), ended AS (
    DELETE FROM lease l USING listed r WHERE l.key = r.key AND l.payer = r.payer AND l.node = r.node AND l.granted_at <= until
      RETURNING l.key, l.payer, l.node, l.granted
  ), used AS (
    DELETE FROM lease_used u USING ended e WHERE u.key = e.key AND u.payer = e.payer AND u.node = e.node
      RETURNING u.key, u.payer, u.node, e.granted - u.used AS amount
  ), released AS (
    SELECT a.account, sum(a.amount) AS amount
    FROM (SELECT u.key AS account, u.amount FROM used u
      UNION ALL SELECT p.account, u.amount FROM used u, unnest(${payersColumn('u.payer')}) AS p (account)) AS a GROUP BY a.account
  ), balanced AS (
    UPDATE balance_shard b SET leased = b.leased - r.amount FROM released r WHERE b.key = r.account AND b.shard = 0 AND r.amount <> 0
  )
  SELECT u.node, sum(u.amount) FROM used u GROUP BY u.node;
END
$body$`

/** Locks what was used of the next leases of `the_node`, then shard 0 of their accounts. As statements of a function. */
const lockNext = (condition: string): string => `
  SELECT array_agg(n.key), array_agg(n.payer), array_agg(n.node) INTO the_keys, the_payers, the_nodes
    FROM (SELECT l.key, l.payer, l.node FROM lease l WHERE ${condition} ORDER BY l.key, l.payer LIMIT most) AS n;
  IF the_keys IS NOT NULL THEN
    PERFORM 1 FROM lease_used u
      WHERE (u.key, u.payer, u.node) IN (SELECT r.key, r.payer, r.node FROM unnest(the_keys, the_payers, the_nodes) AS r (key, payer, node))
      ORDER BY u.key, u.payer, u.node FOR UPDATE;
    PERFORM headgate_lock(the_keys || ARRAY(SELECT p.account FROM unnest(the_payers) AS r (payer), unnest(${payersColumn('r.payer')}) AS p (account)), 0);
  END IF;`

/**
 * Ends the next leases of a process that were granted until a moment: a call that was given up and comes late ends no later ones.
 * @returns a row while there were some.
 */
export const END_LEASES = `
CREATE OR REPLACE FUNCTION headgate_end_leases(the_node text, until bigint, most bigint)
  RETURNS TABLE (lost text, freed numeric) LANGUAGE plpgsql AS $body$
DECLARE
  the_keys text[];
  the_payers text[];
  the_nodes text[];
BEGIN
  ${lockNext('l.node = the_node AND l.granted_at <= until')}
  IF the_keys IS NULL THEN RETURN; END IF;
  RETURN QUERY SELECT the_node, coalesce(sum(e.freed), 0) FROM headgate_end_listed(the_keys, the_payers, the_nodes, until) AS e;
END
$body$`

/**
 * Ends the next leases of one process whose time ended longer ago than `grace` milliseconds, and after the last of all such processes forgets
 * them. The process gets another `life` with the first of its leases, here or with the row that its next pulse makes: one that pulses from
 * then on gives back itself what is left. One that has pulsed before keeps its leases, since balances are locked before processes.
 * @returns a row while there were some.
 */
export const FORGET_LOST = `
CREATE OR REPLACE FUNCTION headgate_forget_lost(grace bigint, most bigint)
  RETURNS TABLE (lost text, freed numeric) LANGUAGE plpgsql AS $body$
DECLARE
  latest bigint := headgate_now() - grace;
  the_node text;
  the_keys text[];
  the_payers text[];
  the_nodes text[];
BEGIN
  SELECT n.node INTO the_node FROM node n WHERE n.expires_at <= latest AND EXISTS (SELECT 1 FROM lease l WHERE l.node = n.node) LIMIT 1;
  IF the_node IS NULL THEN
    SELECT l.node INTO the_node FROM lease l WHERE NOT EXISTS (SELECT 1 FROM node n WHERE n.node = l.node) LIMIT 1;
  END IF;
  IF the_node IS NULL THEN
    DELETE FROM node n WHERE n.expires_at <= latest AND NOT EXISTS (SELECT 1 FROM lease l WHERE l.node = n.node);
    RETURN;
  END IF;
  ${lockNext('l.node = the_node')}
  lost := the_node;
  freed := 0;
  UPDATE node n SET life = DEFAULT WHERE n.node = the_node AND n.expires_at <= latest;
  IF FOUND OR NOT EXISTS (SELECT 1 FROM node n WHERE n.node = the_node) THEN
    SELECT coalesce(sum(e.freed), 0) INTO freed FROM headgate_end_listed(the_keys, the_payers, the_nodes, ${Number.MAX_SAFE_INTEGER}) AS e;
  END IF;
  RETURN NEXT;
END
$body$`
