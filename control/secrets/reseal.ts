import { sql } from 'kysely'
import { seal, unseal, unsealWithAnyKey } from '../base/crypto.js'
import type { KeyPurpose, RootKey } from '../base/root-key.js'
import type { Db } from '../db/database.js'
import { openVault } from './vault.js'

/** A column of sealed texts, each bound to the id of its row. */
interface Place {
  readonly table: string
  readonly column: string
  readonly purpose: KeyPurpose
  /** Follows the id in what a text is bound to. */
  readonly suffix?: string
  /** Column that names the key of a vault. */
  readonly keyId?: string
}

/** Everything that stays encrypted for long. Answers kept for idempotency live a day: they are not here. */
const PLACES: readonly Place[] = [
  { table: 'secrets', column: 'sealed', purpose: 'secret-encryption', keyId: 'keyId' },
  { table: 'organizationVerifications', column: 'details', purpose: 'verification-encryption' },
  { table: 'webhookEndpoints', column: 'secret', purpose: 'webhook-secrets' },
  { table: 'webhookEndpoints', column: 'previousSecret', purpose: 'webhook-secrets' },
  { table: 'sipTrunks', column: 'digestPassword', purpose: 'trunk-secrets', suffix: ':inbound' },
  { table: 'sipTrunks', column: 'outboundPassword', purpose: 'trunk-secrets', suffix: ':outbound' },
]

export interface Resealed {
  /** Texts that an earlier root key had encrypted, and the present one does now. */
  readonly changed: number
  /** Texts that no configured root key opens. */
  readonly unreadable: number
}

const PAGE = 200

/**
 * Encrypts with the present root key what earlier ones encrypted. May be interrupted and run again;
 * a text that is replaced meanwhile is left as it is, its writer used a key of its own.
 */
export async function resealAll(db: Db, rootKey: RootKey): Promise<Resealed> {
  let changed = 0
  let unreadable = 0
  for (const place of PLACES) {
    for (let after = ''; ; ) {
      const rows = await page(db, place, after)
      const last = rows.at(-1)
      if (last === undefined) break
      after = last.id
      for (const { id, sealed } of rows) {
        const bound = `${id}${place.suffix ?? ''}`
        if (opens(rootKey, place.purpose, sealed, bound)) continue
        const plain = open(rootKey, place.purpose, sealed, bound)
        if (plain === null) unreadable++
        else if (await replace(db, rootKey, place, { id, bound, sealed, plain })) changed++
      }
    }
  }
  return { changed, unreadable }
}

async function page(db: Db, { table, column }: Place, after: string) {
  const { rows } = await sql<{ id: string; sealed: string }>`
    select "id", ${sql.ref(column)} as "sealed" from ${sql.table(table)}
    where ${sql.ref(column)} is not null and "id" > ${after} order by "id" limit ${PAGE}`.execute(db)
  return rows
}

async function replace(
  db: Db,
  rootKey: RootKey,
  { table, column, purpose, keyId }: Place,
  row: { readonly id: string; readonly bound: string; readonly sealed: string; readonly plain: string },
): Promise<boolean> {
  const fresh = seal(rootKey.subkey(purpose), row.plain, row.bound)
  const key = keyId === undefined ? sql`` : sql`, ${sql.ref(keyId)} = ${openVault(rootKey, purpose).keyId}`
  const { numAffectedRows } = await sql`
    update ${sql.table(table)} set ${sql.ref(column)} = ${fresh}${key}
    where "id" = ${row.id} and ${sql.ref(column)} = ${row.sealed}`.execute(db)
  return numAffectedRows === 1n
}

function opens(rootKey: RootKey, purpose: KeyPurpose, sealed: string, bound: string): boolean {
  try {
    unseal(rootKey.subkey(purpose), sealed, bound)
    return true
  } catch {
    // What opens it, if anything, is asked next.
    return false
  }
}

/** Null when no root key opens it: counted and reported, the rest goes on. */
function open(rootKey: RootKey, purpose: KeyPurpose, sealed: string, bound: string): string | null {
  try {
    return unsealWithAnyKey(rootKey, purpose, sealed, bound)
  } catch {
    return null
  }
}
