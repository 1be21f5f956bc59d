import { type Kysely, sql } from 'kysely'

/** Columns of a sealed record that never change. */
const SEALED_COLUMNS = [
  ...['id', 'organizationId', 'environment', 'seq', 'kind', 'callId', 'gateRunId'],
  ...['record', 'prevHash', 'hash', 'keyId', 'signature', 'sealedAt'],
]
/** Columns that an erasure sets to null, all at once. */
const PERSONAL_COLUMNS = ['e164', 'salt', 'personal']

/**
 * Migration 0019: personal data of sealed records under salted commitments, key rotation, and the first record
 * that a chain keeps. Records of the test environment begin new chains; those of the live environment stay.
 */
export async function improveEvidence(db: Kysely<unknown>, dialect: 'sqlite' | 'postgres'): Promise<void> {
  const { schema } = db
  await schema
    .createTable('sealedRecords')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('organizationId', 'text', (c) => c.notNull())
    .addColumn('environment', 'text', (c) => c.notNull())
    .addColumn('seq', 'bigint', (c) => c.notNull())
    .addColumn('kind', 'text', (c) => c.notNull())
    .addColumn('callId', 'text')
    .addColumn('gateRunId', 'text')
    .addColumn('e164', 'text')
    .addColumn('salt', 'text')
    .addColumn('personal', 'text')
    .addColumn('record', 'text', (c) => c.notNull())
    .addColumn('prevHash', 'text', (c) => c.notNull())
    .addColumn('hash', 'text', (c) => c.notNull())
    .addColumn('keyId', 'text', (c) => c.notNull())
    .addColumn('signature', 'text', (c) => c.notNull())
    .addColumn('sealedAt', 'bigint', (c) => c.notNull())
    .addUniqueConstraint('evidencePosition', ['organizationId', 'environment', 'seq'])
    .execute()
  const columns = [...SEALED_COLUMNS, 'e164'].map((column) => `"${column}"`).join(', ')
  await sql
    .raw(
      `insert into "sealedRecords" (${columns}) select ${columns} from "evidence" where "environment" = 'live'`,
    )
    .execute(db)
  await schema.dropTable('evidence').execute()
  await schema.alterTable('sealedRecords').renameTo('evidence').execute()
  await schema.createIndex('evidenceOfCall').on('evidence').column('callId').execute()
  await schema
    .createIndex('evidenceOutcome')
    .unique()
    .on('evidence')
    .column('callId')
    .where(sql.ref('kind'), '=', sql.lit('outcome'))
    .execute()
  await schema
    .createIndex('evidencePerson')
    .on('evidence')
    .columns(['organizationId', 'environment', 'e164', 'seq'])
    .where(sql.ref('e164'), 'is not', null)
    .execute()
  await schema
    .createIndex('evidenceAge')
    .on('evidence')
    .columns(['organizationId', 'environment', 'sealedAt'])
    .execute()
  await schema
    .createIndex('checksLive')
    .on('checks')
    .column('checkedAt')
    .where(sql.ref('environment'), '=', sql.lit('live'))
    .execute()
  await schema
    .createIndex('checksPerson')
    .on('checks')
    .columns(['organizationId', 'environment', 'e164', 'checkedAt'])
    .execute()

  await schema.alterTable('evidenceHeads').addColumn('keyId', 'text').execute()
  await schema
    .alterTable('evidenceHeads')
    .addColumn('keptFrom', 'bigint', (c) => c.notNull().defaultTo(1))
    .execute()
  await sql`delete from "evidenceHeads" where "environment" = 'test'`.execute(db)
  await sql`update "evidenceHeads" set "keyId" = (
    select "keyId" from "evidence" where "evidence"."organizationId" = "evidenceHeads"."organizationId"
      and "evidence"."environment" = "evidenceHeads"."environment" and "evidence"."seq" = "evidenceHeads"."seq"
  )`.execute(db)
  await schema
    .createTable('evidenceKeys')
    .addColumn('keyId', 'text', (c) => c.primaryKey())
    .addColumn('publicKey', 'text', (c) => c.notNull())
    .addColumn('createdAt', 'bigint', (c) => c.notNull())
    .execute()
  await seal(db, dialect)
}

/**
 * Creates the triggers. They allow two changes: personal data becomes null, and records before the first kept one
 * are removed.
 */
async function seal(db: Kysely<unknown>, dialect: 'sqlite' | 'postgres'): Promise<void> {
  const differs = dialect === 'sqlite' ? 'is not' : 'is distinct from'
  const altered = SEALED_COLUMNS.map((column) => `new."${column}" ${differs} old."${column}"`).join(' or ')
  const erased = PERSONAL_COLUMNS.map((column) => `new."${column}" is null`).join(' and ')
  const expired = `old."seq" < coalesce((select "keptFrom" from "evidenceHeads" as head
    where head."organizationId" = old."organizationId" and head."environment" = old."environment"), 0)`
  if (dialect === 'sqlite') {
    await sql
      .raw(`create trigger "evidenceUnchanged" before update on "evidence" when (${altered}) or not (${erased})
        begin select raise(abort, 'evidence is sealed'); end`)
      .execute(db)
    await sql
      .raw(`create trigger "evidenceKept" before delete on "evidence" when not (${expired})
        begin select raise(abort, 'evidence is sealed'); end`)
      .execute(db)
    return
  }
  await sql
    .raw(`create or replace function "refuseEvidenceChange"() returns trigger language plpgsql as $$
      begin
        if tg_op = 'UPDATE' then
          if (${erased}) and not (${altered}) then return new; end if;
        end if;
        if tg_op = 'DELETE' then
          if ${expired} then return old; end if;
        end if;
        raise exception 'evidence is sealed';
      end $$`)
    .execute(db)
  await sql
    .raw(`create trigger "evidenceKept" before update or delete on "evidence"
      for each row execute function "refuseEvidenceChange"()`)
    .execute(db)
  // A row trigger does not fire for TRUNCATE.
  await sql
    .raw(`create trigger "evidenceNotTruncated" before truncate on "evidence"
      for each statement execute function "refuseEvidenceChange"()`)
    .execute(db)
}
