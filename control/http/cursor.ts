import { createHmac } from 'node:crypto'
import type { Position } from '../api/pagination.js'
import type { Json } from '../base/canonical-json.js'
import { constantTimeEqual } from '../base/crypto.js'
import type { RootKey } from '../base/root-key.js'
import { fingerprint } from './idempotency.js'

/** Scope of a cursor. A cursor is valid only for the list, filters and owner it was created for. */
export interface CursorScope {
  readonly organizationId: string
  readonly environment: string
  readonly operation: string
  /** Parsed filters. `limit` is not part of them and may change from page to page. */
  readonly filters: Json
}

const MAC_BYTES = 16

/** Returns `base64url(HMAC || position)`. The HMAC also covers the scope. */
export function writeCursor(rootKey: RootKey, scope: CursorScope, position: Position): string {
  const payload = JSON.stringify([position.key, position.id])
  return Buffer.concat([mac(rootKey, scope, payload), Buffer.from(payload)]).toString('base64url')
}

/** Returns the position of a cursor, or null if this service did not create it for this scope. */
export function readCursor(rootKey: RootKey, scope: CursorScope, cursor: string): Position | null {
  const bytes = Buffer.from(cursor, 'base64url')
  const payload = bytes.subarray(MAC_BYTES).toString('utf8')
  const given = bytes.subarray(0, MAC_BYTES).toString('hex')
  if (!constantTimeEqual(given, mac(rootKey, scope, payload).toString('hex'))) return null
  const [key, id] = JSON.parse(payload) as [number | string, string]
  return { key, id }
}

function mac(rootKey: RootKey, scope: CursorScope, payload: string): Buffer {
  const bound = [
    scope.organizationId,
    scope.environment,
    scope.operation,
    fingerprint(scope.filters),
    payload,
  ]
  return createHmac('sha256', rootKey.subkey('cursor-signing'))
    .update(JSON.stringify(bound))
    .digest()
    .subarray(0, MAC_BYTES)
}
