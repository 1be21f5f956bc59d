import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { z } from 'zod'
import { errorText } from '../../media/base/errors.js'
import type { Variable } from '../../media/vendors/vendor-module.js'
import { invalid, type Parsed, valid } from './parsers.js'

/*
 * The rules of the compliance gate as data, and the format of PARLEY_POLICY_FILE. See docs/compliance.md.
 */

export const POLICY_VARIABLES = [
  {
    name: 'PARLEY_POLICY_FILE',
    default: '',
    description: 'JSON file that adds or replaces rules of the compliance gate (docs/compliance.md)',
  },
] as const satisfies readonly Variable[]

const PURPOSES = ['promotional', 'service', 'transactional', 'collections'] as const
type Purpose = (typeof PURPOSES)[number]

/** A rule applies from `effectiveFrom` to the day before `effectiveTo` (ISO dates, IST). */
export interface Dated {
  readonly source: string
  readonly effectiveFrom: string
  readonly effectiveTo?: string
}

interface ForPurposes extends Dated {
  readonly purposes: readonly Purpose[]
}

interface Days extends Dated {
  readonly days: number
}

export interface Policy {
  /** Calling hours of a purpose. Of several that apply, each narrows the others. Of other rules, the first one applies. */
  readonly hours: readonly (Dated & {
    readonly purpose: Purpose
    /** Set if the rule applies in this environment only. */
    readonly environment?: 'test' | 'live'
    /** Minutes from midnight IST. The start is inclusive, the end exclusive. */
    readonly startMinute: number
    readonly endMinute: number
  })[]
  /** After an answered call of a campaign, other campaigns wait so long. Retries of one campaign do not count. */
  readonly frequencyCap: readonly (ForPurposes & { readonly hours: number })[]
  /** Days for which an opt-out blocks calls and new consent. */
  readonly suppression: readonly Days[]
  /** Longest life of consent to complete a transaction and of contact after an enquiry. */
  readonly shortConsent: readonly Days[]
  readonly verification: readonly Dated[]
  /** Purposes for which the DND register is asked. */
  readonly register: readonly ForPurposes[]
  /** Promotional consent that is older is accepted with a warning. */
  readonly consentAge: readonly Days[]
  readonly consentNeeded: readonly ForPurposes[]
  readonly declaration: readonly Dated[]
  /** Caller IDs that begin with these digits of the national number need an approved sender ID. */
  readonly series: readonly (ForPurposes & { readonly prefix: string })[]
  /** First digits of national mobile numbers that are newer than the numbering library. */
  readonly mobilePrefixes: readonly (Dated & { readonly prefix: string })[]
  /** Days for which the law wants the data of a call to be kept, also against the wish of the person. */
  readonly erasureFloor: readonly Days[]
}

/** The rules that a process applies. */
export interface PolicyInForce {
  /** Sealed with every decision. With a file it ends with the SHA-256 hash of the rules. */
  readonly version: string
  readonly rules: Policy
}

const dated = {
  source: z.string().trim().min(1).max(300),
  effectiveFrom: z.iso.date(),
  effectiveTo: z.iso.date().optional(),
}
const purposes = z.array(z.enum(PURPOSES)).min(1).max(PURPOSES.length)
const minute = z.int().min(0).max(1_440)

/** Rules of one kind. Each ends after it begins. */
function rulesOf<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  return z
    .array(
      z.strictObject({ ...dated, ...shape }).refine(
        (rule) => {
          const { effectiveFrom, effectiveTo } = rule as Dated
          return effectiveTo === undefined || effectiveFrom < effectiveTo
        },
        { message: 'must be after effectiveFrom', path: ['effectiveTo'] },
      ),
    )
    .max(200)
}

const days = rulesOf({ days: z.int().min(0).max(3_660) })

const RULES = {
  hours: rulesOf({
    purpose: z.enum(PURPOSES),
    environment: z.enum(['test', 'live']).optional(),
    startMinute: minute,
    endMinute: minute,
  }).refine((rules) => rules.every(({ startMinute, endMinute }) => startMinute < endMinute), {
    message: 'startMinute must be before endMinute',
  }),
  frequencyCap: rulesOf({ purposes, hours: z.int().min(0).max(8_784) }),
  suppression: days,
  shortConsent: days,
  verification: rulesOf({}),
  register: rulesOf({ purposes }),
  consentAge: days,
  consentNeeded: rulesOf({ purposes }),
  declaration: rulesOf({}),
  series: rulesOf({ purposes, prefix: z.string().regex(/^\d{3,6}$/, 'must have 3 to 6 digits') }),
  mobilePrefixes: rulesOf({
    prefix: z.string().regex(/^[2-9]\d{1,8}$/, 'must have 2 to 9 digits, the first 2 to 9'),
  }),
  erasureFloor: days,
} as const satisfies Readonly<Record<keyof Policy, z.ZodType>>

const KINDS = Object.keys(RULES) as (keyof Policy)[]

/** Rules of some kinds. */
const SomeRules = z.strictObject(RULES).partial()

const PolicyFile = z.strictObject({
  /** Kinds of which the file has all rules. The rules of other kinds come before the built-in ones. */
  replace: z.array(z.enum(KINDS)).default([]),
  ...SomeRules.shape,
})

/** Rules of an operator. */
export interface PolicyChanges {
  readonly replace: readonly (keyof Policy)[]
  readonly rules: Partial<Policy>
}

/** Returns a parser that reads the file; a relative path is below `base`. */
export function policyFile(base: string): (value: string) => Parsed<PolicyChanges> {
  return (value) => {
    try {
      const parsed = PolicyFile.safeParse(JSON.parse(readFileSync(resolve(base, value), 'utf8')))
      if (parsed.success) {
        const { replace, ...rules } = parsed.data
        // Zod's optional fields admit undefined, which JSON cannot hold.
        return valid({ replace, rules: rules as Partial<Policy> })
      }
      const [issue] = parsed.error.issues
      return invalid(`correct ${issue?.path.join('.')}: ${issue?.message}`)
    } catch (error) {
      return invalid(errorText(error))
    }
  }
}

/**
 * Returns exported rules, or null if they are not rules of this release or an earlier one. An earlier release decided
 * without the kinds of rules that it did not know, and so does the gate without rules of a kind.
 */
export function readPolicy(value: unknown): Policy | null {
  const parsed = SomeRules.safeParse(value)
  if (!parsed.success) return null
  return Object.fromEntries(KINDS.map((kind) => [kind, parsed.data[kind] ?? []])) as unknown as Policy
}
