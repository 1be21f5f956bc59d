import { sql } from 'kysely'
import type { Policy, PolicyInForce } from '../config/policy-file.js'
import type { Db, Trx } from '../db/database.js'
import type { WalletRow } from '../db/tables/wallet.js'
import { availablePaise } from '../wallet/ledger.js'
import { readWallet } from '../wallet/store.js'
import { MIN_CALL_PAISE } from '../wallet/view.js'
import { istDate } from './calling-hours.js'
import type { GateFacts, GateRequest } from './check.js'
import { ruleOn } from './dated-rule.js'
import { classifyNumber } from './numbering.js'
import { DEFAULT_ROBOCALL_MODE, mobilePrefixes, seriesOf } from './policy.js'

/** Who asks, and from which caller ID the call would be placed. */
export interface FactsQuestion {
  readonly organizationId: string
  /** E.164. Null if the caller ID is not known yet. */
  readonly from: string | null
  readonly gate: GateRequest
}

/** Reads the gate's facts about a call. In the live environment the wallet is locked by the caller. */
export async function gateFacts(
  db: Db | Trx,
  policy: PolicyInForce,
  question: FactsQuestion,
  now: number,
): Promise<GateFacts> {
  const { organizationId, from, gate } = question
  const { version, rules } = policy
  const { kind, ...subscriber } = classifyNumber(gate.to, mobilePrefixes(rules, now))
  const organization = await readOrganization(db, organizationId, from)
  const start = organization?.windowStartMinute ?? null
  const end = organization?.windowEndMinute ?? null
  const approvedId = organization?.senderId ?? null
  return {
    policyVersion: version,
    policy: rules,
    number: 'lineType' in subscriber ? { kind, lineType: subscriber.lineType } : { kind },
    suppressions: await readSuppressions(db, question),
    enforcement: {
      blocked: (organization?.enforcedAt ?? null) !== null,
      reason: organization?.enforcedReason ?? null,
    },
    verification: organization?.verification ?? 'unverified',
    windowNarrowing: start === null || end === null ? null : { startMinute: start, endMinute: end },
    ...(await readPerson(db, rules, question, now)),
    robocallMode: organization?.robocallMode ?? DEFAULT_ROBOCALL_MODE,
    declarations: await readDeclarations(db, organizationId, from),
    sender: {
      series: from === null ? 'regular' : seriesOf(from, rules),
      peId: organization?.peId ?? null,
      approved: approvedId === null ? null : { id: approvedId, dltHeaderId: organization?.dltHeaderId ?? '' },
    },
    wallet: gate.environment === 'test' ? null : walletFacts(await readWallet(db, organizationId, now)),
  }
}

function readOrganization(db: Db | Trx, organizationId: string, from: string | null) {
  return db
    .selectFrom('organizations')
    .leftJoin('callingProfiles', 'callingProfiles.organizationId', 'organizations.id')
    .leftJoin('organizationProfiles', 'organizationProfiles.organizationId', 'organizations.id')
    .leftJoin('senderIds', (join) =>
      join
        .onRef('senderIds.organizationId', '=', 'organizations.id')
        .on('senderIds.e164', '=', from)
        .on('senderIds.status', '=', 'approved'),
    )
    .select([
      'callingProfiles.enforcedAt',
      'callingProfiles.enforcedReason',
      'callingProfiles.windowStartMinute',
      'callingProfiles.windowEndMinute',
      'organizationProfiles.robocallMode',
      'organizationProfiles.peId',
      'senderIds.id as senderId',
      'senderIds.dltHeaderId',
    ])
    .select((eb) =>
      eb
        .selectFrom('organizationVerifications')
        .select('status')
        .whereRef('organizationVerifications.organizationId', '=', 'organizations.id')
        .orderBy('submittedAt', 'desc')
        .orderBy('organizationVerifications.id', 'desc')
        .limit(1)
        .as('verification'),
    )
    .where('organizations.id', '=', organizationId)
    .executeTakeFirst()
}

/** Reads the entries of both environments: each protects calls of the other. */
async function readSuppressions(
  db: Db | Trx,
  { organizationId, gate }: FactsQuestion,
): Promise<GateFacts['suppressions']> {
  const rows = await db
    .selectFrom('suppressions')
    .select(['id', 'environment', 'source', 'expiresAt'])
    .where('organizationId', '=', organizationId)
    .where('e164', '=', gate.to)
    .where('removedAt', 'is', null)
    .orderBy('id')
    .execute()
  return rows.map(({ id, environment, source, expiresAt }) => ({
    // A live entry stays hidden from test keys.
    id: environment === 'test' || gate.environment === 'live' ? id : null,
    source,
    expiresAt,
  }))
}

/** Reads the consent, the register's answer and the last answered campaign in one statement. */
async function readPerson(
  db: Db | Trx,
  rules: Policy,
  { organizationId, gate }: FactsQuestion,
  now: number,
): Promise<Pick<GateFacts, 'consent' | 'register' | 'lastCampaignAnswerAt'>> {
  const { environment, to, purpose, campaignId = null } = gate
  const capped = campaignId === null ? null : ruleOn(rules.frequencyCap, istDate(now))
  const row = await db
    .selectFrom(sql<{ one: number }>`(select 1 as "one")`.as('asked'))
    .leftJoin('consents', (join) =>
      join
        .on('consents.organizationId', '=', organizationId)
        .on('consents.environment', '=', environment)
        .on('consents.e164', '=', to)
        .on('consents.purpose', '=', purpose)
        .on('consents.current', '=', 1)
        .on('consents.revokedAt', 'is', null),
    )
    .leftJoin('registerAnswers', (join) =>
      join
        .on('registerAnswers.organizationId', '=', organizationId)
        .on('registerAnswers.environment', '=', environment)
        .on('registerAnswers.e164', '=', to),
    )
    .select([
      'consents.id',
      'consents.kind',
      'consents.source',
      'consents.capturedAt',
      'consents.expiresAt',
      'registerAnswers.state',
      'registerAnswers.register',
      'registerAnswers.category',
      'registerAnswers.reference',
      'registerAnswers.checkedAt',
      'registerAnswers.validUntil',
    ])
    .executeTakeFirstOrThrow()
  const { id, kind, source, capturedAt, expiresAt } = row
  const { state, register, category, reference, checkedAt, validUntil } = row
  const answered = state !== null && register !== null && checkedAt !== null && validUntil !== null
  return {
    consent:
      id === null || kind === null || source === null || capturedAt === null
        ? null
        : { id, kind, source, capturedAt, expiresAt },
    register: answered ? { state, register, category, reference, checkedAt, validUntil } : null,
    lastCampaignAnswerAt:
      capped === null || campaignId === null
        ? null
        : await lastCampaignAnswer(db, { organizationId, environment, to, campaignId }, capped.purposes),
  }
}

/** Returns when a person last answered another capped campaign (Unix ms), or null. Voicemail is no answer. */
async function lastCampaignAnswer(
  db: Db | Trx,
  asked: { organizationId: string; environment: GateRequest['environment']; to: string; campaignId: string },
  purposes: readonly string[],
): Promise<number | null> {
  const row = await db
    .selectFrom('calls')
    .select('answeredAt')
    .where('organizationId', '=', asked.organizationId)
    .where('environment', '=', asked.environment)
    .where('toNumber', '=', asked.to)
    .where('campaignId', 'is not', null)
    .where('campaignId', '!=', asked.campaignId)
    .where('purpose', 'in', purposes)
    .where('answeredAt', 'is not', null)
    // A call in progress has no disposition yet.
    .where((eb) => eb.or([eb('disposition', 'is', null), eb('disposition', '=', 'answered')]))
    .orderBy('answeredAt', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.answeredAt ?? null
}

async function readDeclarations(
  db: Db | Trx,
  organizationId: string,
  from: string | null,
): Promise<GateFacts['declarations']> {
  const rows = await db
    .selectFrom('robocallDeclarations')
    .select(['id', 'reference', 'effectiveFrom', 'callerIds'])
    .where('organizationId', '=', organizationId)
    .where('withdrawnAt', 'is', null)
    .orderBy('effectiveFrom')
    .orderBy('id')
    .execute()
  return rows.map(({ id, reference, effectiveFrom, callerIds }) => ({
    id,
    reference,
    effectiveFrom,
    namesCallerId: from === null || (JSON.parse(callerIds) as readonly string[]).includes(from),
  }))
}

function walletFacts(wallet: WalletRow): GateFacts['wallet'] {
  return {
    balancePaise: wallet.balancePaise,
    availablePaise: availablePaise(wallet),
    minBalancePaise: MIN_CALL_PAISE,
    onHold: wallet.onHold === 1 || wallet.haltedAt !== null,
  }
}

/**
 * Returns whether the operator has blocked the organization. Inbound calls, which have no gate, ask for it
 * too.
 */
export async function isCallingBlocked(db: Db | Trx, organizationId: string): Promise<boolean> {
  const row = await db
    .selectFrom('callingProfiles')
    .select('enforcedAt')
    .where('organizationId', '=', organizationId)
    .executeTakeFirst()
  return (row?.enforcedAt ?? null) !== null
}
