import { type InferResult, sql } from 'kysely'
import type { RootKey } from '../base/root-key.js'
import type { PolicyInForce } from '../config/policy-file.js'
import { builtOnce, type PlaceOf } from '../db/built-once.js'
import type { Db, Trx } from '../db/database.js'
import { jsonRows } from '../db/json-rows.js'
import type { SuppressionRow } from '../db/tables/compliance.js'
import type { RobocallDeclarationRow } from '../db/tables/organization.js'
import type { WalletRow } from '../db/tables/wallet.js'
import { MIN_CALL_PAISE } from '../wallet/view.js'
import { istDate, type Purpose } from './calling-hours.js'
import type { Environment, GateFacts, GateRequest } from './check.js'
import { ruleOn } from './dated-rule.js'
import { classifyNumber } from './numbering.js'
import { namesOf } from './person-names.js'
import { DEFAULT_ROBOCALL_MODE, mobilePrefixes, seriesOf } from './policy.js'

/** The organization that asks, and the caller ID from which the call would be placed. */
export interface FactsQuestion {
  readonly organizationId: string
  /** E.164. Null if the caller ID is not known yet. */
  readonly from: string | null
  readonly gate: GateRequest
}

/** By which rules the gate decides, and the key under which do-not-call entries name erased persons. */
export interface GateKnowledge {
  readonly policy: PolicyInForce
  readonly rootKey: RootKey
}

/** Reads the gate's facts about a call. */
export async function gateFacts(
  db: Db | Trx,
  knowledge: GateKnowledge,
  question: FactsQuestion,
  now: number,
): Promise<GateFacts> {
  const { from, gate } = question
  const { version, rules } = knowledge.policy
  const { kind, ...subscriber } = classifyNumber(gate.to, mobilePrefixes(rules, now))
  const [read] = await readKnown(db, knownQuestion(question, knowledge, now))
  const [known] = JSON.parse(read?.known ?? '[]') as readonly Known[]
  const start = known?.windowStartMinute ?? null
  const end = known?.windowEndMinute ?? null
  const approvedId = known?.senderId ?? null
  return {
    policyVersion: version,
    policy: rules,
    number: 'lineType' in subscriber ? { kind, lineType: subscriber.lineType } : { kind },
    suppressions: suppressionFacts(known?.suppressions ?? '[]', gate),
    enforcement: {
      blocked: (known?.enforcedAt ?? null) !== null,
      reason: known?.enforcedReason ?? null,
    },
    verification: known?.verification ?? 'unverified',
    windowNarrowing: start === null || end === null ? null : { startMinute: start, endMinute: end },
    ...personFacts(known),
    robocallMode: known?.robocallMode ?? DEFAULT_ROBOCALL_MODE,
    declarations: declarationFacts(known?.declarations ?? '[]', from),
    ...(from === null ? { callerId: 'unknown' as const } : {}),
    sender: {
      series: from === null ? 'regular' : seriesOf(from, rules),
      peId: known?.peId ?? null,
      approved: approvedId === null ? null : { id: approvedId, dltHeaderId: known?.dltHeaderId ?? '' },
    },
    wallet: gate.environment === 'test' ? null : walletFacts(known),
  }
}

/** Values of the statement about the organization and the person. */
interface KnownQuestion {
  readonly organizationId: string
  readonly from: string | null
  readonly environment: Environment
  readonly to: string
  /** Texts by which do-not-call entries may name the person. */
  readonly names: readonly string[]
  readonly purpose: Purpose
  /** Empty for a call without a campaign. */
  readonly campaignId: string
  /** Purposes of capped campaigns. */
  readonly purposes: readonly string[]
}

function knownQuestion(
  { organizationId, from, gate }: FactsQuestion,
  { policy: { rules }, rootKey }: GateKnowledge,
  now: number,
): KnownQuestion {
  const { environment, to, purpose, campaignId = null } = gate
  const capped = campaignId === null ? null : ruleOn(rules.frequencyCap, istDate(now))
  return {
    ...{ organizationId, from, environment, to, purpose, campaignId: campaignId ?? '' },
    names: namesOf(rootKey, organizationId, to),
    // No call has an empty purpose.
    purposes: capped?.purposes ?? [''],
  }
}

/**
 * Reads what is known about the organization and the person: the do-not-call entries of both environments, each of which protects
 * calls of the other, the declarations that are not withdrawn, the consent, the register's answer, and when the person last
 * answered another capped campaign of the organization. Voicemail is no answer. Each statement costs a way to the database and
 * back, so this is one. It answers with one text: PostgreSQL describes each column
 * of each answer, which costs the client more time and memory than the values.
 *
 * Values that a partial index names are in the text: SQLite prepares a statement again for each run in which they are bound, which
 * takes ten times as long as the run.
 */
const readKnown = builtOnce((db, place: PlaceOf<KnownQuestion>) =>
  db.selectFrom(selectKnown(db, place).as('known')).select(jsonRows(db, KNOWN_COLUMNS).as('known')),
)

function selectKnown(db: Db | Trx, place: PlaceOf<KnownQuestion>) {
  return db
    .selectFrom('organizations')
    .leftJoin('callingProfiles', 'callingProfiles.organizationId', 'organizations.id')
    .leftJoin('organizationProfiles', 'organizationProfiles.organizationId', 'organizations.id')
    .leftJoin('senderIds', (join) =>
      join
        .onRef('senderIds.organizationId', '=', 'organizations.id')
        .on('senderIds.e164', '=', place('from'))
        .on('senderIds.status', '=', sql.lit('approved')),
    )
    .leftJoin('wallets', 'wallets.organizationId', 'organizations.id')
    .leftJoin('consents', (join) =>
      join
        .on('consents.organizationId', '=', place('organizationId'))
        .on('consents.environment', '=', place('environment'))
        .on('consents.e164', '=', place('to'))
        .on('consents.purpose', '=', place('purpose'))
        // A literal, which the partial index needs in a plan for any values.
        .on('consents.current', '=', sql.lit(1))
        .on('consents.revokedAt', 'is', null),
    )
    .leftJoin('registerAnswers', (join) =>
      join
        .on('registerAnswers.organizationId', '=', place('organizationId'))
        .on('registerAnswers.environment', '=', place('environment'))
        .on('registerAnswers.e164', '=', place('to')),
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
      'wallets.balancePaise',
      'wallets.heldPaise',
      'wallets.onHold',
      'wallets.haltedAt',
    ])
    .select([
      'consents.id as consentId',
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
    .select((eb) => [
      eb
        .selectFrom('organizationVerifications')
        .select('status')
        .whereRef('organizationVerifications.organizationId', '=', 'organizations.id')
        .orderBy('submittedAt', 'desc')
        .orderBy('organizationVerifications.id', 'desc')
        .limit(1)
        .as('verification'),
      eb
        .selectFrom('suppressions')
        .select(jsonRows(db, ['id', 'source', 'environment', 'expiresAt']).as('rows'))
        .where('suppressions.organizationId', '=', place('organizationId'))
        .where('suppressions.e164', 'in', place('names'))
        .where('removedAt', 'is', null)
        .as('suppressions'),
      eb
        .selectFrom('robocallDeclarations')
        .select(jsonRows(db, ['id', 'reference', 'effectiveFrom', 'callerIds']).as('rows'))
        .where('robocallDeclarations.organizationId', '=', place('organizationId'))
        .where('withdrawnAt', 'is', null)
        .as('declarations'),
      eb
        .selectFrom('calls')
        .select('answeredAt')
        .where('calls.organizationId', '=', place('organizationId'))
        .where('calls.environment', '=', place('environment'))
        .where('toNumber', '=', place('to'))
        .where('campaignId', 'is not', null)
        .where('campaignId', '!=', place('campaignId'))
        .where('calls.purpose', 'in', place('purposes'))
        .where('answeredAt', 'is not', null)
        // A call in progress has no disposition yet.
        .where((call) => call.or([call('disposition', 'is', null), call('disposition', '=', 'answered')]))
        .orderBy('answeredAt', 'desc')
        .limit(1)
        .as('lastAnswerAt'),
    ])
    .where('organizations.id', '=', place('organizationId'))
}

type Known = InferResult<ReturnType<typeof selectKnown>>[number]

/** The names of all values: one that was missing in the text would read as if nothing was known. */
const KNOWN_COLUMNS = Object.keys({
  ...{ enforcedAt: true, enforcedReason: true, windowStartMinute: true, windowEndMinute: true },
  ...{ robocallMode: true, peId: true, senderId: true, dltHeaderId: true },
  ...{ balancePaise: true, heldPaise: true, onHold: true, haltedAt: true },
  ...{ consentId: true, kind: true, source: true, capturedAt: true, expiresAt: true },
  ...{ state: true, register: true, category: true, reference: true, checkedAt: true, validUntil: true },
  ...{ verification: true, suppressions: true, declarations: true, lastAnswerAt: true },
} satisfies Record<keyof Known, true>)
type SuppressionColumns = Pick<SuppressionRow, 'id' | 'source' | 'environment' | 'expiresAt'>
type DeclarationColumns = Pick<RobocallDeclarationRow, 'id' | 'reference' | 'effectiveFrom' | 'callerIds'>

function suppressionFacts(json: string, gate: GateRequest): GateFacts['suppressions'] {
  const rows = JSON.parse(json) as readonly SuppressionColumns[]
  return rows.toSorted(byText(({ id }) => id)).map(({ id, source, environment, expiresAt }) => ({
    // A live entry stays hidden from test keys.
    id: environment === 'test' || gate.environment === 'live' ? id : null,
    source,
    expiresAt,
  }))
}

function declarationFacts(json: string, from: string | null): GateFacts['declarations'] {
  const rows = JSON.parse(json) as readonly DeclarationColumns[]
  return rows
    .toSorted(byText(({ effectiveFrom, id }) => `${effectiveFrom} ${id}`))
    .map(({ id, reference, effectiveFrom, callerIds }) => ({
      id,
      reference,
      effectiveFrom,
      namesCallerId: from === null || (JSON.parse(callerIds) as readonly string[]).includes(from),
    }))
}

/** Orders rows by the code units of a text. */
function byText<Row>(textOf: (row: Row) => string): (a: Row, b: Row) => number {
  return (a, b) => (textOf(a) < textOf(b) ? -1 : 1)
}

function personFacts(
  known: Known | undefined,
): Pick<GateFacts, 'consent' | 'register' | 'lastCampaignAnswerAt'> {
  if (known === undefined) return { consent: null, register: null, lastCampaignAnswerAt: null }
  const { consentId: id, kind, source, capturedAt, expiresAt } = known
  const { state, register, category, reference, checkedAt, validUntil } = known
  const answered = state !== null && register !== null && checkedAt !== null && validUntil !== null
  return {
    consent:
      id === null || kind === null || source === null || capturedAt === null
        ? null
        : { id, kind, source, capturedAt, expiresAt },
    register: answered ? { state, register, category, reference, checkedAt, validUntil } : null,
    lastCampaignAnswerAt: known.lastAnswerAt,
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
