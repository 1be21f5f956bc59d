import { type Kysely, sql } from 'kysely'

/** Columns of a sealed record that never change. */
const SEALED_COLUMNS = [
  'id',
  'organizationId',
  'environment',
  'seq',
  'kind',
  'callId',
  'gateRunId',
  'record',
  'prevHash',
  'hash',
  'keyId',
  'signature',
  'sealedAt',
]

/**
 * Migration 0012: an index that covers searches of calls by digits, and removal of expired checks and sealed
 * records of the test environment. The database still refuses to remove those of the live environment.
 */
export async function addSearchAndTestRetention(
  db: Kysely<unknown>,
  dialect: 'sqlite' | 'postgres',
): Promise<void> {
  const { schema } = db
  await schema
    .createIndex('callsSearch')
    .on('calls')
    .columns(['organizationId', 'environment', 'createdAt', 'id', 'fromNumber', 'toNumber'])
    .execute()
  // The new index begins with the same columns.
  await schema.dropIndex('callsList').execute()
  for (const [table, time] of [
    ['checks', 'checkedAt'],
    ['evidence', 'sealedAt'],
  ] as const) {
    await schema
      .createIndex(`${table}Test`)
      .on(table)
      .column(time)
      .where(sql.ref('environment'), '=', sql.lit('test'))
      .execute()
  }
  // A record of the test environment may go once its number is erased: the sweep does both.
  if (dialect === 'sqlite') {
    await sql.raw(`drop trigger "evidenceKept"`).execute(db)
    await sql
      .raw(`create trigger "evidenceKept" before delete on "evidence"
        when old."environment" <> 'test' or old."e164" is not null
        begin select raise(abort, 'evidence is sealed'); end`)
      .execute(db)
    return
  }
  const changed = SEALED_COLUMNS.map((column) => `new."${column}" is distinct from old."${column}"`).join(
    ' or ',
  )
  await sql
    .raw(`create or replace function "refuseEvidenceChange"() returns trigger language plpgsql as $$
      begin
        if tg_op = 'UPDATE' then
          if new."e164" is null and not (${changed}) then return new; end if;
        end if;
        if tg_op = 'DELETE' then
          if old."environment" = 'test' and old."e164" is null then return old; end if;
        end if;
        raise exception 'evidence is sealed';
      end $$`)
    .execute(db)
}
