import type { Clock } from '../../media/base/clock.js'
import { newId } from '../../media/base/ids.js'
import type { Log } from '../../media/base/log.js'
import type { RootKey } from '../base/root-key.js'
import { type FileTrunk, invalidTrunkFile, type TrunkFile } from '../config/trunk-file.js'
import type { Db, Trx } from '../db/database.js'
import type { SipTrunkRow } from '../db/tables/trunks.js'
import { findOverlap, takeRanges } from './claims.js'
import { NO_CONTACTS } from './contacts.js'
import { loadNumbers, releaseNumbers, TrunkFileError } from './load-numbers.js'
import { insertTrunk, type TrunkChange, updateTrunk } from './store.js'
import { sealPassword, type TrunkPassword, unsealPassword } from './trunk-passwords.js'
import { rangesOf } from './trunk-route.js'

export interface LoadTrunksOptions {
  readonly db: Db
  readonly rootKey: RootKey
  readonly clock: Pick<Clock, 'wall'>
  readonly log: Log
  /** Path of the file, for messages. */
  readonly filePath: string
}

const REMOVED = 'removed from the trunk file'
const SWITCHED_OFF = 'switched off in the trunk file'

/**
 * Updates the database to match the file in one transaction: its trunks (active, live environment) and
 * their numbers. Loading an unchanged file changes nothing. A trunk that is no longer in the file is
 * disabled, a number that is no longer on its trunk is released. A trunk that staff disabled stays
 * disabled. Throws EngineError `config_invalid` with the location in the file.
 */
export async function loadTrunks(options: LoadTrunksOptions, file: TrunkFile): Promise<void> {
  const { db, clock, log, filePath: where } = options
  const now = clock.wall()
  try {
    await db.transaction().execute(async (trx) => {
      const kept: SipTrunkRow[] = []
      for (const [index, trunk] of file.trunks.entries()) {
        kept.push(await loadTrunk(trx, options, trunk, ['trunks', index], now))
      }
      for (const removed of await trunksOfFile(trx)) {
        if (kept.some(({ id }) => id === removed.id)) continue
        await releaseNumbers(trx, removed, now)
        if (removed.status === 'disabled') continue
        await updateTrunk(
          trx,
          removed,
          removed.id,
          { status: 'disabled', disabledReason: REMOVED, contacts: NO_CONTACTS, updatedAt: now },
          [],
        )
        log.warn({ trunkId: removed.id, name: removed.name }, 'trunk.disabled_not_in_file')
      }
      for (const [index, row] of kept.entries()) await claimAddresses(trx, log, row, index)
    })
  } catch (error) {
    if (error instanceof TrunkFileError) throw invalidTrunkFile(where, [error])
    throw error
  }
  log.info({ file: where, trunks: file.trunks.length }, 'trunk_file.loaded')
}

async function loadTrunk(
  trx: Trx,
  options: LoadTrunksOptions,
  trunk: FileTrunk,
  path: readonly PropertyKey[],
  now: number,
): Promise<SipTrunkRow> {
  const organizationId = await organizationOf(trx, trunk, path)
  const ranges = trunk.inbound.addresses
  const existing = (await trunksOfFile(trx)).find(
    (row) => row.name === trunk.name && row.organizationId === organizationId,
  )
  const id = existing?.id ?? newId('trk', now)
  const wanted = columnsOf(options.rootKey, trunk, id, existing ?? null)
  const row =
    existing === undefined
      ? await insertTrunk(
          trx,
          {
            ...wanted,
            ...statusOf(trunk, null),
            id,
            organizationId,
            environment: 'live',
            name: trunk.name,
            approvedAt: now,
            allowOrigination: 0,
            ipAcl: JSON.stringify(ranges.map(({ text }) => text)),
            lastInboundAt: null,
            lastOutboundAt: null,
            lastProbe: null,
            source: 'file',
            numberId: null,
            idempotencyId: null,
            createdAt: now,
            updatedAt: now,
            deletedAt: null,
          },
          ranges,
        )
      : await updateIfChanged(trx, existing, { ...wanted, ...statusOf(trunk, existing) }, trunk, now)
  if (row === null)
    throw new TrunkFileError([...path, 'inbound', 'username'], 'another trunk already has this user name')
  await loadNumbers(trx, options.log, row, trunk, path, now)
  return row
}

/**
 * Claims the addresses of a trunk of the file, and takes them from customers. Throws TrunkFileError if the file
 * contradicts itself.
 */
async function claimAddresses(trx: Trx, log: Log, trunk: SipTrunkRow, index: number): Promise<void> {
  if (trunk.status !== 'active') return
  const ranges = rangesOf(trunk)
  for (const trunkId of await takeRanges(trx, trunk, ranges)) {
    log.warn({ trunkId, name: trunk.name }, 'trunk.addresses_taken_by_file')
  }
  const overlap = await findOverlap(trx, trunk, ranges)
  if (overlap === null) return
  throw new TrunkFileError(
    ['trunks', index, 'inbound', 'addresses'],
    `${overlap.range} belongs to a trunk of another organization`,
  )
}

/** Updates a trunk if it differs from the file, so that a restart without changes writes nothing. */
async function updateIfChanged(
  trx: Trx,
  existing: SipTrunkRow,
  change: TrunkChange,
  { inbound }: FileTrunk,
  now: number,
): Promise<SipTrunkRow | null> {
  const stored: Readonly<Record<string, unknown>> = { ...existing }
  const different = Object.entries(change).some(([column, value]) => stored[column] !== value)
  const same =
    rangesOf(existing)
      .map(({ text }) => text)
      .join() === inbound.addresses.map(({ text }) => text).join()
  if (!different && same) return existing
  const { digestUsername } = change
  if (digestUsername !== undefined && digestUsername !== null) {
    const holder = await trx
      .selectFrom('sipTrunks')
      .select('id')
      .where('digestUsername', '=', digestUsername)
      .where('deletedAt', 'is', null)
      .where('id', '!=', existing.id)
      .executeTakeFirst()
    if (holder !== undefined) return null
  }
  // Registrations with old credentials or on a disabled trunk receive no calls.
  const ends = change.digestPassword !== existing.digestPassword || change.status === 'disabled'
  const contacts = ends ? NO_CONTACTS : existing.contacts
  return updateTrunk(trx, existing, existing.id, { ...change, contacts, updatedAt: now }, inbound.addresses)
}

function columnsOf(rootKey: RootKey, trunk: FileTrunk, id: string, existing: SipTrunkRow | null) {
  const { inbound, gateway } = trunk
  return {
    carrier: trunk.carrier ?? null,
    callerIdPolicy: gateway?.callerIdPolicy ?? 'did',
    callerId: gateway?.callerId ?? null,
    codecs: JSON.stringify(trunk.codecs),
    srtp: trunk.srtp,
    customHeaders: JSON.stringify(gateway?.headers ?? {}),
    digestUsername: inbound.username ?? null,
    digestPassword: sealed(rootKey, id, 'inbound', inbound.password, existing?.digestPassword ?? null),
    digestAlgorithm: inbound.algorithm,
    realm: inbound.realm,
    inboundAuth: inbound.auth,
    maxConcurrent: trunk.maxConcurrent,
    callsPerMinute: trunk.callsPerMinute,
    allowedPrefixes: JSON.stringify(trunk.allowedPrefixes),
    outboundAuthUsername: gateway?.username ?? null,
    outboundPassword: sealed(rootKey, id, 'outbound', gateway?.password, existing?.outboundPassword ?? null),
    outboundHost: gateway?.host ?? null,
    outboundPort: portOf(gateway),
    outboundTransport: gateway?.transport ?? 'udp',
    outboundNumberFormat: gateway?.numberFormat ?? 'e164',
    outboundDomain: gateway?.domain ?? null,
    ringTimeoutMs: (gateway?.ringTimeoutSeconds ?? 45) * 1000,
    reportsAnswer: gateway?.reportsAnswer === false ? 0 : 1,
    register: gateway?.register ? 1 : 0,
    registerSeconds: gateway?.registerSeconds ?? 600,
  } as const
}

function portOf(gateway: FileTrunk['gateway']): number {
  if (gateway?.port === 'srv') return 0
  return gateway?.port ?? (gateway?.transport === 'tls' ? 5061 : 5060)
}

/**
 * Returns the stored encrypted password if it is unchanged, because every encryption gives a different
 * result.
 */
function sealed(
  rootKey: RootKey,
  id: string,
  which: TrunkPassword,
  password: string | undefined,
  stored: string | null,
): string | null {
  if (password === undefined) return null
  if (stored !== null && unsealPassword(rootKey, id, which, stored) === password) return stored
  return sealPassword(rootKey, id, which, password)
}

/**
 * Returns the status of a trunk. The file enables and disables its own trunks. A trunk that staff disabled
 * stays disabled.
 */
function statusOf(
  { enabled }: FileTrunk,
  existing: SipTrunkRow | null,
): Pick<SipTrunkRow, 'status' | 'disabledReason'> {
  const byFile = existing?.disabledReason === REMOVED || existing?.disabledReason === SWITCHED_OFF
  if (existing?.status === 'disabled' && !byFile)
    return { status: 'disabled', disabledReason: existing.disabledReason }
  return enabled
    ? { status: 'active', disabledReason: null }
    : { status: 'disabled', disabledReason: SWITCHED_OFF }
}

async function organizationOf(
  trx: Trx,
  { organization }: FileTrunk,
  path: readonly PropertyKey[],
): Promise<string> {
  const all = trx.selectFrom('organizations').select('id')
  const found = await (organization === undefined
    ? all.orderBy('createdAt').orderBy('id').limit(1)
    : all.where('id', '=', organization)
  ).executeTakeFirst()
  if (found === undefined)
    throw new TrunkFileError([...path, 'organization'], 'the organization does not exist')
  return found.id
}

function trunksOfFile(trx: Trx): Promise<SipTrunkRow[]> {
  return trx
    .selectFrom('sipTrunks')
    .selectAll()
    .where('source', '=', 'file')
    .where('deletedAt', 'is', null)
    .orderBy('id')
    .execute()
}
