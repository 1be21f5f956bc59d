import type { z } from 'zod'
import { MALFORMED_ID } from '../base/schemas.js'
import { isCleanText } from './json-body.js'

/** An entry of `details.issues`. */
export interface ValidationIssue {
  /** Location: `query.x`, `path.x`, `header.x`, or for the body the plain path `a.b[3].c`. */
  readonly path: string
  readonly reason: string
}

export type ZodIssue = z.core.$ZodIssue

export type InputPart = 'path' | 'query' | 'body'

export type ValidationResult =
  | { readonly ok: true; readonly value: unknown }
  | {
      readonly ok: false
      /** The first issues, at most `MAX_ISSUES`. */
      readonly issues: readonly ValidationIssue[]
      /** Number of further issues. */
      readonly unlisted: number
      readonly malformedId: boolean
    }

/** Maximum number of issues that a refusal lists. */
export const MAX_ISSUES = 100

/** Validates one part of a request. Lists its first issues and counts the others. */
export function validate(schema: z.ZodType, input: unknown, part: InputPart): ValidationResult {
  const parsed = schema.safeParse(input)
  if (parsed.success) return { ok: true, value: parsed.data }
  const list = new IssueList(input, part)
  list.add(parsed.error.issues)
  return list.result()
}

/** The first issues of a part of a request, and the number of the others. */
export class IssueList {
  readonly #input: unknown
  readonly #part: InputPart
  readonly #issues: ValidationIssue[] = []
  #unlisted = 0
  #malformedId = false

  constructor(input: unknown, part: InputPart) {
    this.#input = input
    this.#part = part
  }

  get empty(): boolean {
    return this.#issues.length === 0
  }

  /** Adds issues of Zod about the whole input. Those of one call may follow from each other. */
  add(issues: readonly ZodIssue[]): void {
    for (const issue of essential(issues)) {
      const room = MAX_ISSUES - this.#issues.length
      const explained = room > 0 ? explain(issue, this.#input, this.#part) : []
      this.#issues.push(...explained.slice(0, room))
      this.#unlisted += room > 0 ? Math.max(0, explained.length - room) : fieldsOf(issue)
    }
    this.#malformedId ||= issues.some(isMalformedId)
  }

  /** Adds the issues of another list about the same input. */
  append(other: IssueList): void {
    const room = MAX_ISSUES - this.#issues.length
    this.#issues.push(...other.#issues.slice(0, room))
    this.#unlisted += other.#unlisted + Math.max(0, other.#issues.length - room)
    this.#malformedId ||= other.#malformedId
  }

  result(): Extract<ValidationResult, { readonly ok: false }> {
    return { ok: false, issues: this.#issues, unlisted: this.#unlisted, malformedId: this.#malformedId }
  }
}

/** Details of a refusal: the first issues, and the number of all when there are more. */
export function listIssues(
  issues: readonly ValidationIssue[],
  unlisted = 0,
): { readonly issues: readonly ValidationIssue[]; readonly issueCount?: number } {
  const count = issues.length + unlisted
  const listed = issues.slice(0, MAX_ISSUES)
  return count > listed.length ? { issues: listed, issueCount: count } : { issues: listed }
}

function fieldsOf(issue: ZodIssue): number {
  return issue.code === 'unrecognized_keys' ? issue.keys.length : 1
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

/**
 * Leaves out issues that only follow from another one: a rule about a value whose type or format is wrong,
 * and a rule about a whole that has a wrong part. The work grows with the number of issues only.
 */
function essential(issues: readonly ZodIssue[]): readonly ZodIssue[] {
  const wholes = wholesOf(issues)
  const seen = new Set<string>()
  return issues.filter((issue) => {
    const place = placeOf(issue.path)
    const follows = seen.has(place) || (issue.code === 'custom' && wholes.has(place))
    seen.add(place)
    return issue.code === 'unrecognized_keys' || !follows
  })
}

/** Returns the places of the values that have an issue somewhere inside them. */
function wholesOf(issues: readonly ZodIssue[]): ReadonlySet<string> {
  const wholes = new Set<string>()
  if (!issues.some(({ code }) => code === 'custom')) return wholes
  for (const { path } of issues) {
    for (let steps = 0; steps < path.length; steps++) wholes.add(placeOf(path.slice(0, steps)))
  }
  return wholes
}

function placeOf(path: readonly PropertyKey[]): string {
  return JSON.stringify(path)
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
