import { EngineError } from '../../media/base/errors.js'

/** Values that JSON can hold. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/**
 * Serializes a value as canonical JSON (RFC 8785, JCS): members are sorted by UTF-16 code units, numbers and
 * strings are written as ECMAScript does, undefined members are left out. Throws EngineError `internal` for
 * values that JSON cannot carry exactly: numbers that are not finite and unpaired surrogates.
 */
export function canonicalJson(value: Json): string {
  if (value === null || typeof value === 'boolean') return String(value)
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new EngineError('internal', 'a number is not finite')
    return JSON.stringify(value)
  }
  if (typeof value === 'string') return text(value)
  if (isList(value)) return `[${value.map(canonicalJson).join(',')}]`
  const members: string[] = []
  for (const key of Object.keys(value).sort()) {
    const member = value[key]
    if (member !== undefined) members.push(`${text(key)}:${canonicalJson(member)}`)
  }
  return `{${members.join(',')}}`
}

function text(value: string): string {
  if (/\p{Surrogate}/u.test(value)) throw new EngineError('internal', 'text holds an unpaired surrogate')
  return JSON.stringify(value)
}

// Array.isArray does not narrow readonly arrays.
function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value)
}
