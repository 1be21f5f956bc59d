import { sql } from 'kysely'
import type { Policy, PolicyInForce } from '../config/policy-file.js'
import type { Db, Trx } from '../db/database.js'
import type { WalletRow } from '../db/tables/wallet.js'
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
  const { suppressions, declarations } = await readLists(db, question)
  const start = organization?.windowStartMinute ?? null
  const end = organization?.windowEndMinute ?? null
  const approvedId = organization?.senderId ?? null
  return {
    policyVersion: version,
    policy: rules,
    number: 'lineType' in subscriber ? { kind, lineType: subscriber.lineType } : { kind },
    suppressions,
    enforcement: {
      blocked: (organization?.enforcedAt ?? null) !== null,
      reason: organization?.enforcedReason ?? null,
    },
    verification: organization?.verification ?? 'unverified',
    windowNarrowing: start === null || end === null ? null : { startMinute: start, endMinute: end },
    ...(await readPerson(db, rules, question, now)),
    robocallMode: organization?.robocallMode ?? DEFAULT_ROBOCALL_MODE,
    declarations,
    sender: {
      series: from === null ? 'regular' : seriesOf(from, rules),
      peId: organization?.peId ?? null,
      approved: approvedId === null ? null : { id: approvedId, dltHeaderId: organization?.dltHeaderId ?? '' },
    },
    wallet: gate.environment === 'test' ? null : walletFacts(organization),
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
    .leftJoin('wallets', 'wallets.organizationId', 'organizations.id')
    .select([
      'callingProfiles.enforcedAt',
      'callingProfiles.enforcedReason',
      'callingProfiles.windowStartMinute',
      'callingProfiles.windowEndMinute',
      'organizationProfiles.robocallMode',
      'organizationProfiles.peId',
      'senderIds.id as senderId',
      'senderIds.dltHeaderId',
      'wallets.balancePaise',
      'wallets.heldPaise',
      'wallets.onHold',
      'wallets.haltedAt',
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

/**
 * Reads the do-not-call entries of both environments, each of which protects calls of the other, and the declarations
 * that are not withdrawn. Each statement costs a way to the database and back, so this is one.
 */
async function readLists(
  db: Db | Trx,
  { organizationId, from, gate }: FactsQuestion,
): Promise<Pick<GateFacts, 'suppressions' | 'declarations'>> {
  const rows = await db
    .selectFrom('suppressions')
    .select([
      sql<number>`0`.as('declared'),
      'id',
      'source as first',
      sql<string>`"environment"`.as('second'),
      sql<string | null>`cast(null as text)`.as('third'),
      'expiresAt',
    ])
    .where('organizationId', '=', organizationId)
    .where('e164', '=', gate.to)
    .where('removedAt', 'is', null)
    .unionAll((union) =>
      union
        .selectFrom('robocallDeclarations')
        .select([
          sql<number>`1`.as('declared'),
          'id',
          'reference as first',
          'effectiveFrom as second',
          sql<string | null>`"callerIds"`.as('third'),
          sql<number | null>`cast(null as bigint)`.as('expiresAt'),
        ])
        .where('organizationId', '=', organizationId)
        .where('withdrawnAt', 'is', null),
    )
    .execute()
  const isDeclared = ({ declared }: { readonly declared: number }) => declared === 1
  const suppressions = rows.filter((row) => !isDeclared(row)).toSorted(byText(({ id }) => id))
  const declarations = rows.filter(isDeclared).toSorted(byText(({ second, id }) => `${second} ${id}`))
  return {
    suppressions: suppressions.map(({ id, first, second, expiresAt }) => ({
      // A live entry stays hidden from test keys.
      id: second === 'test' || gate.environment === 'live' ? id : null,
      source: first,
      expiresAt,
    })),
    declarations: declarations.map(({ id, first, second, third }) => ({
      id,
      reference: first,
      effectiveFrom: second,
      namesCallerId: from === null || (JSON.parse(third ?? '[]') as readonly string[]).includes(from),
    })),
  }
}

/** Orders rows by the code units of a text. */
function byText<Row>(textOf: (row: Row) => string): (a: Row, b: Row) => number {
  return (a, b) => (textOf(a) < textOf(b) ? -1 : 1)
}

/**
 * Reads the consent, the register's answer, and when the person last answered another capped campaign of the
 * organization. Voicemail is no answer.
 */
async function readPerson(
  db: Db | Trx,
  rules: Policy,
  { organizationId, gate }: FactsQuestion,
  now: number,
): Promise<Pick<GateFacts, 'consent' | 'register' | 'lastCampaignAnswerAt'>> {
  const { environment, to, purpose, campaignId = null } = gate
  const capped = campaignId === null ? null : ruleOn(rules.frequencyCap, istDate(now))
  // No call has an empty purpose.
  const purposes = capped?.purposes ?? ['']
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
    .select((eb) =>
      eb
        .selectFrom('calls')
        .select('answeredAt')
        .where('calls.organizationId', '=', organizationId)
        .where('calls.environment', '=', environment)
        .where('toNumber', '=', to)
        .where('campaignId', 'is not', null)
        .where('campaignId', '!=', campaignId ?? '')
        .where('calls.purpose', 'in', purposes)
        .where('answeredAt', 'is not', null)
        // A call in progress has no disposition yet.
        .where((call) => call.or([call('disposition', 'is', null), call('disposition', '=', 'answered')]))
        .orderBy('answeredAt', 'desc')
        .limit(1)
        .as('lastAnswerAt'),
    )
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
    lastCampaignAnswerAt: row.lastAnswerAt,
  }
}

/** Returns the facts about a wallet. An organization that never had money has none. */
function walletFacts(found: WalletColumns | undefined): GateFacts['wallet'] {
  const balancePaise = found?.balancePaise ?? 0
  return {
    balancePaise,
    availablePaise: balancePaise - (found?.heldPaise ?? 0),
    minBalancePaise: MIN_CALL_PAISE,
    onHold: found?.onHold === 1 || (found?.haltedAt ?? null) !== null,
  }
}

type WalletColumns = {
  readonly [C in 'balancePaise' | 'heldPaise' | 'onHold' | 'haltedAt']: WalletRow[C] | null
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
