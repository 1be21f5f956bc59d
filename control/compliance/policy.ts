import { canonicalJson, type Json } from '../base/canonical-json.js'
import type { Policy, PolicyChanges, PolicyInForce } from '../config/policy-file.js'
import { istDate } from './calling-hours.js'
import type { CheckType } from './check.js'
import { appliesOn } from './dated-rule.js'
import { sha256 } from './evidence/hashes.js'

/*
 * The rules of the gate as data: each has its source and the day (IST) from which it applies. A rule that changes on a
 * day gets an end and a successor. `docs/compliance.md` explains each rule. A file of the operator changes them.
 */

/**
 * Stored in every sealed record. A released policy does not change: a change of a rule makes a new version, and the
 * old one stays in `POLICIES`.
 */
export const POLICY_VERSION = '2026-3'

/** Effect of the check `robocall_declaration` for an organization that set none: `off`, `warn` or `block`. */
export const DEFAULT_ROBOCALL_MODE = 'block'

const TCCCPR = 'TCCCPR 2018'

export const POLICY: Policy = {
  hours: [
    {
      purpose: 'promotional',
      startMinute: 540,
      endMinute: 1260,
      source: `${TCCCPR}, default-off bands (ii) and (ix); 09:00-21:00 as operators apply them`,
      effectiveFrom: '2018-07-19',
    },
    {
      purpose: 'promotional',
      environment: 'live',
      startMinute: 600,
      endMinute: 1260,
      source: `${TCCCPR}, default-off band (iii); access providers block promotional traffic until 10:00`,
      effectiveFrom: '2018-07-19',
    },
    {
      purpose: 'collections',
      startMinute: 480,
      endMinute: 1140,
      source: 'RBI/2022-23/108 DOR.ORG.REC.65/21.04.158/2022-23',
      effectiveFrom: '2022-08-12',
      effectiveTo: '2027-01-01',
    },
    {
      purpose: 'collections',
      startMinute: 480,
      endMinute: 1140,
      source: 'RBI/2026-27/223 to 231, calls to borrowers 08:00-19:00',
      effectiveFrom: '2027-01-01',
    },
  ],
  frequencyCap: [
    {
      hours: 168,
      purposes: ['promotional', 'service'],
      source: 'Product policy: one answered campaign call in seven days',
      effectiveFrom: '2018-07-19',
    },
  ],
  suppression: [
    { days: 90, source: `${TCCCPR} (second amendment 2025): opt-out`, effectiveFrom: '2018-07-19' },
  ],
  shortConsent: [
    {
      days: 7,
      source: `${TCCCPR} (second and third amendment): consent for a transaction, enquiry`,
      effectiveFrom: '2018-07-19',
    },
  ],
  verification: [
    { source: 'Product policy: only verified organizations place live calls', effectiveFrom: '2018-07-19' },
  ],
  register: [
    {
      purposes: ['promotional'],
      source: `${TCCCPR}, preferences of customers`,
      effectiveFrom: '2018-07-19',
    },
  ],
  consentAge: [
    {
      days: 180,
      source: 'Practice of access providers: promotional consent is refused after six months',
      effectiveFrom: '2018-07-19',
    },
  ],
  consentNeeded: [
    {
      purposes: ['promotional', 'service', 'collections'],
      source: `${TCCCPR}, explicit and inferred consent`,
      effectiveFrom: '2018-07-19',
    },
  ],
  declaration: [
    {
      source: `${TCCCPR} (second amendment 2025): auto-diallers are notified in advance`,
      effectiveFrom: '2018-07-19',
      effectiveTo: '2026-11-17',
    },
    {
      source: `${TCCCPR} (third amendment 2026): A2P calls are declared with their caller IDs`,
      effectiveFrom: '2026-11-17',
    },
  ],
  series: [
    {
      prefix: '140',
      purposes: ['promotional'],
      source: 'TRAI direction of 18 June 2024: 140 series',
      effectiveFrom: '2018-07-19',
    },
    {
      prefix: '1600',
      purposes: ['service', 'transactional', 'collections'],
      source: 'TRAI direction of 18 June 2024: 1600 series',
      effectiveFrom: '2018-07-19',
    },
    {
      prefix: '1601',
      purposes: ['service', 'transactional', 'collections'],
      source: 'TRAI direction of 10 August 2026: 1601 series',
      effectiveFrom: '2018-07-19',
    },
  ],
  mobilePrefixes: [],
  erasureFloor: [
    {
      days: 365,
      source: 'Digital Personal Data Protection Rules 2025, rule 8(3)',
      effectiveFrom: '2027-05-13',
    },
  ],
}

/** The built-in rules of all versions that sealed records name. */
export const POLICIES: Readonly<Record<string, Policy>> = { [POLICY_VERSION]: POLICY }

const ELEVEN_CHECKS: readonly CheckType[] = [
  'number_format',
  'dnc',
  'enforcement',
  'verification',
  'calling_window',
  'dnd_register',
  'consent',
  'frequency_cap',
  'robocall_declaration',
  'sender_registration',
  'wallet',
]

/**
 * The checks that decided under each version, in their order. A sealed record is decided again with those of its version: a
 * later release may have further ones.
 */
const CHECKS_OF: Readonly<Record<string, readonly CheckType[]>> = {
  '2026-2': ELEVEN_CHECKS,
  '2026-3': ELEVEN_CHECKS,
}

/** Returns the checks that decided under a version, also one with rules of an operator. Returns null for an unknown version. */
export function checksOfVersion(version: string): readonly CheckType[] | null {
  const [release = ''] = version.split('+', 1)
  return CHECKS_OF[release] ?? null
}

/**
 * Returns the rules that apply with the changes of an operator. The version names them by their hash, so that an exported
 * copy of the rules can be compared with the records that were decided by them.
 */
export function policyInForce(changes: PolicyChanges | null): PolicyInForce {
  if (changes === null) return { version: POLICY_VERSION, rules: POLICY }
  const { replace, rules: added } = changes
  const merged = Object.entries(POLICY).map(([name, builtIn]) => {
    const kind = name as keyof Policy
    return [kind, [...(added[kind] ?? []), ...(replace.includes(kind) ? [] : builtIn)]]
  })
  const rules = Object.fromEntries(merged) as unknown as Policy
  return { version: `${POLICY_VERSION}+${sha256(canonicalJson(rules as unknown as Json))}`, rules }
}

/** Returns whether a version names rules that are part of a release. */
export function isBuiltIn(version: string): boolean {
  return !version.includes('+')
}

/** Returns the first digits of national mobile numbers that the rules add to the numbering plan (`now` in Unix ms). */
export function mobilePrefixes({ mobilePrefixes: added }: Policy, now: number): readonly string[] {
  const day = istDate(now)
  return added.filter((rule) => appliesOn(rule, day)).map(({ prefix }) => prefix)
}

/** Returns the series of a caller ID: a prefix of the policy, or `regular`. */
export function seriesOf(callerId: string, policy: Policy): string {
  const found = policy.series.find(({ prefix }) => callerId.startsWith(`+91${prefix}`))
  // 160 with another fourth digit is an ordinary landline code, and so is 140 with another length.
  return found !== undefined && callerId.length === 13 ? found.prefix : 'regular'
}
