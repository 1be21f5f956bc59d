import { createHmac } from 'node:crypto'
import type { Deps } from '../api/deps.js'
import type { RootKey } from '../base/root-key.js'

/*
 * An erasure replaces the number in the do-not-call entries of a person by a digest with a key, so that the entries
 * protect the person without naming one. Without the root key the number cannot be found by trying all of them.
 */

/** Returns by which rules and names entries and consents are written. */
export const knownOf = ({ policy, rootKey }: Pick<Deps, 'policy' | 'rootKey'>) => ({
  rules: policy.rules,
  rootKey,
})

/** Returns the text that stands for the number of an erased person in do-not-call entries of an organization. */
export function digestOf(rootKey: RootKey, organizationId: string, e164: string): string {
  const hmac = createHmac('sha256', rootKey.subkey('suppression-digest'))
  return `erased-${hmac.update(`${organizationId} ${e164}`).digest('hex')}`
}

/** Returns the texts by which do-not-call entries may name a number: itself, and its digest under each root key. */
export function namesOf(rootKey: RootKey, organizationId: string, e164: string): readonly string[] {
  const keys = [rootKey, ...rootKey.previous]
  return [e164, ...keys.map((key) => digestOf(key, organizationId, e164))]
}

/** Returns the numbers by every text by which do-not-call entries may name them. */
export function numbersByName(
  rootKey: RootKey,
  organizationId: string,
  e164s: readonly string[],
): ReadonlyMap<string, string> {
  return new Map(
    e164s.flatMap((e164) => namesOf(rootKey, organizationId, e164).map((name) => [name, e164] as const)),
  )
}
