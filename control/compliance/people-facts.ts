import { sql } from 'kysely'
import type { RootKey } from '../base/root-key.js'
import type { Policy } from '../config/policy-file.js'
import type { Db } from '../db/database.js'
import { istDate, type Purpose } from './calling-hours.js'
import type { Environment, GateFacts } from './check.js'
import { ruleOn } from './dated-rule.js'
import { classifyNumber } from './numbering.js'
import { numbersByName } from './person-names.js'
import { mobilePrefixes } from './policy.js'

/** Subject of each fact. A fact about the person is read for everyone, any other one once for a campaign. */
const SUBJECTS = {
  policyVersion: 'rules',
  policy: 'rules',
  number: 'person',
  suppressions: 'person',
  enforcement: 'organization',
  verification: 'organization',
  windowNarrowing: 'organization',
  consent: 'person',
  register: 'person',
  registerDay: 'rules',
  callerId: 'organization',
  lastCampaignAnswerAt: 'person',
  robocallMode: 'organization',
  declarations: 'organization',
  sender: 'organization',
  wallet: 'organization',
} as const satisfies Readonly<Record<keyof GateFacts, 'person' | 'organization' | 'rules'>>

type Subjects = typeof SUBJECTS

/** The facts of the gate about one called person. */
export type PersonFacts = Pick<
  GateFacts,
  { [Fact in keyof Subjects]: Subjects[Fact] extends 'person' ? Fact : never }[keyof Subjects]
>

/**
 * Reads the facts of the gate about many people with one statement per table. Returns a function from a number to its
 * facts.
 */
export async function readPeople(
  db: Db,
  { rules, rootKey }: { readonly rules: Policy; readonly rootKey: RootKey },
  asked: {
    readonly organizationId: string
    readonly environment: Environment
    readonly purpose: Purpose
    readonly campaignId: string
  },
  e164s: readonly string[],
  now: number,
): Promise<(e164: string) => PersonFacts> {
  const { organizationId, environment, purpose } = asked
  const numbers = numbersByName(rootKey, organizationId, e164s)
  const suppressions = await db
    .selectFrom('suppressions')
    .select(['id', 'environment', 'source', 'expiresAt', 'e164'])
    .where('organizationId', '=', organizationId)
    .where('e164', 'in', [...numbers.keys()])
    .where('removedAt', 'is', null)
    .orderBy('id')
    .execute()
  const consents = await db
    .selectFrom('consents')
    .select(['id', 'kind', 'source', 'capturedAt', 'expiresAt', 'e164'])
    .where('organizationId', '=', organizationId)
    .where('environment', '=', environment)
    .where('e164', 'in', e164s)
    .where('purpose', '=', purpose)
    .where('current', '=', 1)
    .where('revokedAt', 'is', null)
    .execute()
  const answers = await db
    .selectFrom('registerAnswers')
    .select(['state', 'register', 'category', 'reference', 'checkedAt', 'validUntil', 'e164'])
    .where('organizationId', '=', organizationId)
    .where('environment', '=', environment)
    .where('e164', 'in', e164s)
    .execute()
  const answeredAt = await lastCampaignAnswers(db, rules, asked, e164s, now)
  const consentOf = byNumber(consents)
  const answerOf = byNumber(answers)
  const suppressionsOf = new Map<string, typeof suppressions>()
  for (const row of suppressions) {
    const e164 = numbers.get(row.e164) ?? row.e164
    suppressionsOf.set(e164, [...(suppressionsOf.get(e164) ?? []), row])
  }
  const prefixes = mobilePrefixes(rules, now)
  return (e164) => {
    const { kind, ...subscriber } = classifyNumber(e164, prefixes)
    return {
      number: 'lineType' in subscriber ? { kind, lineType: subscriber.lineType } : { kind },
      suppressions: (suppressionsOf.get(e164) ?? []).map(({ id, environment: of, source, expiresAt }) => ({
        id: of === 'test' || environment === 'live' ? id : null,
        source,
        expiresAt,
      })),
      consent: consentOf.get(e164) ?? null,
      register: answerOf.get(e164) ?? null,
      lastCampaignAnswerAt: answeredAt.get(e164) ?? null,
    }
  }
}

/** Returns when people last answered another capped campaign (Unix ms). */
async function lastCampaignAnswers(
  db: Db,
  rules: Policy,
  { organizationId, environment, purpose, campaignId }: Parameters<typeof readPeople>[2],
  e164s: readonly string[],
  now: number,
): Promise<ReadonlyMap<string, number>> {
  const capped = ruleOn(rules.frequencyCap, istDate(now))
  if (capped === null || !capped.purposes.includes(purpose)) return new Map()
  const rows = await db
    .selectFrom('calls')
    .select(['toNumber', sql<number>`max("answeredAt")`.as('answeredAt')])
    .where('organizationId', '=', organizationId)
    .where('environment', '=', environment)
    .where('toNumber', 'in', e164s)
    .where('campaignId', 'is not', null)
    .where('campaignId', '!=', campaignId)
    .where('purpose', 'in', capped.purposes)
    .where('answeredAt', 'is not', null)
    .where((eb) => eb.or([eb('disposition', 'is', null), eb('disposition', '=', 'answered')]))
    .groupBy('toNumber')
    .execute()
  return new Map(rows.map((row) => [row.toNumber, row.answeredAt]))
}

function byNumber<Row extends { readonly e164: string }>(
  rows: readonly Row[],
): ReadonlyMap<string, Omit<Row, 'e164'>> {
  return new Map(rows.map(({ e164, ...row }) => [e164, row]))
}
