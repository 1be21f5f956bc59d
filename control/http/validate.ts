import type { z } from 'zod'
import { MALFORMED_ID } from '../base/schemas.js'
import { isCleanText } from './json-body.js'

/** One entry of `details.issues`. */
export interface ValidationIssue {
  /** `query.x`, `path.x`, `header.x`, or bare for the body: `a.b[3].c`. */
  readonly path: string
  readonly reason: string
}

export type InputPart = 'path' | 'query' | 'body'

export type ValidationResult =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly issues: readonly ValidationIssue[]; readonly malformedId: boolean }

/** Checks one part of a request and lists everything that is wrong with it. */
export function validate(schema: z.ZodType, input: unknown, part: InputPart): ValidationResult {
  const parsed = schema.safeParse(input)
  if (parsed.success) return { ok: true, value: parsed.data }
  const issues = parsed.error.issues.flatMap((issue) => explain(issue, input, part))
  return { ok: false, issues, malformedId: parsed.error.issues.some(isMalformedId) }
}

/**
 * The parameters of a query string. A name that is given twice, or holds text that cannot be
 * stored, is an issue; so is, later, one that the operation does not know.
 */
export function readQuery(search: string): {
  values: Record<string, string>
  issues: readonly ValidationIssue[]
} {
  const values = new Map<string, string>()
  const issues: ValidationIssue[] = []
  for (const [name, value] of new URLSearchParams(search)) {
    if (values.has(name)) issues.push({ path: `query.${name}`, reason: 'given more than once' })
    else if (!isCleanText(value)) issues.push({ path: `query.${name}`, reason: 'holds a NUL character' })
    values.set(name, value)
  }
  return { values: Object.fromEntries(values), issues }
}

type ZodIssue = z.core.$ZodIssue

function explain(issue: ZodIssue, input: unknown, part: InputPart): ValidationIssue[] {
  if (issue.code === 'unrecognized_keys') {
    const reason = part === 'query' ? 'unknown parameter' : 'unknown field'
    return issue.keys.map((key) => ({ path: pathOf([...issue.path, key], part), reason }))
  }
  if (issue.code === 'invalid_union') {
    const branch = likeliest(issue.errors)
    if (branch !== null) {
      return branch.flatMap((inner) =>
        explain({ ...inner, path: [...issue.path, ...inner.path] }, input, part),
      )
    }
  }
  const missing = issue.code === 'invalid_type' && valueAt(input, issue.path) === undefined
  return [{ path: pathOf(issue.path, part), reason: missing ? 'required' : issue.message }]
}

/** Of the variants of a union the one that was nearly met; null when none accepts this type at all. */
function likeliest(variants: readonly (readonly ZodIssue[])[]): readonly ZodIssue[] | null {
  const near = variants.filter((issues) => issues.every((issue) => issue.path.length > 0))
  return near.toSorted((a, b) => a.length - b.length)[0] ?? null
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
