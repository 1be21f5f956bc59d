import { canonicalJson, type Json } from '../base/canonical-json.js'
import type { PolicyInForce } from '../config/policy-file.js'
import type { Db } from '../db/database.js'
import { isBuiltIn } from './policy.js'

/**
 * Keeps rules of an operator before calls are decided by them, so that they can be exported with the sealed records.
 * Rules are never changed or removed. Built-in rules are part of the program.
 */
export async function keepPolicy(db: Db, { version, rules }: PolicyInForce, now: number): Promise<void> {
  if (isBuiltIn(version)) return
  await db
    .insertInto('gatePolicies')
    .values({ version, rules: canonicalJson(rules as unknown as Json), createdAt: now })
    .onConflict((conflict) => conflict.column('version').doNothing())
    .execute()
}

/** Returns all rules of operators by which calls were decided, with their texts in canonical JSON. */
export function listPolicies(db: Db): Promise<{ readonly version: string; readonly rules: string }[]> {
  return db.selectFrom('gatePolicies').select(['version', 'rules']).orderBy('version').execute()
}
