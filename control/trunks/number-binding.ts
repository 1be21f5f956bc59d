import { newId } from '../../media/base/ids.js'
import { SERVICE_REALM } from '../../signalling/trunk/trunk-authenticator.js'
import { audited } from '../api/audited.js'
import { isRefusal, type Refusal, refuse } from '../api/problem.js'
import type { Db, Trx } from '../db/database.js'
import type { NumberRow } from '../db/tables/calling.js'
import type { SipTrunkRow } from '../db/tables/trunks.js'
import { noNumber } from '../numbers/api.js'
import { endSipBinding, type SipBinding } from '../numbers/sip-binding.js'
import { findNumber, type Owner } from '../numbers/store.js'
import { newDigestPassword, newDigestUsername } from './digest-credentials.js'
import type { TrunkInput } from './manage-trunk.js'
import { hostProblem } from './outbound-host.js'
import { findNumberTrunk, insertTrunk } from './store.js'
import { sealPassword, unsealPassword } from './trunk-passwords.js'
import { DEFAULTS } from './trunk-settings.js'

/*
 * A number whose calls a telephone system of the customer takes (`byo_sip`). The number gets a trunk of its own: calls to
 * the number are dialled over it, and the telephone system places calls with the credentials of the trunk.
 */

/** Calls of a number take a slot of the pool `byoCalls`, which is their limit. */
const CHANNELS = 1_000
const CALLS_PER_MINUTE = 600
/** Daily budget of a number that was just bound to a telephone system (paise). Staff can change it. */
const FIRST_BUDGET_PAISE = 50_000
const RING_TIMEOUT_MS = 45_000

export interface SipTarget {
  /** As the customer wrote it; null for a telephone system that registers. */
  readonly sipUri: string | null
  readonly host: string | null
  readonly port: number
  readonly transport: 'udp' | 'tcp' | 'tls'
}

export interface BoundNumber {
  readonly number: NumberRow
  readonly username: string
  readonly password: string
}

/**
 * Routes a number to a telephone system, with new credentials. An address that the number had before is replaced. A
 * retry of the same idempotent request returns the same credentials.
 */
export async function bindSip(
  input: TrunkInput & { readonly idempotencyId: string | null },
  numberId: string,
  target: SipTarget,
  wanted: string | null,
): Promise<BoundNumber | Refusal> {
  const { actor, deps, idempotencyId } = input
  const { rootKey, sipGateway } = deps
  const found = await findNumber(deps.db, actor, numberId)
  if (found === null) return noNumber()
  const { host } = target
  const reason = host === null ? null : await hostProblem(deps.egress, actor.organizationId, host)
  if (reason !== null) {
    return refuse('validation_error', `The host of sipUri ${reason}.`, {
      issues: [{ path: 'sipUri', reason }],
    })
  }
  return audited(input, async (trx, record, now) => {
    const before = await lockActive(trx, actor, numberId)
    if (isRefusal(before)) return before
    const earlier = await findNumberTrunk(trx, numberId)
    if (idempotencyId !== null && earlier?.idempotencyId === idempotencyId) {
      const { id, digestPassword, digestUsername } = earlier
      const password = unsealPassword(rootKey, id, 'inbound', digestPassword ?? '')
      return { number: before, username: digestUsername ?? '', password }
    }
    await endSipBinding(trx, numberId, now)
    const id = newId('trk', now)
    const password = newDigestPassword()
    const username = wanted ?? newDigestUsername()
    const trunk = await insertTrunk(
      trx,
      {
        ...trunkColumns(target),
        id,
        organizationId: before.organizationId,
        environment: before.environment,
        name: before.e164,
        approvedAt: now,
        digestUsername: username,
        digestPassword: sealPassword(rootKey, id, 'inbound', password),
        numberId,
        idempotencyId,
        // A new binding keeps the budget, so that it cannot be renewed.
        originationBudgetPaise: earlier === null ? FIRST_BUDGET_PAISE : earlier.originationBudgetPaise,
        createdAt: now,
        updatedAt: now,
      },
      [],
    )
    // Thrown, so that the number keeps the address that it had.
    if (trunk === null) throw new UsernameTaken()
    const { sipUri, transport } = target
    const binding: SipBinding = {
      trunkId: id,
      sipUri,
      transport,
      domain: sipGateway.host,
      realm: SERVICE_REALM,
      username,
    }
    const number = await setRouting(trx, numberId, 'byo_sip', JSON.stringify(binding))
    await record('number.sip_bound', numberId, {
      before: { routingMode: before.routingMode },
      after: { routingMode: 'byo_sip', sipUri, transport, username },
    })
    return { number, username, password }
  }).catch((error: unknown) => {
    if (!(error instanceof UsernameTaken)) throw error
    return refuse('conflict', 'The user name is taken. Choose another one.', { path: 'username' })
  })
}

class UsernameTaken extends Error {}

/** Gives a number back to its agent. A number that an agent answers already stays as it is. */
export function unbindSip(input: TrunkInput, numberId: string): Promise<NumberRow | Refusal> {
  return audited(input, async (trx, record, now) => {
    const before = await lockActive(trx, input.actor, numberId)
    if (isRefusal(before)) return before
    const { routingMode } = before
    if (routingMode === 'svc_agent') return before
    if (routingMode !== 'byo_sip') {
      return refuse('conflict', 'The number is not routed to a telephone system.', { routingMode })
    }
    await endSipBinding(trx, numberId, now)
    await record('number.sip_unbound', numberId, {
      before: { routingMode },
      after: { routingMode: 'svc_agent' },
    })
    return setRouting(trx, numberId, 'svc_agent', null)
  })
}

/** Reads an active number and locks it until the end of the transaction, so that concurrent changes wait. */
async function lockActive(
  trx: Trx,
  owner: Owner,
  id: string,
): Promise<NumberRow | Refusal<'not_found' | 'conflict'>> {
  const row = await trx
    .updateTable('numbers')
    .set((eb) => ({ routingMode: eb.ref('routingMode') }))
    .where('id', '=', id)
    .where('organizationId', '=', owner.organizationId)
    .where('environment', '=', owner.environment)
    .where('releasedAt', 'is', null)
    .returningAll()
    .executeTakeFirst()
  if (row === undefined) return noNumber()
  return row.status === 'active'
    ? row
    : refuse('conflict', 'The number is not active yet.', { status: row.status })
}

/** Changes a number that the transaction has locked. */
function setRouting(
  trx: Trx,
  id: string,
  routingMode: 'byo_sip' | 'svc_agent',
  sipTrunk: string | null,
): Promise<NumberRow> {
  return trx
    .updateTable('numbers')
    .set({ routingMode, sipTrunk })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

function trunkColumns({ host, port, transport }: SipTarget) {
  const fixed = {
    status: 'active',
    allowOrigination: 1,
    digestAlgorithm: 'MD5',
    realm: SERVICE_REALM,
    source: 'number',
  } as const satisfies Partial<SipTrunkRow>
  return {
    ...DEFAULTS,
    ...fixed,
    disabledReason: null,
    callerId: null,
    srtp: 'optional' as const,
    lastInboundAt: null,
    lastOutboundAt: null,
    lastProbe: null,
    maxConcurrent: CHANNELS,
    callsPerMinute: CALLS_PER_MINUTE,
    // The called number is the customer's own.
    allowedPrefixes: JSON.stringify(['+']),
    outboundHost: host,
    outboundPort: port,
    outboundTransport: transport,
    outboundDomain: null,
    ringTimeoutMs: RING_TIMEOUT_MS,
    registerSeconds: 600,
    carrier: null,
    deletedAt: null,
  }
}

/**
 * Makes every number in `byo_sip` name the host that customers reach now. Runs at the start of the service, whose
 * settings may have changed.
 */
export async function renameBindingHosts(db: Db, host: string): Promise<void> {
  const bound = await db
    .selectFrom('numbers')
    .select(['id', 'sipTrunk'])
    .where('sipTrunk', 'is not', null)
    .execute()
  for (const { id, sipTrunk } of bound) {
    const binding: SipBinding = JSON.parse(sipTrunk ?? '')
    if (binding.domain === host) continue
    // A number that was bound again meanwhile keeps its new trunk.
    await db
      .updateTable('numbers')
      .set({ sipTrunk: JSON.stringify({ ...binding, domain: host }) })
      .where('id', '=', id)
      .where('sipTrunk', '=', sipTrunk)
      .execute()
  }
}
