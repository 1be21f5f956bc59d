import { sql } from 'kysely'
import { seal, unseal, unsealWithAnyKey } from '../base/crypto.js'
import type { KeyPurpose, RootKey } from '../base/root-key.js'
import type { Db } from '../db/database.js'
import { openVault } from './vault.js'

/** A column with encrypted text, bound to the id of its row. */
interface SealedColumn {
  readonly table: string
  readonly column: string
  readonly purpose: KeyPurpose
  /** Suffix of the bound text after the id. */
  readonly suffix?: string
  /** Column with the id of the encryption key. */
  readonly keyId?: string
}

/** All columns with long-lived encrypted text. Idempotent responses live for a day and are not included. */
const SEALED_COLUMNS: readonly SealedColumn[] = [
  { table: 'secrets', column: 'sealed', purpose: 'secret-encryption', keyId: 'keyId' },
  { table: 'organizationVerifications', column: 'details', purpose: 'verification-encryption' },
  { table: 'webhookEndpoints', column: 'secret', purpose: 'webhook-secrets' },
  { table: 'webhookEndpoints', column: 'previousSecret', purpose: 'webhook-secrets' },
  { table: 'sipTrunks', column: 'digestPassword', purpose: 'trunk-secrets', suffix: ':inbound' },
  { table: 'sipTrunks', column: 'outboundPassword', purpose: 'trunk-secrets', suffix: ':outbound' },
  { table: 'secondFactors', column: 'sealed', purpose: 'factor-secrets' },
]

export interface Resealed {
  /** Number of texts that were encrypted with an earlier root key and now use the current one. */
  readonly changed: number
  /** Number of texts that no configured root key can decrypt. */
  readonly unreadable: number
}

const PAGE = 200

/**
 * Re-encrypts with the current root key what earlier root keys encrypted. Can be interrupted and repeated.
 * Texts that are replaced in the meantime are skipped, because their writer used the current key.
 */
export async function resealAll(db: Db, rootKey: RootKey): Promise<Resealed> {
  let changed = 0
  let unreadable = 0
  for (const target of SEALED_COLUMNS) {
    for (let after = ''; ; ) {
      const rows = await page(db, target, after)
      const last = rows.at(-1)
      if (last === undefined) break
      after = last.id
      for (const { id, sealed } of rows) {
        const bound = `${id}${target.suffix ?? ''}`
        if (opens(rootKey, target.purpose, sealed, bound)) continue
        const plain = open(rootKey, target.purpose, sealed, bound)
        if (plain === null) unreadable++
        else if (await replace(db, rootKey, target, { id, bound, sealed, plain })) changed++
      }
    }
  }
  return { changed, unreadable }
}

async function page(db: Db, { table, column }: SealedColumn, after: string) {
  const { rows } = await sql<{ id: string; sealed: string }>`
    select "id", ${sql.ref(column)} as "sealed" from ${sql.table(table)}
    where ${sql.ref(column)} is not null and "id" > ${after} order by "id" limit ${sql.lit(PAGE)}`.execute(db)
  return rows
}

async function replace(
  db: Db,
  rootKey: RootKey,
  { table, column, purpose, keyId }: SealedColumn,
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
    // The other keys are tried next.
    return false
  }
}

/** Decrypts a text. Returns null if no root key fits; the text is counted and the rest continues. */
function open(rootKey: RootKey, purpose: KeyPurpose, sealed: string, bound: string): string | null {
  try {
    return unsealWithAnyKey(rootKey, purpose, sealed, bound)
  } catch {
    return null
  }
}
