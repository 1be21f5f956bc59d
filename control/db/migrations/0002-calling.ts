import { type Kysely, sql } from 'kysely'

/** Migration 0002: agents, numbers, calls, compliance checks, sealed evidence and events. */
export async function createCallingTables(
  db: Kysely<unknown>,
  dialect: 'sqlite' | 'postgres',
): Promise<void> {
  await createAgents(db)
  await createNumbers(db)
  await createCalls(db)
  await createCompliance(db)
  await sealEvidence(db, dialect)
}

async function createAgents({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('callingProfiles')
    .addColumn('organizationId', 'text', (c) => c.primaryKey().references('organizations.id'))
    .addColumn('enforcedAt', 'bigint')
    .addColumn('enforcedReason', 'text')
    .addColumn('windowStartMinute', 'integer')
    .addColumn('windowEndMinute', 'integer')
    .addColumn('agentCallsTest', 'integer')
    .addColumn('agentCallsLive', 'integer')
    .addColumn('ratePaisePerMinute', 'bigint')
    .execute()
  await schema
    .createTable('agents')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('organizationId', 'text', (c) => c.notNull().references('organizations.id'))
    .addColumn('name', 'text', (c) => c.notNull())
    .addColumn('description', 'text')
    .addColumn('purpose', 'text', (c) => c.notNull())
    .addColumn('draft', 'text', (c) => c.notNull())
    .addColumn('draftHash', 'text', (c) => c.notNull())
    .addColumn('publishedHash', 'text')
    .addColumn('publishedVersion', 'integer')
    .addColumn('latestVersion', 'integer')
    .addColumn('revision', 'integer', (c) => c.notNull())
    .addColumn('createdAt', 'bigint', (c) => c.notNull())
    .addColumn('updatedAt', 'bigint', (c) => c.notNull())
    .addColumn('deletedAt', 'bigint')
    .execute()
  await schema.createIndex('agentsList').on('agents').columns(['organizationId', 'createdAt', 'id']).execute()
  await schema
    .createTable('agentVersions')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('organizationId', 'text', (c) => c.notNull().references('organizations.id'))
    .addColumn('agentId', 'text', (c) => c.notNull().references('agents.id'))
    .addColumn('version', 'integer', (c) => c.notNull())
    .addColumn('purpose', 'text', (c) => c.notNull())
    .addColumn('config', 'text', (c) => c.notNull())
    .addColumn('note', 'text')
    .addColumn('createdAt', 'bigint', (c) => c.notNull())
    .addUniqueConstraint('agentVersionsNumbered', ['agentId', 'version'])
    .execute()
}

async function createNumbers({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('numbers')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('organizationId', 'text', (c) => c.notNull().references('organizations.id'))
    .addColumn('environment', 'text', (c) => c.notNull())
    .addColumn('e164', 'text', (c) => c.notNull())
    .addColumn('label', 'text', (c) => c.notNull())
    .addColumn('provider', 'text', (c) => c.notNull())
    .addColumn('region', 'text', (c) => c.notNull())
    .addColumn('numberType', 'text', (c) => c.notNull())
    .addColumn('series', 'text', (c) => c.notNull())
    .addColumn('rentalPaise', 'bigint', (c) => c.notNull())
    .addColumn('setupPaise', 'bigint', (c) => c.notNull())
    .addColumn('renewalCycle', 'text', (c) => c.notNull())
    .addColumn('nextRentalAt', 'bigint')
    .addColumn('purchasedAt', 'bigint')
    .addColumn('releaseAt', 'bigint')
    .addColumn('releasedAt', 'bigint')
    .addColumn('status', 'text', (c) => c.notNull())
    .addColumn('inbound', 'text', (c) => c.notNull())
    .addColumn('routingMode', 'text', (c) => c.notNull())
    .addColumn('agentId', 'text', (c) => c.references('agents.id'))
    .addColumn('recordCalls', 'integer', (c) => c.notNull())
    .addColumn('createdAt', 'bigint', (c) => c.notNull())
    .execute()
  // One holder of a number at a time on the whole platform.
  await schema
    .createIndex('numbersHeld')
    .unique()
    .on('numbers')
    .column('e164')
    .where(sql.ref('releasedAt'), 'is', null)
    .execute()
  await schema
    .createIndex('numbersList')
    .on('numbers')
    .columns(['organizationId', 'environment', 'createdAt', 'id'])
    .execute()
}

async function createCalls({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('calls')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('organizationId', 'text', (c) => c.notNull().references('organizations.id'))
    .addColumn('environment', 'text', (c) => c.notNull())
    .addColumn('direction', 'text', (c) => c.notNull())
    .addColumn('status', 'text', (c) => c.notNull())
    .addColumn('fromNumber', 'text', (c) => c.notNull())
    .addColumn('toNumber', 'text', (c) => c.notNull())
    .addColumn('numberId', 'text', (c) => c.notNull().references('numbers.id'))
    .addColumn('agentId', 'text', (c) => c.references('agents.id'))
    .addColumn('agentVersion', 'integer')
    .addColumn('agentVersionId', 'text', (c) => c.references('agentVersions.id'))
    .addColumn('routingMode', 'text', (c) => c.notNull())
    .addColumn('purpose', 'text', (c) => c.notNull())
    .addColumn('campaignId', 'text')
    .addColumn('recipientId', 'text')
    .addColumn('disposition', 'text')
    .addColumn('endedReason', 'text')
    .addColumn('answeredBy', 'text')
    .addColumn('startedAt', 'bigint')
    .addColumn('ringingAt', 'bigint')
    .addColumn('answeredAt', 'bigint')
    .addColumn('endedAt', 'bigint')
    .addColumn('agentSeconds', 'integer', (c) => c.notNull())
    .addColumn('humanSeconds', 'integer', (c) => c.notNull())
    .addColumn('ratePaisePerMinute', 'bigint', (c) => c.notNull())
    .addColumn('charges', 'text', (c) => c.notNull())
    .addColumn('billedPaise', 'bigint', (c) => c.notNull())
    .addColumn('variables', 'text', (c) => c.notNull())
    .addColumn('metadata', 'text', (c) => c.notNull())
    .addColumn('latency', 'text')
    .addColumn('error', 'text')
    .addColumn('complianceRunId', 'text')
    .addColumn('evidenceId', 'text')
    .addColumn('idempotencyId', 'text', (c) => c.unique())
    .addColumn('sipCallId', 'text')
    .addColumn('nodeId', 'text', (c) => c.notNull())
    .addColumn('leaseUntil', 'bigint', (c) => c.notNull())
    .addColumn('hangupRequestedAt', 'bigint')
    .addColumn('createdAt', 'bigint', (c) => c.notNull())
    .execute()
  await schema
    .createIndex('callsList')
    .on('calls')
    .columns(['organizationId', 'environment', 'createdAt', 'id'])
    .execute()
  await schema
    .createIndex('callsLive')
    .on('calls')
    .column('nodeId')
    .where(sql.ref('endedAt'), 'is', null)
    .execute()
  await schema
    .createTable('callEvents')
    .addColumn('callId', 'text', (c) => c.notNull().references('calls.id'))
    .addColumn('seq', 'integer', (c) => c.notNull())
    .addColumn('type', 'text', (c) => c.notNull())
    .addColumn('at', 'bigint', (c) => c.notNull())
    .addColumn('body', 'text', (c) => c.notNull())
    .addPrimaryKeyConstraint('callEventsKey', ['callId', 'seq'])
    .execute()
  await schema
    .createTable('transcriptSegments')
    .addColumn('callId', 'text', (c) => c.notNull().references('calls.id'))
    .addColumn('seq', 'integer', (c) => c.notNull())
    .addColumn('role', 'text', (c) => c.notNull())
    .addColumn('text', 'text', (c) => c.notNull())
    .addColumn('startMs', 'integer', (c) => c.notNull())
    .addColumn('endMs', 'integer', (c) => c.notNull())
    .addColumn('language', 'text')
    .addColumn('interrupted', 'integer', (c) => c.notNull())
    .addColumn('words', 'text')
    .addPrimaryKeyConstraint('transcriptSegmentsKey', ['callId', 'seq'])
    .execute()
  await schema
    .createTable('recordings')
    .addColumn('callId', 'text', (c) => c.primaryKey().references('calls.id'))
    .addColumn('organizationId', 'text', (c) => c.notNull())
    .addColumn('environment', 'text', (c) => c.notNull())
    .addColumn('file', 'text', (c) => c.notNull())
    .addColumn('bytes', 'bigint', (c) => c.notNull())
    .addColumn('durationMs', 'bigint', (c) => c.notNull())
    .addColumn('sha256', 'text', (c) => c.notNull())
    .addColumn('createdAt', 'bigint', (c) => c.notNull())
    .execute()
  await schema
    .createTable('callSlots')
    .addColumn('organizationId', 'text', (c) => c.notNull())
    .addColumn('environment', 'text', (c) => c.notNull())
    .addColumn('pool', 'text', (c) => c.notNull())
    .addColumn('slot', 'integer', (c) => c.notNull())
    .addColumn('callId', 'text', (c) => c.notNull())
    .addColumn('nodeId', 'text', (c) => c.notNull())
    .addColumn('takenAt', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('callSlotsKey', ['organizationId', 'environment', 'pool', 'slot'])
    .execute()
  await schema.createIndex('callSlotsCall').on('callSlots').column('callId').execute()
}

async function createCompliance({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('checks')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('organizationId', 'text', (c) => c.notNull())
    .addColumn('environment', 'text', (c) => c.notNull())
    .addColumn('runId', 'text', (c) => c.notNull())
    .addColumn('position', 'integer', (c) => c.notNull())
    .addColumn('type', 'text', (c) => c.notNull())
    .addColumn('outcome', 'text', (c) => c.notNull())
    .addColumn('code', 'text')
    .addColumn('reason', 'text', (c) => c.notNull())
    .addColumn('message', 'text', (c) => c.notNull())
    .addColumn('e164', 'text', (c) => c.notNull())
    .addColumn('purpose', 'text', (c) => c.notNull())
    .addColumn('trigger', 'text', (c) => c.notNull())
    .addColumn('callId', 'text')
    .addColumn('campaignId', 'text')
    .addColumn('recipientId', 'text')
    .addColumn('source', 'text')
    .addColumn('details', 'text', (c) => c.notNull())
    .addColumn('nextAllowedAt', 'bigint')
    .addColumn('checkedAt', 'bigint', (c) => c.notNull())
    .addUniqueConstraint('checksOnce', ['runId', 'type'])
    .execute()
  await schema
    .createIndex('checksList')
    .on('checks')
    .columns(['organizationId', 'environment', 'checkedAt', 'id'])
    .execute()
  await schema
    .createTable('evidence')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('organizationId', 'text', (c) => c.notNull())
    .addColumn('environment', 'text', (c) => c.notNull())
    .addColumn('seq', 'bigint', (c) => c.notNull())
    .addColumn('kind', 'text', (c) => c.notNull())
    .addColumn('callId', 'text')
    .addColumn('gateRunId', 'text', (c) => c.notNull())
    .addColumn('e164', 'text')
    .addColumn('record', 'text', (c) => c.notNull())
    .addColumn('prevHash', 'text', (c) => c.notNull())
    .addColumn('hash', 'text', (c) => c.notNull())
    .addColumn('keyId', 'text', (c) => c.notNull())
    .addColumn('signature', 'text', (c) => c.notNull())
    .addColumn('sealedAt', 'bigint', (c) => c.notNull())
    .addUniqueConstraint('evidenceChain', ['organizationId', 'environment', 'seq'])
    .execute()
  await schema.createIndex('evidenceCall').on('evidence').column('callId').execute()
  await schema
    .createTable('evidenceHeads')
    .addColumn('organizationId', 'text', (c) => c.notNull())
    .addColumn('environment', 'text', (c) => c.notNull())
    .addColumn('seq', 'bigint', (c) => c.notNull())
    .addColumn('hash', 'text', (c) => c.notNull())
    .addPrimaryKeyConstraint('evidenceHeadsKey', ['organizationId', 'environment'])
    .execute()
  await schema
    .createTable('events')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('organizationId', 'text', (c) => c.notNull().references('organizations.id'))
    .addColumn('environment', 'text')
    .addColumn('type', 'text', (c) => c.notNull())
    .addColumn('subjectType', 'text', (c) => c.notNull())
    .addColumn('subjectId', 'text', (c) => c.notNull())
    .addColumn('createdAt', 'bigint', (c) => c.notNull())
    .execute()
  await schema
    .createIndex('eventsList')
    .on('events')
    .columns(['organizationId', 'environment', 'createdAt', 'id'])
    .execute()
}

/*
 * Triggers reject changes and removals of sealed records. Only the number (`e164`) may be erased. The
 * sealed part contains a pseudonym instead of the number and stays unchanged.
 */
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

async function sealEvidence(db: Kysely<unknown>, dialect: 'sqlite' | 'postgres'): Promise<void> {
  if (dialect === 'sqlite') {
    const changed = SEALED_COLUMNS.map((column) => `new."${column}" is not old."${column}"`).join(' or ')
    await sql
      .raw(`create trigger "evidenceUnchanged" before update on "evidence"
        when new."e164" is not null or ${changed}
        begin select raise(abort, 'evidence is sealed'); end`)
      .execute(db)
    await sql
      .raw(`create trigger "evidenceKept" before delete on "evidence"
        begin select raise(abort, 'evidence is sealed'); end`)
      .execute(db)
    return
  }
  const changed = SEALED_COLUMNS.map((column) => `new."${column}" is distinct from old."${column}"`).join(
    ' or ',
  )
  await sql
    .raw(`create function "refuseEvidenceChange"() returns trigger language plpgsql as $$
      begin
        if tg_op = 'UPDATE' then
          if new."e164" is null and not (${changed}) then return new; end if;
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
