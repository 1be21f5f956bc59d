import type { z } from 'zod'
import { MALFORMED_ID } from '../base/schemas.js'
import { isCleanText } from './json-body.js'

/** An entry of `details.issues`. */
export interface ValidationIssue {
  /** Location: `query.x`, `path.x`, `header.x`, or for the body the plain path `a.b[3].c`. */
  readonly path: string
  readonly reason: string
}

export type InputPart = 'path' | 'query' | 'body'

export type ValidationResult =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly issues: readonly ValidationIssue[]; readonly malformedId: boolean }

/** Validates one part of a request and lists all issues. */
export function validate(schema: z.ZodType, input: unknown, part: InputPart): ValidationResult {
  const parsed = schema.safeParse(input)
  if (parsed.success) return { ok: true, value: parsed.data }
  const issues = essential(parsed.error.issues).flatMap((issue) => explain(issue, input, part))
  return { ok: false, issues, malformedId: parsed.error.issues.some(isMalformedId) }
}

/**
 * Parses a query string. Reports an issue for duplicate parameters and for text that cannot be stored.
 * Validation against the schema reports unknown parameters later.
 */
export function readQuery(search: string): {
  values: Record<string, string>
  issues: readonly ValidationIssue[]
} {
  const values = new Map<string, string>()
  const issues: ValidationIssue[] = []
  for (const [name, value] of new URLSearchParams(search)) {
    if (values.has(name)) issues.push({ path: `query.${name}`, reason: 'given more than once' })
    else if (!isCleanText(value))
      issues.push({ path: `query.${name}`, reason: 'contains a NUL character or an unpaired surrogate' })
    values.set(name, value)
  }
  return { values: Object.fromEntries(values), issues }
}

type ZodIssue = z.core.$ZodIssue

/**
 * Leaves out issues that only follow from another one: a rule about a value whose type or format is wrong,
 * and a rule about a whole that has a wrong part.
 */
function essential(issues: readonly ZodIssue[]): readonly ZodIssue[] {
  const within = (inner: ZodIssue, outer: ZodIssue): boolean =>
    outer.path.every((step, index) => inner.path[index] === step)
  return issues.filter((issue, at) => {
    if (issue.code === 'unrecognized_keys') return true
    const others = issues.filter((other, index) =>
      other.path.length === issue.path.length ? index < at : issue.code === 'custom',
    )
    return !others.some((other) => within(other, issue))
  })
}

/** Codes of an absent field. */
const ABSENT: ReadonlySet<ZodIssue['code']> = new Set(['invalid_type', 'invalid_value', 'invalid_union'])

function reasonOf(issue: ZodIssue, input: unknown): string {
  if (ABSENT.has(issue.code) && valueAt(input, issue.path) === undefined) return 'required'
  // The issue of the key says what a name must look like.
  if (issue.code === 'invalid_key') return `the name is invalid: ${issue.issues[0]?.message ?? issue.message}`
  if (issue.code === 'invalid_type' && issue.expected === 'int') return 'must be an integer'
  return issue.message.replace('expected record', 'expected object')
}

function explain(issue: ZodIssue, input: unknown, part: InputPart): ValidationIssue[] {
  if (issue.code === 'unrecognized_keys') {
    const reason = part === 'query' ? 'unknown parameter' : 'unknown field'
    return issue.keys.map((key) => ({ path: pathOf([...issue.path, key], part), reason }))
  }
  if (issue.code === 'invalid_union') {
    const branch = bestVariant(issue.errors)
    if (branch !== null) {
      return branch.flatMap((inner) =>
        explain({ ...inner, path: [...issue.path, ...inner.path] }, input, part),
      )
    }
  }
  return [{ path: pathOf(issue.path, part), reason: reasonOf(issue, input) }]
}

/**
 * Returns the issues of the union variant that matches best, or null if no variant accepts values of this
 * type.
 */
function bestVariant(variants: readonly (readonly ZodIssue[])[]): readonly ZodIssue[] | null {
  const candidates = variants.filter((issues) => issues.every((issue) => issue.path.length > 0))
  return candidates.toSorted((a, b) => a.length - b.length)[0] ?? null
}

function isMalformedId(issue: ZodIssue): boolean {
  return issue.code === 'custom' && issue.params?.malformedId === MALFORMED_ID.malformedId
}

function pathOf(path: readonly PropertyKey[], part: InputPart): string {
  let text = part === 'body' ? '' : part
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`
    else text += text === '' ? String(step) : `.${String(step)}`
  }
  return text
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  let value = input
  for (const step of path) {
    if (typeof value !== 'object' || value === null) return undefined
    value = Reflect.get(value, step)
  }
  return value
}
