import canonicalize from 'canonicalize'
import { EngineError, errorText } from '../../media/base/errors.js'

/** Values that JSON can hold. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/**
 * Serializes a value as canonical JSON (RFC 8785). Undefined members are left out. Throws EngineError
 * `internal` for values that JSON cannot represent exactly: non-finite numbers and unpaired surrogates.
 */
export function canonicalJson(value: Json): string {
  let text: string | undefined
  try {
    text = canonicalize(value)
  } catch (error) {
    throw new EngineError('internal', `a value has no canonical JSON: ${errorText(error)}`, { cause: error })
  }
  if (text === undefined) throw new EngineError('internal', 'undefined has no canonical JSON')
  return text
}
