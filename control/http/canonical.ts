import { createHash } from 'node:crypto'

/** Values that JSON can hold. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/** Deeper bodies are refused before anything walks them. */
export const MAX_DEPTH = 64

/**
 * JSON Canonicalization Scheme (RFC 8785): sorted keys (UTF-16 order), no spaces, numbers as
 * ECMAScript prints them. Equal values give equal text. Undefined members are left out.
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (typeof value === 'object' && value !== null) {
    const members: string[] = []
    for (const key of Object.keys(value).sort()) {
      const member: unknown = Reflect.get(value, key)
      if (member !== undefined) members.push(`${JSON.stringify(key)}:${canonicalJson(member)}`)
    }
    return `{${members.join(',')}}`
  }
  return JSON.stringify(value ?? null)
}

/** SHA-256 of the canonical form, hex. */
export function fingerprint(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex')
}

/** Whether anything lies deeper than `MAX_DEPTH`. Not recursive: the input is a stranger's. */
export function isTooDeep(value: unknown): boolean {
  const open: { value: unknown; depth: number }[] = [{ value, depth: 0 }]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next.value !== 'object' || next.value === null) continue
    if (next.depth >= MAX_DEPTH) return true
    for (const member of Object.values(next.value)) open.push({ value: member, depth: next.depth + 1 })
  }
  return false
}
